"""Vocabularies of packed runs, each stored once.

An archive in the evidence leaves out its vocabulary, which many runs share, and names its digest: the vocabulary is an
archive in the folder `vocabularies` beside that of the runs.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from nmtlab.errors import RunError
from nmtlab.files import remove_folder, write_text
from nmtlab.reading import parsed
from nmtlab.runs.archive import ENDING, read_archive, write_archive
from nmtlab.runs.origin import PACKED, packed_facts
from nmtlab.runs.schemas import Packed

VOCABULARY = "vocabulary"


def store_apart(folder: Path, vocabularies: Path) -> None:
    """Move the vocabulary of a packed run from its folder to an archive that is named by its content.

    Args:
        folder: of the run, which is not in an archive yet.
        vocabularies: folder of the archives; one that is there is not written again.
    """
    ours = folder / VOCABULARY
    digest = _digest({path.name: path.read_bytes() for path in ours.iterdir()})
    if not (archive := vocabularies / f"{digest}{ENDING}").exists():
        write_archive(ours, archive)
    remove_folder(ours)
    facts = parsed((folder / PACKED).read_bytes(), Packed)
    write_text(folder / PACKED, json.dumps({**facts, "vocabulary": digest}, indent=1) + "\n")


def complete(archive: Path, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a packed run, with its vocabulary if that is not among them.

    Args:
        archive: of the run; the vocabularies are beside its folder.
        files: of the run, by relative path.

    Raises:
        RunError: the vocabulary is missing or damaged.
    """
    digest = packed_facts(files).get("vocabulary", "")
    if not digest or any(name.startswith(f"{VOCABULARY}/") for name in files):
        return {**files}
    stored = archive.absolute().parents[1] / "vocabularies" / f"{digest}{ENDING}"
    if not stored.is_file():
        raise RunError(f"{archive}: its vocabulary {stored} is missing", "have it packed with 'nmtlab runs pack'")
    return {**files, **_files(stored, stored.stat().st_mtime_ns)}


@lru_cache(maxsize=16)
def _files(archive: Path, changed: int) -> dict[str, bytes]:
    """Return the files of a vocabulary, by path relative to a run's folder, until its archive changes."""
    files = read_archive(archive).get(VOCABULARY, {})
    if _digest(files) != archive.name.removesuffix(ENDING):
        raise RunError(f"{archive}: its content is not what its name promises", "get a fresh copy")
    return {f"{VOCABULARY}/{name}": content for name, content in files.items()}


def _digest(files: Mapping[str, bytes]) -> str:
    content = {name: sha256(one).hexdigest() for name, one in files.items()}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
