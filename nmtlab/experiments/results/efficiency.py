"""Measurements of speed and quality, as written by `nmtlab efficiency`, and those of the task that it repeats."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from nmtlab.analysis.search.efficiency import COLUMNS, MEASURED
from nmtlab.workspace import PUBLISHED, RESULTS, Workspace

FOLDER = "efficiency"
"""Folder of the files, in a folder of results."""

_TEST, _SENTENCES = "newstest2015", 2169  # the number is that of Khayrallah et al. (2018, Table 3), of the same volume


def new_file(workspace: Workspace, corpus: str, split: str) -> Path:
    """Return the file of a new measurement on a text, named by the time in UTC."""
    when = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return workspace.data / "results" / FOLDER / f"{corpus}.{split}.{when}.csv"


def stored_efficiency(workspace: Workspace) -> tuple[pd.DataFrame, list[Path]]:
    """Return all rows that were measured in a workspace or come with nmtlab, and the files that are damaged.

    Args:
        workspace: where to look.

    Returns:
        Rows as of `nmtlab.analysis.search.efficiency.efficiency`; none if nothing was measured.
    """
    folders = {(folder / FOLDER).resolve() for folder in (workspace.data / "results", RESULTS)}
    found, damaged = [pd.DataFrame(columns=COLUMNS)], []
    for path in sorted(path for folder in folders for path in folder.glob("*.csv")):
        try:
            found.append(pd.read_csv(path)[COLUMNS].astype(dict.fromkeys(MEASURED, float)))
        except (ValueError, KeyError, OSError):
            damaged.append(path)
    return pd.concat(found[1:] or found, ignore_index=True), damaged


def published_efficiency() -> pd.DataFrame:
    """Return the systems of the efficiency task of WNMT 2018 (Birch et al. 2018, Tables 1 to 5) on newstest2015.

    Returns:
        A row for each system and kind of `processor`, with `milliseconds` (per sentence), `processor_milliseconds` (the
        same for those on a CPU, of which one core was used: as printed, the two differ by less than 1 %; missing for
        those on a GPU), `memory_mib` (of the host), `size_mib` (of the image of its container) and `bleu`; without the
        one that copies its input.
    """
    printed = pd.read_csv(PUBLISHED / "wnmt-2018-efficiency.csv")
    systems = printed[(printed["test"] == _TEST) & (printed["system"] != "echo")]
    milliseconds, on_cpu = 1000 * systems["seconds"] / _SENTENCES, systems["processor"] == "cpu"
    times = {"milliseconds": milliseconds, "processor_milliseconds": milliseconds.where(on_cpu)}
    columns = ["processor", "system", *times, "memory_mib", "size_mib", "bleu"]
    return systems.assign(size_mib=systems["image_mib"], **times)[columns].reset_index(drop=True)
