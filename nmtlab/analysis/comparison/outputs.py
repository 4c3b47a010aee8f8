"""What the translations of systems look like beside the references: length, repetition, copies, empty ones."""

from collections.abc import Callable
from itertools import pairwise
from statistics import fmean

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.comparison.compared import Compared, Lines
from nmtlab.analysis.search.beams import DECODED
from nmtlab.analysis.search.searched import BEAMS, Way
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import moses_words

REFERENCE = "reference"


def output_statistics(compared: Compared) -> pd.DataFrame:
    """Return what the translations of each system, and the references, look like.

    Returns:
        A row for the references and for each system, means over seeds: `system`; `length`, words divided by those of
        the references; `empty`, share of lines without a word; `repetition`, as of that function; `copied`, share of
        the words, punctuation and numbers left out, that their source line has, NaN if that is unknown; `unseen`, share
        of the words that are not in the target side of the training text, NaN if that is unknown.
    """
    rows = {REFERENCE: [_of(compared.reference_words, compared)]}
    rows |= {name: [_of(lines, compared) for lines in seeds] for name, seeds in compared.words.items()}
    means = [
        {"system": name, **{key: fmean(one[key] for one in of_seeds) for key in of_seeds[0]}}
        for name, of_seeds in rows.items()
    ]
    return pd.DataFrame(means)


def repetition(lines: Lines) -> float:
    """Return the share of the bigrams of lines that their line has had already (seq-rep-2 of Welleck et al. 2020)."""
    bigrams = [list(pairwise(line)) for line in lines]
    distinct = sum(len(set(of_line)) for of_line in bigrams)
    return 1 - _share(distinct, sum(map(len, bigrams))) if any(bigrams) else 0.0


def _of(lines: Lines, compared: Compared) -> dict[str, float]:
    words = sum(map(len, lines))
    sources = [set(line) for line in compared.source_words]
    copied = _share_of_words(lines, lambda word, number: word in sources[number], str.isalpha)
    return {
        "length": _share(words, sum(map(len, compared.reference_words))),
        "empty": _share(sum(not line for line in lines), len(lines)),
        "repetition": repetition(lines),
        "copied": copied if any(sources) else _NAN,
        "unseen": _share_of_words(lines, lambda word, _: not compared.counts.get(word)) if compared.counts else _NAN,
    }


def _share_of_words(
    lines: Lines, has: Callable[[str, int], bool], counts: Callable[[str], bool] = lambda word: True
) -> float:
    """Return the share of words, of those that count, with a property that depends on their line."""
    found = [has(word, number) for number, line in enumerate(lines) for word in line if counts(word)]
    return _share(sum(found), len(found))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else _NAN


_NAN = float("nan")


def searched_repetition(run: Run, corpus: ParallelCorpus, way: Way) -> pd.DataFrame:
    """Return the share `repeated` of the bigrams, of Moses tokens, of translations whose answer is stored; one row."""
    words = moses_words(corpus.target)
    found = DECODED.of(run, **way.computed(run, corpus))
    return pd.DataFrame([{"repeated": repetition([words.split(line) for line in found["text"]])}])


REPEATED = Analysis(
    "How often do the translations of another search repeat themselves?",
    searched_repetition,
    source="Welleck et al. 2020",
    metrics=(
        Metric(
            "repeated-log-prob-4", "% bigrams repeated by log-prob, beam 4", unit="%", better="lower",
            given={"way": Way(SearchSettings(score="log-prob", beam_size=BEAMS[1]))},
            read=lambda found: 100 * found["repeated"].item(),
        ),
    ),
)  # fmt: skip
