"""The runs that are packed beside the code."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from nmtlab.reading import parsed
from nmtlab.runs.archive import ENDING, archives, read_first, write_archive
from nmtlab.runs.origin import PACKED
from nmtlab.runs.pack import FIRST
from nmtlab.runs.packed import opened
from nmtlab.runs.schemas import Packed
from nmtlab.workspace import Workspace

DATA = Path(__file__).parents[2] / "data"
RUNS = DATA / "evidence/runs"
NO_WORKSPACE = Workspace(Path("nowhere"))


def packed_folder(name: str) -> Path:
    """Return the folder of a run of the evidence, made in the cache."""
    return opened(RUNS / f"{name}{ENDING}", Workspace(DATA).cache)


@cache
def packed_folders() -> list[Path]:
    """Return the folders of the runs that were packed one by one, with probes, not with a table, by name."""
    whole = [
        name for name, path in archives(RUNS).items() if not parsed(read_first(path, PACKED), Packed).get("bundled")
    ]
    return [packed_folder(name) for name in sorted(whole)]


def link_packed(name: str, workspace: Workspace) -> None:
    """Let a workspace show a run of the evidence, with a link to its archive and one to its vocabulary."""
    vocabulary = parsed(read_first(RUNS / f"{name}{ENDING}", PACKED), Packed)["vocabulary"]
    for kind, one in (("runs", name), ("vocabularies", vocabulary)):
        link = workspace.data / "evidence" / kind / f"{one}{ENDING}"
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            link.symlink_to(DATA / "evidence" / kind / link.name)


def copy_packed(name: str, workspace: Workspace, new_name: str = "", leave_out: str = "") -> None:
    """Put a copy of a run of the evidence, perhaps without some of its files, into the evidence of a workspace."""
    new_name = new_name or name
    with TemporaryDirectory() as folder:
        copy = shutil.copytree(packed_folder(name), Path(folder) / new_name, ignore=shutil.ignore_patterns(leave_out))
        write_archive(copy, workspace.evidence / f"runs/{new_name}{ENDING}", FIRST)
