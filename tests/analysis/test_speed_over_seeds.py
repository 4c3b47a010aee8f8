"""Speed and quality over seeds, and how many times as fast as another a system is."""

import math

import pandas as pd
import pytest
from scipy import stats

from nmtlab.analysis.search.speed_over_seeds import against, fastest_within, over_seeds
from nmtlab.analysis.search.stored_speed import medians, priced

MILLISECONDS = {"teacher": (20.0, 22.0, 24.0), "student": (4.0, 4.2, 4.4)}
BLEU = {"teacher": (30.0, 31.0, 32.0), "student": (29.8, 30.4, 31.3)}


@pytest.fixture
def found() -> pd.DataFrame:
    """A teacher and a student with three seeds each, and a run without seed, on 100 sentences."""
    common = {
        "engine": "ctranslate2", "precision": "int8", "beam_size": 1, "shortlist": 0, "batch_tokens": 500, "threads": 2,
        "round": 1, "corpus": "text", "split": "test", "sentences": 1000, "machine": "m", "words": 900,
        "load_seconds": 1.0, "words_per_second": 10.0, "memory_mib": 300.0, "size_mib": 5.0, "signature": "s",
        "load_average": 0.5, "bleu_margin": 1.0, "chrf": 50.0, "chrf_margin": 1.0,
    }  # fmt: skip
    times = [
        (f"{name}.s{seed}", *of)
        for name in BLEU
        for seed, of in enumerate(zip(MILLISECONDS[name], BLEU[name], strict=True), 1)
    ]
    rows = [
        common | {"run": run, "seconds": each, "processor_seconds": 2 * each, "bleu": bleu}
        for run, each, bleu in [*times, ("tiny", 1.0, 25.0)]
    ]
    return medians(pd.DataFrame(rows))


def test_seeds_are_one_system_with_an_interval_over_them_and_a_single_run_keeps_its_own(found):
    systems = over_seeds(priced(found, 0.1)).set_index("run")
    assert systems["seeds"].to_dict() == {"teacher": 3, "student": 3, "tiny": 1}
    assert systems["milliseconds"].to_dict() == pytest.approx({"teacher": 22.0, "student": 4.2, "tiny": 1.0})
    low, high = stats.t.interval(0.95, 2, 31.0, 1 / math.sqrt(3))
    assert systems.loc["teacher", "bleu_margin"] == pytest.approx((high - low) / 2)
    assert systems.loc["tiny", "bleu_margin"] == 1.0
    assert systems["first"].to_dict() == {"teacher": "teacher.s1", "student": "student.s1", "tiny": "tiny"}


def test_a_system_is_as_many_times_as_fast_as_the_geometric_means_of_its_seeds(found):
    teacher, student, tiny = (row for _, row in over_seeds(found).iterrows())
    compared = against(found, teacher, "milliseconds", "bleu").set_index("run")
    expected = math.prod(a / b for a, b in zip(*MILLISECONDS.values(), strict=True)) ** (1 / 3)
    assert compared.loc["student", "faster"] == pytest.approx(expected)
    logs = [[math.log(each) for each in values] for values in MILLISECONDS.values()]
    low, high = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    assert compared.loc["student", ["faster_low", "faster_high"]].tolist() == pytest.approx(
        [math.exp(low), math.exp(high)]
    )
    assert compared.loc["student", "gain"] == pytest.approx(-0.5)
    assert compared.loc["teacher", ["faster", "gain"]].tolist() == pytest.approx([1.0, 0.0])
    assert math.isnan(compared.loc["tiny", "faster_low"])
    assert against(found, student, "milliseconds", "bleu").set_index("run").loc["student", "faster"] == pytest.approx(
        1.0
    )
    assert against(found, tiny, "milliseconds", "bleu").set_index("run").loc["teacher", "faster"] < 1


def test_the_fastest_system_is_named_that_loses_at_most_so_much(found):
    teacher = over_seeds(found).iloc[0]
    systems = against(found, teacher, "milliseconds", "bleu").assign(label=["teacher", "student", "tiny"])
    said = fastest_within(systems, (0.6, 10), "BLEU")
    first, second = said.split("; ")
    assert first.startswith("at most 0.6 BLEU less, student: 5.2 (")
    assert "times as fast, −0.5 (" in first
    assert second == "at most 10 BLEU less, tiny: 21.9 times as fast, −6.0 BLEU"


def test_what_is_no_faster_is_not_named_the_fastest(found):
    tiny = over_seeds(found).iloc[2]
    systems = against(found, tiny, "milliseconds", "bleu").assign(label=["teacher", "student", "tiny"])
    assert fastest_within(systems, (0.5,), "BLEU") == "at most 0.5 BLEU less, none is faster"
