"""The command, called in this process, with a trained run in a separate workspace."""

import io
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from nmtlab.cli import main
from nmtlab.runs.run import Run


class Said(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def learned(zoo) -> Run:
    """A trained run, read-only."""
    return zoo("learned")


@pytest.fixture
def data(tmp_path, learned, tiny_corpus, tiny_recipe, monkeypatch) -> Path:
    """The data folder, with the run `whole` and the corpus `tiny`; the current folder is above it and has tiny.toml."""
    data = tmp_path / "data"
    shutil.copytree(learned.folder, data / "runs" / "whole")
    tiny_recipe.save(tmp_path / "tiny.toml")
    monkeypatch.setenv("NMTLAB_DATA", str(data))
    monkeypatch.setenv("NMTLAB_CORPORA", str(tiny_corpus.folder.parent))
    monkeypatch.chdir(tmp_path)
    return data


@pytest.fixture
def nmtlab(data, called) -> Callable[..., Said]:
    """Call the command with words, and text on standard input, in the workspace with the trained run."""
    return called


@pytest.fixture
def called(monkeypatch, capsys) -> Iterator[Callable[..., Said]]:
    """Call the command with words, and text on standard input."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def call(*words: object, stdin: str | bytes = "") -> Said:
        content = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "argv", ["nmtlab", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Said(end.value.code or 0, *capsys.readouterr())

    yield call
    for number, handler in handlers.items():
        signal.signal(number, handler)
