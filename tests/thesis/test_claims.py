"""Claims judged by tables of numbers: against values worked out by hand."""

import dataclasses
import math
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest
from scipy import stats

from nmtlab.analysis.metrics import find_metric
from nmtlab.errors import NmtlabError
from nmtlab.grids.results.judgement import Question, with_aim
from nmtlab.grids.results.schemas import CELLS, SENTENCES
from nmtlab.thesis.claims import verdicts
from nmtlab.thesis.claims.declared import Claim, declared_claims
from nmtlab.thesis.claims.verdicts import COLUMNS, counted, measured_claims, not_measured, overall
from nmtlab.thesis.measured import measured_cells
from nmtlab.thesis.tables.empty_translations import GLOBAL_BEST
from nmtlab.thesis.tables.length_planning import LENGTH_PLANNING
from nmtlab.thesis.tables.lexical_choice import HU_EN, LEXICAL_CHOICE, TABLE_3_6
from nmtlab.thesis.tables.normalisation import GRADIENTS
from nmtlab.thesis.tables.transfer import TABLE_3_3

LEFT_SHIFT = find_metric("left-shift")
CONVERGED = find_metric("converged")
TEST_BLEU = find_metric("test-bleu")
EMPTY_GLOBAL_BEST = find_metric("empty-global-best")

pytestmark = pytest.mark.usefixtures("all_kept")

BETTER = Claim("fixnorm is better.", "somewhere, 1", TABLE_3_6, TEST_BLEU, "fixnorm", "higher", "tied")
MOSES = Claim("Moses is worse.", "somewhere, 2", TABLE_3_6, TEST_BLEU, "Moses", "lower", "tied")
LEFT = Claim("tied looks left.", "somewhere, 3", LEXICAL_CHOICE, LEFT_SHIFT, "tied", "higher", 0.0)
LESS = Claim(
    "fixnorm is shifted less.", "somewhere, 4", LEXICAL_CHOICE, LEFT_SHIFT, "fixnorm", "lower", "tied", absolute=True
)

SCALENORM = "PreNorm + fixnorm + ScaleNorm"
EMPTY = Claim("Most are empty.", "somewhere, 6", GLOBAL_BEST, EMPTY_GLOBAL_BEST, SCALENORM, "higher", 50.0)
FAILS = Claim("PostNorm fails.", "somewhere, 5", GRADIENTS, CONVERGED, "Xavier PostNorm 8k", "lower", 0.5)


def cells(column: str, values: list[float | None], row: str = "tu-en", metric: str = "test-bleu", seeded: bool = True):
    return [
        {
            **dict.fromkeys(CELLS.columns, ""),
            "row": row,
            "column": column,
            "metric": metric,
            "seed": seed if seeded else None,
            "value": value,
            "status": "not run" if value is None else "finished",
            "run": f"{row}.{column}.s{seed}",
        }
        for seed, value in enumerate(values, start=1)
    ]


def write(folder: Path, lines: list[dict], name: str = "table-3.6.small.csv") -> Path:
    pd.DataFrame(lines, columns=CELLS.columns).astype({"seed": "Int64", "value": float}).to_csv(
        folder / name, index=False
    )
    return folder


def judged(folder: Path, claim: Claim, lines: list[dict]) -> pd.DataFrame:
    return measured_claims(write(folder, lines, claim.evidence), [claim]).set_index("pair")


TIED = [10.0, 10.4, 10.8]


@pytest.mark.parametrize(
    ("values", "variance", "high", "said"),
    [
        ([0.0, 0.0, 0.0], 0.0, 1.88, "contradicted here"),  # Wilson's interval of 0 of 200
        ([100.0, 100.0, 100.0], 0.0, 100.0, "reproduced here"),
        ([40.0, 50.0, 60.0], 4.0, 69.97, "inconclusive"),
        ([0.0, 0.0], 0.0, 1.88, "inconclusive"),
    ],
)
def test_a_share_of_sentences_is_judged_even_if_all_seeds_agree(tmp_path, values, variance, high, said):
    lines = cells(SCALENORM, values, "de-en", EMPTY_GLOBAL_BEST.key)
    about = ["de-en", EMPTY_GLOBAL_BEST.key, SCALENORM, ""]
    spread = pd.DataFrame([[*about, variance, 199, 200, "ratio of sums"]], columns=SENTENCES.columns)
    spread.to_csv(tmp_path / EMPTY.sentences, index=False)
    found = judged(tmp_path, EMPTY, lines).loc["de-en"]
    assert found["verdict"] == said
    assert found["interval"] == "seeds and sentences"
    assert 50 + found["high"] == pytest.approx(high, abs=0.1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([12.0, 12.4, 12.8], "reproduced here"),
        ([8.0, 8.4, 8.8], "contradicted here"),
        ([10.2, 10.6, 11.0], "inconclusive"),
        ([8.0, 11.0, 14.6], "underpowered"),  # the thesis has 3.8 BLEU more on this pair
        (TIED, "inconclusive"),
    ],
)
def test_a_claim_is_judged_by_welchs_test_of_all_its_seeds(tmp_path, values, said):
    found = judged(tmp_path, BETTER, cells("tied", TIED) + cells("fixnorm", values)).loc["tu-en"]
    known = stats.ttest_ind(values, TIED, equal_var=False)
    assert (found["seeds"], found["verdict"]) == (3, said)
    assert found["effect"] == pytest.approx(sum(values) / 3 - 10.4)
    assert (found["low"], found["high"]) == pytest.approx(tuple(known.confidence_interval(0.95)))
    assert (found["p"], found["q"]) == pytest.approx((known.pvalue, known.pvalue))
    assert found["interval"] == "seeds alone"
    assert (found["reason"] == "") == (said in ("reproduced here", "contradicted here"))


def test_a_claim_that_a_number_is_lower_is_judged_the_other_way_round(tmp_path):
    lines = cells("tied", [20.0, 20.1, 20.2]) + cells("Moses", [10.0], seeded=False)
    lines += cells("tied", [20.0, 20.1, 20.2], "hu-en") + cells("Moses", [30.0], "hu-en", seeded=False)
    found = judged(tmp_path, MOSES, lines)
    assert found["verdict"].to_dict() == {"tu-en": "reproduced here", "hu-en": "contradicted here"}
    # A system without seeds is exact.
    assert found["seeds"].tolist() == [3, 3]
    assert found.loc["tu-en", "effect"] == pytest.approx(-10.1)
    assert found.loc["tu-en", "p"] == pytest.approx(stats.ttest_1samp([20.0, 20.1, 20.2], 10).pvalue)
    assert found.loc["tu-en", "runs"] == ["tu-en.tied.s1", "tu-en.tied.s2", "tu-en.tied.s3", "tu-en.Moses.s1"]


def test_the_variance_of_a_seed_is_that_of_its_system_alone(tmp_path):
    lines = (
        cells("tied", [10.0, 11.0, 12.0]) + cells("fixnorm", [12.0, 13.0, 14.0]) + cells("Arthur", [9.0, 12.0, 15.0])
    )
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    known = stats.ttest_ind([12, 13, 14], [10, 11, 12])
    assert found["p"] == pytest.approx(known.pvalue)
    # variances 1, 1 and 9: 11/3 with six degrees of freedom
    assert found["pooled_p"] == pytest.approx(2 * stats.t.sf(2 / math.sqrt(11 / 3 * 2 / 3), 6))


def test_a_system_that_translates_nothing_has_no_part_in_the_pooled_variance(tmp_path):
    lines = cells("tied", [10.0, 11.0, 12.0]) + cells("fixnorm", [12.0, 13.0, 14.0]) + cells("Arthur", [0.1, 0.1, 0.2])
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert found["pooled_p"] == pytest.approx(stats.ttest_ind([12, 13, 14], [10, 11, 12]).pvalue)


def test_a_bound_is_half_a_point_of_bleu_unless_a_tolerance_is_tested(tmp_path):
    lines = cells("tied", [20.0, 20.1, 20.2]) + cells("fixnorm", [20.0, 20.15, 20.3])
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert (found["verdict"], found["bound"], found["reason"]) == ("equivalent", 0.5, "")
    tolerant = dataclasses.replace(BETTER, tolerance=0.5)
    assert math.isnan(judged(tmp_path, tolerant, lines).loc["tu-en", "bound"])


def test_a_bound_is_a_tenth_of_the_gain_that_a_table_takes_apart(tmp_path):
    (claim,) = (one for one in declared_claims() if "draws them anew" in one.text)
    names = (claim.table.gain.system, claim.table.gain.than)
    gained = measured_cells("related-parents", "small", claim.metric.key).query("row == 'gl-en (4,000)'")
    one, other = (gained.loc[gained["column"] == name, "value"].mean() for name in names)
    lines = cells(claim.than, [20.0, 20.1, 20.2], "gl-en (4,000)")
    lines += cells(claim.system, [19.5, 19.6, 19.7], "gl-en (4,000)")
    found = judged(tmp_path, claim, lines).loc["gl-en (4,000)"]
    assert found["bound"] == pytest.approx((one - other) / 10) == pytest.approx(0.93, abs=0.01)


def test_what_is_counted_in_the_text_needs_no_variance(tmp_path):
    measure = find_metric(TABLE_3_3.metrics[0])
    assert measure.kind == "count"
    claim = Claim("BPE shares more.", "s", TABLE_3_3, measure, "BPE + transfer", "higher", "words + transfer")
    lines = [
        line
        for name, share in (("BPE + transfer", 91.0), ("words + transfer", 50.0))
        for line in cells(name, [share] * 3, "gl-en (4,000)", measure.key)
    ]
    found = judged(tmp_path, claim, lines).loc["gl-en (4,000)"]
    assert (found["effect"], found["low"], found["high"], found["verdict"]) == (41, 41, 41, "reproduced here")
    assert found["interval"] == "nothing: counted"


def test_a_claim_has_no_line_where_the_table_leaves_out_a_system(tmp_path):
    (claim,) = (one for one in declared_claims() if one.text.startswith("The closer the relative"))
    lines = [
        line
        for row in ("gl-en (500)", "qab-en (500)")
        for name, values in (("BPE + transfer", TIED), ("BPE + distant relative", [9.0, 9.1, 9.2]))
        for line in cells(name, values, row)
    ]
    assert judged(tmp_path, claim, lines).index.tolist() == ["qab-en (500)"]


def test_the_sentences_are_in_the_interval_where_their_part_is_known(tmp_path):
    lines = cells("tied", TIED) + cells("fixnorm", [12.0, 12.4, 12.8])
    alone = judged(tmp_path, BETTER, lines).loc["tu-en"]
    head = "row,metric,system,than,variance,freedom,sentences,signature\n"
    (tmp_path / BETTER.sentences).write_text(f"{head}tu-en,test-bleu,tied,fixnorm,4.0,499,500,nrefs:1\n")
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    seeds = 0.16 * 2 / 3
    freedom = (seeds + 4) ** 2 / (seeds**2 / 4 + 4**2 / 499)
    assert found["high"] - found["effect"] == pytest.approx(stats.t.isf(0.025, freedom) * (seeds + 4) ** 0.5)
    assert (alone["verdict"], found["verdict"]) == ("reproduced here", "underpowered")
    assert (alone["interval"], found["interval"]) == ("seeds alone", "seeds and sentences")


def test_lines_of_a_table_are_judged_together(tmp_path):
    lines = []
    for row, values in (("tu-en", [11.0, 11.5, 12.0]), ("hu-en", TIED), ("ha-en", TIED), ("uz-en", TIED)):
        lines += cells("tied", TIED, row) + cells("fixnorm", values, row)
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert found["p"] < 0.05 < found["q"]
    assert (found["low"] > 0, found["verdict"]) == (True, "inconclusive")
    assert found["reason"] == f"q = {found['q']:.2g} is above 0.05"


def test_two_seeds_decide_nothing_however_close_they_are(tmp_path):
    found = judged(tmp_path, BETTER, cells("tied", [10.0, 10.1]) + cells("fixnorm", [18.0, 18.1])).loc["tu-en"]
    assert found["p"] < 0.001
    assert (found["seeds"], found["verdict"], found["reason"]) == (2, "inconclusive", "fewer than 3 seeds")


def test_one_seed_has_an_effect_without_an_interval(tmp_path):
    found = judged(tmp_path, BETTER, cells("tied", [10.0]) + cells("fixnorm", [18.0])).loc["tu-en"]
    assert (found["seeds"], found["effect"], found["verdict"]) == (1, 8.0, "inconclusive")
    assert math.isnan(found["low"])


def test_a_cell_without_a_value_leaves_the_claim_undecided_though_three_seeds_are_left(tmp_path):
    lines = cells("tied", [10.0, 12.0, 14.0, 16.0]) + cells("fixnorm", [28.0, None, 32.0, 34.0])
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert (found["seeds"], found["verdict"]) == (3, "inconclusive")
    assert found["reason"] == "fixnorm: not run with seed 2"
    assert "tu-en.fixnorm.s2" not in found["runs"]
    assert len(found["runs"]) == 7


def test_what_has_a_run_has_a_line_with_the_reason_why_nothing_is_decided(tmp_path):
    lines = cells("tied", TIED) + cells("fixnorm", [None] * 3)
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert (found["seeds"], found["verdict"], found["reason"]) == (0, "inconclusive", "fixnorm: not run")
    assert math.isnan(found["effect"])
    assert judged(tmp_path, BETTER, cells("tied", [None] * 3) + cells("fixnorm", [None] * 3)).empty


def test_one_of_the_two_that_are_compared_has_to_be_usable(tmp_path):
    lines = cells("tied", [1.0, 1.1, 1.2]) + cells("fixnorm", [3.0, 3.1, 3.2]) + cells("untied", [16.0, 16.1, 16.2])
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert (found["verdict"], found["reason"]) == ("inconclusive", "neither system reaches test BLEU 5")
    lines = cells("tied", [1.0, 1.1, 1.2]) + cells("fixnorm", [6.0, 6.1, 6.2])
    assert judged(tmp_path, BETTER, lines).loc["tu-en", "verdict"] == "reproduced here"


def test_shares_of_runs_are_counted(tmp_path):
    lines = cells("Xavier PostNorm 8k", [0.0, 0.0, 0.0], "de-en", "converged")
    found = judged(tmp_path, FAILS, lines).loc["de-en"]
    assert found["effect"] == -0.5
    assert found["p"] == pytest.approx(stats.binomtest(0, 3, 0.5).pvalue)
    assert found["low"] == -0.5 < 0 < found["high"]
    # Six runs of one kind would be enough: twice 0.5 to the power of six is 0.03.
    assert (found["verdict"], found["seeds_needed"]) == ("underpowered", 6)
    lines[1] |= {"value": None, "status": "finished"}
    found = judged(tmp_path, FAILS, lines).loc["de-en"]
    assert (found["verdict"], found["reason"]) == (
        "inconclusive", "Xavier PostNorm 8k: too early to tell with seed 2"
    )  # fmt: skip


def test_a_table_is_judged_again_once_it_has_changed(tmp_path, monkeypatch):
    lines = cells("tied", TIED) + cells("fixnorm", [12.0, 12.5, 13.0])
    assert judged(tmp_path, BETTER, lines).loc["tu-en", "effect"] == pytest.approx(2.1)
    judge = Mock(wraps=verdicts.judged_claims)
    monkeypatch.setattr(verdicts, "judged_claims", judge)
    again = measured_claims(tmp_path, [BETTER])
    assert (again["effect"].tolist(), judge.call_count) == ([pytest.approx(2.1)], 0)
    lines += cells("fixnorm", [20.0, 20.5, 21.0], "hu-en") + cells("tied", TIED, "hu-en")
    assert len(judged(tmp_path, BETTER, lines)) == 2
    assert judge.call_count == 1


def test_a_line_has_the_budget_of_its_numbers(tmp_path):
    lines = [line | {"updates": 100 * place} for place, line in enumerate(cells("tied", TIED, "qaa-en"), start=1)]
    found = judged(tmp_path, MOSES, lines + cells("Moses", [3.0], "qaa-en", seeded=False)).loc["qaa-en"]
    assert found["budget"] == "after at most 300 updates, 8,000 sentence pairs of an artificial language"


def test_a_line_says_that_dev_also_selected_the_checkpoints(tmp_path):
    (claim,) = (one for one in declared_claims() if one.text.startswith("With too small an r, 3 for 5, fixnorm transl"))
    lines = [line for column in (claim.system, claim.than) for line in cells(column, TIED, "tu-en", claim.metric.key)]
    budget = judged(tmp_path, claim, [line | {"updates": 500} for line in lines]).loc["tu-en", "budget"]
    assert budget.endswith("scored on dev, which also selected the checkpoints")


def test_a_system_can_be_compared_with_a_number(tmp_path):
    lines = cells("tied", [0.3, 0.5, 0.4], metric="left-shift") + cells("tied", [9.0, 9.0, 9.0])
    found = judged(tmp_path, LEFT, lines).loc["tu-en"]
    assert (found["seeds"], found["metric"], found["verdict"]) == (3, "left shift", "reproduced here")
    assert found["effect"] == pytest.approx(0.4)
    assert found["p"] == pytest.approx(stats.ttest_1samp([0.3, 0.5, 0.4], 0).pvalue)
    assert len(found["runs"]) == 3


def test_sizes_are_compared_without_their_signs(tmp_path):
    lines = cells("tied", [1.0, 1.1, 1.2], metric="left-shift")
    lines += cells("fixnorm", [-2.0, 2.1, -2.2], metric="left-shift")
    found = judged(tmp_path, LESS, lines).loc["tu-en"]
    assert found["effect"] == pytest.approx(1.0)
    assert found["verdict"] == "contradicted here"


def test_pairs_of_which_it_is_not_claimed_or_without_a_run_are_left_out(tmp_path):
    claim = Claim("fixnorm is better.", "s", TABLE_3_6, TEST_BLEU, "fixnorm", "higher", "tied", but=(HU_EN,))
    lines = []
    for row, values in (("hu-en", [20.0, 20.0, 20.1]), ("tu-en", [20.0, 20.0, 20.1]), ("uz-en", [None] * 3)):
        lines += cells("tied", [10.0, 10.0, 10.0], row) + cells("fixnorm", values, row)
    lines += cells("tied", [None] * 3, "ha-en") + cells("Moses", [5.0], "ha-en", seeded=False)
    assert judged(tmp_path, claim, lines).index.tolist() == ["tu-en", "uz-en"]


def test_what_is_as_good_may_be_a_little_worse(tmp_path):
    as_good = dataclasses.replace(BETTER, tolerance=0.5)
    for shift, said in (
        (-0.2, "reproduced here"),
        (0.0, "reproduced here"),
        (-0.5, "inconclusive"),
        (-1.5, "contradicted here"),
    ):
        values = [10.05 + shift, 10.0 + shift, 9.95 + shift]
        lines = cells("tied", [10.0, 10.05, 9.95]) + cells("fixnorm", values)
        found = judged(tmp_path, as_good, lines).loc["tu-en"]
        assert found["verdict"] == said
        assert found["effect"] == pytest.approx(shift)
        assert found["p"] == pytest.approx(
            stats.ttest_ind([value + 0.5 for value in values], [10.0, 10.05, 9.95]).pvalue
        )
    lower = dataclasses.replace(as_good, expects="lower")
    lines = cells("tied", [10.0, 10.05, 9.95]) + cells("fixnorm", [10.2, 10.15, 10.1])
    assert judged(tmp_path, lower, lines).loc["tu-en", "verdict"] == "reproduced here"


@pytest.mark.parametrize(
    ("question", "row", "aim"),
    [
        (Question(TEST_BLEU, "fixnorm", "tied", "higher"), "tu-en", 3.8),  # printed: 16.4 and 12.6
        (Question(TEST_BLEU, "fixnorm", "tied", "higher", null=-0.5), "tu-en", 4.3),
        (Question(TEST_BLEU, "fixnorm", "tied", "higher"), "qaa-en", 0.8),  # the smallest of all pairs, of en-ja (BTEC)
        (Question(TEST_BLEU, "fixnorm", "no other", "higher"), "tu-en", 1.0),
        (Question(LEFT_SHIFT, "fixnorm", "tied", "higher"), "tu-en", None),
        (Question(CONVERGED, "fixnorm", 0.5, "higher"), "tu-en", 0.5),
        (Question(CONVERGED, "fixnorm", "tied", "higher"), "tu-en", 1.0),
    ],
)
def test_the_effect_aimed_for_is_the_published_one(question, row, aim):
    found = with_aim(question, TABLE_3_6, row).aim
    assert found == pytest.approx(math.nan if aim is None else aim, nan_ok=True)


def test_claims_whose_table_is_not_there_are_named(tmp_path):
    nothing = measured_claims(tmp_path / "nowhere", [BETTER, LEFT])
    assert (list(nothing), len(nothing), len(overall(nothing))) == (COLUMNS, 0, 0)
    assert not_measured(nothing, [BETTER, LEFT]) == [BETTER, LEFT]
    write(tmp_path, cells("tied", [10.0]) + cells("fixnorm", [11.0]))
    assert not_measured(measured_claims(tmp_path, [BETTER, LEFT]), [BETTER, LEFT]) == [LEFT]


def test_a_claim_is_summed_up_in_words(tmp_path):
    lines = []
    for row, values in (
        ("tu-en", [20.0, 20.0, 20.1]),
        ("hu-en", [6.0, 6.0, 6.1]),
        ("ha-en", [10.1, 9.9, 10.0]),
        ("uz-en", [19.0, 1.0, 10.0]),
        ("qaa-en", [20.0, 20.0, 20.1]),
    ):
        lines += cells("tied", [10.0, 10.0, 10.0], row) + cells("fixnorm", values, row)
    line = overall(measured_claims(write(tmp_path, lines), [BETTER, LEFT])).iloc[0]
    assert line.tolist() == [
        "fixnorm is better.",
        "claimed",
        "somewhere, 1",
        "fixnorm − tied, expected above 0",
        "reproduced here: tr-en, Tatoeba · qaa-en, artificial; contradicted here: hu-en, Tatoeba; "
        "equivalent: ha-en, LAFAND + WMT news + TICO-19; underpowered: uz-en, other software + LibreOffice",
    ]


def test_lines_are_counted_by_whose_claim_they_are_of_and_by_kind_of_text(tmp_path):
    hoped = dataclasses.replace(MOSES, origin="proposed")
    lines = []
    for row, values in (("tu-en", [20.0, 20.1, 20.2]), ("hu-en", [6.0, 6.1, 6.2]), ("qaa-en", [20.0, 20.1, 20.2])):
        lines += cells("tied", [10.0, 10.1, 10.2], row) + cells("fixnorm", values, row)
        lines += cells("Moses", [5.0], row, seeded=False)
    found = counted(measured_claims(write(tmp_path, lines), [BETTER, hoped]))
    assert found.values.tolist() == [
        ["claimed", "natural", 1, 1, 1],
        ["claimed", "artificial", 1, 1, 0],
        ["proposed", "natural", 1, 2, 0],
        ["proposed", "artificial", 1, 1, 0],
    ]
    assert list(found) == ["origin", "kind of text", "claims", "reproduced here", "contradicted here"]
    assert counted(measured_claims(tmp_path / "nowhere", [BETTER])).empty


WIDE, NARROW = find_metric("bleu-log-prob-12"), find_metric("bleu-log-prob-4")
WORSE = Claim("Wider is worse.", "somewhere, 7", LENGTH_PLANNING, WIDE, "ordinary", "lower", NARROW)


def beams(wide: list[float | None], narrow: list[float | None]) -> list[dict]:
    both = (cells("ordinary", values, "de-en", one.key) for values, one in ((wide, WIDE), (narrow, NARROW)))
    return [line for some in both for line in some]


def test_two_settings_of_a_system_are_compared_seed_by_seed(tmp_path):
    """The seeds differ by ten points, and the beams by one in each."""
    wide, narrow = [9.0, 18.9, 29.1], [10.0, 20.0, 30.0]
    found = judged(tmp_path, WORSE, beams(wide, narrow)).loc["de-en"]
    by_hand = stats.ttest_rel(wide, narrow)
    assert (found["effect"], found["p"]) == (pytest.approx(-1.0), pytest.approx(by_hand.pvalue))
    assert [found["low"], found["high"]] == pytest.approx([*by_hand.confidence_interval()])
    assert (found["verdict"], found["seeds"], found["interval"]) == ("reproduced here", 3, "seeds alone")
    assert found["runs"] == [f"de-en.ordinary.s{seed}" for seed in (1, 2, 3)]


@pytest.mark.parametrize(
    ("wide", "narrow", "reason"),
    [
        ([9.0, 19.0, None], [10.0, 20.0, 30.0], "ordinary: not run with seed 3"),
        ([9.0, 19.0, 29.0], [10.0, 20.0, None], "ordinary: no such number with seed 3"),
        ([3.0, 3.1, 2.9], [4.0, 4.2, 4.1], "neither setting reaches BLEU by log-prob, beam 12 5"),
    ],
)
def test_two_settings_are_not_compared_without_both_or_where_nothing_is_translated(tmp_path, wide, narrow, reason):
    found = judged(tmp_path, WORSE, beams(wide, narrow)).loc["de-en"]
    assert (found["verdict"], found["reason"]) == ("inconclusive", reason)


def test_an_effect_has_a_direction(tmp_path):
    assert judged(tmp_path, MOSES, cells("tied", [20.0]) + cells("Moses", [10.0])).loc["tu-en", "direction"] == (
        "phrase-based (Thot) − tied, expected below 0"
    )
    assert LEFT.direction == "tied, expected above 0"
    assert LESS.direction == "|fixnorm| − |tied|, expected below 0"
    assert dataclasses.replace(LEFT, than=0.5).direction == "tied − 0.5, expected above 0"
    assert dataclasses.replace(BETTER, tolerance=0.5).direction == "fixnorm − tied, expected above −0.5"
    assert dataclasses.replace(MOSES, tolerance=0.5).direction == "phrase-based (Thot) − tied, expected below 0.5"


HEAD = ",".join(CELLS.columns) + "\n"


def line(value: str = "2", seed: str = "1") -> str:
    return ",".join({"value": value, "seed": seed}.get(name, "") for name in CELLS.columns) + "\n"


@pytest.mark.parametrize(
    "text",
    ["", "\x00", "row,column\n", f"{HEAD}{line('much')}", f"{HEAD}{line(seed='1.5')}", f"{HEAD}{line()}{line()}"],
)
def test_a_damaged_table_is_named_with_what_to_do(tmp_path, text):
    (tmp_path / "table-3.6.small.csv").write_text(text)
    with pytest.raises(NmtlabError) as error:
        measured_claims(tmp_path, [BETTER])
    said = str(error.value)
    assert len(said.splitlines()) == 1
    assert "table-3.6.small.csv: not a table of results (" in said
    assert said.endswith("; remove it, or write it again with 'nmtlab reproduce --save'")


# The measured tables
