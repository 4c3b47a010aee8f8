"""Sentence pairs of one artificial language with English-like ones, and their gold annotations."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtlab.errors import CorpusError
from nmtlab.text.artificial.concepts import NAME_CLASSES, NEW, Chances, Concepts, Flags, Ids
from nmtlab.text.artificial.family import FAMILY, WordOrder, reading
from nmtlab.text.artificial.grammar import BLOCK, SLOT, SLOTS, UNSAID, Block, Grammar
from nmtlab.text.artificial.growth import Origin, grow
from nmtlab.text.artificial.language_settings import ArtificialSettings
from nmtlab.text.artificial.words import NOUN_GROUPS

_PLAIN = WordOrder(
    clause="subject verb object manner place time complement",
    noun_phrase="adposition det adj title first head relative",
    relative="who verb object",
    complement="that clause",
    subordinate="a conn b",
)
_FREE = WordOrder(
    clause="time subject verb object manner place complement",
    noun_phrase=_PLAIN.noun_phrase,
    relative=_PLAIN.relative,
    complement=_PLAIN.complement,
    subordinate="conn b comma a",
)
_DETERMINERS = [column for column, slot in enumerate(SLOTS) if slot.endswith(".det")]
_MIXER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: spreads a number over all bits
_WEIGHTS = (np.arange(1, len(SLOTS) + 1, dtype=np.uint64) * _MIXER) | np.uint64(1)


@dataclass(frozen=True)
class Wording:
    """A block of sentences in English-like words.

    Attributes:
        form: (sentences, slots), index of the word's form in `Concepts.forms`.
        order: (sentences, slots in the order), the slots in word order.
        present: (sentences, slots), whether a slot has a word.
        lot: (sentences,), 0 to 15, a hash of the default wording, equal for all its paraphrases.
    """

    form: Ids
    order: Ids
    present: Flags
    lot: Ids


class English:
    """Chooses words, order and articles.

    Args:
        seed: seed of the free choices.
        ambiguity: probability that a choice is free.
    """

    def __init__(self, concepts: Concepts, seed: int, ambiguity: float) -> None:
        self._concepts = concepts
        self._seed = seed
        self._ambiguity = ambiguity
        self._orders = np.stack([_PLAIN.slots(), _FREE.slots()])

    def say(self, block: Block, number: int) -> Wording:
        """Return the wording of block `number`, which depends only on the block, the number and the seed."""
        usual = self._concepts.first_form[block.concept] + block.form
        present = block.concept > 0
        lot = self._lot(usual, present, self._orders[0][block.kind])
        random = np.random.default_rng([self._seed, number, 1])
        rephrased, short = random.random((2, len(block.kind))) < self._ambiguity / 2
        present[:, SLOT["that"]] &= ~short
        synonym = self._synonyms(block.concept, random.random(block.concept.shape))
        form = self._before_vowels(block, usual + 3 * synonym)
        return Wording(form, self._orders[rephrased.astype(int), block.kind], present, lot)

    def _synonyms(self, concept: Ids, chances: Chances) -> Ids:
        if not self._ambiguity:
            return np.zeros_like(concept)
        any_of_them = np.floor(chances / self._ambiguity * self._concepts.synonyms[concept])
        return np.where(chances < self._ambiguity, any_of_them, 0).astype(np.int64)

    def _before_vowels(self, block: Block, form: Ids) -> Ids:
        """Turn a into an."""
        article = self._concepts.only("a")
        for det in _DETERMINERS:
            adjective, head = det + 1, det + 4
            following = np.where(block.concept[:, adjective], form[:, adjective], form[:, head])
            single = (block.concept[:, det] == article) & (block.form[:, det] == 0)
            form[:, det] += 2 * (single & self._concepts.wants_an[following])
        return form

    def _lot(self, usual: Ids, present: Flags, order: Ids) -> Ids:
        _, position = reading(order, present)
        mixed = np.where(position >= 0, self._concepts.checksum[usual] * _WEIGHTS[position], np.uint64(0)).sum(axis=1)
        return ((mixed ^ (mixed >> np.uint64(29))) * _MIXER >> np.uint64(60)).astype(np.int64)


NEW_NOUNS = 3
"""Number of new nouns in a document."""

Split = Literal["train", "dev", "test"]
Links = tuple[tuple[int, int], ...]
"""Positions of aligned white-space tokens, (source, target), from 0, in target order."""

_LOTS = {"dev": [0], "test": [1], "train": list(range(2, 16))}
_LONGEST = len(SLOTS)
_LINK = np.empty((_LONGEST, _LONGEST), dtype=object)
for _link in np.ndindex(_LINK.shape):
    _LINK[_link] = _link


class ArtificialPair(NamedTuple):
    """A sentence, its translation, their gold links, and the position of each source word's head; a root is its own."""

    source: str
    target: str
    links: Links
    heads: tuple[int, ...]


class LexiconEntry(NamedTuple):
    """A translation of a stem, its probability, the translation's forms, and where the stem comes from."""

    stem: str
    group: str
    target: str
    probability: float
    forms: tuple[str, ...]
    origin: Origin


class Name(NamedTuple):
    """A proper name, uninflected in source and English; its class, its rank there from 1, and its share of it."""

    source: str
    target: str
    group: str
    rank: int
    share: float


def _expressed_by() -> Ids:
    """Return for each slot the slot whose source word expresses it if it has no word; 0: none."""
    table = np.zeros(len(SLOTS), dtype=np.int64)
    for slot, column in SLOT.items():
        phrase, _, part = slot.rpartition(".")
        clause = slot[:1]
        expressing = {
            "det": f"{phrase}.head",
            "adposition": f"{phrase}.head",
            "who": f"{phrase}.verb",
            "aux": f"{clause}.verb",
            "not": f"{clause}.verb",
            "head": f"{clause}.verb" if phrase == f"{clause}.subject" else "nothing",
            "verb": f"{clause}.pred" if phrase == clause else "nothing",
        }
        table[column] = SLOT[expressing.get(part, "nothing")]
    return table


_EXPRESSED_BY = _expressed_by()


def _headed_by() -> Ids:
    """Return for each slot that of its head, of which a word of the sentence is a dependent; 0: none.

    Heads are words with content, as in Universal Dependencies: a verb or a predicate is the head of its clause, a noun
    of its phrase, and the first clause of the sentence.
    """
    table = np.zeros(len(SLOTS), dtype=np.int64)
    for slot, column in SLOT.items():
        phrase, _, part = slot.rpartition(".")
        outer = phrase.rpartition(".")[0]
        match phrase, part:
            case "", "stop":
                head = "a.verb"
            case "", "comma" | "conn" | "that":
                head = "b.verb"
            case "a", "verb" | "pred":
                head = "nothing"
            case "b", "verb" | "pred":
                head = "a.verb"
            case _, "head":
                head = f"{outer}.verb"
            case ("a" | "b", _) | (_, "who"):
                head = f"{phrase}.verb"
            case _:
                head = f"{phrase}.head"
        table[column] = SLOT.get(head, 0)
    return table


_HEADED_BY = _headed_by()


class ArtificialLanguage:
    """One language of the family, with an unlimited corpus.

    Args:
        code: qaa, qab, qac or qad.
        documents: number of documents that have new nouns, `NEW_NOUNS` each.

    Raises:
        CorpusError: no such language.
    """

    def __init__(self, code: str, settings: ArtificialSettings | None = None, documents: int = 0) -> None:
        if code not in FAMILY:
            raise CorpusError(f"artificial language: no language {code!r}", f"choose one of {', '.join(FAMILY)}")
        self.code = code
        self.settings = settings or ArtificialSettings()
        self._relative = FAMILY[code]
        self._concepts = Concepts(self.settings, NEW_NOUNS * documents)
        self._grammar = Grammar(self._concepts)
        self._english = English(self._concepts, self.settings.seed, self.settings.ambiguity)
        self._lexis = grow(code, self._concepts, self.settings)
        self._order = FAMILY[self.settings.order or code].order.slots()
        self._has_word = self._lexis.stems != ""
        self._dropped = [
            pronoun
            for pronoun in self._concepts.members("pronoun")
            if self._relative.drops and self._concepts.concepts[pronoun].words[0][0] in ("I", "you", "we")
        ]

    def pairs(self, count: int, start: int = 0, split: Split | None = None) -> Iterator[ArtificialPair]:
        """Yield `count` sentence pairs from number `start` on, only those of `split` if given.

        Pair i depends only on the settings, and means the same in every language of the family. The split of a pair
        follows from its default English wording, so that neither a sentence nor its translation is in two splits,
        for any start and language.
        """
        for _, block, wording, rows in self._drawn(count, start, split):
            yield from self._pairs(block, wording, rows)

    def documents(
        self, count: int, size: int, first: int = 0, start: int = 0, split: Split | None = None
    ) -> Iterator[ArtificialPair]:
        """Yield the pairs of `pairs` as documents, in each of which new nouns replace the most frequent ones.

        A new noun is in no other document and in none of `pairs`. In a document that goes on after a multiple of
        `BLOCK` sentences, it may replace another noun there.

        Args:
            size: number of pairs in a document; the last one may have fewer.
            first: number of the first document, from 0, which decides its new nouns.
            count, start, split: as of `pairs`.
        """
        done = 0
        for number, block, _, rows in self._drawn(count, start, split):
            document = (done + np.arange(len(rows))) // size
            for one in np.unique(document):
                self._renew(block.concept, rows[document == one], first + int(one))
            yield from self._pairs(block, self._english.say(block, number), rows)
            done += len(rows)

    def connected(
        self, count: int, size: int, start: int = 0, split: Split | None = None
    ) -> Iterator[tuple[int, ArtificialPair]]:
        """Yield the pairs of `pairs` in another order, as documents: in each but its first, the subject is left out.

        It is the object of the sentence before, in the same number, and only English says it again: the source alone
        does not tell what it is, and the source before does.

        Args:
            size: pairs in a document, at most; where no sentence goes on, a new one begins.
            count, start, split: as of `pairs`.

        Yields:
            The number of the document, from 0, and the pair.
        """
        number = 0
        for _, block, wording, rows in self._drawn(count, start, split):
            chains = self._chains(block, rows, size)
            for chain in chains:
                block.feature[chain[1:], SLOT["a.subject.head"]] = UNSAID
            ids = np.repeat(np.arange(number, number + len(chains)), [*map(len, chains)]).tolist()
            yield from zip(ids, self._pairs(block, wording, np.concatenate(chains)), strict=True)
            number += len(chains)

    def _chains(self, block: Block, rows: Ids, size: int) -> list[list[int]]:
        """Return rows in chains of at most `size`, in each of which the object of one is the subject of the next."""
        subjects, objects = (
            list(zip(block.concept[:, slot].tolist(), block.form[:, slot].tolist(), strict=True))
            for slot in (SLOT["a.subject.head"], SLOT["a.object.head"])
        )
        nouns = {noun for group in NOUN_GROUPS for noun in self._concepts.members(group)}
        waiting: dict[tuple[int, int], list[int]] = {}
        for row in rows[::-1].tolist():
            if subjects[row][0] in nouns:
                waiting.setdefault(subjects[row], []).append(row)
        chains: list[list[int]] = []
        used: set[int] = set()
        for begin in rows.tolist():
            chain: list[int] = []
            following: int | None = begin if begin not in used else None
            while following is not None and len(chain) < size:
                chain.append(following)
                used.add(following)
                left = [row for row in waiting.get(objects[following], ()) if row not in used]
                following = left[-1] if left else None
            chains += [chain] * bool(chain)
        return chains

    def _drawn(self, count: int, start: int, split: Split | None) -> Iterator[tuple[int, Block, Wording, Ids]]:
        """Yield blocks by their number, with their wording and the rows that are wanted."""
        number, first = divmod(start, BLOCK)
        while count > 0:
            block = self._grammar.draw(self.settings.seed, number)
            wording = self._english.say(block, number)
            rows = np.arange(first, BLOCK)
            if split:
                rows = rows[np.isin(wording.lot[rows], _LOTS[split])]
            rows = rows[:count]
            yield number, block, wording, rows
            count -= len(rows)
            number, first = number + 1, 0

    def _renew(self, concept: Ids, rows: Ids, document: int) -> None:
        """Put the new nouns of a document in the place of the most frequent nouns of some rows of concepts."""
        common = np.isin(concept[rows], [noun for group in NOUN_GROUPS for noun in self._concepts.members(group)])
        counts = np.bincount(concept[rows][common], minlength=len(self._concepts.concepts))
        new = self._concepts.members(NEW)[NEW_NOUNS * document :][:NEW_NOUNS]
        for old, noun in zip(np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)], new, strict=False):
            concept[rows] = np.where(concept[rows] == old, noun, concept[rows])

    def lexicon(self) -> list[LexiconEntry]:
        """Return every stem with each of its English translations."""
        ambiguity = self.settings.ambiguity
        return [
            LexiconEntry(stem, concept.group, forms[0], probability, tuple(dict.fromkeys(forms)), origin)
            for stem, concept, origin in zip(
                self._lexis.stems, self._concepts.concepts, self._lexis.origins, strict=True
            )
            for rank, forms in enumerate(concept.words)
            if stem and (probability := (1 - ambiguity) * (rank == 0) + ambiguity / len(concept.words))
        ]

    def names(self) -> list[Name]:
        """Return every proper name, class by class, the most frequent first."""
        return [name for group in (*NAME_CLASSES, "first name") for name in self._names(group)]

    def _names(self, group: str) -> Iterator[Name]:
        share = self._concepts.share
        by_share = sorted(self._concepts.members(group), key=lambda number: -share[number])
        for rank, number in enumerate(by_share, start=1):
            name = self._concepts.concepts[number].words[0][0]
            yield Name(self._lexis.stems[number], name, group, rank, float(share[number]))

    def _pairs(self, block: Block, wording: Wording, rows: Ids) -> Iterator[ArtificialPair]:
        concept, feature = block.concept[rows], block.feature[rows]
        order, english_order = self._order[block.kind[rows]], wording.order[rows]
        realised, position = reading(order, self._speakable(concept, feature))
        english_realised, english_position = reading(english_order, wording.present[rows])

        stems = np.take_along_axis(concept, order, axis=1)[realised]
        marks = np.take_along_axis(feature, order, axis=1)[realised]
        words = self._lexis.stems[stems] + self._lexis.suffixes[self._lexis.shapes[stems], marks]
        forms = np.take_along_axis(wording.form[rows], english_order, axis=1)[english_realised]

        for _ in range(2):  # an auxiliary's verb may in turn be expressed by an adjective
            position = np.where(position < 0, position[:, _EXPRESSED_BY], position)
        head = np.take_along_axis(position[:, _HEADED_BY], order, axis=1)
        heads = np.where(head < 0, realised.cumsum(axis=1) - 1, head)[realised]
        position[concept == self._concepts.only("the")] = -1
        linked = np.take_along_axis(position, english_order, axis=1)
        english_linked = np.take_along_axis(english_position, english_order, axis=1)
        both = (linked >= 0) & (english_linked >= 0)
        links = _LINK[linked[both], english_linked[both]]

        yield from map(
            ArtificialPair._make,
            zip(
                map(_sentence, _cut(words, realised)),
                map(_sentence, _cut(self._concepts.forms[forms], english_realised)),
                map(tuple, _cut(links, both)),
                map(tuple, _cut(heads, realised)),
                strict=True,
            ),
        )

    def _speakable(self, concept: Ids, feature: Ids) -> Flags:
        """Return which slots have a source word."""
        speakable = self._has_word[concept] & (feature != UNSAID)
        for subject in (SLOT["a.subject.head"], SLOT["b.subject.head"]):
            speakable[:, subject] &= ~np.isin(concept[:, subject], self._dropped)
        return speakable


def _cut(values: NDArray[np.object_] | Ids, realised: Flags) -> Iterator[list]:
    """Yield the values that belong to each row of `realised`."""
    flat = values.tolist()
    ends = accumulate(realised.sum(axis=1).tolist(), initial=0)
    return (flat[begin:end] for begin, end in pairwise(ends))


def _sentence(words: list[str]) -> str:
    text = " ".join(words)
    return text[0].upper() + text[1:]
