"""Corpus BLEU, chrF, chrF++ and TER, through sacrebleu, with signatures.

`references` is always one or more sets, each with one reference per hypothesis, in order.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
from sacrebleu.utils import SACREBLEU_DIR

from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.languages import is_without_spaces, language_of

Tokenizer = Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores200", "none"]

# Perl's split knows six separators, Python's str.split every Unicode space: map the others to private-use characters,
# which str.split ignores.
_NOT_SEPARATORS = {
    code: 0xF0000 + code for code in range(0x3001) if chr(code).isspace() and chr(code) not in " \t\n\r\f\v"
}


@dataclass(frozen=True)
class Score:
    """A corpus score in percent, and the signature needed to reproduce it."""

    value: float
    signature: str


class _MultiBleu(BLEU):
    """BLEU as multi-bleu.perl computes it; the signature reads tok:none, smooth:none."""

    def __init__(self, split: Callable[[str], Sequence[str]] | None) -> None:
        super().__init__(tokenize="none", smooth_method="none", force=True)
        self._split = split

    def _preprocess_segment(self, sent: str) -> str:
        return (" ".join(self._split(sent)) if self._split else sent).translate(_NOT_SEPARATORS)


class _KeptTER(TER):
    """TER that keeps what it has counted: 1,000 sentences of 20 words take up to 20 s of CPU time."""

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[float]:
        return [*_edits(hypothesis, tuple(map(tuple, ref_kwargs["ref_words"])))]


@lru_cache(maxsize=1 << 17)
def _edits(hypothesis: str, references: tuple[tuple[str, ...], ...]) -> tuple[float, ...]:
    return tuple(TER()._compute_segment_statistics(hypothesis, {"ref_words": [list(words) for words in references]}))


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: Tokenizer = "13a") -> Score:
    """Return the corpus BLEU of detokenized text (Papineni et al. 2002).

    Args:
        tokenize: sacrebleu's tokenizer; `default_tokenizer` picks one for a language.

    Raises:
        CorpusError: nothing to score, or hypotheses and references differ in number.
        NmtlabError: no such tokenizer, or a package it needs is missing.
    """
    return _score(bleu_metric(tokenize), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Return the corpus chrF2 (Popović 2016): character n-grams up to 6, without spaces.

    Raises:
        CorpusError: nothing to score, or hypotheses and references differ in number.
    """
    return _score(chrf_metric(), hypotheses, references)


def tokenized_bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Return the BLEU of multi-bleu.perl: case-sensitive, no re-tokenization, no smoothing.

    Args:
        hypotheses: one translation per sentence, tokens joined by spaces.
        references: one or more sets of references, tokenized likewise.

    Raises:
        CorpusError: nothing to score, or hypotheses and references differ in number.
    """
    return _score(tokenized_bleu_metric(), hypotheses, references)


def default_tokenizer(language: str) -> Tokenizer:
    """Return the standard BLEU tokenizer for translations into `language`.

    `zh` for Chinese, `char` for other languages written without spaces between words (Japanese, Cantonese, Thai, Lao,
    Khmer, Burmese, Tibetan), else `13a`. sacrebleu's choice for Japanese, `ja-mecab`, needs `pip install
    'sacrebleu[ja]'`.

    Args:
        language: language code, of two or three letters; a script in it counts.
    """
    if not is_without_spaces(language):
        return "13a"
    return "zh" if language_of(language) == "zh" else "char"


def bleu_metric(tokenize: Tokenizer = "13a", **more: Any) -> Metric:
    """Return the metric behind `bleu`, for `paired_bootstrap`.

    Args:
        tokenize: as of `bleu`.
        more: further arguments of sacrebleu's `BLEU`.

    Raises:
        NmtlabError: no such tokenizer, or a package it needs is missing.
    """
    if tokenize not in get_args(Tokenizer):
        raise NmtlabError(f"BLEU tokenizer {tokenize!r}: unknown", f"use one of {', '.join(get_args(Tokenizer))}")
    if tokenize in SPM_MODELS and not (model := _pieces(tokenize)).exists():
        raise NmtlabError(
            f"BLEU tokenizer {tokenize!r}: sacrebleu's model is not here ({model})",
            f"let sacrebleu download it once: sacrebleu REFERENCE -i TRANSLATIONS --tokenize {tokenize}",
        )
    try:
        # force only silences a warning about tokenized-looking text: some corpora are published that way.
        return BLEU(tokenize=tokenize, force=True, **more)
    except RuntimeError as error:
        extra = tokenize.split("-")[0]
        raise NmtlabError(
            f"BLEU tokenizer {tokenize!r}: a required package is missing",
            f"pip install 'sacrebleu[{extra}]', or use 'char'",
        ) from error


def bleu_words(tokenize: Tokenizer = "13a") -> Callable[[str], list[str]]:
    """Return what splits text into the words that BLEU counts; arguments and errors as of `bleu_metric`."""
    metric = bleu_metric(tokenize)
    assert isinstance(metric, BLEU)
    return lambda text: metric.tokenizer(text).split()


def sentence_bleu_metric(tokenize: Tokenizer = "13a") -> Metric:
    """Return BLEU for single sentences, with 1 added to the counts of n-grams of two words and more (Lin and Och 2004).

    Raises:
        NmtlabError: as of `bleu_metric`.
    """
    return bleu_metric(tokenize, smooth_method="add-k", smooth_value=1, effective_order=True)


def _pieces(tokenize: str) -> Path:
    """Return where sacrebleu keeps the subword model of a tokenizer."""
    return Path(SACREBLEU_DIR, "models", Path(SPM_MODELS[tokenize]["url"]).name)


def chrf_metric(words: int = 0) -> Metric:
    """Return the metric behind `chrf`, for `paired_bootstrap`; chrF++ (Popović 2017) with n-grams of up to 2 words."""
    return CHRF(word_order=words)


def ter_metric(characters: bool = False) -> Metric:
    """Return TER (Snover et al. 2006) without case, for `paired_bootstrap`: edits for each word, lower is better.

    Args:
        characters: count Chinese characters as words (`asian:yes` in the signature).
    """
    return _KeptTER(normalized=characters, asian_support=characters)


def tokenized_bleu_metric(split: Callable[[str], Sequence[str]] | None = None) -> Metric:
    """Return the metric behind `tokenized_bleu`, for `paired_bootstrap`; of text that `split` splits into words."""
    return _MultiBleu(split)


def check_parallel(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse inputs of different lengths, which sacrebleu would silently truncate.

    Raises:
        CorpusError: nothing to score, or hypotheses and references differ in number.
    """
    if not hypotheses or not references:
        raise CorpusError(
            f"{len(hypotheses)} hypotheses and {len(references)} reference sets: nothing to score",
            "give at least one hypothesis and one set of references",
        )
    for number, reference in enumerate(references, start=1):
        if isinstance(reference, str):
            raise CorpusError(
                f"reference set {number} is a single string", "give a list of reference sets: [references]"
            )
        if len(reference) != len(hypotheses):
            raise CorpusError(
                f"{len(hypotheses)} hypotheses but {len(reference)} references in set {number}",
                "give one reference per hypothesis, in the same order",
            )


def _score(metric: Metric, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    check_parallel(hypotheses, references)
    value = metric.corpus_score(hypotheses, references).score
    return Score(value, str(metric.get_signature()))


def perplexity(negative_log_likelihood: float, tokens: int) -> float:
    """Return exp(negative log-likelihood / tokens), or infinity if that overflows.

    Args:
        negative_log_likelihood: in nats, summed over the tokens, without label smoothing.
        tokens: number of scored tokens, including EOS if scored; at least 1.

    Raises:
        CorpusError: no tokens.
    """
    if tokens < 1:
        raise CorpusError(f"perplexity over {tokens} tokens: undefined", "score at least one sentence")
    try:
        return math.exp(negative_log_likelihood / tokens)
    except OverflowError:
        return math.inf
