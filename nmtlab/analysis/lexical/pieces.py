"""How is a word cut into subwords, and how else could it be? (survey 8.3)"""

import math
from collections.abc import Iterable

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import Need
from nmtlab.errors import CorpusError
from nmtlab.figures.words import number
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import SPACE, is_blank
from nmtlab.text.segmentation.steps import merges, segmentations
from nmtlab.text.segmentation.tokenizers import Subwords

MOST = 40
"""Segmentations that are listed."""

_UNIGRAM = Need(
    "no unigram model", "its subwords are not of a unigram model", "choose a run whose text.segmentation is unigram",
    lambda run: run.recipe.text.segmentation == "unigram",
)  # fmt: skip
_BPE = Need(
    "no byte-pair encoding", "its subwords are not of byte-pair encoding", "choose one whose text.segmentation is bpe",
    lambda run: run.recipe.text.segmentation == "bpe",
)  # fmt: skip


def word_segmentations(run: Run, word: str, side: str = "target") -> pd.DataFrame:
    """Return the most probable ways to cut a word, or a sentence, under the unigram model of a run.

    Args:
        word: as written.
        side: source or target.

    Returns:
        A row for each, `MOST` at most, best first: `rank`, from 1; `pieces`; `log_prob`, the sum of their scores;
        `share`, its probability among all ways, 0 to 1; `ways`, the number of all.

    Raises:
        CorpusError: the word is blank.
    """
    tokenizer = _tokenizer(run, word, side)
    found = segmentations(tokenizer.to_bytes(), tokenizer.normalised(word), MOST)
    rows = [
        (rank, _shown(pieces), log_prob, math.exp(log_prob - found.log_sum), found.number)
        for rank, (pieces, log_prob) in enumerate(found.best, start=1)
    ]
    return pd.DataFrame(rows, columns=["rank", "pieces", "log_prob", "share", "ways"])


def word_merges(run: Run, word: str, side: str = "target") -> pd.DataFrame:
    """Return the merges that make the pieces of a word, or of a sentence, by the byte-pair encoding of a run.

    Args:
        word, side: as of `word_segmentations`.

    Returns:
        A row for each step, of which the first has the letters: `step`, from 0; `pieces` after it; `made`, the piece
        that was merged; `rank`, when the merge was learned, from 1; both missing for the letters.

    Raises:
        CorpusError: the word is blank.
    """
    tokenizer = _tokenizer(run, word, side)
    text = tokenizer.normalised(word)
    letters = [SPACE + one for one in text.split()]
    rows: list[tuple[int, str, str | None, int | None]] = [(0, _shown("".join(letters)), None, None)]
    for step, merge in enumerate(merges(tokenizer.to_bytes(), text), start=1):
        rows.append((step, _shown(merge.pieces), merge.made, merge.rank + 1))
    return pd.DataFrame(rows, columns=["step", "pieces", "made", "rank"]).astype({"rank": "Int64"})


def _tokenizer(run: Run, word: str, side: str) -> Subwords:
    if is_blank(word):
        raise CorpusError("word: blank", "type one")
    tokenizer = (run.pipeline.source if side == "source" else run.pipeline.target).tokenizer
    assert isinstance(tokenizer, Subwords)  # of BPE or a unigram model
    return tokenizer


def _shown(pieces: Iterable[str]) -> str:
    return " ".join(pieces)


def _ways_said(found: pd.DataFrame) -> str:
    """Say in how many ways a word can be cut, and how probable the best one is."""
    if found.empty:
        return ""
    best = found.iloc[0]
    share = number(100 * best["share"], 1)
    return f"{best['ways']:,} ways to cut it; the best, {best['pieces']}, has {share} % of their probability."


SEGMENTATIONS = Analysis(
    "In which ways can a word be cut, and how probable are they?",
    word_segmentations,
    source="Kudo 2018; survey 8.3",
    needs=(_UNIGRAM,),
    finding=_ways_said,
)
MERGES = Analysis(
    "Which merges make the pieces of a word?",
    word_merges,
    source="Sennrich et al. 2016; survey 8.3",
    needs=(_BPE,),
)
