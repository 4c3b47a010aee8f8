"""Means, intervals and verdicts, on numbers worked out by hand."""

import math
import random

import pandas as pd
import pytest
from little_table import little_table

from nmtlab.experiments import find_table, summary, with_published
from nmtlab.experiments.measures.quality import DEV_BLEU, TRAIN_PERPLEXITY
from nmtlab.experiments.results.collected import COLUMNS
from nmtlab.experiments.results.published import published
from nmtlab.experiments.results.stored import RESULTS, read_cells
from nmtlab.experiments.results.summary import interval, rounded, verdict


def test_the_interval_of_three_values_is_the_one_worked_out_by_hand():
    # mean 12, deviation 2, so 4.303 * 2 / sqrt(3) on either side
    mean, margin = interval([10.0, 12.0, 14.0])
    assert mean == 12
    assert margin == pytest.approx(4.96868, abs=1e-4)


def test_rounding_leaves_small_numbers_three_digits():
    numbers = pd.DataFrame({"a": [22.5349, 0.0018349, -0.015273, 0.0, math.nan, math.inf], "n": 1234567, "of": "x"})
    shown = rounded(numbers)
    assert shown["a"].tolist()[:4] == [22.53, 0.00183, -0.0153, 0.0]
    assert math.isnan(shown["a"][4])
    assert shown["a"][5] == math.inf
    assert (shown["n"].tolist(), shown["of"].tolist()) == (numbers["n"].tolist(), numbers["of"].tolist())


def test_one_value_has_no_interval_and_none_has_no_mean():
    assert interval([7.5])[0] == 7.5
    assert math.isnan(interval([7.5]).margin)
    assert math.isnan(interval([]).mean)


def test_with_an_infinite_value_there_is_no_interval():
    mean, margin = interval([-math.inf, 1.0, 2.0])
    assert mean == -math.inf
    assert math.isnan(margin)


@pytest.mark.parametrize("size", [2, 3, 5, 11, 31])
def test_the_interval_holds_the_mean_19_times_in_20(size):
    draw = random.Random(size)
    samples = ([draw.gauss(3, 2) for _ in range(size)] for _ in range(4000))
    held = sum(abs(mean - 3) <= margin for mean, margin in map(interval, samples)) / 4000
    assert held == pytest.approx(0.95, abs=0.015)  # the deviation of the share is 0.0035


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([1.0, 1.2, 1.1], "better"),  # 1.1 ± 0.25
        ([-1.0, -1.2, -1.1], "worse"),
        ([1.0, -0.2, 1.1], "inconclusive"),  # 0.63 ± 1.80
        ([0.0, 0.0, 0.0], "inconclusive"),
        ([2.0], "inconclusive"),  # one seed has no interval
        ([8.0, 8.1], "inconclusive"),  # 8.05 ± 0.64, of two seeds alone
        ([-math.inf, -math.inf, -1.0], "inconclusive"),
        ([], "inconclusive"),
    ],
)
def test_a_system_is_better_where_the_interval_of_its_differences_leaves_out_zero(differences, said):
    assert verdict(differences, usable=True) == said
    assert verdict(differences, usable=False) == "inconclusive"
    opposite = {"better": "worse", "worse": "better", "inconclusive": "inconclusive"}
    assert verdict(differences, usable=True, lower_is_better=True) == opposite[said]


def cells(column: str, values: list[float | None], metric: str = "dev BLEU", **more) -> list[dict]:
    return [
        {
            **dict.fromkeys(COLUMNS, ""),
            "row": "ha-en",
            "column": column,
            "metric": metric,
            "seed": seed,
            "value": value,
            "p": None,
            "status": "finished",
            **{name: of[seed - 1] for name, of in more.items()},
        }
        for seed, value in enumerate(values, start=1)
    ]


def table_of(tmp_path, tiny_recipe, lines: list[dict], **fields) -> pd.DataFrame:
    frame = pd.DataFrame(lines, columns=COLUMNS).astype({"seed": "Int64", "value": float, "p": float})
    return summary(frame, little_table(tmp_path, tiny_recipe, **fields)).set_index("column")


def test_systems_are_compared_with_the_baseline_seed_by_seed(tmp_path, tiny_recipe):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", [11.0, 13.2, 15.1], p=[0.03, 0.001, 0.004])
    found = table_of(tmp_path, tiny_recipe, lines)
    assert found.loc["tied", ["mean", "seeds", "verdict"]].tolist() == [12.0, 3, ""]
    fixnorm = found.loc["fixnorm"]
    # the differences 1.0, 1.2, 1.1: the seeds themselves lie far apart, and do not matter
    assert fixnorm["difference"] == pytest.approx(1.1)
    assert fixnorm["difference_margin"] == pytest.approx(4.303 * 0.1 / math.sqrt(3), abs=1e-4)
    assert (fixnorm["verdict"], fixnorm["p"], fixnorm["significant"]) == ("better", 0.004, 2)


def test_below_a_usable_score_nothing_is_decided(tmp_path, tiny_recipe):
    lines = cells("tied", [1.0, 1.0, 1.1]) + cells("fixnorm", [3.0, 3.0, 3.1])
    assert table_of(tmp_path, tiny_recipe, lines).loc["fixnorm", "verdict"] == "inconclusive"
    lines += cells("untied", [6.0, 6.0, 6.1])  # one that is usable is enough for the row
    assert table_of(tmp_path, tiny_recipe, lines).loc["fixnorm", "verdict"] == "better"


def test_what_has_no_seed_is_compared_with_every_seed_of_the_baseline(tmp_path, tiny_recipe):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("Moses", [20.0], p=[0.001])
    lines[-1]["seed"] = None
    moses = table_of(tmp_path, tiny_recipe, lines).loc["Moses"]
    assert (moses["mean"], moses["difference"], moses["verdict"]) == (20.0, 8.0, "better")
    assert math.isnan(moses["margin"])


def test_a_cell_that_is_missing_or_diverged_without_a_score_leaves_the_system_undecided(tmp_path, tiny_recipe):
    tied = cells("tied", [10.0, 12.0, 14.0])
    for status, counted in (("not run", "missing"), ("diverged", "diverged")):
        lines = tied + cells("fixnorm", [15.0, 17.0, None], status=["finished", "finished", status])
        fixnorm = table_of(tmp_path, tiny_recipe, lines).loc["fixnorm"]
        assert (fixnorm["seeds"], fixnorm[counted], fixnorm["difference"]) == (2, 1, 5.0)
        assert fixnorm["verdict"] == "inconclusive"
    scored = tied + cells("fixnorm", [5.0, 7.0, 9.2], status=["finished", "finished", "diverged"])
    fixnorm = table_of(tmp_path, tiny_recipe, scored).loc["fixnorm"]
    assert (fixnorm["diverged"], fixnorm["verdict"]) == (1, "worse")


def test_nothing_is_judged_where_the_baseline_has_no_such_number(tmp_path, tiny_recipe):
    none = cells("tied", [None, None, None], status=["finished"] * 3)
    assert table_of(tmp_path, tiny_recipe, none + cells("fixnorm", [1.0, 2.0, 3.0])).loc["fixnorm", "verdict"] == ""
    failed = cells("tied", [None, None, None], status=["diverged"] * 3)
    lines = failed + cells("fixnorm", [1.0, 2.0, 3.0])
    assert table_of(tmp_path, tiny_recipe, lines).loc["fixnorm", "verdict"] == "inconclusive"


def test_measures_are_kept_apart_and_perplexity_is_better_when_lower(tmp_path, tiny_recipe):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("tied", [4.0, 4.2, 4.4], "train perplexity")
    lines += cells("fixnorm", [10.1, 12.1, 14.1]) + cells("fixnorm", [3.0, 3.21, 3.39], "train perplexity")
    frame = pd.DataFrame(lines, columns=COLUMNS).astype({"seed": "Int64", "value": float, "p": float})
    found = summary(frame, little_table(tmp_path, tiny_recipe, measures=(DEV_BLEU, TRAIN_PERPLEXITY)))
    assert len(found) == 4
    fixnorm = found[(found["column"] == "fixnorm") & (found["metric"] == "train perplexity")].iloc[0]
    assert fixnorm["difference"] == pytest.approx(-1)
    assert fixnorm["verdict"] == "better"


def test_a_table_without_baseline_has_no_verdicts(tmp_path, tiny_recipe):
    found = table_of(tmp_path, tiny_recipe, cells("tied", [1.0, 2.0]) + cells("fixnorm", [3.0, 4.0]), baseline="")
    assert set(found["verdict"]) == {""}
    assert found["difference"].isna().all()


def test_what_is_published_of_a_pair_that_is_not_run_stands_beside_the_rest():
    table = find_table("table-3.15")
    lines = summary(read_cells(RESULTS / "table-3.15.small.csv"), table)
    found = with_published(lines, table)
    expected = published("table-3.15")
    added = found[found["row"] == "en-vi"]
    assert "en-vi" not in set(lines["row"])
    assert added["published"].tolist() == expected["value"].tolist()
    assert added["mean"].isna().all()
    assert (added[["seeds", "missing", "diverged"]] == 0).all(axis=None)
    assert list(dict.fromkeys(found["row"])) == [row.name for row in table.rows]
    pd.testing.assert_frame_equal(found[found["row"] != "en-vi"].reset_index(drop=True), lines)


def test_published_differences_that_were_not_printed_are_worked_out():
    found = summary(read_cells(RESULTS / "table-3.13.small.csv"), find_table("table-3.13"))
    found = with_published(found, find_table("table-3.13")).set_index(["row", "column"])["published_difference"]
    assert found["sk-en", "PreNorm + fixnorm + ScaleNorm"] == "+0.88"  # 30.25 - 29.37
    assert found["sk-en", "PostNorm + LayerNorm"] == ""
    assert found["de-en", "PreNorm + LayerNorm"] == ""
    printed = summary(read_cells(RESULTS / "table-3.6.small.csv"), find_table("table-3.6"))
    differences = printed.set_index(["row", "column"])["published_difference"]
    assert differences["tu-en", "untied"] == "-0.4"  # 12.2 - 12.6
    assert set(differences.drop("untied", level="column")) <= {"", *published("table-3.6")["difference"]}


def test_where_every_published_pair_is_run_nothing_is_added():
    lines = summary(read_cells(RESULTS / "table-3.15.small.csv"), find_table("table-3.15"))
    assert with_published(lines, find_table("lexical-choice")) is lines
