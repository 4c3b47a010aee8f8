"""The values in the seeds' tables, as they were printed."""

from pathlib import Path

import pandas as pd

import nmtlab

CHECKOUT = Path(nmtlab.__file__).parents[1] / "data/published"
"""They are in the checkout alone, as text that people read and mend; without it, nothing is compared with."""

COLUMNS = ["table", "row", "column", "metric", "value", "difference", "mark", "source"]


def published(table: str, folder: Path = CHECKOUT) -> pd.DataFrame:
    """Return the published values of a table, none if its file is not there.

    Args:
        table: its name, as table-3.6.
        folder: where the files are.

    Returns:
        `table`; `row` (a language pair), `column` (a system) and `metric`, as in its declaration; `value` and
        `difference` (to the baseline, where one was printed), letter by letter as printed; `mark` († for what was
        called insignificant); `source`.
    """
    path = folder / f"{table}.csv"
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(path, dtype=str, keep_default_na=False)
