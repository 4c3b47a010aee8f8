"""Word alignment, learned from sentence pairs alone.

A sentence is a sequence of tokens: words, subwords, or ids of a vocabulary.
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
"""Östling and Tiedemann's (2016) sampled model, or IBM model 4 after GIZA++'s sequence of models (Och and Ney 2003)."""

_EPOCHS = (5, 5, 3, 3)  # of IBM 1, HMM, IBM 3 and IBM 4, as in GIZA++


class WordAligner:
    """Alignment models of both directions, symmetrised by grow-diag-final-and (Koehn et al. 2005).

    Alignment is deterministic: the same pairs give the same links.

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
        """Learn from sentence pairs; pairs too long for the model (200 or 1,024 tokens) are ignored.

        Args:
            pairs: source and target sentences.
            model: eflomal or IBM 4; eflomal is better on few pairs and with verb-final order, and faster on many pairs.
            seed: seed of eflomal's sampling, at least 0.

        Raises:
            CorpusError: no pair has tokens on both sides.
        """
        kept = list(pairs)
        return cls(_learned(kept, model, seed), _learned([(target, source) for source, target in kept], model, seed))

    def align(self, pairs: Iterable[tuple[Tokens, Tokens]]) -> list[set[Link]]:
        """Return the links of each pair, seen in training or not; none if a side is blank."""
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
    """Estimate p(target | source) by word alignment, as the trained model's lexical table (Arthur et al. 2016).

    Args:
        pairs: ids of source and target sentences, with UNK, without EOS.
        source_types: size of the source vocabulary.
        model: IBM 4 or eflomal; IBM 4's table is closer to the true one, above all for rare words.
        threshold: drop entries less probable than this, (0, 1).

    Raises:
        CorpusError: no pair has tokens on both sides.
    """
    learned = _learned(list(pairs), model, seed=1)
    rows: list[list[tuple[int, float]]] = [[] for _ in range(source_types)]
    for number in range(source_types):
        if learned.src_word_exists(_name(number)):
            entries = learned.get_translations(learned.get_src_word_index(_name(number)), threshold)
            words = ((learned.get_trg_word(index), probability) for index, probability in entries)
            rows[number] = [(int(word[1:]), probability) for word, probability in words if word[0] == _MARK]
    return LexicalTable.of_rows(rows)


_MARK = "_"  # before every token, so that none can equal a reserved word of the aligner such as NULL


def _name(token: str | int) -> str:
    return f"{_MARK}{token}"


def _named(tokens: Tokens) -> list[str]:
    return [_name(token) for token in tokens]


def _learned(pairs: Sequence[tuple[Tokens, Tokens]], model: AlignmentModel, seed: int) -> thot.AlignmentModel:
    """Return a model of p(second side | first side)."""
    if not any(len(source) and len(target) for source, target in pairs):
        raise CorpusError("text to align: no pair has words on both sides", "give sentence pairs")
    stages = _eflomal(seed) if model == "eflomal" else _ibm4()
    last = stages[-1]
    for source, target in pairs:
        last.add_sentence_pair(_named(source), _named(target), 1)
    for number, stage in enumerate(stages):
        stage.start_training()
        iterations = stage.scheduled_iterations if isinstance(stage, thot.EflomalAlignmentModel) else _EPOCHS[number]
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
    """Return the sequence of models, each initialised from the one before."""
    ibm1 = thot.Ibm1AlignmentModel()
    hmm = thot.HmmAlignmentModel(ibm1)
    ibm3 = thot.Ibm3AlignmentModel(hmm)
    return [ibm1, hmm, ibm3, thot.Ibm4AlignmentModel(ibm3)]


def _links(matrix: object) -> set[Link]:
    sources, targets = matrix.to_numpy().nonzero()  # type: ignore[attr-defined]
    return set(zip(sources.tolist(), targets.tolist(), strict=True))
