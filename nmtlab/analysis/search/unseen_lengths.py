"""How are sentences translated that are longer than any in training? (thesis 4.1)"""

from itertools import chain

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.access.needs import DECODING, PLANNED_LENGTH, check_needs
from nmtlab.analysis.search.trained_lengths import encoded_pairs, trained_lengths
from nmtlab.recipe.text import TextSettings
from nmtlab.runs.run import Run
from nmtlab.search.searches import OfLengths
from nmtlab.systems import open_model
from nmtlab.text.corpora.cleaning import digest, normalise
from nmtlab.text.corpora.corpus import ParallelCorpus

ENOUGH = 100
"""Sentences of unseen lengths from which something can be concluded."""

MOST = 500
"""Sentences of unseen lengths that are used."""

_MAX_WORDS = TextSettings().max_words
_COLUMNS = ["part", "line", "source", "target", "length", "seen"]


def held_out_pairs(run: Run, corpus: ParallelCorpus, part: str = "test") -> pd.DataFrame:
    """Return the sentences of a text, and the training pairs that were left out because their target is too long.

    A length counts as seen in training up to that of the longest target there. Of unseen lengths, each target comes
    once, and no more than `MOST` in all, drawn by their digests.

    Args:
        run: any but a phrase-based one.
        corpus: that it was trained on.
        part: dev or test.

    Returns:
        A row for each sentence with a reference: `part`, of the corpus, such as test or train; `line` in it, from 1,
        missing for train; `source`; `target`; `length` of the target in tokens; `seen`, whether it was.

    Raises:
        CorpusError: no such part, or other languages.
        RunError: the run was not trained on this corpus.
    """
    run = in_direction(run, corpus)
    longest = int(trained_lengths(run, corpus).target.max())
    sources, targets = zip(*corpus.pairs(part), strict=True)
    lengths = [len(ids) - 1 for ids in run.pipeline.encode_target(targets)]
    own = zip(range(1, len(sources) + 1), sources, targets, lengths, strict=True)
    left_out = ((pair, len(target) - 1) for pair, _, target in encoded_pairs(run, corpus, _MAX_WORDS))
    rows = chain(
        ((part, line, source, target, length, length <= longest) for line, source, target, length in own if length),
        (("train", None, *pair, length, False) for pair, length in left_out if length > longest),
    )
    found = pd.DataFrame(rows, columns=_COLUMNS).astype({"line": "Int64"})
    return pd.concat([found[found["seen"]], _drawn(found[~found["seen"]])], ignore_index=True)


def _drawn(unseen: pd.DataFrame) -> pd.DataFrame:
    """Return at most `MOST` rows with distinct targets."""
    digests = unseen["target"].map(lambda target: digest(normalise(target)))
    return unseen.loc[digests.drop_duplicates().sort_values().index[:MOST]].sort_index()


def unseen_pairs(run: Run, corpus: ParallelCorpus, part: str = "test") -> pd.DataFrame:
    """Return the rows of `held_out_pairs` whose length was not seen in training."""
    found = held_out_pairs(run, corpus, part)
    return found[~found["seen"]].reset_index(drop=True)


def unseen_translations(run: Run, corpus: ParallelCorpus, told: bool = False, part: str = "test") -> pd.DataFrame:
    """Translate the sentences of unseen lengths among `held_out_pairs`, with the recipe's search settings.

    Args:
        run: neural, with weights.
        corpus: that it was trained on.
        told: whether the length of each reference is given, to a run that plans lengths; otherwise it is predicted.
        part: dev or test.

    Returns:
        A row for each sentence: `part`, `line` and `length`, as of `held_out_pairs`; `text`, the translation. The
        references are not among the answers that a run is packed with, as they may be training text.

    Raises:
        CorpusError: as for `held_out_pairs`.
        RunError: likewise; the run has no weights; or it is told lengths, but plans none.
    """
    run = in_direction(run, corpus)
    if told:
        check_needs(run, (PLANNED_LENGTH,))
    pairs = unseen_pairs(run, corpus, part)
    system = open_model(run)
    search = OfLengths(system.settings, pairs["length"].tolist()) if told else None
    found = system.translate(pairs["source"].tolist(), search=search)
    return pairs[["part", "line", "length"]].assign(text=[one.text for one in found])


UNSEEN_TRANSLATIONS = Analysis(
    "How are sentences of lengths translated that training never saw?",
    unseen_translations,
    needs=DECODING,
    version=1,
    columns=("part", "line", "length", "text"),
)
