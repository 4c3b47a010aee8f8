"""The files of a saved text pipeline: vocabularies, counts, tokenizers, and a manifest with their checksums."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from nmtlab.errors import RunError
from nmtlab.reading import read_bytes, reading
from nmtlab.recipe.migrate import TEXT_SCHEMA, migrate_section
from nmtlab.recipe.text import TextSettings
from nmtlab.text.segmentation.annotation import Notes, suggestions_of
from nmtlab.text.segmentation.byte_pieces import Bytes
from nmtlab.text.segmentation.learning import source_tokenizer
from nmtlab.text.segmentation.side import LanguageCounts, Side
from nmtlab.text.segmentation.tokenizers import ImportedSubwords, Subwords, Words
from nmtlab.text.segmentation.truecase import Truecaser
from nmtlab.text.segmentation.vocabulary import Vocabulary

MANIFEST = "pipeline.json"

_INHERITED, _ADDED_TAGS, _EDGES = "inherited_targets", "added_tags", "length_edges"
_ADDED = (
    "target_tag", "tag_form", "max_target_tokens", "word_rules", "reversed_target", "length_bins", "annotate",
    "annotate_from", "context",
)  # fmt: skip
"""Text settings that were added since version 2."""
_NOTES = "notes.tsv"
"""What is suggested beside rare source words."""

_REMEDY = "restore it from a copy of the run, or train the run again"


Saved = tuple[TextSettings, Side, Side, tuple[int, ...], tuple[float, ...]]
"""What is saved of a pipeline: settings, source, target, inherited targets, and edges of the bins of length."""


def files_of(
    settings: TextSettings, source: Side, target: Side, inherited: tuple[int, ...], edges: tuple[float, ...] = ()
) -> dict[str, bytes]:
    """Return the files of a pipeline, name -> content; the manifest, with the checksums of the others, is the last."""
    files = {}
    for name, side in (("source", source), ("target", target)):
        files[f"{name}.tsv"] = side.vocabulary.to_tsv().encode()
        if file := _tokenizer_file(settings, name):
            files[file] = side.tokenizer.to_bytes()
        if side.language_counts:
            files[_counts_file(name)] = _counts_tsv(side.language_counts).encode()
    if source.notes:
        files[_NOTES] = source.notes.to_tsv().encode()
    return {**files, MANIFEST: _manifest(settings, source, target, inherited, edges, files)}


def read_files(folder: Path) -> Saved:
    """Return what is saved of a pipeline in a folder.

    Raises:
        RunError: a file is missing, or has changed since it was saved.
    """
    with reading(folder / MANIFEST, _REMEDY):
        manifest = _Manifest.model_validate_json(read_bytes(folder / MANIFEST))
    source, target = _read_side(folder, manifest, "source"), _read_side(folder, manifest, "target")
    target = replace(target, reversed=manifest.settings.reversed_target)
    if manifest.settings.annotate:
        with reading(folder / _NOTES, _REMEDY):
            suggestions = suggestions_of(_read_checked(folder / _NOTES, manifest).decode())
        source = replace(source, notes=Notes.within(manifest.settings, suggestions, target.tokenizer))
    return manifest.settings, source, target, manifest.inherited_targets, manifest.length_edges


def counted_files(*sides: Side) -> dict[str, bytes]:
    """Return the files of the sides' counts in a text that they were not learned on, name -> content."""
    named = zip(("source", "target"), sides, strict=True)
    return {_counted_file(name): _counts_tsv(side.language_counts).encode() for name, side in named}


def read_counted(folder: Path, *sides: Side) -> tuple[LanguageCounts, LanguageCounts] | None:
    """Return what `counted_files` has of the sides of a pipeline; None if it has only the counts of its text.

    Raises:
        RunError: a file is missing or of another pipeline.
    """
    paths = [folder / _counted_file(name) for name in ("source", "target")]
    if not any(path.exists() for path in paths):
        return None
    found = []
    for path, side in zip(paths, sides, strict=True):
        with reading(path, _REMEDY):
            found.append(_counts_of(read_bytes(path).decode(), side.languages, side.size))
    return found[0], found[1]


class _Manifest(BaseModel):
    """The content of `pipeline.json`: settings and schema, languages, tags, and the SHA-256 of every other file."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_: int = Field(1, alias="schema", ge=1, le=TEXT_SCHEMA)
    settings: TextSettings
    source: str
    target: str
    more_sources: tuple[str, ...] = ()
    more_targets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    added_tags: dict[str, int] = {}
    inherited_targets: tuple[int, ...] = ()
    length_edges: tuple[float, ...] = ()
    files: dict[str, str]

    @model_validator(mode="before")
    @classmethod
    def _migrate(cls, written: dict[str, Any]) -> dict[str, Any]:
        settings, schema = written.get("settings"), written.get("schema", 1)
        if not isinstance(settings, dict) or not isinstance(schema, int):
            return written  # fails validation
        return {**written, "settings": migrate_section("text", settings, schema)}


def _manifest(
    settings: TextSettings,
    source: Side,
    target: Side,
    inherited: tuple[int, ...],
    edges: tuple[float, ...],
    files: dict[str, bytes],
) -> bytes:
    digests = {name: sha256(content).hexdigest() for name, content in files.items()}
    added = dict(source.vocabulary.added_tags)
    manifest = _Manifest(
        schema_=TEXT_SCHEMA,
        settings=settings,
        source=source.languages[0],
        target=target.languages[0],
        more_sources=source.languages[1:],
        more_targets=target.languages[1:],
        tags=source.vocabulary.tags[: len(source.vocabulary.tags) - len(added)],
        added_tags=added,
        inherited_targets=inherited,
        length_edges=edges,
        files=digests,
    )
    # What has its default is left out, so that file and checksum are as they were before there was such a field.
    fields = TextSettings.model_fields
    left_out: dict[str, Any] = {name: True for name in (_INHERITED, _ADDED_TAGS, _EDGES) if not getattr(manifest, name)}
    left_out["settings"] = {name for name in _ADDED if getattr(settings, name) == fields[name].default}
    return manifest.model_dump_json(indent=2, exclude=left_out).encode()


def _tokenizer_file(settings: TextSettings, side: str) -> str:
    """Return the name of a side's tokenizer file, empty if nothing was learned."""
    if settings.segmentation == "word":
        return f"{side}.truecase" if settings.truecase else ""
    if settings.segmentation == "byte":
        return ""
    if settings.segmentation == "imported":
        return f"{side}.model"
    return "joint.model" if settings.joint else f"{side}.model"


def _counts_file(side: str) -> str:
    """Return the name of the file of a side's counts by language."""
    return f"{side}.languages.tsv"


def _counted_file(side: str) -> str:
    """Return the name of the file of a side's counts in a text that it was not learned on."""
    return f"{side}.counted.tsv"


def _read_side(folder: Path, manifest: _Manifest, side: str) -> Side:
    language = getattr(manifest, side)
    languages = (language, *getattr(manifest, f"more_{side}s"))
    tagged = side == "source" or manifest.settings.joint
    tags, added = (manifest.tags, manifest.added_tags) if tagged else ((), {})
    name = _tokenizer_file(manifest.settings, side)
    path = folder / f"{side}.tsv"
    with reading(path, _REMEDY):
        vocabulary = Vocabulary.from_tsv(_read_checked(path, manifest).decode(), str(path), tags, added)
    counts = _read_counts(folder / _counts_file(side), manifest, languages, vocabulary.size)
    rules = manifest.settings.word_rules
    if manifest.settings.segmentation == "byte":
        return Side(language, _bytes(tags, vocabulary, path), vocabulary, languages, counts)
    if not name:
        return Side(language, Words(language, rules=rules), vocabulary, languages)
    with reading(folder / name, _REMEDY):
        learned = _read_checked(folder / name, manifest)
        if manifest.settings.segmentation == "word":
            return Side(language, Words(language, Truecaser(learned.decode()), rules), vocabulary, languages)
        if manifest.settings.segmentation == "imported":
            return Side(language, ImportedSubwords(learned), vocabulary, languages, counts)
        subwords = Subwords(learned)
        if subwords.types != vocabulary.types:
            raise ValueError(f"types differ from {path.name}")
        tokenizer = source_tokenizer(manifest.settings, subwords) if side == "source" else subwords
        return Side(language, tokenizer, vocabulary, languages, counts)


def _bytes(tags: Sequence[str], vocabulary: Vocabulary, path: Path) -> Bytes:
    """Return the tokenizer of a side of bytes, having checked that these are its types."""
    tokenizer = Bytes(tags)
    if vocabulary.types[: len(tokenizer.types)] != tokenizer.types:
        raise RunError(f"{path}: its types are not the bytes", _REMEDY)
    return tokenizer


def _read_counts(path: Path, manifest: _Manifest, languages: Sequence[str], size: int) -> LanguageCounts:
    """Return a side's counts by language; empty if none were saved."""
    if path.name not in manifest.files:
        return {}
    with reading(path, _REMEDY):
        return _counts_of(_read_checked(path, manifest).decode(), languages, size)


def _counts_tsv(counts: Mapping[str, np.ndarray]) -> str:
    """Return a column for each language: its code, and the count of each type in order of ids."""
    rows = zip(*(column.tolist() for column in counts.values()), strict=True)
    return "".join("\t".join(map(str, row)) + "\n" for row in (tuple(counts), *rows))


def _counts_of(text: str, languages: Sequence[str], size: int) -> LanguageCounts:
    """Return what `_counts_tsv` wrote.

    Raises:
        ValueError: it is no such table, or of other languages or another number of types.
    """
    header, *rows = (line.split("\t") for line in text.splitlines())
    counts = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
    if header != list(languages) or counts.shape != (size, len(languages)):
        raise ValueError("counts of other languages or types")
    return dict(zip(languages, np.ascontiguousarray(counts.T), strict=True))


def _read_checked(path: Path, manifest: _Manifest) -> bytes:
    content = read_bytes(path)
    if sha256(content).hexdigest() != manifest.files.get(path.name):
        raise RunError(f"{path}: checksum mismatch: the file has changed since it was saved", _REMEDY)
    return content
