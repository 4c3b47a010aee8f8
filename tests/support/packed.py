"""The runs that are packed beside the code."""

from pathlib import Path

from nmtlab.runs.bundle import bundled_runs, bundles
from nmtlab.workspace import Workspace

GALLERY = Path(__file__).parents[2] / "data/gallery"


def packed_folder(name: str) -> Path:
    """Return the folder of a run of the gallery; that of a bundled run is made in the cache."""
    return _folders(bundles(GALLERY))[name]


def packed_folders() -> list[Path]:
    """Return the folders of the runs that were packed one by one, not with a table, by name."""
    folders = _folders([GALLERY / "with-weights.tar.xz", GALLERY / "without-weights.tar.xz"])
    return [folders[name] for name in sorted(folders)]


def _folders(files: list[Path]) -> dict[str, Path]:
    bundled = bundled_runs(files, Workspace(GALLERY.parent).cache)
    return bundled | {folder.name: folder for folder in GALLERY.glob("[!.]*") if folder.is_dir()}
