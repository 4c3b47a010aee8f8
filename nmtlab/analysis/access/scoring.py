"""How good are translations, and is one system better than another?"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sacrebleu.metrics.base import Metric

from nmtlab.analysis.access.needs import in_direction
from nmtlab.analysis.access.translations import more_sources, stored_translations
from nmtlab.errors import CorpusError
from nmtlab.evaluation.resampling import Counted, compared, counted
from nmtlab.evaluation.scores import (
    bleu,
    bleu_metric,
    check_parallel,
    chrf,
    chrf_metric,
    default_tokenizer,
    ter_metric,
    tokenized_bleu_metric,
)
from nmtlab.languages import is_in_han, is_without_spaces
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.text.segmentation.tokenizers import moses_words
from nmtlab.training.validation import text_perplexity
from nmtlab.workspace import Workspace

_LONG_WORD = 8
"""Mean length, in letters, that words of no language without spaces have."""


def score_texts(hypotheses: Sequence[str], references: Sequence[Sequence[str]], language: str) -> dict[str, Any]:
    """Return the scores of detokenized translations.

    Returns:
        `bleu` and `chrf` by sacrebleu with `bleu_signature` and `chrf_signature`; `tokenized_bleu`, as multi-bleu
        computes it, of the Moses-tokenized text, NaN of text without words (`has_words`); `sentences`, their number.
    """
    with_signature = bleu(hypotheses, references, default_tokenizer(language))
    characters = chrf(hypotheses, references)
    return {
        "sentences": len(hypotheses),
        "bleu": with_signature.value,
        "chrf": characters.value,
        "tokenized_bleu": _tokenized_bleu(hypotheses, references, language),
        "bleu_signature": with_signature.signature,
        "chrf_signature": characters.signature,
    }


def run_perplexity(
    run: Run, corpus: ParallelCorpus, split: str, machine: MachineSettings | None = None
) -> tuple[float, int]:
    """Return the perplexity of a run's best checkpoint on a split, and how many reference tokens are scored as UNK."""
    translator, corpus = open_model(in_direction(run, corpus), machine=machine), run.as_read(corpus)
    source, target = (list(corpus.lines(split, language)) for language in corpus.direction)
    more = more_sources(run, corpus, split)
    return text_perplexity(translator.model, translator.pipeline, source, target, more)


class TextMetrics(NamedTuple):
    """The metrics of a text by title, and why it has no others: title -> reason."""

    of: dict[str, Metric]
    missing: dict[str, str]


def text_metrics(
    references: Sequence[Sequence[str]], language: str, ter: bool = False, spbleu: bool = False
) -> TextMetrics:
    """Return the metrics of a text: BLEU, chrF, chrF++, and tokenized BLEU if it `has_words`.

    Args:
        ter: also TER, which is slow.
        spbleu: also BLEU on the subwords of FLORES-200.

    Raises:
        NmtlabError: spBLEU is wanted, and sacrebleu's model of subwords is not here.
    """
    found = {"BLEU": bleu_metric(default_tokenizer(language)), "chrF": chrf_metric(), "chrF++": chrf_metric(2)}
    missing, words = {}, has_words(references[0], language)
    without = f"the text in {language} has no spaces between words"
    if not ter:
        missing["TER"] = "not asked for with --ter: 1,000 sentences take up to 20 seconds"
    elif words or is_in_han(language):
        found["TER"] = ter_metric(characters=not words)
    else:
        missing["TER"] = without
    if spbleu:
        found["spBLEU"] = bleu_metric("flores200")
    else:
        missing["spBLEU"] = "not asked for with --spbleu"
    if words:
        found["tokenized BLEU"] = tokenized_bleu_metric(moses_words(language).split)
    else:
        missing["tokenized BLEU"] = without
    return TextMetrics(found, missing)


def compare_texts(
    systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]], language: str, samples: int = 1000
) -> pd.DataFrame:
    """Compare each system with the first one by paired bootstrap resampling.

    Args:
        systems: name -> detokenized translations.

    Returns:
        A row for each system and metric: `metric` (of `text_metrics`), `system`, `score`, `mean` and `margin` (95 % of
        the resampled scores lie within mean ± margin), `difference` to the first system, `p`, `signature`, and which
        scores are `better`, higher or lower.
    """
    if not systems:
        raise CorpusError("0 systems: nothing to compare", "give the baseline, then the systems")
    for lines in systems.values():
        check_parallel(lines, references)
    metrics = text_metrics(references, language).of
    return compared_counts(list(systems), counted_texts(list(systems.values()), references, metrics), samples)


def counted_texts(
    systems: Sequence[Sequence[str]], references: Sequence[Sequence[str]], metrics: Mapping[str, Metric]
) -> list[Counted]:
    """Return what metrics count in the translations of systems."""
    return [counted(title, systems, references, metric) for title, metric in metrics.items()]


def compared_counts(systems: Sequence[str], counts: Sequence[Counted], samples: int = 1000) -> pd.DataFrame:
    """Return the rows of `compare_texts` from what metrics count, of systems by name."""
    return pd.DataFrame([{"metric": of.metric, **vars(row)} for of in counts for row in compared(systems, of, samples)])


def compared_by_label(
    systems: Sequence[str], counts: Sequence[Counted], labels: Sequence[str], samples: int = 1000
) -> pd.DataFrame:
    """Return the rows of `compare_texts` for the sentences of each label, with `label` and `sentences`, their number.

    Args:
        labels: one for each sentence; those of most sentences come first.
    """
    parts = []
    for label, sentences in pd.Series(labels).value_counts(sort=True).items():
        lines = np.flatnonzero(np.array(labels) == label)
        found = compared_counts(systems, [of._replace(statistics=of.statistics[:, lines]) for of in counts], samples)
        parts.append(found.assign(label=label, sentences=sentences))
    return pd.concat(parts, ignore_index=True)


def who_wins(comparison: pd.DataFrame) -> list[str]:
    """Return for each system but the first, in words, by which metrics it is better, worse or not clearly different."""
    first = comparison["system"].iloc[0]
    found = []
    for system, rows in comparison[comparison["system"] != first].groupby("system", sort=False):
        clear, gains = rows["p"] < 0.05, (rows["difference"] > 0) == (rows["better"] == "higher")
        parts = {"better in": clear & gains, "worse in": clear & ~gains, "no clear difference in": ~clear}
        said = [f"{way} {', '.join(rows['metric'][of])}" for way, of in parts.items() if of.any()]
        found.append(f"{system} against {first}: {'; '.join(said)}")
    return found


def has_words(lines: Sequence[str], language: str) -> bool:
    """Return whether spaces separate the words of a text, as they do unless its language is written without spaces.

    Text of such a language may have been tokenized: its words have fewer than 8 letters on average, and what stands
    between two spaces of other text has more.
    """
    if not is_without_spaces(language):
        return True
    words = [word for line in lines for word in line.split()]
    return sum(map(len, words)) < _LONG_WORD * len(words)


def _tokenized_bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], language: str) -> float:
    if not has_words(references[0], language):
        return math.nan
    metric = tokenized_bleu_metric(moses_words(language).split)
    return metric.corpus_score(hypotheses, references).score


def stored_scores(run: Run, workspace: Workspace) -> list[str]:
    """Return lines with BLEU, chrF and signatures of a run's stored translations of its corpora that are here."""
    found = []
    for named in run.recipe.corpora:
        try:
            text = open_corpus(named.name, workspace, named.source, named.target)
        except CorpusError:
            continue
        for split in text.splits:
            if text.direction == run.direction and (lines := stored_translations(run, text, split)):
                scores = score_texts(lines, text.references(split), text.target)
                where = f"{text.name} {split} ({scores['sentences']:,} sentences)"
                found.append(f"BLEU {scores['bleu']:.2f} on {where}, {scores['bleu_signature']}")
                found.append(f"chrF {scores['chrf']:.2f} on {where}, {scores['chrf_signature']}")
    return found
