"""How good are translations, and is one system better than another?"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from nmtlab.analysis.access.needs import in_direction
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.errors import CorpusError
from nmtlab.evaluation.resampling import paired_bootstrap
from nmtlab.evaluation.scores import (
    bleu,
    bleu_metric,
    chrf,
    chrf_metric,
    default_tokenizer,
    tokenized_bleu,
    tokenized_bleu_metric,
)
from nmtlab.languages import is_without_spaces
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
    translator = open_model(in_direction(run, corpus), machine=machine)
    source, target = corpus.lines(split, corpus.source), corpus.lines(split, corpus.target)
    return text_perplexity(translator.model, translator.pipeline, list(source), list(target))


def compare_texts(
    systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]], language: str, samples: int = 1000
) -> pd.DataFrame:
    """Compare each system with the first one by paired bootstrap resampling.

    Args:
        systems: name -> detokenized translations.

    Returns:
        A row for each system and metric: `metric` (BLEU, chrF, and tokenized BLEU of text that `has_words`), `system`,
        `score`, `mean` and `margin` (95 % of the resampled scores lie within mean ± margin), `difference` to the first
        system, `p`, `signature`.
    """
    comparisons = {
        "BLEU": paired_bootstrap(systems, references, bleu_metric(default_tokenizer(language)), samples),
        "chrF": paired_bootstrap(systems, references, chrf_metric(), samples),
    }
    if has_words(references[0], language):
        tokenized = {name: _tokenized(lines, language) for name, lines in systems.items()}
        tokenized_references = [_tokenized(lines, language) for lines in references]
        metric = tokenized_bleu_metric()
        comparisons["tokenized BLEU"] = paired_bootstrap(tokenized, tokenized_references, metric, samples)
    return pd.DataFrame([{"metric": metric, **vars(row)} for metric, rows in comparisons.items() for row in rows])


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
    return tokenized_bleu(_tokenized(hypotheses, language), [_tokenized(r, language) for r in references]).value


def _tokenized(lines: Sequence[str], language: str) -> list[str]:
    words = moses_words(language)
    return [" ".join(words.split(line)) for line in lines]


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
