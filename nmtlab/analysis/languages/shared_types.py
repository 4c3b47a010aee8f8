"""How many of a child's source types does its parent know? (thesis Table 3.3)"""

from collections import Counter

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.text.checks.overlap import shares
from nmtlab.text.corpora.corpus import ParallelCorpus


def parent_of(run: Run) -> Run:
    """Return the parent of a run, from the same folder of runs.

    Raises:
        RunError: it has no parent, or the parent is not there.
    """
    if run.inheritance is None:
        raise RunError(f"run {run.name!r}: has no parent", "choose a run trained with --parent")
    folder = run.folder.parent / run.inheritance["parent"]
    if not folder.is_dir():
        raise RunError(f"run {run.name!r}: its parent {folder.name!r} is not here", "put the parent's run beside it")
    return Run(folder)


def shared_types(run: Run, corpus: ParallelCorpus, parent: Run) -> pd.DataFrame:
    """Count the types and tokens of a child's source text that occur in its parent's source training text.

    Args:
        run: a child; its segmentation is used.
        corpus: its text.
        parent: its parent.

    Returns:
        A row for train and dev: `split`; `types`, `shared_types` and `type_share`; `tokens`, `shared_tokens` and
        `token_share`. In train, only types of the vocabulary count; in dev, all words or subwords do.
    """
    ours, theirs = run.pipeline.source, parent.pipeline.source.vocabulary
    known = {word for word, count in zip(theirs.types, theirs.counts.tolist(), strict=True) if count}
    vocabulary = ours.vocabulary
    counted = zip(vocabulary.types, ours.counts_in(corpus.source).tolist(), strict=True)
    train = Counter({word: count for word, count in list(counted)[vocabulary.reserved :] if count})
    dev = Counter(piece for line in corpus.lines("dev", corpus.source) for piece in ours.tokenizer.split(line))
    texts = {"train": train, "dev": dev}
    return pd.DataFrame([{"split": split, **shares(counts, list(counts), known)} for split, counts in texts.items()])


SHARED_TYPES = Analysis(
    "How much of a child's source text is made of types of its parent's?",
    shared_types,
    version=1,
    columns=("split", "types", "shared_types", "type_share", "tokens", "shared_tokens", "token_share"),
)


def shared_types_of(child: Run, corpus: ParallelCorpus) -> pd.DataFrame:
    """Return `shared_types` of a child whose parent is beside it, or as stored with the child.

    Raises:
        RunError: it has no parent, or neither the parent nor a stored answer is here.
    """
    checksum = corpus.checksum()
    found = SHARED_TYPES.answers(child)
    stored = [answer for answer in found if answer.question.arguments["corpus"]["sha256"] == checksum]
    return stored[0].frame() if stored else SHARED_TYPES.of(child, corpus=corpus, parent=parent_of(child))
