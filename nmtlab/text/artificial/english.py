"""Realisation of meanings in English-like words."""

from dataclasses import dataclass

import numpy as np

from nmtlab.text.artificial.concepts import Chances, Concepts, Flags, Ids
from nmtlab.text.artificial.grammar import SLOT, SLOTS, Block
from nmtlab.text.artificial.orders import WordOrder, reading

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
        concepts: the vocabulary.
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
