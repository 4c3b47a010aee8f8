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


def checked_corpus(corpus: ParallelCorpus, allow_overlap: bool = False) -> tuple[DevText, dict[str, int]]:
    """Check a whole corpus before anything is learned from it.

    Args:
        corpus: to be learned from.
        allow_overlap: accept pairs of dev and test that are in train too.

    Returns:
        Its dev text, and by split how many pairs are in train too, where there are any.

    Raises:
        CorpusError: sides of different length, text that cannot be read, no dev text, or dev or test pairs that are
            in train too and may not.
    """
    for split in ("train", "dev"):
        if split not in corpus.splits:
            raise CorpusError(
                f"corpus {corpus.name!r}: no {split}.{corpus.source} and {split}.{corpus.target}",
                "add them, or import the text with 'nmtlab corpus import', which splits it",
            )
    _, shared_lines = corpus.inspect()
    overlap: dict[str, int] = {}
    for split, shared in shared_lines.items():
        if shared and not allow_overlap:
            raise CorpusError(
                f"corpus {corpus.name!r}: {len(shared)} pairs of {split} are in train too, the first at {split} line "
                f"{shared[0]}",
                "import the text again with 'nmtlab corpus import', which takes them out of train; to use published "
                "splits as they are, train with --allow-overlap",
            )
        if shared:
            overlap[split] = len(shared)
    return DevText(list(corpus.lines("dev", corpus.source)), corpus.references("dev")), overlap
