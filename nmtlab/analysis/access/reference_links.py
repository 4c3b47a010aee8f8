"""Which words of a sentence pair belong together? Gold links, or else a word aligner's."""

from collections.abc import Iterable

from nmtlab.alignment.aligner import WordAligner
from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import Link, aligned_path, gold_links, has_gold_links, read_links
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.pipeline import Pipeline

_Words = tuple[list[str], list[str]]


def kept_links(corpus: ParallelCorpus, split: str) -> tuple[list[frozenset[Link]], bool]:
    """Return the links stored with a text, and whether they are gold links and not an aligner's.

    Raises:
        CorpusError: no links are stored, or they do not belong to the split.
    """
    if has_gold_links(corpus, split):
        return gold_links(corpus, split), True
    links = read_links(aligned_path(corpus, split))
    if len(links) != corpus.count(split):
        raise CorpusError(
            f"{aligned_path(corpus, split)}: {len(links):,} lines, but {split} has {corpus.count(split):,} pairs",
            "give it a line for each pair",
        )
    return links, False


def reference_links(pipeline: Pipeline, corpus: ParallelCorpus, split: str) -> list[frozenset[Link]]:
    """Return the links of each pair of a split, between the words of a pipeline (see `word_pairs`).

    An artificial language has gold links, and a packed text comes with its links. Any other text is aligned by a word
    aligner (eflomal, symmetrised), trained on the training text and the split together; the same text always gives the
    same links.

    Args:
        corpus: in its languages, with its training text.

    Raises:
        CorpusError: no such split, no training text, or gold links that do not belong to the split.
    """
    if has_gold_links(corpus, split) or aligned_path(corpus, split).is_file():
        return kept_links(corpus, split)[0]
    return aligner_links(pipeline, corpus, corpus.pairs(split), trained_on=split == "train")


def aligner_links(
    pipeline: Pipeline, corpus: ParallelCorpus, pairs: Iterable[tuple[str, str]], trained_on: bool = False
) -> list[frozenset[Link]]:
    """Return a word aligner's links of sentence pairs, trained on them and on the training text of a corpus.

    Args:
        pairs: source and target, between whose words as of `word_pairs` the links are.
        trained_on: whether the pairs are those of the training text.
    """
    asked = _words(pipeline, pairs)
    training = _words(pipeline, usable_pairs(corpus, pipeline.settings.max_words))
    aligner = WordAligner.train([*training, *([] if trained_on else asked)])
    return [frozenset(links) for links in aligner.align(asked)]


def _words(pipeline: Pipeline, pairs: Iterable[tuple[str, str]]) -> list[_Words]:
    target = pipeline.target.tokenizer
    return [(pipeline.source_words(source_text)[0], target.words(target_text)[0]) for source_text, target_text in pairs]
