"""The values of the published tables, as printed."""

from pathlib import Path

import pandas as pd

from nmtlab.workspace import PUBLISHED

COLUMNS = ["table", "row", "column", "metric", "value", "difference", "mark", "source"]


def published(table: str, folder: Path = PUBLISHED) -> pd.DataFrame:
    """Return the published values of a table; empty if its file does not exist.

    Args:
        table: its name, such as table-3.6.
        folder: contains the files.

    Returns:
        `table`; `row` (a language pair), `column` (a system) and `metric`, as in its declaration; `value` and
        `difference` (to the baseline, if printed), verbatim; `mark` († for differences called insignificant);
        `source`.
    """
    path = folder / f"{table}.csv"
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(path, dtype=str, keep_default_na=False)
