"""Weights that a packed run has from its packed parent, each stored once.

LoRA and frozen parts leave most weights of a parent as they are. If that is packed whole, an archive in the evidence
leaves these out: they are in the archive of the parent beside it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from nmtlab.errors import RunError
from nmtlab.files import write_text
from nmtlab.reading import parsed, reading
from nmtlab.runs.archive import ENDING, read_archive
from nmtlab.runs.origin import PACKED, packed_facts
from nmtlab.runs.run import INHERITANCE
from nmtlab.runs.schemas import BestFacts, InheritanceFacts, Packed
from nmtlab.runs.tensors import checkpoint_path, load_digest, load_tensors, save_tensors

if TYPE_CHECKING:
    from torch import Tensor

_REMEDY = "get a fresh copy"
_WEIGHTS = checkpoint_path(Path(), "best").as_posix()


def leave_out_inherited(folder: Path, runs: Path) -> None:
    """Leave out the weights of a packed run that are those of its parent, if that is packed with its weights.

    Args:
        folder: of the run, which is not in an archive yet.
        runs: folder of the archives.
    """
    if not (folder / _WEIGHTS).is_file() or not (folder / INHERITANCE).is_file():
        return
    inherited = parsed((folder / INHERITANCE).read_bytes(), InheritanceFacts)
    archive = runs / f"{inherited['parent']}{ENDING}"
    if not archive.is_file() or (parent := _weights_in(archive, inherited["weights"])) is None:
        return
    tensors, facts = load_tensors(folder / _WEIGHTS, BestFacts)
    changed = {name: tensor for name, tensor in tensors.items() if not _same(tensor, parent.get(name))}
    save_tensors(folder / _WEIGHTS, changed, facts)
    packed = parsed((folder / PACKED).read_bytes(), Packed)
    write_text(folder / PACKED, json.dumps({**packed, "inherited": sorted({*tensors} - {*changed})}, indent=1) + "\n")


def with_inherited(archive: Path, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a packed run, with those of its weights that are its parent's and not among them.

    Args:
        archive: of the run; that of the parent is beside it.
        files: of the run, by relative path.

    Raises:
        RunError: the parent's archive is missing or damaged, or is not that of the training.
    """
    if not (names := packed_facts(files).get("inherited", [])):
        return {**files}
    with reading(archive, _REMEDY), _written(files[_WEIGHTS], archive) as path:
        stored, facts = load_tensors(path, BestFacts)
        if not (missing := [name for name in names if name not in stored]):
            return {**files}
        inherited = parsed(files[INHERITANCE], InheritanceFacts)
        source = archive.absolute().with_name(f"{inherited['parent']}{ENDING}")
        if not source.is_file():
            problem = f"{archive}: its parent, {source}, is missing"
            raise RunError(problem, "put it there, or have the run packed with 'nmtlab runs pack'")
        if (parent := _weights_in(source, inherited["weights"])) is None:
            raise RunError(f"{source}: not the weights that {archive.name} was trained from", _REMEDY)
        save_tensors(path, {**{name: parent[name] for name in missing}, **stored}, facts)
        return {**files, _WEIGHTS: path.read_bytes()}


def _weights_in(archive: Path, digest: str | None) -> "dict[str, Tensor] | None":
    """Return the weights in an archive; None if it has others than those of a digest."""
    files = read_archive(archive).get(archive.name.removesuffix(ENDING), {})
    if _WEIGHTS not in files:
        return None
    with _written(files[_WEIGHTS], archive) as path:
        return load_tensors(path, BestFacts)[0] if load_digest(path) == digest else None


@contextmanager
def _written(weights: bytes, archive: Path) -> Iterator[Path]:
    """Yield a temporary file with the weights of an archive."""
    with TemporaryDirectory() as temporary:
        path = Path(temporary) / "best.safetensors"
        path.write_bytes(weights)
        try:
            yield path
        except RunError as error:
            if str(path) not in error.problem:
                raise
            raise RunError(error.problem.replace(str(path), f"{archive}: weights"), _REMEDY) from error


def _same(tensor: "Tensor", parents: "Tensor | None") -> bool:
    """Return whether a weight is the parent's."""
    import torch

    return parents is not None and tensor.dtype == parents.dtype and torch.equal(tensor, parents)
