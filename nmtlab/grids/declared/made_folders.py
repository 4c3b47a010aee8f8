"""Folders of corpora that an experiment makes once, and checks before it reuses them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.corpus_builder import REPORT
from nmtlab.workspace import Workspace


@contextmanager
def made_once(folder: Path) -> Iterator[None]:
    """Accept that a folder exists already: another process has made it in the meantime."""
    try:
        yield
    except CorpusError:
        if not folder.exists():
            raise


def folder_of(name: str, workspace: Workspace) -> Path:
    """Return the folder of a corpus that is made, whether it exists or not."""
    return workspace.data / "corpora" / name


def part_of(corpus: str, name: str, workspace: Workspace, source: str = "", target: str = "") -> ParallelCorpus:
    """Return a part that corpus `corpus` is made from; its languages are found out if they are not given.

    Raises:
        CorpusError: no folder of that name was found.
    """
    try:
        folder = workspace.corpus_folder(name)
    except CorpusError as error:
        raise CorpusError(
            f"corpus {corpus!r}: its part {name!r} was not found",
            "add the folder that contains it to NMTLAB_CORPORA, or import it under that name",
        ) from error
    return ParallelCorpus.open(folder, source, target)


def read_facts(path: Path) -> dict[str, Any]:
    """Return what a JSON file in a corpus' folder says of how it was made.

    Raises:
        CorpusError: it is missing or damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CorpusError(
            f"corpus {path.parent.name!r}: its {path.name} is missing or damaged, so its content is unknown",
            f"rename or remove {path.parent} to have it made again",
        ) from error


def check_report(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Check the report of a corpus against what is wanted of it; errors as of `check_same`."""
    made = {"skip": 0} | read_facts(folder / REPORT)
    check_same(folder, made | made.get("origin", {}) | made.get("options", {}), wanted)


def check_same(folder: Path, made: Mapping[str, Any], wanted: Mapping[str, Any], of: str = "") -> None:
    """Check how a corpus was made, `of` one of its languages, against what is wanted.

    Raises:
        CorpusError: it was made in another way.
    """
    for name, value in json.loads(json.dumps(wanted)).items():
        if made.get(name) != value:
            raise CorpusError(
                f"corpus {folder.name!r}: made with {of}{name} = {made.get(name)!r} instead of {value!r}",
                f"rename or remove {folder}, and the runs on it, to have both made again",
            )
