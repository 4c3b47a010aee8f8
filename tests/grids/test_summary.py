"""Means, intervals and verdicts, on numbers worked out by hand."""

import math
import random

import pandas as pd
import pytest
from scipy import stats
from support.little_table import little_table

from nmtlab.evaluation.intervals import interval
from nmtlab.grids.results.collected import published
from nmtlab.grids.results.schemas import CELLS, SENTENCES
from nmtlab.grids.results.summary import in_words, rounded, summary, with_published
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import RESULTS


def test_the_interval_of_three_values_is_the_one_worked_out_by_hand():
    # mean 12, deviation 2, so 4.303 * 2 / sqrt(3) on either side
    mean, margin = interval([10.0, 12.0, 14.0])
    assert mean == 12
    assert margin == pytest.approx(4.9683, abs=1e-4)


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
    assert math.isnan(interval([7.5, 7.5, 7.5]).margin)  # equal values do not show that there is no variance
    assert math.isnan(interval([]).mean)


def test_with_an_infinite_value_there_is_no_interval():
    mean, margin = interval([-math.inf, 1.0, 2.0])
    assert mean == -math.inf
    assert math.isnan(margin)


@pytest.mark.full
@pytest.mark.parametrize("size", [2, 3, 5, 11, 31])
def test_the_interval_holds_the_mean_19_times_in_20(size):
    draw = random.Random(size)
    samples = ([draw.gauss(3, 2) for _ in range(size)] for _ in range(4000))
    held = sum(abs(mean - 3) <= margin for mean, margin in map(interval, samples)) / 4000
    assert held == pytest.approx(0.95, abs=0.015)  # the deviation of the share is 0.0035


def cells(column: str, values: list[float | None], metric: str = "dev-bleu", **more) -> list[dict]:
    return [
        {
            **dict.fromkeys(CELLS.columns, ""),
            "row": "ha-en",
            "column": column,
            "metric": metric,
            "seed": seed,
            "value": value,
            "status": "finished",
            **{name: of[seed - 1] for name, of in more.items()},
        }
        for seed, value in enumerate(values, start=1)
    ]


def table_of(tmp_path, tiny_recipe, lines: list[dict], sentences=None, **fields) -> pd.DataFrame:
    frame = pd.DataFrame(lines, columns=CELLS.columns).astype({"seed": "Int64", "value": float})
    return summary(frame, little_table(tmp_path, tiny_recipe, **fields), sentences).set_index("column")


def test_two_systems_without_sentences_are_compared_as_scipy_compares_them(tmp_path, tiny_recipe):
    tied, fixnorm = [10.0, 12.0, 14.0], [21.0, 23.2, 25.1]
    found = table_of(tmp_path, tiny_recipe, cells("tied", tied) + cells("fixnorm", fixnorm))
    assert found.loc["tied", ["mean", "seeds", "verdict"]].tolist() == [12.0, 3, ""]
    line, known = found.loc["fixnorm"], stats.ttest_ind(fixnorm, tied, equal_var=False)
    assert line["difference"] == pytest.approx(11.1)
    assert (line["low"], line["high"]) == pytest.approx(tuple(known.confidence_interval(0.95)))
    assert (line["p"], line["q"]) == pytest.approx((known.pvalue, known.pvalue))
    assert line["pooled_p"] == pytest.approx(stats.ttest_ind(fixnorm, tied).pvalue)
    assert (line["verdict"], line["interval"], line["reason"]) == ("better", "seeds alone", "")


def test_the_variance_of_a_seed_is_that_of_its_system_and_for_comparison_of_all_that_converge(tmp_path, tiny_recipe):
    systems = {"tied": {}, "fixnorm": {}, "untied": {}}
    lines = (
        cells("tied", [10.0, 11.0, 12.0]) + cells("fixnorm", [12.0, 13.0, 14.0]) + cells("untied", [9.0, 12.0, 15.0])
    )
    found = table_of(tmp_path, tiny_recipe, lines, systems=systems).loc["fixnorm"]
    # variances 1 and 1 with four degrees of freedom, of which t is 2.776
    assert found["high"] - found["difference"] == pytest.approx(2.776 * math.sqrt(2 / 3), abs=1e-3)
    # variances 1, 1 and 9: 11/3 with six degrees of freedom
    assert found["pooled_p"] == pytest.approx(2 * stats.t.sf(2 / math.sqrt(11 / 3 * 2 / 3), 6))
    failing = table_of(tmp_path, tiny_recipe, lines, systems=systems, failing=("untied",))
    known = stats.ttest_ind([12, 13, 14], [10, 11, 12])
    assert failing.loc["fixnorm", "pooled_p"] == pytest.approx(known.pvalue)
    welch = stats.ttest_ind([9, 12, 15], [10, 11, 12], equal_var=False)
    assert failing.loc["untied", ["p", "pooled_p"]].tolist() == pytest.approx([welch.pvalue, welch.pvalue])


def test_sentences_widen_the_interval_by_what_they_vary(tmp_path, tiny_recipe):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", [11.0, 13.2, 15.1])
    spread = pd.DataFrame([("ha-en", "dev-bleu", "fixnorm", "tied", 2.0, 299.0, 300, "")], columns=SENTENCES.columns)
    alone = table_of(tmp_path, tiny_recipe, lines).loc["fixnorm"]
    line = table_of(tmp_path, tiny_recipe, lines, spread).loc["fixnorm"]
    assert line["interval"] == "seeds and sentences"
    seeds = (4 + 4.21) / 2 * 2 / 3
    freedom = (seeds + 2) ** 2 / ((4 / 3) ** 2 / 2 + (4.21 / 3) ** 2 / 2 + 2**2 / 299)
    assert line["high"] - line["difference"] == pytest.approx(
        stats.t.isf(0.025, freedom) * (seeds + 2) ** 0.5, rel=1e-4
    )
    assert line["detectable"] > alone["detectable"]


def test_what_could_have_missed_the_published_difference_is_underpowered(tmp_path, tiny_recipe):
    # published: fixnorm is better than tied by 3.1 BLEU
    wide = cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", [11.0, 13.2, 15.1])
    line = table_of(tmp_path, tiny_recipe, wide).loc["fixnorm"]
    assert (line["verdict"], line["seeds_needed"] > 3) == ("underpowered", True)
    detectable = f"{line['detectable']:.3g}"
    assert line["reason"] == f"the interval covers 0; 3 seeds can detect {detectable}; the effect asked about is 3.1"
    narrow = cells("tied", [10.0, 10.6, 11.2]) + cells("fixnorm", [10.2, 10.8, 11.4])
    line = table_of(tmp_path, tiny_recipe, narrow).loc["fixnorm"]
    assert (line["verdict"], line["reason"]) == ("inconclusive", "the interval covers 0")


def test_a_difference_below_half_a_point_is_none(tmp_path, tiny_recipe):
    lines = cells("tied", [10.0, 10.1, 10.2]) + cells("fixnorm", [10.1, 10.15, 10.2])
    line = table_of(tmp_path, tiny_recipe, lines).loc["fixnorm"]
    assert (line["verdict"], line["reason"], line["bound"]) == ("equivalent", "", 0.5)
    assert pd.isna(line["seeds_needed"])


def test_a_decided_line_needs_no_seeds(tmp_path, tiny_recipe):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", [30.0, 32.0, 34.0])
    line = table_of(tmp_path, tiny_recipe, lines).loc["fixnorm"]
    assert (line["verdict"], pd.isna(line["seeds_needed"])) == ("better", True)


def test_of_the_two_that_are_compared_one_has_to_be_usable(tmp_path, tiny_recipe):
    lines = cells("tied", [1.0, 1.05, 1.1]) + cells("fixnorm", [3.0, 3.05, 3.1]) + cells("untied", [6.0, 6.05, 6.1])
    found = table_of(tmp_path, tiny_recipe, lines, systems={"tied": {}, "fixnorm": {}, "untied": {}})
    assert found["verdict"].to_dict() == {"tied": "", "fixnorm": "inconclusive", "untied": "better"}
    assert found.loc["fixnorm", "reason"] == "neither system reaches dev BLEU 5"
    assert math.isnan(found.loc["fixnorm", "q"])


def test_what_has_no_seed_is_taken_as_exact(tmp_path, tiny_recipe):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("Moses", [20.0])
    lines[-1]["seed"] = None
    moses = table_of(tmp_path, tiny_recipe, lines).loc["Moses"]
    assert (moses["mean"], moses["difference"], moses["verdict"]) == (20.0, 8.0, "better")
    assert moses["p"] == pytest.approx(stats.ttest_1samp([10, 12, 14], 20).pvalue)
    assert math.isnan(moses["margin"])


def test_a_shift_is_judged_by_its_size(tmp_path, tiny_recipe):
    lines = cells("tied", [0.1, -0.1, 0.12], "left-shift") + cells("fixnorm", [-4.0, -4.1, -4.2], "left-shift")
    line = table_of(tmp_path, tiny_recipe, lines, metrics=("left-shift",)).loc["fixnorm"]
    assert line["mean"] == pytest.approx(-4.1)
    assert line["difference"] == pytest.approx(4.1 - 0.32 / 3)
    assert line["verdict"] == "worse"


def test_shares_of_runs_never_have_an_interval_of_width_0(tmp_path, tiny_recipe):
    lines = cells("tied", [0.0, 0.0, 0.0], "converged") + cells("fixnorm", [1.0, 1.0, 1.0], "converged")
    found = table_of(tmp_path, tiny_recipe, lines, metrics=("converged",))
    assert found["margin"].isna().all()
    assert (found["mean_high"] - found["mean_low"] > 0.5).all()
    line = found.loc["fixnorm"]
    assert 0 < line["low"] < line["difference"] == 1
    assert line["p"] == pytest.approx(stats.fisher_exact([[3, 0], [0, 3]]).pvalue)
    assert (line["verdict"], line["seeds_needed"]) == ("underpowered", 4)


def test_a_cell_that_is_missing_or_diverged_without_a_score_leaves_the_system_undecided(tmp_path, tiny_recipe):
    tied = cells("tied", [10.0, 12.0, 14.0])
    for status, counted, said in (
        ("not run", "missing", "fixnorm: not run with seed 3"),
        ("diverged", "diverged", "fixnorm: diverged without a score with seed 3"),
        ("running", "missing", "fixnorm: not finished with seed 3"),
    ):
        lines = tied + cells("fixnorm", [25.0, 27.0, None], status=["finished", "finished", status])
        fixnorm = table_of(tmp_path, tiny_recipe, lines).loc["fixnorm"]
        assert (fixnorm["seeds"], fixnorm[counted], fixnorm["difference"]) == (2, 1, 14.0)
        assert (fixnorm["verdict"], fixnorm["reason"]) == ("inconclusive", said)
    scored = tied + cells("fixnorm", [1.0, 2.0, 0.2], status=["finished", "finished", "diverged"])
    fixnorm = table_of(tmp_path, tiny_recipe, scored).loc["fixnorm"]
    assert (fixnorm["diverged"], fixnorm["verdict"]) == (1, "worse")


def test_fewer_than_three_seeds_decide_nothing(tmp_path, tiny_recipe):
    line = table_of(tmp_path, tiny_recipe, cells("tied", [10.0, 10.1]) + cells("fixnorm", [20.0, 20.1])).loc["fixnorm"]
    assert (line["verdict"], line["reason"]) == ("inconclusive", "fewer than 3 seeds")
    assert line["p"] < 0.001


def test_among_many_lines_a_single_small_p_is_no_discovery(tmp_path, tiny_recipe):
    names = [f"system {number}" for number in range(20)]
    lines = cells("tied", [10.0, 11.0, 12.0]) + cells("fixnorm", [12.5, 13.5, 14.5])
    for name in names:
        lines += cells(name, [10.1, 11.1, 12.1], run=[f"{name} {seed}" for seed in range(3)])
    line = table_of(tmp_path, tiny_recipe, lines, systems={name: {} for name in ("tied", "fixnorm", *names)})
    line = line.loc["fixnorm"]
    assert (line["low"] > 0, line["p"] < 0.05 < line["q"]) == (True, True)
    assert line["verdict"] != "better"
    assert line["reason"].startswith(f"q = {line['q']:.2g} is above 0.05")


def test_nothing_is_judged_where_the_baseline_has_no_such_number(tmp_path, tiny_recipe):
    none = cells("tied", [None, None, None], status=["finished"] * 3)
    assert table_of(tmp_path, tiny_recipe, none + cells("fixnorm", [1.0, 2.0, 3.0])).loc["fixnorm", "verdict"] == ""
    failed = cells("tied", [None, None, None], status=["diverged"] * 3)
    lines = failed + cells("fixnorm", [1.0, 2.0, 3.0])
    assert table_of(tmp_path, tiny_recipe, lines).loc["fixnorm", "verdict"] == "inconclusive"


def test_measures_are_kept_apart_and_perplexity_is_better_when_lower(tmp_path, tiny_recipe):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("tied", [4.0, 4.2, 4.4], "train-perplexity")
    lines += cells("fixnorm", [10.1, 12.1, 14.1]) + cells("fixnorm", [3.0, 3.21, 3.39], "train-perplexity")
    frame = pd.DataFrame(lines, columns=CELLS.columns).astype({"seed": "Int64", "value": float})
    found = summary(frame, little_table(tmp_path, tiny_recipe, metrics=("dev-bleu", "train-perplexity")))
    assert len(found) == 4
    fixnorm = found[(found["column"] == "fixnorm") & (found["metric"] == "train-perplexity")].iloc[0]
    assert fixnorm["difference"] == pytest.approx(-1)
    assert fixnorm["verdict"] == "better"


def test_both_ends_of_an_interval_in_words_have_the_same_decimals():
    assert (in_words(-0.354, 2.1), in_words(0.00123, 0.0456)) == ("−0.35 to 2.10", "0.0012 to 0.0456")
    assert (in_words(0, 0), in_words(12, math.inf)) == ("0 to 0", "12.00 to inf")
    assert in_words(math.nan, math.nan) == ""


def test_a_table_without_baseline_has_no_verdicts(tmp_path, tiny_recipe):
    found = table_of(tmp_path, tiny_recipe, cells("tied", [1.0, 2.0]) + cells("fixnorm", [3.0, 4.0]), baseline="")
    assert set(found["verdict"]) == {""}
    assert found["difference"].isna().all()


def test_what_is_published_of_a_pair_that_is_not_run_stands_beside_the_rest():
    table = find_table("table-3.15")
    lines = summary(CELLS.read(RESULTS / "table-3.15.small.csv"), table)
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
    found = summary(CELLS.read(RESULTS / "table-3.13.small.csv"), find_table("table-3.13"))
    found = with_published(found, find_table("table-3.13")).set_index(["row", "column"])["published_difference"]
    assert found["sk-en", "PreNorm + fixnorm + ScaleNorm"] == "+0.88"  # 30.25 - 29.37
    assert found["sk-en", "PostNorm + LayerNorm"] == ""
    assert found["de-en", "PreNorm + LayerNorm"] == ""
    printed = summary(CELLS.read(RESULTS / "table-3.6.small.csv"), find_table("table-3.6"))
    differences = printed.set_index(["row", "column"])["published_difference"]
    assert differences["tu-en", "untied"] == "-0.4"  # 12.2 - 12.6
    assert set(differences.drop("untied", level="column")) <= {"", *published("table-3.6")["difference"]}


def test_where_every_published_pair_is_run_nothing_is_added():
    lines = summary(CELLS.read(RESULTS / "table-3.15.small.csv"), find_table("table-3.15"))
    assert with_published(lines, find_table("lexical-choice")) is lines
