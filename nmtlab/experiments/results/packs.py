"""The runs behind a table, packed into one file of the gallery."""

from pathlib import Path
from typing import NamedTuple

from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.running.cells import ENDED
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.runs.archive import ENDING
from nmtlab.runs.bundle import bundle, bundled_runs, bundles, opened_bundle
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class PackedTable(NamedTuple):
    """What was packed.

    Args:
        target: the file; not written if there is nothing to pack.
        packed: names of the runs in it.
        elsewhere: runs of the table that the gallery has outside it, and whether it is the same training.
    """

    target: Path
    packed: list[str]
    elsewhere: dict[str, bool]


def pack_table(table: Table, scale: Scale, workspace: Workspace) -> PackedTable:
    """Pack the runs of a table that have ended, with those in its file that are not here now.

    Runs that are in the gallery anyway, as folders or in the file of another table, are left out.

    Raises:
        RunError: a run or a file of the gallery is damaged, or a run with a cell's name is a different training.
    """
    target = workspace.gallery / f"{table.name}.{scale}{ENDING}"
    before = opened_bundle(target, workspace.cache) if target.exists() else {}
    gallery = {folder.name: folder for folder in workspace.gallery.glob("[!.]*") if folder.is_dir()}
    others = [file for file in bundles(workspace.gallery) if file != target]
    gallery = {**bundled_runs(others, workspace.cache), **gallery}
    made = {name: run for _, _, runs in made_rows(table, scale, workspace) for name, run in runs.items()}
    ended = {name: run for name, run in made.items() if run.status in ENDED}
    elsewhere = {
        name: Run(gallery[name]).original_digest == run.original_digest
        for name, run in ended.items()
        if name in gallery
    }
    runs = {name: Run(folder) for name, folder in before.items()} | ended
    runs = {name: run for name, run in runs.items() if name not in elsewhere}
    if runs:
        bundle(runs.values(), target)
    return PackedTable(target, sorted(runs), elsewhere)
