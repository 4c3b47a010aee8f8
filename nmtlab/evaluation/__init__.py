"""Metrics of translation quality and word alignment, and significance tests."""

from nmtlab.evaluation.alignment_error import AlignmentError, alignment_error
from nmtlab.evaluation.resampling import Comparison, paired_bootstrap
from nmtlab.evaluation.scores import (
    Score,
    bleu,
    bleu_metric,
    chrf,
    chrf_metric,
    default_tokenizer,
    perplexity,
    ter_metric,
    tokenized_bleu,
    tokenized_bleu_metric,
)

__all__ = [
    "AlignmentError",
    "Comparison",
    "Score",
    "alignment_error",
    "bleu",
    "bleu_metric",
    "chrf",
    "chrf_metric",
    "default_tokenizer",
    "paired_bootstrap",
    "perplexity",
    "ter_metric",
    "tokenized_bleu",
    "tokenized_bleu_metric",
]
