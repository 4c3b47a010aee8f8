"""The text pipeline, from text to ids and back: tokenizers, truecasers, vocabularies, counts and masks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np

from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.files import replacing
from nmtlab.recipe.text import TextSettings
from nmtlab.text.corpora.context import SEPARATOR, apart
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.inheriting import check_reused, inherited_targets
from nmtlab.text.segmentation.learning import learn_sides
from nmtlab.text.segmentation.length_bins import bin_of, length_tags, usual_bin
from nmtlab.text.segmentation.pipeline_files import MANIFEST, counted_files, files_of, read_counted, read_files
from nmtlab.text.segmentation.side import LanguageCounts, Side
from nmtlab.text.segmentation.tags import (
    M2M_FORM,
    NULL,
    language_tag,
    leading_tag,
    tagged_language,
    tags_before,
)
from nmtlab.text.segmentation.tokenizers import MAX_TOKENS
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK

T = TypeVar("T", bound=int | str)


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A recipe's path from text to ids, learned on the training text of one or more corpora.

    The sides of a joint pipeline share their types but have separate counts. With several corpora, source sentences may
    begin with tags: the target language, if there are several, and the origin of the text. A pipeline of several
    languages is in use for one direction at a time, that of the first corpus unless it is `directed`.

    Args:
        settings: the recipe's text section.
        source, target: the sides.
        inherited_targets: ids of the types that may be generated, though the target side of the training text lacks
            them: a parent can generate them, or they were added to it.
        shortlist: number of most frequent target types that may be generated; 0 for all. It is not saved.
        length_edges: ratios of target to source length between the bins of the length tokens; empty without these.
        length_bin: the bin that a source asks for if its target is not given; None for that of the median training
            pair. It is not saved.
        learned: the pipeline as it was learned, if the counts are those of another text; checksum, and the types that
            may be generated, are still its.
    """

    settings: TextSettings
    source: Side
    target: Side
    inherited_targets: tuple[int, ...] = ()
    shortlist: int = 0
    learned: "Pipeline | None" = None
    length_edges: tuple[float, ...] = ()
    length_bin: int | None = None

    @classmethod
    def learn(
        cls,
        settings: TextSettings,
        *corpora: ParallelCorpus,
        also: Sequence[ParallelCorpus] = (),
        parent: "Pipeline | None" = None,
        suggestions: Mapping[str, str] | None = None,
    ) -> "Pipeline":
        """Learn from the training pairs of all corpora; the same text gives the same pipeline.

        Sentences are learned and counted alone, whether or not they are read in context.

        Args:
            also: further corpora from which subwords are learned; their types are not counted.
            parent: pipeline whose subwords are reused, extended by a type for each letter that they lack; words are not
                reused.
            suggestions: source word -> translation, which `text.annotate` writes beside rare words.

        Raises:
            CorpusError: the training text cannot be read, or has no usable pair.
            RecipeError: a setting does not fit the text or other settings.
        """
        _check_learned(settings, parent, suggestions is not None)
        reused = parent if settings.segmentation != "word" else None
        source, target, edges = learn_sides(
            settings,
            [corpus.alone for corpus in corpora],
            also,
            (reused.source, reused.target) if reused else None,
            reused.length_edges if reused else (),
            suggestions or {},
        )
        inherited = inherited_targets(target, reused.target.vocabulary, reused.allowed_by_language) if reused else ()
        return cls(settings, source, target, inherited, length_edges=edges)

    def directed(self, source: str, target: str) -> "Pipeline":
        """Return the pipeline in use for another direction, trained or not; checksum and files remain the same.

        Args:
            source, target: codes of two of its languages.

        Raises:
            RunError: it does not know one of them.
        """
        for code, known in ((source, self.source.languages), (target, self.target.languages)):
            if code not in known:
                raise RunError(
                    f"language {code!r}: the run translates {', '.join(self.source.languages)} to "
                    f"{', '.join(self.target.languages)}",
                    f"choose from {', '.join(known)}",
                )
        sides = replace(self.source, language=source), replace(self.target, language=target)
        return replace(self, source=sides[0], target=sides[1])

    def save(self, folder: Path | str) -> None:
        """Write the pipeline to `folder` as JSON, TSV and SentencePiece models, each file atomically."""
        counted = counted_files(self.source, self.target) if self.learned else {}
        for name, content in (counted | self._files()).items():
            with replacing(Path(folder) / name) as temporary:
                temporary.write_bytes(content)

    @classmethod
    def load(cls, folder: Path | str) -> "Pipeline":
        """Return the pipeline saved in `folder`.

        Raises:
            RunError: a file is missing, or has changed since it was saved.
        """
        settings, source, target, inherited, edges = read_files(Path(folder))
        learned = cls(settings, source, target, inherited, length_edges=edges)
        counts = read_counted(Path(folder), learned.source, learned.target)
        return learned.recounted(*counts) if counts else learned

    def recounted(self, source: LanguageCounts, target: LanguageCounts) -> "Pipeline":
        """Return the pipeline with the counts of its types in another text, by language."""
        learned = self.learned or self
        sides = learned.source.recounted(source), learned.target.recounted(target)
        return replace(learned, source=sides[0], target=sides[1], learned=learned)

    def drawn(self, number: int, alpha: float) -> "Pipeline":
        """Return the pipeline with subwords that are drawn at random; arguments as of `Subwords.drawn`."""
        return replace(self, source=self.source.drawn(number, alpha), target=self.target.drawn(number, alpha))

    def checksum(self) -> str:
        """Return the SHA-256 of the settings and everything learned."""
        return sha256(self._files()[MANIFEST]).hexdigest()

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and target language in use."""
        return self.source.language, self.target.language

    @property
    def joint(self) -> bool:
        """Whether source and target share their types."""
        return self.settings.joint

    @property
    def counts_known(self) -> bool:
        """Whether the counts of the types in the training text are known; an imported model comes without them."""
        return self.source.vocabulary.counts_known and self.target.vocabulary.counts_known

    @property
    def target_allowed(self) -> np.ndarray:
        """`(target.size,)` bool: the types that may be generated (thesis 3.3.3.1).

        EOS and UNK always; PAD, BOS and tags never; with `target_vocabulary_mask`, only those other types that occur in
        the training text of the target language in use, or that the parent can generate. An imported model may generate
        all types but PAD and BOS, as it may where it comes from.
        """
        return self._allowed(self.target.language)

    @property
    def allowed_by_language(self) -> dict[str, np.ndarray]:
        """The types that may be generated in each target language, as `target_allowed`, in canonical order."""
        return {language: self._allowed(language) for language in self.target.languages}

    @property
    def first_tokens(self) -> dict[str, int]:
        """Target language -> id of the tag that the decoder reads instead of BOS, or after it; empty if it has none."""
        tags = self.target.vocabulary.tags if self.settings.target_tag in ("decoder", "own") else ()
        tagged = {language: language_tag(language, self.settings.tag_form) for language in self.target.languages}
        return {language: self.target.vocabulary.tag_ids([tag])[0] for language, tag in tagged.items() if tag in tags}

    @property
    def reads_start(self) -> bool:
        """Whether the decoder reads BOS before the tag."""
        return self.settings.target_tag == "own"

    def shortlisted(self, number: int) -> "Pipeline":
        """Return the pipeline with a shortlist of so many target types, 0 for none.

        Raises:
            RunError: the counts of its types are not known.
        """
        if number and not self.counts_known:
            raise RunError(
                "search.shortlist: the frequencies of the model's types are unknown",
                "name a corpus that they are to be counted in: nmtlab runs import ... --corpus CORPUS",
            )
        return replace(self, shortlist=number)

    @property
    def used_length_bins(self) -> list[int]:
        """The bins of the length tokens that a training pair was in, from 0; empty without these tokens."""
        return self._pairs_of_bins().nonzero()[0].tolist()

    def with_length_bin(self, number: int) -> "Pipeline":
        """Return the pipeline with a bin of length that sources ask for, from 0; -1 for the usual one.

        Raises:
            RunError: it has no such bin, or no training pair was in it.
        """
        if number < 0:
            return self if self.length_bin is None else replace(self, length_bin=None)
        bins = self.settings.length_bins
        if not bins:
            problem = f"search.length_bin = {number}: the run has no length tokens"
            raise RunError(problem, "leave it out, or train one with text.length_bins = 10")
        used = self.used_length_bins
        if number >= bins or number not in used:
            why = f"the run has {bins}" if number >= bins else "no training pair has this one"
            choice = f"0 to {bins - 1}" if len(used) == bins else ", ".join(map(str, used))
            raise RunError(f"search.length_bin = {number}: of the length tokens, {why}", f"choose from {choice}")
        return replace(self, length_bin=number)

    @property
    def left_out(self) -> str:
        """What the shortlist leaves out, as a sentence without its full stop; empty without one."""
        if not self.shortlist:
            return ""
        everything, kept = replace(self, shortlist=0).target_allowed, self.target_allowed
        counts = self.target.counts
        lost = counts[everything & ~kept].sum() / max(1, counts[everything].sum())
        return (
            f"a shortlist leaves out {(everything & ~kept).sum():,} of {everything.sum():,} target types, which are "
            f"{lost:.2%} of the tokens of the counted text"
        )

    def _allowed(self, language: str) -> np.ndarray:
        allowed = self._trained(language)
        if self.shortlist:
            counts = np.where(allowed, self.target.counts_in(language), -1)
            counts[[EOS, UNK]] = counts.max() + 1  # besides the shortlist
            allowed[np.argsort(-counts, kind="stable")[self.shortlist + 2 :]] = False
        return allowed

    def _trained(self, language: str) -> np.ndarray:
        """Return the types that may be generated in a language, without a shortlist."""
        if self.learned:
            return self.learned._trained(language)
        if self.settings.segmentation == "imported":
            return ~np.isin(np.arange(self.target.size), (PAD, BOS))
        allowed = (self.target.counts_in(language) > 0) | (not self.settings.target_vocabulary_mask)
        allowed[list(self.inherited_targets)] = True
        allowed[~self.target.vocabulary.is_text] = False
        allowed[[EOS, UNK]] = True
        return allowed

    def source_ids(self, text: str, language: str = "") -> list[int]:
        """Return the ids of a source sentence, its tags first and EOS last (see `encode_source`)."""
        return self.encode_source([text], language)[0]

    def target_ids(self, text: str) -> list[int]:
        """Return the ids of a target sentence, EOS last."""
        return self.encode_target([text])[0]

    def encode_source(self, lines: Sequence[str], language: str = "", origin: str = "") -> list[list[int]]:
        """Return the ids of source sentences, their tags first and EOS last; a blank line is EOS alone.

        With `text.context`, what a line has before a separator is the context of its sentence. It is cut from the left
        where both are too long together, for `max_subwords` or else `MAX_TOKENS`.

        Args:
            lines: plain text.
            language: target language; the one in use if not given.
            origin: kind of text; tagged if the tag was in training.

        Raises:
            RunError: `language` is not a target language of the run, or a line for an imported model has a tag already.
            CorpusError: a sentence has more than `MAX_TOKENS` tokens.
        """
        if self.settings.segmentation == "imported":
            self._check_untagged(lines)
        tags = self._tags(language, origin)
        apart = [self._apart(line) for line in lines]
        encoded = _short_enough(self.source.encode([sentence for _, sentence in apart], tags), lines)
        return self._after(apart, encoded, len(tags)) if self.settings.context else encoded

    def tokens_before(self, ids: Sequence[int]) -> int:
        """Return how many of the ids of a source are before the end of its context, 0 without one."""
        numbers = self.source.vocabulary.tag_ids([SEPARATOR]) if self.settings.context else []
        return next((place for place, number in enumerate(ids, start=1) if number in numbers), 0)

    def encode_pairs(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        language: str = "",
        origin: str = "",
        more: Sequence[Sequence[str]] = (),
    ) -> tuple[list[list[int]], ...]:
        """Return the ids of sources, targets and further sources as they are learned: a length token is the target's.

        Arguments and errors as of `encode_sources` and `encode_target`.
        """
        first, *others = self.encode_sources([sources, *more], language, origin)
        rows = first, self.encode_target(targets), *others
        if self.length_edges:
            tags = self.source.vocabulary.tag_ids(length_tags(self.settings.length_bins))
            before = len(self._tags(language, origin))  # the length token is the last of them
            for source, target in zip(*rows, strict=True):
                if len(source) > 1:
                    ratio = (len(target) - 1) / (len(source) - 1 - before)
                    source[before - 1] = tags[bin_of(self.length_edges, ratio)]
        return rows

    def notes_left_out(self, lines: Iterable[str], language: str = "", origin: str = "") -> int:
        """Return how many notes would make source sentences too long; arguments as of `encode_source`."""
        before = len(self._tags(language, origin))
        return sum(self.source.annotated(line, before).left_out for line in lines) if self.source.notes else 0

    def encode_sources(
        self, sources: Sequence[Sequence[str]], language: str = "", origin: str = ""
    ) -> list[list[list[int]]]:
        """Return the ids of the sentences of each source; a blank one is `<NULL>` if there are several sources.

        Args:
            sources: the lines of each; line n of all is translated together.
            language, origin: as of `encode_source`.

        Raises:
            RunError: there are several sources, but the pipeline was learned with one; or as `encode_source`.
        """
        return self._without_gaps([self.encode_source(lines, language, origin) for lines in sources])

    def encode_filled(self, *sources: Sequence[str]) -> tuple[list[int], list[list[list[int]]]]:
        """Return the places of the lines that are not blank in all sources, from 0, and the ids of each source there.

        The ids are as of `encode_sources`. A line is also blank if the normalisation of an imported model's subwords
        leaves nothing of it.
        """
        encoded = [self.encode_source(lines) for lines in sources]
        filled = [place for place, row in enumerate(zip(*encoded, strict=True)) if any(len(ids) > 1 for ids in row)]
        return filled, self._without_gaps([[side[place] for place in filled] for side in encoded])

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of target sentences, each ended by EOS; a blank line is EOS alone.

        Raises:
            CorpusError: a sentence has more than `MAX_TOKENS` tokens.
        """
        return _short_enough(self.target.encode(lines), lines)

    def source_pieces(self, text: str, language: str = "") -> list[str]:
        """Return the tags and pieces of a source sentence as written, one per id but EOS."""
        tags = self._tags(language)
        pieces = self.source.split(self._apart(text)[1], len(tags))
        return [*tags, *self._context_pieces(text, len(tags) + len(pieces)), *pieces] if pieces else []

    def source_words(self, text: str, language: str = "") -> tuple[list[str], list[int]]:
        """Return the words of a source sentence as written, and the index of each piece's word.

        Words are Moses' for word systems (before truecasing), otherwise white-space words. Tags and context belong to
        no word and have index -1; a note belongs to the word that it explains.
        """
        tags = self._tags(language)
        words, indices = self.source.words(self._apart(text)[1], len(tags))
        before = [*tags, *self._context_pieces(text, len(tags) + len(indices))]
        return words, [*([-1] * len(before)), *indices] if indices else []

    def words_of_sources(self, texts: Sequence[str]) -> tuple[list[str], list[int]]:
        """Return the words of the sentences of all sources, and the index of the word of each token but the last EOS.

        The EOS of the others, their tags, and what stands for a missing sentence belong to no word and have index -1.
        """
        words: list[str] = []
        indices: list[int] = []
        for text in texts:
            of_text, places = self.source_words(text)
            indices += [-1] * bool(indices) + [place if place < 0 else len(words) + place for place in places or [-1]]
            words += of_text
        return words, indices

    def _files(self) -> dict[str, bytes]:
        learned = self.learned or self
        sides = learned.source, learned.target
        return files_of(learned.settings, *sides, learned.inherited_targets, learned.length_edges)

    def _pairs_of_bins(self) -> np.ndarray:
        """Return how many training pairs had each length token, (bins,)."""
        vocabulary = (self.learned or self).source.vocabulary
        return vocabulary.counts[vocabulary.tag_ids(length_tags(self.settings.length_bins))]

    def _check_untagged(self, lines: Iterable[str]) -> None:
        """Raise an error if a line begins with a language's tag, as it would in the program that the model is from."""
        form, own = self.settings.tag_form, self.settings.target_tag == "own"
        for tag in filter(None, (leading_tag(line.lstrip(), form) for line in lines)):
            if tag not in self.source.vocabulary.tags and form == M2M_FORM:
                continue  # such a word can be text: __init__
            code, known = tagged_language(tag, form), (self.source if own else self.target).languages
            option = (
                f"choose {code if code in known else 'one of ' + ', '.join(known)} with {'--from' if own else '--to'}"
            )
            remedy = option if len(known) > 1 else f"the run {'reads' if own else 'writes'} {known[0]} alone"
            raise RunError(f"text that begins with {tag!r}: nmtlab adds the language's tag", f"remove it; {remedy}")

    @property
    def missing_source(self) -> int | None:
        """Id of `<NULL>`, which stands for a missing one of several sources; None of a pipeline of one source."""
        vocabulary = self.source.vocabulary
        return vocabulary.tag_ids([NULL])[0] if NULL in vocabulary.tags else None

    def _without_gaps(self, encoded: list[list[list[int]]]) -> list[list[list[int]]]:
        """Return the ids of the sentences of several sources, with `<NULL>` for the blank ones; of one, as they are."""
        if len(encoded) == 1:
            return encoded
        if (missing := self.missing_source) is None:
            raise RunError(f"{len(encoded)} sources, and the run reads one", "choose a run with corpus.also_sources")
        return [[ids if len(ids) > 1 else [missing, EOS] for ids in side] for side in encoded]

    def _apart(self, line: str) -> tuple[str, str]:
        """Return the context of a line, blank for none, and its sentence."""
        return apart(line) if self.settings.context else ("", line)

    def _after(self, apart: Sequence[tuple[str, str]], encoded: list[list[int]], place: int) -> list[list[int]]:
        """Return the ids of sentences with those of their contexts and a separator at a `place`, after the tags."""
        (separator,) = self.source.vocabulary.tag_ids([SEPARATOR])
        found = []
        for context, ids in zip(self.source.encode([before for before, _ in apart]), encoded, strict=True):
            kept = self._kept(context[:-1], separator, len(ids) - 1) if len(ids) > 1 else []
            found.append([*ids[:place], *kept, *ids[place:]])
        return found

    def _context_pieces(self, line: str, others: int) -> list[str]:
        """Return the pieces of a line's context as written, as many as fit beside so many others, and the separator."""
        return self._kept(self.source.split(context), SEPARATOR, others) if (context := self._apart(line)[0]) else []

    def _kept(self, context: Sequence[T], separator: T, others: int) -> list[T]:
        """Return the last tokens of a context that fit beside so many others, and the separator; none if none fits."""
        room = (self.settings.max_subwords or MAX_TOKENS) - others - 1
        kept = context[max(0, len(context) - room) :] if room > 0 else ()
        return [*kept, separator] if kept else []

    def _tags(self, language: str, origin: str = "") -> list[str]:
        """Return the tags of a source sentence to be translated into `language`."""
        if language and language not in self.target.languages:
            raise RunError(
                f"language {language!r}: the run does not translate into it",
                f"choose from {', '.join(self.target.languages)}",
            )
        languages = {"source": language or self.target.language, "own": self.source.language}
        named = languages.get(self.settings.target_tag, "")
        tags = tags_before(named, origin, self.source.vocabulary.tags, self.settings.tag_form)
        if not self.length_edges:
            return tags
        number = usual_bin(self._pairs_of_bins()) if self.length_bin is None else self.length_bin
        return [*tags, length_tags(self.settings.length_bins)[number]]


def _check_learned(settings: TextSettings, parent: "Pipeline | None", has_suggestions: bool) -> None:
    """Raise an error if a pipeline is an imported model's, lacks suggestions, or does not go with its parent's."""
    if settings.annotate and not has_suggestions:
        raise RecipeError(
            f"text.annotate = {settings.annotate}: nothing is suggested for rare words here", "set it to 0"
        )
    if settings.segmentation == "imported":
        raise RecipeError(
            "text.segmentation = 'imported': such subwords come with a model and are not learned",
            "choose bpe or unigram",
        )
    if parent is not None:
        check_reused(settings, parent.settings, parent.source.vocabulary)


def _short_enough(rows: list[list[int]], lines: Sequence[str]) -> list[list[int]]:
    for row, line in zip(rows, lines, strict=True):
        if len(row) > MAX_TOKENS + 1:
            beginning = " ".join(line[:30].split())
            raise CorpusError(
                f"sentence '{beginning}...': {len(row) - 1:,} tokens, more than {MAX_TOKENS:,}",
                "put one sentence on each line",
            )
    return rows
