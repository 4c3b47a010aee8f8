"""Which words of a sentence pair belong together, learned from pairs alone.

A sentence is a sequence of tokens: words, pieces of words, or ids of a vocabulary.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import thot.alignment as thot

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import CorpusError

Link = tuple[int, int]
"""Positions of two linked tokens, source and target, from 0."""

Tokens = Sequence[str] | Sequence[int]

AlignmentModel = Literal["eflomal", "ibm4"]
"""Östling and Tiedemann's (2016) sampled model, or IBM model 4 in GIZA++'s course of models (Och and Ney 2003)."""

_COURSE = (5, 5, 3, 3)  # iterations of IBM 1, HMM, IBM 3 and IBM 4, GIZA++'s own


class WordAligner:
    """Models of both directions and their symmetrised links; the same pairs give the same links.

    Links are symmetrised by grow-diag-final-and (Koehn et al. 2005).

    Args:
        direct: a trained model of p(target | source).
        inverse: a trained model of p(source | target).
    """

    def __init__(self, direct: thot.AlignmentModel, inverse: thot.AlignmentModel) -> None:
        self._aligner = thot.SymmetrizedAligner(direct, inverse)
        self._aligner.heuristic = thot.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND

    @classmethod
    def train(
        cls, pairs: Iterable[tuple[Tokens, Tokens]], model: AlignmentModel = "eflomal", seed: int = 1
    ) -> "WordAligner":
        """Learn from sentence pairs; one that is too long for the model (200 or 1,024 tokens) teaches it nothing.

        Args:
            pairs: source and target sentences.
            model: eflomal, the better one for few pairs and for verbs at the end and the faster one for many, or IBM 4.
            seed: of eflomal's samples; 0 or more.

        Raises:
            CorpusError: there is no pair with tokens on both sides.
        """
        kept = list(pairs)
        return cls(_learned(kept, model, seed), _learned([(target, source) for source, target in kept], model, seed))

    def align(self, pairs: Iterable[tuple[Tokens, Tokens]]) -> list[set[Link]]:
        """Return the links of each pair, of the text learned from or of any other; a blank side has none."""
        sources, targets = [], []
        for source, target in pairs:
            sources.append(_named(source))
            targets.append(_named(target))
        found = self._aligner.get_best_alignments(sources, targets)
        return [_links(matrix) for _, matrix in found]


def translation_table(
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]],
    source_types: int,
    model: AlignmentModel = "ibm4",
    threshold: float = 1e-4,
) -> LexicalTable:
    """Estimate p(target | source) from word alignment: the lexical table of the trained model (Arthur et al. 2016).

    Args:
        pairs: ids of source and target sentences, UNK included, EOS not.
        source_types: size of the source vocabulary.
        model: IBM 4, whose table is nearest to the true one, above all for rare words, or eflomal.
        threshold: entries less probable than this are left out, (0, 1).

    Raises:
        CorpusError: there is no pair with tokens on both sides.
    """
    learned = _learned(list(pairs), model, seed=1)
    rows: list[list[tuple[int, float]]] = [[] for _ in range(source_types)]
    for number in range(source_types):
        if learned.src_word_exists(_name(number)):
            entries = learned.get_translations(learned.get_src_word_index(_name(number)), threshold)
            words = ((learned.get_trg_word(index), probability) for index, probability in entries)
            rows[number] = [(int(word[1:]), probability) for word, probability in words if word[0] == _MARK]
    return LexicalTable.of_rows(rows)


_MARK = "_"  # before every token: no text can then have one of the aligner's own words, such as NULL


def _name(token: str | int) -> str:
    return f"{_MARK}{token}"


def _named(tokens: Tokens) -> list[str]:
    return [_name(token) for token in tokens]


def _learned(pairs: Sequence[tuple[Tokens, Tokens]], model: AlignmentModel, seed: int) -> thot.AlignmentModel:
    """Return a model of p(second side | first side)."""
    if not any(len(source) and len(target) for source, target in pairs):
        raise CorpusError("text to align: no pair has words on both sides", "give it sentence pairs")
    stages = _eflomal(seed) if model == "eflomal" else _ibm4()
    last = stages[-1]
    for source, target in pairs:
        last.add_sentence_pair(_named(source), _named(target), 1)
    for number, stage in enumerate(stages):
        stage.start_training()
        iterations = stage.scheduled_iterations if isinstance(stage, thot.EflomalAlignmentModel) else _COURSE[number]
        for _ in range(iterations):
            stage.train()
        stage.end_training()
    return last


def _eflomal(seed: int) -> list[thot.AlignmentModel]:
    eflomal = thot.EflomalAlignmentModel()
    eflomal.deterministic = True  # with several threads too
    eflomal.seed = seed
    return [eflomal]


def _ibm4() -> list[thot.AlignmentModel]:
    """Return the models of which each begins where the one before it ended."""
    ibm1 = thot.Ibm1AlignmentModel()
    hmm = thot.HmmAlignmentModel(ibm1)
    ibm3 = thot.Ibm3AlignmentModel(hmm)
    return [ibm1, hmm, ibm3, thot.Ibm4AlignmentModel(ibm3)]


def _links(matrix: object) -> set[Link]:
    sources, targets = matrix.to_numpy().nonzero()  # type: ignore[attr-defined]
    return set(zip(sources.tolist(), targets.tolist(), strict=True))
