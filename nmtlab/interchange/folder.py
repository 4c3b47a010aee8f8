"""A model's folder as huggingface_hub stores it; its files may be links into the hub's cache."""

import os
import warnings
import zipfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from nmtlab.errors import RunError, printable
from nmtlab.interchange.schemas import BpeTokenizer, Config, Ids, Kind, Tokenizer
from nmtlab.reading import read_bytes, read_json, reading

_REMEDY, _OTHER = "download the whole folder again", "choose another model"

_MAX_BYTES = 1 << 20
"""Largest JSON file that is read, header of tensors, or pickle of their names and shapes."""

_MAX_TABLE = 48 << 20
"""The same for a table of types."""

_MAX_PARTS = 100
"""Most files that weights are read from."""

_LONGEST_NAME = 200

_CACHED, _SNAPSHOTS = "models--", "snapshots"
"""How the hub's cache names a repository, `models--OWNER--NAME`, and its folder of commits."""

_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


class ModelFolder:
    """The files of a model, or of a repository in the hub's cache: those of its main branch, or its only snapshot.

    Raises:
        RunError: there is no such folder, or it has no config.json.
    """

    def __init__(self, path: Path) -> None:
        self.path = path = _snapshot(path)
        if not (path / "config.json").is_file():
            one_of = f"give one of the folders in {path / _SNAPSHOTS}"
            remedy = one_of if (path / _SNAPSHOTS).is_dir() else "give a folder as huggingface_hub stores it"
            raise RunError(f"{path}: not a model: it has no config.json", remedy)
        self.kind: dict[str, Any] = self.json("config.json", Kind)

    @cached_property
    def config(self) -> dict[str, Any]:
        """Content of config.json, with all fields that a model of ours needs."""
        return self.json("config.json", Config)

    @property
    def name(self) -> str:
        """Name of its repository in the hub's cache, else of the model by its config, else of the folder; printable."""
        folder = self.path.resolve()
        cached = folder.parents[1].name if folder.parent.name == _SNAPSHOTS else ""
        repository = cached.removeprefix(_CACHED).replace("--", "/") if cached.startswith(_CACHED) else ""
        return printable(str(repository or self.kind.get("_name_or_path") or folder.name))[:_LONGEST_NAME]

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def json(self, name: str, kind: Any) -> Any:
        """Return the content of a JSON file, an object of one of the kinds in `schemas`."""
        limit = _MAX_TABLE if kind in (Ids, Tokenizer, BpeTokenizer) else _MAX_BYTES
        return read_json(self.path / name, kind, _REMEDY, limit)

    def optional_json(self, name: str, kind: Any) -> dict[str, Any]:
        """Return the content of a JSON file, or nothing if there is no such file."""
        return self.json(name, kind) if self.has(name) else {}

    def bytes(self, name: str) -> bytes:
        """Return the content of a file."""
        with reading(self.path / name, _REMEDY):
            return read_bytes(self.path / name)

    def weights(self) -> dict[str, Tensor]:
        """Return the named weights, mapped and not read yet.

        Raises:
            RunError: there are none, two files have the same ones, or a file is damaged or holds more than tensors.
        """
        parts = self._files("model*.safetensors") or self._files("pytorch_model*.bin")
        if not parts:
            raise RunError(f"{self.path}: no weights: neither model.safetensors nor pytorch_model.bin", _REMEDY)
        found: dict[str, Tensor] = {}
        for part in parts:
            more = _safetensors(part) if part.suffix == ".safetensors" else _torch_file(part)
            for name in sorted(found.keys() & more.keys()):
                raise RunError(f"{part}: weight {name!r} is in another file too", "leave the files of one model there")
            found |= more
        for name, tensor in found.items():
            if tensor.dtype not in _DTYPES or not _is_plain(tensor):
                form = str(tensor.dtype if _is_plain(tensor) else tensor.layout).removeprefix("torch.")
                raise RunError(f"weight {name!r}: {form}, not a plain table of floating-point numbers", _OTHER)
        return found

    def _files(self, pattern: str) -> list[Path]:
        found = sorted(path for path in self.path.glob(pattern) if path.is_file())
        if len(found) > _MAX_PARTS:
            raise RunError(f"{self.path}: {len(found):,} files of weights, more than {_MAX_PARTS}", _OTHER)
        return found


def _snapshot(path: Path) -> Path:
    """Return the folder of files if a path is that of a repository in the hub's cache, else the path."""
    if (path / "config.json").is_file():
        return path
    main, folders = path / "refs" / "main", [one for one in (path / _SNAPSHOTS).glob("*") if one.is_dir()]
    if main.is_file():
        with reading(main, _REMEDY):
            commit = read_bytes(main).decode().strip()
        folders = [one for one in folders if one.name == commit]
    return folders[0] if len(folders) == 1 else path


def check_memory(weights: Mapping[str, Tensor], bytes_each: int) -> None:
    """Check that so many bytes for each parameter fit into this machine's memory, before any of it is read.

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
    with reading(path, _REMEDY):
        _check_header(path)
    with reading(path, _REMEDY), safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)


def _torch_file(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file that torch wrote; its weights-only loader executes nothing."""
    mapped = zipfile.is_zipfile(path)  # files of torch before 1.6 are not archives and cannot be mapped
    if mapped:
        with reading(path, _REMEDY):
            _check_archive(path)
    try:
        with warnings.catch_warnings(action="ignore"):  # what torch says of a pickle is in the error
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped or None)
    except Exception as error:
        raise RunError(
            f"{path}: damaged, or more than tensors", "do not trust it; look for the model as model.safetensors"
        ) from error
    named = isinstance(content, dict) and all(isinstance(name, str) for name in content)
    if not named or not all(isinstance(value, Tensor) for value in content.values()):
        raise RunError(f"{path}: no table of named tensors", _REMEDY)
    return content


def _check_header(path: Path) -> None:
    """Check that the names and shapes before the tensors take little space; nothing else limits their number."""
    with path.open("rb") as file:
        if int.from_bytes(file.read(8), "little") > _MAX_BYTES:
            raise ValueError(f"header larger than {_MAX_BYTES >> 20} MiB")


def _check_archive(path: Path) -> None:
    """Check that a file of torch is uncompressed, as torch writes it, so that nothing in it is larger than the file."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.compress_type != zipfile.ZIP_STORED:
                raise ValueError("compressed, which torch does not do")
            if entry.filename.endswith(".pkl") and entry.file_size > _MAX_BYTES:
                raise ValueError(f"{_MAX_BYTES >> 20} MiB or more of names")


def _is_plain(tensor: Tensor) -> bool:
    return (
        tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and not tensor.is_quantized
        and not tensor.is_nested
        and tensor.nbytes <= tensor.untyped_storage().nbytes()
    )
