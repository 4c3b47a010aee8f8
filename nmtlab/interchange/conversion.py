"""A run's model in the form of CTranslate2, converted once and kept with what was learnt from the run."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from nmtlab.errors import CorpusError
from nmtlab.files import remove_folder
from nmtlab.interchange.ctranslate import Precision, write_ctranslate2
from nmtlab.interchange.folding import MAX_POSITIONS, check_exportable
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.answers import can_write
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import Which
from nmtlab.systems import open_model
from nmtlab.text.corpora.lines import new_folder

FOLDER = "ctranslate2"
"""Folder of the conversions, among the notes of a run."""

_VERSION = 1
"""To be raised when the same weights become another model."""


@contextmanager
def converted(run: Run, precision: Precision, search: SearchSettings, which: Which) -> Iterator[Path]:
    """Yield the folder of a run's model for CTranslate2, in the run's direction.

    It is made by the first call, atomically, and again once the checkpoint has changed; that of the old one is then
    removed. Where nothing can be written, it is removed at the end of the block.

    Args:
        run, which: as of `systems.open_system`.
        precision: of the stored matrices.
        search: of which only the shortlist counts.

    Raises:
        NmtlabError: CTranslate2 is not installed or lacks a part of the model, or as `systems.open_system`.
    """
    kept = _kept(run, precision, search, which)
    if can_keep(run, precision, search, which):
        if not kept.is_dir():
            _keep(kept, run, precision, search, which)
        yield kept
    else:
        with TemporaryDirectory() as folder:
            _convert(Path(folder), run, precision, search, which)
            yield Path(folder)


def can_keep(run: Run, precision: Precision, search: SearchSettings, which: Which) -> bool:
    """Return whether the model is kept, or there is a place to keep it; arguments as of `converted`."""
    kept = _kept(run, precision, search, which)
    return kept.is_dir() or can_write(kept.parent)


def _kept(run: Run, precision: Precision, search: SearchSettings, which: Which) -> Path:
    """Return the folder that is kept, existing or not: its name ends in what the model depends on."""
    content = _VERSION, MAX_POSITIONS, run.checkpoints.digest_of(which)
    key = hashlib.sha256(repr(content).encode()).hexdigest()[:12]
    return run.notes.folder / FOLDER / "-".join((which, *run.direction, precision, str(search.shortlist), key))


def _keep(folder: Path, run: Run, precision: Precision, search: SearchSettings, which: Which) -> None:
    """Make a folder that is kept, and remove its predecessors."""
    try:
        with new_folder(folder) as unfinished:
            _convert(unfinished, run, precision, search, which)
    except CorpusError:
        if not folder.is_dir():  # else another process has made the same at the same time
            raise
    others = folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*")
    for old in [other for other in others if other != folder]:
        with suppress(OSError):  # another process has removed it, or it is another user's
            remove_folder(old)


def _convert(folder: Path, run: Run, precision: Precision, search: SearchSettings, which: Which) -> None:
    settings = check_exportable(run.name, run.recipe)
    system = open_model(run, search, which, MachineSettings(device="cpu"))
    write_ctranslate2(system, settings, folder, precision)
