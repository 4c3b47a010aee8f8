"""Learning rates by hand (thesis eq 3.8 and 3.3.2.4)."""

import math

import pytest

from nmtlab.recipe import TrainingSettings
from nmtlab.training.schedules import Schedule
from nmtlab.training.stopping import EarlyStopping

D = 512


def schedule(kind: str = "inverse-sqrt", warmup_updates: int = 8000, **more) -> Schedule:
    return Schedule(TrainingSettings(schedule=kind, warmup_updates=warmup_updates, **more), D)


def after(made: Schedule, scores: list[float], every: int = 10, start: int = 0) -> list[float]:
    """Evaluate at regular intervals after `start`; return the factor after each evaluation."""
    factors, stopping = [], EarlyStopping(made.settings)
    for number, bleu in enumerate(scores, start=1):
        stopping.evaluated(bleu)
        made.evaluated(start + number * every, stopping.since_best)
        factors.append(made.factor)
    return factors


@pytest.mark.parametrize("lr_scale", [1.0, 2.0])
@pytest.mark.parametrize("update", [1, 100, 7999, 8000, 8001, 100_000])
def test_inverse_sqrt_is_equation_3_8(update, lr_scale):
    expected = lr_scale * 512**-0.5 * min(update**-0.5, update * 8000**-1.5)
    assert schedule(lr_scale=lr_scale).rate(update) == pytest.approx(expected)


def test_the_rate_rises_linearly_to_its_peak_at_warmup_and_then_falls():
    made = schedule()
    peak = made.rate(8000)
    assert peak == pytest.approx(1 / math.sqrt(512 * 8000))
    assert made.rate(2000) == pytest.approx(peak / 4)
    assert made.rate(32_000) == pytest.approx(peak / 2)
    assert max(range(7000, 9000), key=made.rate) == 8000


def test_inverse_sqrt_takes_no_notice_of_dev_bleu():
    made = schedule(warmup_updates=5)
    assert after(made, [1.0] * 9) == [1.0] * 9
    assert made.rate(100) == schedule(warmup_updates=5).rate(100)


def test_validation_decay_has_the_same_warmup_and_then_stays():
    decaying, inverse = schedule("validation-decay"), schedule()
    for update in (1, 4000, 8000):
        assert decaying.rate(update) == pytest.approx(inverse.rate(update))
    assert decaying.rate(50_000) == decaying.rate(8000)


def test_validation_decay_decays_after_three_evaluations_without_improvement_and_then_at_each():
    made = schedule("validation-decay", warmup_updates=5)
    factors = after(made, [10, 9, 10, 8, 9, 7, 11, 10, 10, 10])
    expected = [1, 1, 1, 0.8, 0.8**2, 0.8**3, 0.8**3, 0.8**3, 0.8**3, 0.8**4]
    assert factors == pytest.approx(expected)
    assert made.rate(1000) == pytest.approx(0.8**4 / math.sqrt(512 * 5))


def test_an_equal_score_is_no_improvement():
    made = schedule("validation-decay", warmup_updates=5)
    assert after(made, [10, 10, 10, 10]) == pytest.approx([1, 1, 1, 0.8])


def test_validation_decay_never_decays_during_warmup():
    made = schedule("validation-decay", warmup_updates=50)
    # Evaluations at 10, 20 ... 70 without improvement after the first: the fourth is at 40.
    assert after(made, [10] * 7) == pytest.approx([1, 1, 1, 1, 0.8, 0.8**2, 0.8**3])


def test_no_warmup_is_constant_and_decays_from_the_start():
    made = schedule("no-warmup", warmup_updates=1000)
    assert [made.rate(update) for update in (1, 10, 5000)] == [3e-4] * 3
    assert after(made, [10] * 5) == pytest.approx([1, 1, 1, 0.8, 0.8**2])
    assert made.rate(51) == pytest.approx(3e-4 * 0.8**2)


def test_training_stops_when_dev_bleu_has_not_improved_for_long_enough():
    stopping = EarlyStopping(TrainingSettings(patience=3))
    improved, ended = [], []
    for bleu in (10, 9, 11, 11, 10, 9):
        improved.append(stopping.evaluated(bleu))
        ended.append(stopping.ended)
    assert improved == [True, False, True, False, False, False]
    assert ended == [False] * 5 + [True]
    assert stopping.best == 11


def test_training_stops_after_as_many_evaluations_as_it_may_have():
    stopping = EarlyStopping(TrainingSettings(max_evaluations=3))
    ended = [stopping.evaluated(bleu) and stopping.ended for bleu in (1, 2, 3)]
    assert ended == [False, False, True]


@pytest.mark.parametrize("kind", ["validation-decay", "no-warmup"])
def test_training_stops_when_the_rate_has_decayed_away(kind):
    made = schedule(kind, warmup_updates=5, patience=1000, min_learning_rate=1e-4)
    rates = []
    for number in range(1, 100):
        made.evaluated(number * 10, since_best=number - 1)
        rates.append(made.rate(number * 10 + 1))
        if made.exhausted(number * 10):
            break
    assert rates[-1] < 1e-4 <= rates[-2]


def test_the_small_rates_of_warmup_do_not_stop_training():
    for kind in ("inverse-sqrt", "validation-decay"):
        made = schedule(kind, warmup_updates=100_000)
        assert made.rate(1) < made.settings.min_learning_rate
        assert not any(made.exhausted(update) for update in range(100))


def test_nothing_stops_a_training_that_has_not_begun():
    assert not schedule("no-warmup").exhausted(0)
