"""Results of tables about children, made up for tests: scores of each system by the size of its text."""

from collections.abc import Mapping, Sequence

import pandas as pd

from nmtlab.grids.results.schemas import CELLS
from nmtlab.thesis.tables.listing import find_table

Scores = Mapping[str, Mapping[str, Sequence[float | None]]]
"""Row -> system -> score of each seed."""


def results_of(table: str, scores: Scores, metric: str = "") -> pd.DataFrame:
    """Return the cells of a table, of its first test score unless another metric is named."""
    tests = {"test-bleu", "tokenized-test-bleu", "detokenized-test-bleu", "ntrex-bleu"}
    chosen = metric or next(key for key in find_table(table).metrics if key in tests)
    lines = [
        {
            **dict.fromkeys(CELLS.columns, ""), "table": table, "scale": "small", "row": row, "column": column,
            "metric": chosen, "seed": seed, "value": value,
            "status": "not run" if value is None else "finished",
        }
        for row, systems in scores.items()
        for column, values in systems.items()
        for seed, value in enumerate(values, start=1)
    ]  # fmt: skip
    types = {"seed": "Int64", "value": float, "minutes": float, "updates": "Int64"}
    return pd.DataFrame(lines, columns=CELLS.columns).replace({"minutes": "", "updates": ""}, None).astype(types)
