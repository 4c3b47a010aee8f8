"""How many translations are in another language than the one asked for? (off-target, Zhang et al. 2020)"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Literal

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.translations import translations
from nmtlab.errors import CorpusError
from nmtlab.evaluation.language_identification import UNDECIDED, LanguageClassifier
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import is_blank

MOST_LINES = 20_000
"""Most lines of a language that a classifier is trained on."""


def classifier_of(texts: Sequence[ParallelCorpus]) -> LanguageClassifier:
    """Return a classifier of the languages of some corpora, trained on the first lines of their training text.

    Raises:
        CorpusError: as for `LanguageClassifier`, or a corpus without training text.
    """
    sides: dict[str, list[Iterable[str]]] = {}
    for corpus in texts:
        for language in corpus.direction:
            sides.setdefault(language, []).append(corpus.lines("train", language))
    lines = {language: dict.fromkeys(chain(*some)) for language, some in sides.items()}
    return LanguageClassifier({language: islice(some, MOST_LINES) for language, some in lines.items()})


def off_target(
    hypotheses: Sequence[str], references: Sequence[str], target: str, classifier: LanguageClassifier
) -> pd.DataFrame:
    """Return how many translations are not in the target language, as far as a classifier can tell.

    Related languages have lines in common, above all short ones: compare the share with `reference_share`, which the
    classifier gives to perfect translations. Lines without letters are in no language and do not count, neither as
    right nor as wrong; nor do blank ones.

    Args:
        hypotheses: the translations.
        references: their references.
        target: code of the language asked for.
        classifier: knows the target and the languages that it may be taken for.

    Returns:
        One row: `target`; `lines`; `blank`; `undecided`, lines without letters; `decided`, all others; `off_target`,
        how many of these are in another language; `share` of them, 0 to 1, NaN if no line is decided; `instead`, the
        most frequent of the other languages, empty if there is none, and `instead_share`; `reference_share`, the share
        of references that would count as off target, and `accuracy` of the classifier on references, 1 minus it.

    Raises:
        CorpusError: the classifier does not know the target language.
    """
    if target not in classifier.languages:
        raise CorpusError(
            f"language identification: no text in {target}", f"it was trained on {', '.join(classifier.languages)}"
        )
    written = [line for line in hypotheses if not is_blank(line)]
    found = Counter(classifier.predict(written))
    undecided = found.pop(UNDECIDED, 0)
    others = Counter({language: number for language, number in found.items() if language != target})
    instead, number = max(others.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    accuracy = classifier.accuracy({target: references})[target]
    decided = found.total()
    row = {
        "target": target,
        "lines": len(hypotheses),
        "blank": len(hypotheses) - len(written),
        "undecided": undecided,
        "decided": decided,
        "off_target": others.total(),
        "share": others.total() / decided if decided else float("nan"),
        "instead": instead,
        "instead_share": number / decided if decided else float("nan"),
        "reference_share": 1 - accuracy,
        "accuracy": accuracy,
    }
    return pd.DataFrame([row])


def off_target_lines(hypotheses: Sequence[str], target: str, classifier: LanguageClassifier) -> np.ndarray:
    """Return which translations are not in the target language, as `off_target` counts them.

    Args:
        hypotheses: the translations.
        target: code of the language asked for.
        classifier: knows the target and the languages that it may be taken for.

    Returns:
        (lines,): 1 for a line in another language, 0 for one in the target language, NaN for one without letters.
    """
    found = np.array(classifier.predict(hypotheses))
    return np.where(found == UNDECIDED, np.nan, found != target)


def off_target_of(
    run: Run, corpus: ParallelCorpus, texts: Sequence[ParallelCorpus], of: Literal["dev", "test"] = "test"
) -> pd.DataFrame:
    """Return `off_target` of a run's translations.

    Args:
        run: a trained run, in the corpus' direction.
        corpus: the text to translate.
        texts: the run's training texts, whose languages the classifier learns.
        of: the part of the corpus that is translated.

    Raises:
        CorpusError: no such text, or the classifier does not know the target language.
    """
    references = list(corpus.lines(of, corpus.target))
    return off_target(translations(run, corpus, of), references, corpus.target, classifier_of(texts))


def _off_target(lines: Sequence[str], run: Run | None, corpus: ParallelCorpus) -> np.ndarray | None:
    return None if run is None else off_target_lines(lines, corpus.target, _classifier(_trained_on(run, corpus)))


@lru_cache(maxsize=4)
def _classifier(texts: tuple[ParallelCorpus, ...]) -> LanguageClassifier:
    return classifier_of(texts)


def _trained_on(run: Run, corpus: ParallelCorpus) -> tuple[ParallelCorpus, ...]:
    """Return a run's training texts, one of each language with another; they are kept beside the corpus."""
    named = {frozenset((one.source, one.target)): one for one in run.recipe.trained_corpora}
    folder = corpus.folder.parent
    return tuple(ParallelCorpus.open(folder / one.name, one.source, one.target) for one in named.values())


OFF_TARGET_OF = Analysis(
    "How many translations are in another language than the one that was asked for?",
    off_target_of,
    source="Zhang et al. 2020",
    version=1,
    columns=tuple(
        "target lines blank undecided decided off_target share instead instead_share reference_share accuracy".split()
    ),
    metrics=(
        Metric(
            "off-target",
            "off target (%)",
            "proportion",
            "%",
            "lower",
            find=lambda run, corpus: {"texts": _trained_on(run, corpus)},
            read=lambda found: 100 * found["share"].iloc[0],
            hits=_off_target,
            translations="detokenized-test-bleu",
        ),
    ),
)
