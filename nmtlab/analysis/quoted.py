"""Metrics, for now."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import USABLE_BLEU, Better, Metric, Scoring, Text
from nmtlab.analysis.access.needs import NEURAL, PLANNED_LENGTH, Need
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.attention.shift import PEAK_COUNTS
from nmtlab.analysis.comparison.outputs import repetition
from nmtlab.analysis.dynamics.convergence import convergence, last_perplexity
from nmtlab.analysis.dynamics.curves import GRADIENT_CURVE, gradient_quantiles
from nmtlab.analysis.dynamics.signals import ENOUGH as FEW_PAIRS
from nmtlab.analysis.dynamics.signals import SIGNALS
from nmtlab.analysis.languages.directions import PIVOTED
from nmtlab.analysis.languages.off_target import OFF_TARGET_OF, classifier_of, off_target_lines
from nmtlab.analysis.languages.shared_words import TYPES_OF_PARENT
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY, norm_correlations
from nmtlab.analysis.lexical.lexical_choice import LEXICAL_CHOICE, LEXICAL_SUMS
from nmtlab.analysis.search.beams import DECODED
from nmtlab.analysis.search.length_baselines import BASELINE_LENGTHS
from nmtlab.analysis.search.planned_lengths import ORACLE_LENGTHS, PLANNED_LENGTHS, length_errors
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, error_rates, outcomes
from nmtlab.analysis.search.searched import BEAMS, FEW, SAMPLED, Way
from nmtlab.analysis.search.unseen_lengths import (
    ENOUGH,
    LOSSES_BY_REST,
    REFERENCE_LOSSES,
    UNSEEN_TRANSLATIONS,
    loss_of_rests,
    losses_by_seen,
    unseen_pairs,
)
from nmtlab.evaluation.language_identification import LanguageClassifier
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import moses_words

# --- access/translations.py


def translated(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return `translations` of a split by the recipe's search, which are stored, as `text`: a row for each sentence."""
    return pd.DataFrame({"text": translations(run, corpus, split)})


def _bleu(key: str, label: str, split: str, detokenized_into: tuple[str, ...] = ()) -> Metric:
    """Return sacrebleu's BLEU of detokenized text into some languages, multi-bleu's of Moses tokens into all others."""
    scoring = Scoring(detokenized_into=detokenized_into)
    return Metric(key, label, "score", "BLEU", split=split, scoring=scoring, usable=USABLE_BLEU, if_diverged=0.0)


TRANSLATED = Analysis(
    "How does a run translate a text, with the search of its recipe?",
    translated,
    metrics=(
        _bleu("dev-bleu", "dev BLEU", "dev"),  # Tables 3.4 and 3.8
        _bleu("test-bleu", "test BLEU", "test", ("en",)),  # thesis 3.2.5.3
        _bleu("tokenized-test-bleu", "test BLEU", "test"),  # thesis 3.3.3.1
        Metric(
            "detokenized-test-bleu",
            "test BLEU",
            "score",
            "BLEU",
            scoring=Scoring(),
            usable=USABLE_BLEU,
            if_diverged=0.0,
        ),
        _bleu("ntrex-bleu", "NTREX BLEU", "test", ("en",)),
        Metric("test-chrf", "test chrF", "score", "chrF", scoring=Scoring("chrF"), if_diverged=0.0),
    ),
)

# --- attention/shift.py


def _peaks(key: str, label: str, amount: str, less: str = "", better: Better = "lower") -> Metric:
    return Metric(
        key, f"{label} (%)", "ratio", "%", better, needs=(NEURAL,), amount=amount, less=less, of="words"
    )  # fmt: skip


PEAKS = (
    _peaks("peaks-first", "peaks on the first word", "first"),
    _peaks("peaks-last", "peaks on the last word", "last"),
    _peaks("peaks-linked", "peaks on the linked word", "on", better="higher"),
    _peaks("first-excess", "peaks less links on the first word", "first", "first_linked", "zero"),
    _peaks("last-excess", "peaks less links on the last word", "last", "last_linked", "zero"),
    # How many more peaks would be on the linked word if each were one word further right: positive in Figure 3.3.
    _peaks("moved-gain", "gain on the linked word if moved right", "on_if_moved", "on"),
)

# --- lexical


FREE_NORMS = Need(
    "fixed norms",
    "the norms of its word vectors are fixed",
    "choose a run without fixnorm",
    lambda run: not (run.recipe.model.neural and run.recipe.model.fixnorm),
)


def _quantity(quantity: str, better: Better = "higher", needs: tuple[Need, ...] = ()) -> Metric:
    """Return a number of `lexical_choice`; what sentences add to it, if it is a ratio, is in `lexical_sums`."""
    return Metric(
        quantity.replace(" ", "-"), quantity, "ratio", better=better, needs=needs,
        read=lambda found: dict(zip(found["quantity"], found["value"], strict=True)).get(quantity, math.nan),
        stored=lambda run, corpus: LEXICAL_SUMS.stored(run, corpus=corpus),
        amount="amount", of="of", where=("quantity", quantity),
    )  # fmt: skip


LEXICAL = (
    _quantity("rare recall"),
    Metric(
        "norm-frequency", "norm-frequency", better="zero", needs=(FREE_NORMS,),
        read=_quantity("norm-frequency").read,
    ),
    _quantity("norm decides", "lower", (FREE_NORMS,)),
    _quantity("left shift", "zero"),
    _quantity("alignment error", "lower"),
    _quantity("right copies"),
    Metric("lexicon-precision", "lexicon precision", read=_quantity("lexicon precision").read),
)  # fmt: skip


def _bias_frequency(words: pd.DataFrame) -> float:
    """Return the rank correlation of the output bias b_e with frequency (Figure 3.2); NaN without biases."""
    return norm_correlations(words).set_index("quantity")["spearman"].get("bias", math.nan)


BIAS = (Metric("bias-frequency", "bias-frequency", better="lower", split=None, needs=(NEURAL,), read=_bias_frequency),)

# --- languages

SHARED = tuple(
    Metric(
        f"types-in-parent-{split}", f"source types in parent, {split} (%)", "count", "%", split=None,
        read=lambda found, split=split: 100 * found.set_index("split")["type_share"][split],
    )
    for split in ("train", "dev")
)  # fmt: skip

PIVOT = (
    Metric(
        "pivot-bleu", "test BLEU through English", "score", "BLEU",
        scoring=Scoring(made_by="test BLEU through English", column="translation"), if_diverged=0.0,
    ),
)  # fmt: skip


def _off_target(lines: Sequence[str], run: Run | None, corpus: ParallelCorpus) -> np.ndarray | None:
    return None if run is None else off_target_lines(lines, corpus.target, _classifier(_trained_on(run, corpus)))


@lru_cache(maxsize=4)
def _classifier(texts: tuple[ParallelCorpus, ...]) -> LanguageClassifier:
    return classifier_of(texts)


def _trained_on(run: Run, corpus: ParallelCorpus) -> tuple[ParallelCorpus, ...]:
    """Return a run's training texts, one of each language with another; they are kept beside the corpus."""
    named = {frozenset((one.source, one.target)): one for one in run.recipe.corpora if not one.vocabulary_only}
    folder = corpus.folder.parent
    return tuple(ParallelCorpus.open(folder / one.name, one.source, one.target) for one in named.values())


OFF = (
    Metric(
        "off-target", "off target (%)", "proportion", "%", "lower",
        find=lambda run, corpus: {"texts": _trained_on(run, corpus)},
        read=lambda found: 100 * found["share"].iloc[0], hits=_off_target, translations="detokenized-test-bleu",
    ),
)  # fmt: skip

# --- search: lengths


def _error(key: str, label: str, quantity: str, better: Better = "lower", **more: object) -> Metric:
    return Metric(
        key, label, better=better, needs=(PLANNED_LENGTH,), read=lambda found: length_errors(found)[quantity], **more
    )


PLANNED = (
    _error("length-model-mae", "length-model MAE (tokens)", "error"),
    _error("length-model-top-5", "reference length in top 5 (share)", "among 5", "higher"),
    _error("length-model-loss", "length-model loss (nats)", "nll"),
)
BASELINES = (
    _error("linear-length-mae", "linear-fit MAE (tokens)", "error", given={"baseline": "linear"}),
    _error("kernel-length-mae", "kernel MAE (tokens)", "error", given={"baseline": "kernel"}),
    _error(
        "kernel-length-top-5", "reference length in the kernel's top 5 (share)", "among 5", "higher",
        given={"baseline": "kernel"},
    ),
    _error("kernel-length-loss", "kernel loss (nats)", "nll", given={"baseline": "kernel"}),
)  # fmt: skip
ORACLE = (
    Metric(
        "oracle-length-bleu", "BLEU with oracle length, beam 4", unit="BLEU", needs=(PLANNED_LENGTH,),
        given={"beam_size": 4}, scoring=Scoring(),
    ),
)  # fmt: skip
RESTS = tuple(
    Metric(key, label, better="lower", read=lambda found, ends=ends: loss_of_rests(found, *ends))
    for key, label, ends in (
        ("loss-last-token", "loss of the last token", (0, 0)),
        ("loss-two-before-last", "loss of the two tokens before it", (1, 2)),
        ("loss-other-tokens", "loss of all other tokens", (3,)),
    )
)


def _losses(found: pd.DataFrame) -> dict[str, float]:
    """Return `losses_by_seen`, NaN for fewer than `ENOUGH` unseen ones, and the `rise` from seen to unseen."""
    losses = losses_by_seen(found)
    unseen = losses["unseen"] if (~found["seen"]).sum() >= ENOUGH else math.nan
    return {"seen": losses["seen"], "unseen": unseen, "rise": unseen - losses["seen"]}


LOSSES = (
    Metric("loss-seen-lengths", "loss, lengths seen", better="lower", read=lambda found: _losses(found)["seen"]),
    Metric("loss-unseen-lengths", "loss, lengths unseen", better="lower", read=lambda found: _losses(found)["unseen"]),
    Metric("loss-rise", "rise of the loss", better="lower", read=lambda found: _losses(found)["rise"]),
    Metric("unseen-sentences", "sentences, lengths unseen", read=lambda found: (~found["seen"]).sum()),
)


def _unseen_text(corpus: ParallelCorpus, run: Run | None) -> Text | None:
    """Return the sentences of lengths that a run has not seen in training; None without a run."""
    if run is None:
        return None
    pairs = unseen_pairs(run, corpus)
    return Text(pairs["source"].tolist(), [pairs["target"].tolist()])


def _unseen_bleu(key: str, label: str, told: bool) -> Metric:
    return Metric(
        key, label, "score", "BLEU", given={"told": told}, needs=(PLANNED_LENGTH,) if told else (),
        scoring=Scoring(made_by=label, text=_unseen_text, enough=ENOUGH), usable=USABLE_BLEU, if_diverged=0.0,
    )  # fmt: skip


UNSEEN = (
    _unseen_bleu("bleu-unseen-lengths", "BLEU, lengths unseen", told=False),
    _unseen_bleu("bleu-unseen-lengths-oracle", "BLEU, lengths unseen, oracle length", told=True),
)

# --- search errors


def _rate(key: str, label: str, rate: str, better: Better = "lower") -> Metric:
    """Return a number of `error_rates`."""
    label = f"{label} {SAMPLED}"
    return Metric(key, label, better=better, given={"sample": FEW}, read=lambda found: error_rates(found)[rate])


def _share(key: str, label: str, outcome: str, better: Better = "lower") -> Metric:
    """Return a percentage of the sentences."""
    return Metric(
        key, f"{label} {SAMPLED}", "proportion", "%", better, given={"sample": FEW},
        hits=lambda found: outcomes(found)[outcome],
    )  # fmt: skip


EXACT = (
    _share("searched-exactly", "% searched exactly", "complete", "higher"),
    _share("search-errors", "search errors of beam 4, %", "errors"),
    _share("empty-global-best", "empty global best, %", "empty"),
    _rate("global-best-length", "length of the global best", "length_ratio", "higher"),
    _rate("empty-rank", "smallest beam with the empty one", "empty_rank", "higher"),
)

# --- comparison/outputs.py


def searched_repetition(run: Run, corpus: ParallelCorpus, way: Way) -> pd.DataFrame:
    """Return the share `repeated` of the bigrams, of Moses tokens, of translations whose answer is stored; one row."""
    words = moses_words(corpus.target)
    found = DECODED.of(run, **way.asked(run, corpus, Analysis.of))
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

# --- dynamics


def last_train_perplexity(run: Run) -> pd.DataFrame:
    """Return `last_perplexity` as `perplexity`, in one row."""
    return pd.DataFrame([{"perplexity": last_perplexity(run)}])


TRAIN_PERPLEXITY = Analysis(
    "What is the perplexity of the training text at the end of training?",
    last_train_perplexity,
    source="thesis Table 3.8",
    metrics=(
        Metric(
            "train-perplexity", "train perplexity", better="lower", split=None,
            read=lambda found: found["perplexity"].item(),
        ),
    ),
)  # fmt: skip


def converged(run: Run) -> pd.DataFrame:
    """Return the row of `convergence` of one run."""
    return convergence([run])


CONVERGENCE = Analysis(
    "Did training converge, and from which update on?",
    converged,
    source="thesis Tables 3.12 and 3.15",
    metrics=(
        Metric(
            "converged", "converged", "outcome", split=None, if_diverged=0.0,
            read=lambda found: {"converged": 1.0, "too early": math.nan}.get(found["verdict"].item(), 0.0),
        ),
    ),
)  # fmt: skip


def _noise(curve: pd.DataFrame) -> float:
    """Return the 99th percentile of the norm divided by its running median, over the last quarter of the updates."""
    late = curve.iloc[-len(curve) // 4 :]
    return (late["norm"] / late["median"]).quantile(0.99)


NOISE = (Metric("gradient-noise", "gradient norm, 99th percentile / median", better="lower", split=None, read=_noise),)


def gradient_sizes(run: Run) -> pd.DataFrame:
    """Return the median of `gradient_quantiles` after warm-up, in one row."""
    training = run.recipe.training
    warm_up = training.warmup_updates if training.schedule in ("inverse-sqrt", "validation-decay") else 0
    return gradient_quantiles(run, first=warm_up + 1, quantiles=[0.5])


GRADIENT_SIZES = Analysis(
    "How large is the gradient after warm-up?",
    gradient_sizes,
    source="thesis Figure 3.5",
    metrics=(
        Metric(
            "gradient-norm", "gradient norm", better="lower", split=None, read=lambda found: found["norm"].item()
        ),
        Metric(
            "gradient-component", "1,000 × gradient norm / √parameters", better="lower", split=None,
            read=lambda found: 1000 * found["component"].item(),
        ),
    ),
)  # fmt: skip


def _gradient_ratio(side: str, trained: bool) -> Metric:
    """Return how much of the gradient remains after one side: log10 of the first norm's through the last one's."""

    def read(found: pd.DataFrame) -> float:
        gradients = found.loc[found["side"] == side, "gradient"]
        return np.log10(gradients.iloc[0] / gradients.iloc[-1])

    return Metric(
        f"gradient-ratio-{side}" + ("" if trained else "-untrained"),
        f"gradient ratio first/last norm: {side} (log10)" + ("" if trained else ", untrained"),
        split="dev", given={"sample": FEW_PAIRS}, read=read,
        find=lambda run, corpus: {"update": run.checkpoints.last_step if trained else 0},
    )  # fmt: skip


RATIOS = tuple(_gradient_ratio(side, trained) for trained in (True, False) for side in ("encoder", "decoder"))


QUOTED = {
    PEAK_COUNTS: PEAKS, LEXICAL_CHOICE: LEXICAL, NORMS_BY_FREQUENCY: BIAS, TYPES_OF_PARENT: SHARED, PIVOTED: PIVOT,
    OFF_TARGET_OF: OFF, PLANNED_LENGTHS: PLANNED, BASELINE_LENGTHS: BASELINES, ORACLE_LENGTHS: ORACLE,
    LOSSES_BY_REST: RESTS, REFERENCE_LOSSES: LOSSES, UNSEEN_TRANSLATIONS: UNSEEN, SEARCH_ERRORS: EXACT,
    GRADIENT_CURVE: NOISE, SIGNALS: RATIOS,
}  # fmt: skip
