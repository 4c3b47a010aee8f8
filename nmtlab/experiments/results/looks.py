"""Rows that were tested repeatedly while seeds were added, and at how many seeds: stored beside a table's cells."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.files import write_text

COLUMNS = ["row", "looks"]

Looks = Mapping[str, tuple[int, ...]]
"""The planned looks, in seeds of each system, by row; a row that is not there was tested once."""


def read_looks(path: Path) -> Looks:
    """Return the planned looks in a file; none if it does not exist.

    Raises:
        NmtlabError: the file is damaged.
    """
    if not path.exists():
        return {}
    try:
        lines = pd.read_csv(path, dtype=str)[COLUMNS]
        return {row: tuple(map(int, looks.split())) for row, looks in lines.itertuples(index=False)}
    except (ValueError, KeyError, AttributeError, OSError) as error:
        # Never "remove it": without its looks, a row would be judged as if it had been tested once.
        raise NmtlabError(
            f"{path}: not a list of looks ({error})", "restore it; a row has its numbers of seeds, such as '3 5 10'"
        ) from error


def save_looks(path: Path, looks: Looks) -> Looks:
    """Add planned looks to a file, and return all; of a row that is there already, the more looks count.

    Raises:
        NmtlabError: the file is damaged.
    """
    before = read_looks(path)
    whole = {**before, **{row: max(planned, before.get(row, ()), key=len) for row, planned in looks.items()}}
    lines = [(row, " ".join(map(str, planned))) for row, planned in whole.items()]
    write_text(path, pd.DataFrame(lines, columns=COLUMNS).to_csv(index=False))
    return whole
