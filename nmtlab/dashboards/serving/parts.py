"""The parts of Voila's script and of its extensions, as one file."""

import re
from collections.abc import Iterable
from pathlib import Path

from voila.paths import collect_static_paths
from voila.utils import get_voila_labextensions_path

_PART = re.compile(r"\.e\((\d+)\)")
_MATHJAX = re.compile(r"provides:\w+\.ILatexTypesetter,")


def parts(extensions: Iterable[str]) -> str:
    """Return as one script what a browser would otherwise fetch in a hundred, one after the other.

    Each part registers itself; Voila fetches those that are missing. Without a provider, it does not load MathJax,
    which no page needs.

    Args:
        extensions: names of the extensions that the pages use.
    """
    texts = (file.read_text(encoding="utf-8") for file in [*_of_voila(), *_of(extensions)])
    return "\n".join(f"(() => {{\n{_MATHJAX.sub('', text)}\n}})();" for text in texts)


def _of_voila() -> list[Path]:
    """Return the files that Voila's script names."""
    script = _first(collect_static_paths(["voila"], "lab"), "voila.js")
    named = sorted({*_PART.findall(script.read_text(encoding="utf-8"))})
    return [file for name in named if (file := script.with_name(f"{name}.voila.js")).exists()]


def _of(extensions: Iterable[str]) -> list[Path]:
    folders = [_first(get_voila_labextensions_path(), f"{name}/static") for name in extensions]
    return [file for folder in folders for file in sorted(folder.glob("[0-9]*.js"))]


def _first(folders: Iterable[str], name: str) -> Path:
    """Return the path of a name in the first of some folders that has it."""
    return next(path for folder in folders if (path := Path(folder, name)).exists())
