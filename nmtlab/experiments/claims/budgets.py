"""Which conclusions change once systems are trained out."""

import pandas as pd

LONGER = "-trained-out"
"""Ending of the name of a table whose systems are those of another table, trained until dev BLEU stops rising."""

_SAME = ["table", "pair", "text", "metric", "direction", "source"]
_MEASURED = ["seeds", "effect", "low", "high", "verdict", "budget"]


def at_two_budgets(measured: pd.DataFrame) -> pd.DataFrame:
    """Set claims about short trainings beside the same claims about systems that are trained out.

    Args:
        measured: as of `measured_claims`.

    Returns:
        One line per claim and text that was measured at both budgets: `claim`, `text`, `metric`, `direction`,
        `evidence`; `seeds`, `effect`, `low`, `high`, `verdict` and `budget`, each with the suffix `_short` and `_long`;
        `changed`, whether the verdicts differ.
    """
    table = measured["evidence"].str.rsplit(".", n=2).str[0]  # TABLE.SCALE.csv
    long = table.str.endswith(LONGER)
    short_lines, long_lines = (
        measured[chosen].assign(table=names[chosen])
        for chosen, names in ((~long, table), (long, table.str.removesuffix(LONGER)))
    )
    both = short_lines.merge(long_lines[_SAME + _MEASURED], on=_SAME, suffixes=("_short", "_long"))
    both["changed"] = both["verdict_short"] != both["verdict_long"]
    measures = [f"{name}_{budget}" for budget in ("short", "long") for name in _MEASURED]
    return both[["claim", "text", "metric", "direction", "evidence", *measures, "changed"]]
