"""A model's folder as huggingface_hub stores it; its files may be links into the hub's cache."""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.reading import read_bytes, read_json, reading

_REMEDY = "download the whole folder again"


class ModelFolder:
    """The files of a model.

    Args:
        path: of the folder.

    Raises:
        RunError: there is no such folder, or it has no config.json.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / "config.json").is_file():
            raise RunError(f"{path}: not a model: it has no config.json", "give a folder as huggingface_hub stores it")
        self.config: dict[str, Any] = self.json("config.json")

    @property
    def name(self) -> str:
        """Name of the model, as its config gives it, else of the folder."""
        return str(self.config.get("_name_or_path") or self.path.resolve().name)

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def json(self, name: str) -> Any:
        """Return the content of a JSON file, an object."""
        return read_json(self.path / name, dict[str, Any], _REMEDY)

    def optional_json(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file, or nothing if there is no such file."""
        return self.json(name) if self.has(name) else {}

    def bytes(self, name: str) -> bytes:
        """Return the content of a file."""
        with reading(self.path / name, _REMEDY):
            return read_bytes(self.path / name)

    def weights(self) -> dict[str, Tensor]:
        """Return the named weights, mapped and not read yet.

        Raises:
            RunError: there are none, or a file is damaged or holds more than tensors.
        """
        parts = sorted(self.path.glob("model*.safetensors")) or sorted(self.path.glob("pytorch_model*.bin"))
        if not parts:
            raise RunError(f"{self.path}: no weights: neither model.safetensors nor pytorch_model.bin", _REMEDY)
        found: dict[str, Tensor] = {}
        for part in parts:
            found |= _safetensors(part) if part.suffix == ".safetensors" else _torch_file(part)
        return found


def check_memory(weights: Mapping[str, Tensor], bytes_each: int) -> None:
    """Check that a model fits into this machine's memory, before any of it is read.

    Args:
        weights: by name.
        bytes_each: of a parameter once it is imported.

    Raises:
        RunError: it does not.
    """
    needed = sum(tensor.numel() for tensor in weights.values()) * bytes_each
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > present:
        remedy = "import it with --half" if bytes_each > 2 and needed <= 2 * present else "choose a smaller model"
        sizes = (f"{size / 2**30:.1f} GiB" for size in (needed, present))
        raise RunError("the model needs {} of memory, and this machine has {}".format(*sizes), remedy)


def _safetensors(path: Path) -> dict[str, Tensor]:
    with reading(path, _REMEDY), safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)


def _torch_file(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file that torch wrote; its weights-only loader executes nothing."""
    mapped = zipfile.is_zipfile(path)  # files of torch before 1.6 are not archives and cannot be mapped
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped or None)
    except Exception as error:
        raise RunError(
            f"{path}: damaged, or more than tensors", "do not trust it; look for the model as model.safetensors"
        ) from error
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise RunError(f"{path}: no table of named tensors", _REMEDY)
    return content
