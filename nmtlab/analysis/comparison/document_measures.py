"""Numbers of translated documents that tables quote: BLEU, and the share of new words that are right."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from nmtlab.analysis.access.metric import USABLE_BLEU, Metric, Scoring, Text
from nmtlab.analysis.comparison.new_words import new_words, reference_dictionary
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

Find = Callable[[Run, ParallelCorpus], Mapping[str, Any]]

_DICTIONARY = {"dictionary_learning_rate": 0.03}
ONLINE = {"learning_rate": 0.1}
"""Arguments of `document_translations`. The rates are those of the highest BLEU on dev of an artificial language."""
DICTIONARY_ONLY = {"learning_rate": 0.0, "epochs": 0, **_DICTIONARY}
DICTIONARY_AND_ONLINE = {**ONLINE, **_DICTIONARY}


def documents_of(run: Run, corpus: ParallelCorpus) -> dict[str, Any]:
    """Return the documents of a test text, as an argument."""
    return {"documents": corpus.documents("test")}


def with_dictionary(run: Run, corpus: ParallelCorpus) -> dict[str, Any]:
    """Return the documents of a test text, and what their new words are in the references, as arguments."""
    return {**documents_of(run, corpus), "dictionary": reference_dictionary(corpus, "test")}


def _by_document(corpus: ParallelCorpus, run: Run | None) -> Text:
    """Return the test text in the order of `document_translations`."""
    first: dict[str, int] = {}
    began = [first.setdefault(name, line) for line, name in enumerate(corpus.documents("test"))]
    order = sorted(range(len(began)), key=began.__getitem__)
    sources, references = list(corpus.lines("test", corpus.source)), corpus.references("test")
    return Text([sources[line] for line in order], [[side[line] for line in order] for side in references])


def share_right(system: str) -> Callable[[pd.DataFrame, ParallelCorpus], float]:
    """Return what finds the percentage of new words that are right in translations of a name."""

    def read(found: pd.DataFrame, corpus: ParallelCorpus) -> float:
        words = new_words(found, list(corpus.pairs("train")), corpus.direction, [system])
        return 100 * float(words[f"{system} right"].astype(float).mean())

    return read


def adapted_measures(way: str, how: str, find: Find, given: Mapping[str, Any]) -> tuple[Metric, Metric]:
    """Return BLEU of the adapted translations, and the share of new words that are right in them."""
    scoring = Scoring(made_by=how, column="adapted", text=_by_document)
    return (
        Metric(f"bleu-{way}", f"BLEU {how}", "score", "BLEU", given=given, find=find, scoring=scoring,
               usable=USABLE_BLEU, if_diverged=0.0),
        Metric(f"new-words-{way}", f"% of new words right {how}", unit="%", given=given, find=find,
               read=share_right("adapted"), if_diverged=0.0),
    )  # fmt: skip


UNADAPTED = Metric(
    "new-words", "% of new words right", unit="%", given=ONLINE, find=documents_of, read=share_right("unadapted"),
    if_diverged=0.0,
)  # fmt: skip
