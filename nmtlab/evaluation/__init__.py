"""Metrics of translation quality and word alignment, and significance tests."""

from nmtlab.evaluation.alignment_error import AlignmentError, alignment_error
from nmtlab.evaluation.perplexity import perplexity
from nmtlab.evaluation.scores import (
    Score,
    bleu,
    bleu_metric,
    chrf,
    chrf_metric,
    default_tokenizer,
    tokenized_bleu,
    tokenized_bleu_metric,
)
from nmtlab.evaluation.significance import Comparison, paired_bootstrap

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
    "tokenized_bleu",
    "tokenized_bleu_metric",
]
