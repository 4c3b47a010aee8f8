"""Named tensors in a file, whole or not at all, checked when read."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.files import replacing


def save_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write tensors and JSON facts to a safetensors file with a checksum; what was there is replaced at the end.

    Raises:
        RunError: the disk is full or cannot be written to; what was there is still there.
    """
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    written = json.dumps(facts)
    metadata = {"facts": written, "checksum": _checksum(tensors, written)}
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(save(tensors, metadata))
    except OSError as error:
        raise RunError(
            f"{path.name}: could not be written ({error.strerror})",
            "free some space and continue the training with --resume; the checkpoint before it is whole",
        ) from error


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and facts of a file written by `save_tensors`.

    Raises:
        RunError: the file is missing, truncated or damaged.
    """
    with _explaining(path):
        content = path.read_bytes()
        tensors = load(content)
        metadata = _metadata(content)
        written, checksum = metadata["facts"], metadata["checksum"]
    if checksum != _checksum(tensors, written):
        raise RunError(
            f"{_where(path)}: its content does not match its checksum", "use another checkpoint, or train again"
        )
    return tensors, json.loads(written)


def load_facts(path: Path) -> dict[str, Any]:
    """Return the facts alone, without reading or checking the tensors; the same errors as `load_tensors`."""
    with _explaining(path), safe_open(path, "pt") as file:
        return json.loads((file.metadata() or {})["facts"])


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise RunError(
            f"{_where(path)}: there is no such checkpoint", "train the run, or choose another checkpoint"
        ) from error
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise RunError(
            f"{_where(path)}: damaged or truncated ({error})", "use another checkpoint, or train again"
        ) from error


def _where(path: Path) -> str:
    return "/".join(path.parts[-3:])


def _metadata(content: bytes) -> dict[str, str]:
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size])["__metadata__"]


def _checksum(tensors: Mapping[str, Tensor], facts: str) -> str:
    digest = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
