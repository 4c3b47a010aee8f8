"""A corpus is checked whole before anything is learned from it."""

from dataclasses import dataclass

from nmtlab.errors import CorpusError
from nmtlab.text.corpus import ParallelCorpus


@dataclass(frozen=True)
class DevText:
    """The text that decides when to stop."""

    source: list[str]
    references: list[list[str]]
    """One or more sets of references."""


def checked_corpus(corpus: ParallelCorpus) -> DevText:
    """Check a whole corpus before anything is learned from it, and return its dev text.

    Raises:
        CorpusError: sides of different length, text that cannot be read, no dev text, or dev or test sentences
            that are in training too.
    """
    for split in ("train", "dev"):
        if split not in corpus.splits:
            raise CorpusError(
                f"corpus {corpus.name!r}: no {split}.{corpus.source} and {split}.{corpus.target}",
                "add them, or import the text with 'nmtlab corpus import', which splits it",
            )
    corpus.check()
    for split in corpus.splits[1:]:
        if shared := corpus.overlap(split):
            raise CorpusError(
                f"corpus {corpus.name!r}: {len(shared)} pairs of {split} are in train too, the first at {split} line "
                f"{shared[0]}",
                "take them out of train, or import the text again with 'nmtlab corpus import', which does",
            )
    return DevText(list(corpus.lines("dev", corpus.source)), corpus.references("dev"))
