"""Are words better translated if the parent has a cognate of them? (artificial languages, whose cognates are known)"""

from collections import Counter
from collections.abc import Container, Mapping
from typing import Literal

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.lexical.gold import gold_lexicon
from nmtlab.evaluation.rare_words import bucket_names, bucket_of
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import gold_links

COGNATE, UNRELATED, BORROWED = "cognate", "no cognate", "name"
KINDS = (COGNATE, UNRELATED, BORROWED)

EDGES = (0, 1, 5, 20)
"""Lower edges of the classes of how often a concept was seen."""


def cognates(child: ParallelCorpus, parent: ParallelCorpus) -> pd.DataFrame:
    """Return each concept's stem in two artificial languages, and whether the stems have one root.

    Args:
        child, parent: corpora with gold lexicons, of one family: with the same seed, vocabulary and names.

    Returns:
        A row for each English word with a stem in both: `group`, of concepts; `target`, the word; `forms`, all its
        forms, a list; `child` and `parent`, the stems; `kind`: `cognate`, `no cognate` or `name`, borrowed by both.

    Raises:
        CorpusError: a corpus has no gold lexicon.
    """
    keys = ["group", "target"]
    ours, theirs = (gold_lexicon(corpus) for corpus in (child, parent))
    both = ours.merge(theirs, on=keys, suffixes=("", "_parent"))
    both = both[(both["stem"] != "") & (both["origin"] != "")]
    inherited = (both["origin"] == "inherited") & (both["origin_parent"] == "inherited")
    borrowed = (both["origin"] == "borrowed") & (both["origin_parent"] == "borrowed")
    kind = inherited.map({True: COGNATE, False: UNRELATED}).mask(borrowed, BORROWED)
    columns = {"stem": "child", "stem_parent": "parent"}
    return (
        both.rename(columns=columns)
        .assign(kind=kind, forms=both["forms"].str.split(" "))[[*keys, "forms", "child", "parent", "kind"]]
        .reset_index(drop=True)
    )


def cognate_recall(
    run: Run, corpus: ParallelCorpus, parent: ParallelCorpus, part: Literal["dev", "test"] = "test"
) -> pd.DataFrame:
    """Return how many words of a text a run translates, with and without a cognate in the parent's language.

    A word of the source is translated if the English word that it is linked to is in the run's translation.

    Args:
        run: any system of the child's language, with or without a parent.
        corpus: the child's corpus, an artificial language.
        parent: corpus of the parent's language.
        part: the split that is translated.

    Returns:
        A row for each kind and frequency with words: `kind`; `seen`, how often the child's training text has the
        concept; `words`; `right`, how many of them are translated; `recall`, 0 to 1.

    Raises:
        CorpusError: no such split, or no gold data.
    """
    known = cognates(corpus, parent)
    kind_of = {form: row.kind for row in known.itertuples() for form in row.forms}
    seen = _seen(corpus, known)
    found: Counter[tuple[str, int]] = Counter()
    right: Counter[tuple[str, int]] = Counter()
    hypotheses, references = translations(run, corpus, part), corpus.lines(part, corpus.target)
    for hypothesis, reference, links in zip(hypotheses, references, gold_links(corpus, part), strict=True):
        words, produced = _words(reference, kind_of), Counter(_words(hypothesis, kind_of))
        for word in (words[j] for _, j in sorted(links) if words[j] in kind_of):
            cell = kind_of[word], bucket_of(seen[word], EDGES)
            found[cell] += 1
            right[cell] += produced[word] > 0
            produced[word] -= 1
    names = bucket_names(EDGES)
    rows = [
        (kind, names[bucket], found[kind, bucket], right[kind, bucket], right[kind, bucket] / found[kind, bucket])
        for kind in KINDS
        for bucket in range(len(names))
        if found[kind, bucket]
    ]
    return pd.DataFrame(rows, columns=["kind", "seen", "words", "right", "recall"])


COGNATE_RECALL = Analysis(
    "How many words does a child translate, with and without a cognate in its parent's language?",
    cognate_recall,
    version=1,
    columns=("kind", "seen", "words", "right", "recall"),
)


def _seen(corpus: ParallelCorpus, known: pd.DataFrame) -> Mapping[str, int]:
    """Return how often the training text has the concept of each English form."""
    forms = {form for row in known.itertuples() for form in row.forms}
    counts = Counter(word for line in corpus.lines("train", corpus.target) for word in _words(line, forms))
    return {form: sum(counts[one] for one in set(row.forms)) for row in known.itertuples() for form in row.forms}


def _words(line: str, known: Container[str]) -> list[str]:
    """Return the words of a sentence, the first as it is written inside one."""
    first, *others = line.split(" ")
    return [first if first in known else first.lower(), *others]
