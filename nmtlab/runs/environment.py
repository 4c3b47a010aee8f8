"""The code, packages, texts and kind of machine that a run was made with; nothing that identifies its owner."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nmtlab

if TYPE_CHECKING:
    import torch

_PACKAGES = ("torch", "numpy", "sentencepiece", "sacremoses", "sacrebleu", "safetensors", "sil-thot", "sil-machine")


def environment(
    checksums: Sequence[str], device: "torch.device", processes: int = 1, overlap: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Return versions, kind of machine, checksums of the texts and state of the code.

    Args:
        checksums: of the training corpora, one or more.
        device: used for training.
        processes: number of processes that train together.
        overlap: split -> number of its pairs that also occur in the training text.
    """
    first, *further = checksums
    more = {"more_checksums": further} if further else {}
    shared = {"overlap": dict(overlap)} if overlap else {}
    return {
        "nmtlab": nmtlab.__version__,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "machine": _machine(device),
        "processes": processes,
        "corpus_checksum": first,
        **more,
        **shared,
        "code": _code(),
    }


def provenance(environment: Mapping[str, Any]) -> dict[str, str]:
    """Return `commit` of nmtlab (+: with uncommitted changes) and kind of `machine`, for a table of results.

    Args:
        environment: of a run, or of this process.
    """
    code, machine = environment.get("code", {}), environment.get("machine", {})
    return {
        "commit": str(code.get("commit", ""))[:12] + ("+" if code.get("changed") else ""),
        "machine": machine.get("gpu") or f"{machine.get('processor', '?')}, {machine.get('cores', '?')} cores",
    }


def _machine(device: "torch.device") -> dict[str, Any]:
    kind = {"system": platform.system(), "processor": processor(), "cores": os.cpu_count()}
    if device.type == "cuda":
        import torch

        kind["gpu"] = torch.cuda.get_device_name(device)
    return kind


def processor() -> str:
    """Return the name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _code() -> dict[str, Any]:
    """Return the commit of the checkout that nmtlab was imported from; empty if it was installed.

    An installed nmtlab may lie inside another project's repository, but that does not track its files.
    """
    folder = Path(nmtlab.__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(folder, "rev-parse", "HEAD")
        changed = bool(_git(folder, "status", "--porcelain", "--", "."))
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": commit, "changed": changed}


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()
