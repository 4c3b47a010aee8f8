"""Claims judged by tables of numbers: against values worked out by hand, and a second computation in pandas."""

import dataclasses
import math
import re
from pathlib import Path

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.experiments import TABLES
from nmtlab.experiments.claims.declared import Claim, declared_claims
from nmtlab.experiments.claims.verdicts import COLUMNS, RESULTS, measured_claims, not_measured, overall
from nmtlab.experiments.measures.quality import LEFT_SHIFT, TEST_BLEU
from nmtlab.experiments.results.collected import COLUMNS as RESULT_COLUMNS
from nmtlab.experiments.tables.lexical_choice import HU_EN, LEXICAL_CHOICE, TABLE_3_6

T = {2: 12.706, 3: 4.303}
"""The 97.5th percentile of Student's t by number of values, from a printed table."""

BETTER = Claim("fixnorm is better.", "somewhere, 1", TABLE_3_6, TEST_BLEU, "fixnorm", "higher", "tied")
MOSES = Claim("Moses is worse.", "somewhere, 2", TABLE_3_6, TEST_BLEU, "Moses", "lower", "tied")
LEFT = Claim("tied looks left.", "somewhere, 3", LEXICAL_CHOICE, LEFT_SHIFT, "tied", "higher", 0.0)
LESS = Claim(
    "fixnorm is shifted less.", "somewhere, 4", LEXICAL_CHOICE, LEFT_SHIFT, "fixnorm", "lower", "tied", absolute=True
)


def cells(column: str, values: list[float | None], row: str = "tu-en", metric: str = "test BLEU", seeded: bool = True):
    return [
        {
            **dict.fromkeys(RESULT_COLUMNS, ""),
            "row": row,
            "column": column,
            "metric": metric,
            "seed": seed if seeded else None,
            "value": value,
            "run": f"{row}.{column}.s{seed}",
        }
        for seed, value in enumerate(values, start=1)
    ]


def write(folder: Path, lines: list[dict], name: str = "table-3.6.small.csv") -> Path:
    pd.DataFrame(lines, columns=RESULT_COLUMNS).astype({"seed": "Int64", "value": float}).to_csv(
        folder / name, index=False
    )
    return folder


def judged(folder: Path, claim: Claim, lines: list[dict]) -> pd.DataFrame:
    return measured_claims(write(folder, lines, claim.evidence), [claim]).set_index("pair")


@pytest.mark.parametrize(
    ("values", "effect", "margin", "said"),
    [
        # differences 1.0, 1.2, 1.1, whose deviation is 0.1
        ([11.0, 13.2, 15.1], 1.1, T[3] * 0.1 / math.sqrt(3), "reproduced here"),
        ([9.0, 10.8, 12.9], -1.1, T[3] * 0.1 / math.sqrt(3), "contradicted here"),
        # differences 1, -1, 3, whose deviation is 2
        ([11.0, 11.0, 17.0], 1.0, T[3] * 2 / math.sqrt(3), "inconclusive"),
        ([10.0, 12.0, 14.0], 0.0, 0.0, "inconclusive"),
    ],
)
def test_a_claim_is_judged_by_its_differences_seed_by_seed(tmp_path, values, effect, margin, said):
    found = judged(tmp_path, BETTER, cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", values)).loc["tu-en"]
    assert (found["seeds"], found["verdict"]) == (3, said)
    assert found["effect"] == pytest.approx(effect)
    assert found["margin"] == pytest.approx(margin)


def test_a_claim_that_a_number_is_lower_is_judged_the_other_way_round(tmp_path):
    lines = cells("tied", [20.0, 20.1, 20.2]) + cells("Moses", [10.0], seeded=False)
    lines += cells("tied", [20.0, 20.1, 20.2], "hu-en") + cells("Moses", [30.0], "hu-en", seeded=False)
    found = judged(tmp_path, MOSES, lines)
    assert found["verdict"].to_dict() == {"tu-en": "reproduced here", "hu-en": "contradicted here"}
    # A system without seeds is compared with every seed of the other: differences -10, -10.1, -10.2.
    assert found["seeds"].tolist() == [3, 3]
    assert found.loc["tu-en", "effect"] == pytest.approx(-10.1)
    assert found.loc["tu-en", "margin"] == pytest.approx(T[3] * 0.1 / math.sqrt(3))
    assert found.loc["tu-en", "runs"] == ["tu-en.tied.s1", "tu-en.tied.s2", "tu-en.tied.s3", "tu-en.Moses.s1"]


def test_two_seeds_decide_nothing_however_close_they_are(tmp_path):
    # differences 8.0 and 8.1
    found = judged(tmp_path, BETTER, cells("tied", [10.0, 12.0]) + cells("fixnorm", [18.0, 20.1])).loc["tu-en"]
    assert found["margin"] == pytest.approx(T[2] * 0.1 / math.sqrt(2) / math.sqrt(2))
    assert found["margin"] < found["effect"] == pytest.approx(8.05)
    assert (found["seeds"], found["verdict"]) == (2, "inconclusive")


def test_one_seed_has_an_effect_without_a_margin(tmp_path):
    found = judged(tmp_path, BETTER, cells("tied", [10.0]) + cells("fixnorm", [18.0])).loc["tu-en"]
    assert (found["seeds"], found["effect"], found["verdict"]) == (1, 8.0, "inconclusive")
    assert math.isnan(found["margin"])


def test_a_cell_without_a_value_leaves_the_claim_undecided_though_three_seeds_are_left(tmp_path):
    lines = cells("tied", [10.0, 12.0, 14.0, 16.0]) + cells("fixnorm", [18.0, None, 22.0, 24.0])
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert (found["seeds"], found["effect"], found["margin"], found["verdict"]) == (3, 8.0, 0.0, "inconclusive")
    assert "tu-en.fixnorm.s2" not in found["runs"]
    assert len(found["runs"]) == 7


def test_seeds_are_compared_with_their_own_whatever_the_order_of_the_cells(tmp_path):
    lines = cells("fixnorm", [11.0, 13.2, 15.1])[::-1] + cells("tied", [10.0, 12.0, 14.0])
    assert judged(tmp_path, BETTER, lines).loc["tu-en", "margin"] == pytest.approx(T[3] * 0.1 / math.sqrt(3))


def test_below_a_usable_score_nothing_is_decided(tmp_path):
    lines = cells("tied", [1.0, 1.0, 1.1]) + cells("fixnorm", [3.0, 3.0, 3.1])
    assert judged(tmp_path, BETTER, lines).loc["tu-en", "verdict"] == "inconclusive"
    lines += cells("untied", [6.0, 6.0, 6.1])  # one that is usable is enough for the row
    assert judged(tmp_path, BETTER, lines).loc["tu-en", "verdict"] == "reproduced here"


def test_a_system_can_be_compared_with_a_number(tmp_path):
    lines = cells("tied", [0.3, 0.5, 0.4], metric="left shift") + cells("tied", [9.0, 9.0, 9.0])
    found = judged(tmp_path, LEFT, lines).loc["tu-en"]
    assert (found["seeds"], found["metric"], found["verdict"]) == (3, "left shift", "reproduced here")
    assert found["effect"] == pytest.approx(0.4)
    assert found["margin"] == pytest.approx(T[3] * 0.1 / math.sqrt(3))
    assert len(found["runs"]) == 3


def test_sizes_are_compared_without_their_signs(tmp_path):
    lines = cells("tied", [1.0, 1.1, 1.2], metric="left shift")
    lines += cells("fixnorm", [-2.0, 2.1, -2.2], metric="left shift")
    found = judged(tmp_path, LESS, lines).loc["tu-en"]
    assert found["effect"] == pytest.approx(1.0)
    assert found["verdict"] == "contradicted here"


def test_pairs_of_which_it_is_not_claimed_or_with_nothing_to_compare_are_left_out(tmp_path):
    claim = Claim("fixnorm is better.", "s", TABLE_3_6, TEST_BLEU, "fixnorm", "higher", "tied", but=(HU_EN,))
    lines = []
    for row, values in (("hu-en", [20.0, 20.0, 20.1]), ("tu-en", [20.0, 20.0, 20.1]), ("uz-en", [None] * 3)):
        lines += cells("tied", [10.0, 10.0, 10.0], row) + cells("fixnorm", values, row)
    lines += cells("tied", [10.0, 10.0, 10.0], "ha-en")
    assert judged(tmp_path, claim, lines).index.tolist() == ["tu-en"]


def test_what_is_as_good_may_be_a_little_worse(tmp_path):
    as_good = dataclasses.replace(BETTER, tolerance=0.5)
    for values, said in (
        ([9.8, 11.9, 13.7], "reproduced here"),  # -0.2 ± 0.25
        ([10.0, 12.0, 14.0], "reproduced here"),
        ([9.4, 11.5, 13.3], "inconclusive"),  # -0.6 ± 0.25
        ([9.0, 11.1, 12.9], "contradicted here"),  # -1.0 ± 0.25
    ):
        found = judged(tmp_path, as_good, cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", values)).loc["tu-en"]
        assert found["verdict"] == said
        assert found["effect"] == pytest.approx(sum(values) / 3 - 12)
    lower = dataclasses.replace(as_good, expects="lower")
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", [10.2, 12.1, 14.3])
    assert judged(tmp_path, lower, lines).loc["tu-en", "verdict"] == "reproduced here"


def test_the_bootstrap_stands_beside_the_interval_where_there_is_one(tmp_path):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", [11.0, 13.2, 15.1])
    without = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert without[["p", "significant"]].isna().all()
    drawn = "".join(f"tu-en,test BLEU,fixnorm,tied,{seed},{p}\n" for seed, p in ((1, 0.004), (2, 0.03), (3, 0.001)))
    (tmp_path / BETTER.bootstrap).write_text(f"row,metric,system,than,seed,p\n{drawn}")
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert (found["p"], found["significant"], found["verdict"]) == (0.004, 2, "reproduced here")


def test_the_cells_bootstrap_counts_where_a_claim_is_against_the_baseline(tmp_path):
    lines = cells("tied", [10.0, 12.0, 14.0]) + cells("fixnorm", [11.0, 13.2, 15.1])
    for line, p in zip(lines[3:], (0.004, 0.03, 0.001), strict=True):
        line["p"] = p
    found = judged(tmp_path, BETTER, lines).loc["tu-en"]
    assert (found["p"], found["significant"]) == (0.004, 2)
    other = dataclasses.replace(BETTER, than="untied")
    lines += cells("untied", [9.0, 9.0, 9.1])
    assert judged(tmp_path, other, lines).loc["tu-en", ["p", "significant"]].isna().all()


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
        ("ha-en", [11.0, 9.0, 10.0]),
        ("qaa-en", [20.0, 20.0, 20.1]),
    ):
        lines += cells("tied", [10.0, 10.0, 10.0], row) + cells("fixnorm", values, row)
    line = overall(measured_claims(write(tmp_path, lines), [BETTER, LEFT])).iloc[0]
    assert line.tolist() == [
        "fixnorm is better.",
        "somewhere, 1",
        "fixnorm − tied, expected above 0",
        "reproduced here: tu-en, qaa-en; contradicted here: hu-en; inconclusive: ha-en",
    ]


def test_an_effect_has_a_direction(tmp_path):
    assert judged(tmp_path, MOSES, cells("tied", [20.0]) + cells("Moses", [10.0])).loc["tu-en", "direction"] == (
        "Moses − tied, expected below 0"
    )
    assert LEFT.direction == "tied, expected above 0"
    assert LESS.direction == "|fixnorm| − |tied|, expected below 0"
    assert dataclasses.replace(LEFT, than=0.5).direction == "tied − 0.5, expected above 0"
    assert dataclasses.replace(BETTER, tolerance=0.5).direction == "fixnorm − tied, expected above −0.5"
    assert dataclasses.replace(MOSES, tolerance=0.5).direction == "Moses − tied, expected below 0.5"


HEAD = ",".join(RESULT_COLUMNS) + "\n"


def line(value: str = "2", seed: str = "1") -> str:
    return ",".join({"value": value, "seed": seed}.get(name, "") for name in RESULT_COLUMNS) + "\n"


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


# The claims that are declared


@pytest.mark.parametrize("claim", declared_claims(), ids=lambda claim: claim.text)
def test_a_declared_claim_can_be_measured_in_its_table(claim):
    columns = {system.name for system in claim.table.systems}
    assert claim.table in TABLES
    assert claim.measure in claim.table.measures
    assert claim.system in columns
    assert isinstance(claim.than, float) or claim.than in columns - {claim.system}
    assert all(row in claim.table.rows for row in claim.but)
    assert claim.text.endswith(".")
    assert claim.source.startswith(("thesis ", "survey "))


def test_no_claim_is_declared_twice():
    assert len({claim.text for claim in declared_claims()}) == len(declared_claims())
    compared = {
        (c.table.name, c.measure.name, c.system, c.than, tuple(r.name for r in c.but)) for c in declared_claims()
    }
    assert len(compared) == len(declared_claims())


@pytest.mark.parametrize(
    "claim",
    [claim for claim in declared_claims() if claim.table.published and isinstance(claim.than, str)],
    ids=lambda c: c.text,
)
def test_a_claim_about_a_printed_table_holds_of_the_printed_numbers(claim):
    """On average over the pairs, as the claims are about most pairs, not all."""
    printed = pd.read_csv(RESULTS.parent / f"published/{claim.table.name}.csv")
    own = printed[(printed["metric"] == claim.measure.name) & ~printed["row"].isin([row.name for row in claim.but])]
    values = own.pivot(index="row", columns="column", values="value")[[claim.system, claim.than]].astype(str)
    values = values.replace("fails?", "0", regex=True).astype(float).dropna()  # a failed training translates nothing
    difference = (values[claim.system] - values[claim.than]).mean()
    assert difference > -claim.tolerance if claim.expects == "higher" else difference < claim.tolerance


def test_what_is_said_of_the_measured_tables_is_what_pandas_finds_in_them():
    if not any(RESULTS.glob("*.small.csv")):
        pytest.skip("nothing was measured in this checkout")
    found = measured_claims()
    assert found["effect"].notna().all()
    assert found.loc[found["seeds"] > 1, "margin"].notna().all()
    by_text = {claim.text: claim for claim in declared_claims()}
    for line in found.itertuples():
        claim = by_text[line.claim]
        table = pd.read_csv(RESULTS / line.evidence).query("row == @line.pair and metric == @line.metric")
        grid = table.assign(seed=table["seed"].fillna(-1)).pivot(index="seed", columns="column", values="value")
        if claim.absolute:
            grid = grid.abs()
        if -1 in grid.index:  # a system without seeds is paired with every seed
            grid = grid.drop(index=-1).assign(**grid.loc[-1].dropna())
        other = grid[claim.than] if isinstance(claim.than, str) else claim.than
        differences = (grid[claim.system] - other).dropna()
        assert line.seeds == differences.count()
        assert line.effect == pytest.approx(differences.mean(), abs=1e-12)
        bleu = line.metric.endswith("BLEU")
        whole = len(differences) == len(grid) == 3 and (not bleu or table["value"].max() >= 5)
        margin = T[3] * differences.sem()
        effect = line.effect + (claim.tolerance if claim.expects == "higher" else -claim.tolerance)
        low, high = (effect - margin, effect + margin) if whole else (-1, 1)
        holds, fails = (low > 0, high < 0) if claim.expects == "higher" else (high < 0, low > 0)
        assert line.verdict == ("reproduced here" if holds else "contradicted here" if fails else "inconclusive")
        if whole:
            assert line.margin == pytest.approx(margin, rel=1e-6)
        used = table[table["column"].isin([claim.system, claim.than]) & table["value"].notna()]
        assert line.runs == used["run"].tolist()
    measured, missing = set(found["claim"]), {claim.text for claim in not_measured(found)}
    assert (measured | missing, measured & missing) == (set(by_text), set())


# The file


LINE = {
    "table": "table-3.6", "metric": "test BLEU", "column": "fixnorm", "expected": "higher", "than": "tied",
    "except": "", "absolute": "", "tolerance": "", "scale": "small", "source": "thesis", "claim": "fixnorm is better.",
}  # fmt: skip


def claims_of(folder: Path, **changes: str) -> tuple[Claim, ...]:
    pd.DataFrame([LINE | changes]).to_csv(folder / "claims.csv", index=False)
    return declared_claims(folder / "claims.csv")


def test_a_line_of_the_file_is_a_claim(tmp_path):
    assert claims_of(tmp_path) == (
        Claim("fixnorm is better.", "thesis", TABLE_3_6, TEST_BLEU, "fixnorm", "higher", "tied"),
    )


def test_a_claim_may_be_about_a_number_and_leave_out_rows(tmp_path):
    declared_claims.cache_clear()
    changes = {"than": "0", "except": f"{HU_EN.name}", "absolute": "yes", "tolerance": "0.5"}
    (claim,) = claims_of(tmp_path, **changes)
    assert (claim.than, claim.but, claim.absolute, claim.tolerance) == (0.0, (HU_EN,), True, 0.5)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("table", "table-9", "line 2: table is 'table-9'; choose one of 'table-3.2'"),
        ("metric", "BLUE", "line 2: metric is 'BLUE'; choose one of 'test BLEU'"),
        ("column", "fixed", "line 2: column is 'fixed'; choose one of"),
        ("than", "fixed", "line 2: than is 'fixed'; give a column of the table or a number"),
        ("expected", "up", "line 2: expected is 'up'; choose one of 'higher', 'lower'"),
        ("scale", "huge", "line 2: scale is 'huge'"),
        ("except", "xx-yy", "line 2: except is 'xx-yy'"),
        ("absolute", "no", "line 2: absolute is 'no'"),
        ("tolerance", "half", "line 2: tolerance is 'half'"),
    ],
)
def test_a_line_that_is_no_claim_is_named(tmp_path, field, value, problem):
    declared_claims.cache_clear()
    with pytest.raises(NmtlabError, match=re.escape(problem)):
        claims_of(tmp_path, **{field: value})
    declared_claims.cache_clear()


def test_without_the_file_nothing_is_claimed(tmp_path):
    assert declared_claims(tmp_path / "none.csv") == ()
