"""Which words of a sentence pair belong together, as well as can be told."""

from collections import Counter
from collections.abc import Iterable

from nmtlab.alignment.aligner import WordAligner
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.learning import usable_pairs
from nmtlab.text.links import Link, gold_links, has_gold_links
from nmtlab.text.pipeline import Pipeline

_Words = tuple[list[str], list[str]]


def reference_links(pipeline: Pipeline, corpus: ParallelCorpus, split: str) -> list[frozenset[Link]]:
    """Return the links of each pair of a split, between the words that a pipeline cuts (see `word_pairs`).

    A controlled language has true ones. Those of other text are a word aligner's (eflomal, symmetrised), which learns
    from the training text and the split together; the same text gives the same links.

    Args:
        pipeline: of the run that will be asked about them.
        corpus: in its languages, with its training text.
        split: train, dev or test.

    Raises:
        CorpusError: no such split, no training text, or gold links that do not belong to the split.
    """
    if has_gold_links(corpus, split):
        return gold_links(corpus, split)
    asked = _words(pipeline, corpus.pairs(split))
    training = _words(pipeline, usable_pairs(corpus, pipeline.settings.max_words, Counter()))
    aligner = WordAligner.train([*training, *(asked if split != "train" else [])])
    return [frozenset(links) for links in aligner.align(asked)]


def _words(pipeline: Pipeline, pairs: Iterable[tuple[str, str]]) -> list[_Words]:
    target = pipeline.target.tokenizer
    return [(pipeline.source_words(ours)[0], target.words(theirs)[0]) for ours, theirs in pairs]
