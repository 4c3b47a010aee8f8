"""Paired bootstrap tests of whether one system is better than another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

from nmtlab.errors import CorpusError
from nmtlab.evaluation.scores import check_parallel


@dataclass(frozen=True)
class Comparison:
    """A system compared with the baseline; all but `p` in the metric's points.

    `mean` and `margin` describe the resampled scores: 95 % of them lie in an interval of width 2 · margin.
    `p` is sacrebleu's, None for the baseline. Subtract their mean from the absolute differences on the resampled test
    sets: p is the share above the absolute difference on the original test set (Riezler and Maxwell 2005), with one
    more sample counted as above. A small p is close to Koehn's one-sided test (2004), the share of test sets on which
    the better system is not better; it is half the p of a two-sided test.
    """

    system: str
    score: float
    mean: float
    margin: float
    difference: float
    p: float | None
    signature: str


def paired_bootstrap(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    metric: Metric,
    samples: int = 1000,
) -> list[Comparison]:
    """Compare systems with a baseline by paired bootstrap resampling, with sacrebleu's p (see `Comparison`).

    Every call draws the same samples. The environment variable SACREBLEU_SEED changes them; the signature has the seed.

    Args:
        systems: name -> one hypothesis per sentence; the first system is the baseline.
        references: one or more sets, each with one reference per hypothesis.
        metric: `bleu_metric(...)`, `tokenized_bleu_metric()` or `chrf_metric()`.
        samples: number of resampled test sets, at least 1.

    Raises:
        CorpusError: no system, nothing to score, or hypotheses and references differ in number.
    """
    if not systems:
        raise CorpusError("0 systems: nothing to compare", "give the baseline, then the systems")
    for hypotheses in systems.values():
        check_parallel(hypotheses, references)
    test = PairedTest(list(systems.items()), {"metric": metric}, references, test_type="bs", n_samples=samples)
    signatures, columns = test()
    ((name, signature),) = signatures.items()
    baseline = columns[name][0]
    return [
        Comparison(
            system=system,
            score=result.score,
            mean=float(result.mean),
            margin=float(result.ci),
            difference=result.score - baseline.score,
            p=_p(result, baseline),
            signature=str(signature),
        )
        for system, result in zip(columns["System"], columns[name], strict=True)
    ]


def _p(result: Result, baseline: Result) -> float | None:
    if result is baseline:
        return None
    # A difference of at least 0 is certain, but sacrebleu counts strictly larger ones only: identical systems would get
    # the smallest p.
    return 1.0 if result.score == baseline.score else result.p_value
