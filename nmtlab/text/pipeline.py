"""Everything that turns text into ids and back: tokenizers, true-casers, vocabularies, counts and masks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from nmtlab.errors import RunError
from nmtlab.files import replacing
from nmtlab.reading import read_bytes, reading
from nmtlab.recipe.migrate import SCHEMA, migrate_section
from nmtlab.recipe.text import TextSettings
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.learning import learn_tokenizers, learn_vocabularies
from nmtlab.text.tokenizers import UNKNOWN, Subwords, Tokenizer, Words
from nmtlab.text.truecase import Truecaser
from nmtlab.text.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

_MANIFEST = "pipeline.json"
_REMEDY = "restore it from a copy of the run, or train the run again"


@dataclass(frozen=True, eq=False)
class Side:
    """One language's way from text to ids and back.

    Args:
        language: its code.
        tokenizer: cuts sentences into pieces.
        vocabulary: the types of the pieces, counted in the training text.
    """

    language: str
    tokenizer: Tokenizer
    vocabulary: Vocabulary

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, EOS the last; a blank line is EOS alone."""
        return self.tokenizer.encode(lines, self.vocabulary)

    def text(self, ids: Iterable[int], replacements: Iterable[str] = ()) -> str:
        """Return `ids` as plain text, without padding and the sentence's limits.

        Args:
            ids: of this side's vocabulary.
            replacements: what is written for the first UNK, the second and so on; `<unk>` where they run out.
        """
        words = chain(replacements, repeat(UNKNOWN))
        types = self.vocabulary.types
        return self.tokenizer.join(
            [self.tokenizer.whole(next(words)) if number == UNK else types[number] for number in _inner(ids)]
        )

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the type of each of `ids`, without padding and the sentence's limits."""
        return self.vocabulary.tokens(_inner(ids))


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A recipe's way from text to ids, learned on the training text of a corpus; saved and loaded whole.

    The sides of a joint pipeline have the same types, and each its own counts.
    """

    settings: TextSettings
    source: Side
    target: Side

    @classmethod
    def learn(cls, settings: TextSettings, corpus: ParallelCorpus) -> "Pipeline":
        """Learn from the training pairs of `corpus`; the same text gives the same pipeline.

        Raises:
            CorpusError: the training text cannot be read, or none of its pairs can be used.
            RecipeError: a setting does not fit the text or the others.
        """
        tokenizers = learn_tokenizers(settings, corpus)
        vocabularies = learn_vocabularies(settings, corpus, tokenizers)
        languages = (corpus.source, corpus.target)
        return cls(settings, *map(Side, languages, tokenizers, vocabularies))

    def save(self, folder: Path) -> None:
        """Write the pipeline to `folder` as JSON, TSV and SentencePiece models, each whole or not at all."""
        files = self._files()
        for name, content in {**files, _MANIFEST: self._manifest(files)}.items():
            with replacing(folder / name) as temporary:
                temporary.write_bytes(content)

    @classmethod
    def load(cls, folder: Path) -> "Pipeline":
        """Return the pipeline saved in `folder`.

        Raises:
            RunError: a file is missing, or is not as it was saved.
        """
        with reading(folder / _MANIFEST, _REMEDY):
            manifest = _Manifest.model_validate_json(read_bytes(folder / _MANIFEST))
        source = _read_side(folder, manifest, "source")
        target = _read_side(folder, manifest, "target")
        return cls(manifest.settings, source, target)

    def checksum(self) -> str:
        """Return a SHA-256 of the settings and of all that was learned."""
        return sha256(self._manifest(self._files())).hexdigest()

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source's and the target's language."""
        return self.source.language, self.target.language

    @property
    def joint(self) -> bool:
        """Whether source and target have the same types."""
        return self.settings.joint

    @property
    def source_size(self) -> int:
        """Number of source types, the special ones included."""
        return self.source.vocabulary.size

    @property
    def target_size(self) -> int:
        """Number of target types, the special ones included."""
        return self.target.vocabulary.size

    @property
    def source_counts(self) -> np.ndarray:
        """`(source_size,)` int64: how often the source side of the training text has each type."""
        return self.source.vocabulary.counts

    @property
    def target_counts(self) -> np.ndarray:
        """`(target_size,)` int64: how often the target side of the training text has each type."""
        return self.target.vocabulary.counts

    @property
    def target_allowed(self) -> np.ndarray:
        """`(target_size,)` bool: the types that may be generated (thesis 3.3.3.1).

        EOS and UNK always, PAD and BOS never; with `target_vocabulary_mask`, of the others those that the target side
        of the training text has.
        """
        allowed = (self.target_counts > 0) | (not self.settings.target_vocabulary_mask)
        allowed[[EOS, UNK]] = True
        allowed[[PAD, BOS]] = False
        return allowed

    def source_ids(self, text: str) -> list[int]:
        """Return the ids of a source sentence, EOS the last."""
        return self.source.encode([text])[0]

    def target_ids(self, text: str) -> list[int]:
        """Return the ids of a target sentence, EOS the last."""
        return self.target.encode([text])[0]

    def encode_source(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of source sentences, EOS the last of each; a blank line is EOS alone."""
        return self.source.encode(lines)

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of target sentences, EOS the last of each; a blank line is EOS alone."""
        return self.target.encode(lines)

    def source_text(self, ids: Iterable[int]) -> str:
        """Return source ids as plain text (see `Side.text`)."""
        return self.source.text(ids)

    def target_text(self, ids: Iterable[int], replacements: Iterable[str] = ()) -> str:
        """Return target ids as plain text, the UNKs replaced in turn (see `Side.text`)."""
        return self.target.text(ids, replacements)

    def source_pieces(self, text: str) -> list[str]:
        """Return the pieces of a source sentence as they are written, one for each id but EOS."""
        return self.source.tokenizer.split(text)

    def target_pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the target type of each of `ids`, without padding and the sentence's limits."""
        return self.target.pieces(ids)

    def source_words(self, text: str) -> tuple[list[str], list[int]]:
        """Return the words of a source sentence as they are written, and for each piece the place of its word.

        Words are Moses' for word systems (before true-casing), else what stands between white space.
        """
        return self.source.tokenizer.words(text)

    def _files(self) -> dict[str, bytes]:
        files = {}
        for name, side in (("source", self.source), ("target", self.target)):
            files[f"{name}.tsv"] = side.vocabulary.to_tsv().encode()
            if kept := _tokenizer_file(self.settings, name):
                files[kept] = side.tokenizer.to_bytes()
        return files

    def _manifest(self, files: dict[str, bytes]) -> bytes:
        digests = {name: sha256(content).hexdigest() for name, content in files.items()}
        manifest = _Manifest(
            schema_=SCHEMA,
            settings=self.settings,
            source=self.source.language,
            target=self.target.language,
            files=digests,
        )
        return manifest.model_dump_json(indent=2).encode()


class _Manifest(BaseModel):
    """What `pipeline.json` says: settings and their schema, languages, and the SHA-256 of every other file."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_: int = Field(1, alias="schema", ge=1, le=SCHEMA)
    settings: TextSettings
    source: str
    target: str
    files: dict[str, str]

    @model_validator(mode="before")
    @classmethod
    def _migrate(cls, written: dict[str, Any]) -> dict[str, Any]:
        settings, schema = written.get("settings"), written.get("schema", 1)
        if not isinstance(settings, dict) or not isinstance(schema, int):
            return written  # and refused
        return {**written, "settings": migrate_section("text", settings, schema)}


def _inner(ids: Iterable[int]) -> list[int]:
    return [number for number in ids if number not in (PAD, BOS, EOS)]


def _tokenizer_file(settings: TextSettings, side: str) -> str:
    """Return the name of the file of a side's tokenizer, empty if it has learned nothing."""
    if settings.segmentation == "word":
        return f"{side}.truecase" if settings.truecase else ""
    return "joint.model" if settings.joint else f"{side}.model"


def _read_side(folder: Path, manifest: _Manifest, side: str) -> Side:
    language = getattr(manifest, side)
    name = _tokenizer_file(manifest.settings, side)
    path = folder / f"{side}.tsv"
    with reading(path, _REMEDY):
        vocabulary = Vocabulary.from_tsv(_read_checked(path, manifest).decode(), str(path))
    if not name:
        return Side(language, Words(language), vocabulary)
    with reading(folder / name, _REMEDY):
        learned = _read_checked(folder / name, manifest)
        if manifest.settings.segmentation == "word":
            return Side(language, Words(language, Truecaser(learned.decode())), vocabulary)
        subwords = Subwords(learned)
        if subwords.types != vocabulary.types:
            raise ValueError(f"not the types of {path.name}")
        return Side(language, subwords, vocabulary)


def _read_checked(path: Path, manifest: _Manifest) -> bytes:
    content = read_bytes(path)
    if sha256(content).hexdigest() != manifest.files.get(path.name):
        raise RunError(f"{path}: is not as it was saved", _REMEDY)
    return content
