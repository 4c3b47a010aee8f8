"""Named tensors in a file, written atomically and verified when read."""

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from safetensors import SafetensorError, safe_open

from nmtlab.errors import RunError
from nmtlab.files import replacing, temporary_folder
from nmtlab.reading import parsed, reading

if TYPE_CHECKING:
    from torch import Tensor

Which = Literal["best", "last"]

_REMEDY = "use another checkpoint, or train again"


def checkpoint_path(run: Path, which: Which) -> Path:
    """Return the path of a checkpoint in a run's folder, existing or not."""
    return run / "checkpoints" / f"{which}.safetensors"


def save_tensors(path: Path, tensors: "Mapping[str, Tensor]", facts: Mapping[str, Any]) -> None:
    """Write tensors and JSON facts to a safetensors file with a checksum, atomically replacing an existing file.

    Raises:
        OSError: the disk is full or not writable; an existing file is unchanged.
    """
    from safetensors.torch import save_file

    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(facts)
    # One entry: safetensors writes several in an order that varies from call to call.
    metadata = {"nmtlab": json.dumps({"facts": text, "checksum": _checksum(tensors, text)})}
    try:
        # safetensors writes a file of its own, for its owner alone, and leaves it behind if it is killed.
        with replacing(path) as temporary, temporary_folder(path) as folder:
            written = folder / path.name
            save_file(tensors, written, metadata)
            written.chmod(temporary.stat().st_mode)
            os.replace(written, temporary)
    except SafetensorError as error:
        raise _error_of_the_system(error, path) from error


def load_tensors(path: Path, kind: type = dict[str, Any]) -> "tuple[dict[str, Tensor], dict[str, Any]]":
    """Return the tensors and facts of a file written by `save_tensors`.

    The tensors are mapped: processes that open the same file share its pages, and what is written to a tensor is
    private.

    Args:
        path: of the file.
        kind: type of the facts, which pydantic checks.

    Raises:
        RunError: the file is missing, truncated or damaged.
    """
    with _explaining(path), safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
        written, checksum = _facts(file.metadata())
        if checksum != _checksum(tensors, written):
            raise RunError(f"{path}: checksum mismatch: the file has changed since it was saved", _REMEDY)
        return tensors, parsed(written, kind)


def load_facts(path: Path, kind: type = dict[str, Any]) -> dict[str, Any]:
    """Return only the facts, without reading or verifying the tensors; arguments and errors as of `load_tensors`."""
    with _explaining(path), safe_open(path, "np") as file:
        return parsed(_facts(file.metadata())[0], kind)


def load_digest(path: Path) -> str:
    """Return the stored digest of a checkpoint's tensors and facts; errors as of `load_tensors`."""
    with _explaining(path), safe_open(path, "np") as file:
        return str(_facts(file.metadata())[1])


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    if not path.exists():
        raise RunError(f"{path}: no such checkpoint", "train it until an evaluation, or choose another checkpoint")
    with reading(path, _REMEDY):
        yield


def _error_of_the_system(error: SafetensorError, path: Path) -> OSError:
    """Return why a file could not be written; safetensors gives the number of the system's error in its text."""
    found = re.search(r"os error (\d+)", str(error))
    number = int(found[1]) if found else errno.EIO
    return OSError(number, os.strerror(number) if found else str(error), str(path))


def _facts(metadata: Mapping[str, str]) -> tuple[str, str]:
    """Return facts and checksum as stored; version 0.1 had one metadata entry for each."""
    stored = json.loads(metadata["nmtlab"]) if "nmtlab" in metadata else metadata
    return stored["facts"], stored["checksum"]


def _checksum(tensors: "Mapping[str, Tensor]", facts: str) -> str:
    import torch

    digest = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
