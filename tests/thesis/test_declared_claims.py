"""Declared claims are about columns and measures of their tables; a line that is no claim is named."""

import re
from pathlib import Path

import pandas as pd
import pytest

from nmtlab.analysis.metrics import find_metric
from nmtlab.errors import NmtlabError
from nmtlab.grids.results.collected import published
from nmtlab.thesis.claims.declared import Claim, declared_claims
from nmtlab.thesis.tables.lexical_choice import HU_EN, TABLE_3_6
from nmtlab.thesis.tables.listing import TABLES
from nmtlab.workspace import RESULTS

TEST_BLEU = find_metric("test-bleu")


@pytest.mark.parametrize("claim", declared_claims(), ids=lambda claim: claim.text)
def test_a_declared_claim_can_be_measured_in_its_table(claim):
    columns = {system.name for system in claim.table.columns}
    assert claim.table in TABLES
    assert claim.metric.key in claim.table.metrics
    assert claim.system in columns
    if isinstance(claim.than, str | float):
        assert isinstance(claim.than, float) or claim.than in columns - {claim.system}
    else:
        assert claim.than.key in {*claim.table.metrics} - {claim.metric.key}
    assert all(row in claim.table.rows for row in claim.but)
    assert claim.text.endswith(".")
    assert claim.source.startswith(
        ("thesis ", "survey ", "slides ", "WNMT 2018, ", "Pham et al. 2018", "Kothur et al. 2018", "Tran and Bisk 2018")
    )


def test_no_claim_is_declared_twice():
    assert len({claim.text for claim in declared_claims()}) == len(declared_claims())
    compared = {(c.table.name, c.metric.key, c.system, c.than, tuple(r.name for r in c.but)) for c in declared_claims()}
    assert len(compared) == len(declared_claims())


@pytest.mark.parametrize(
    "claim",
    [
        claim
        for claim in declared_claims()
        if isinstance(claim.than, str)
        and claim.metric.key in {*published(claim.table.name)["metric"]}
        and {claim.system, claim.than} <= {*published(claim.table.name)["column"]}
    ],
    ids=lambda c: c.text,
)
def test_a_claim_about_a_printed_table_holds_of_the_printed_numbers(claim):
    """On average over the pairs, as the claims are about most pairs, not all."""
    printed = pd.read_csv(RESULTS.parent / f"published/{claim.table.name}.csv")
    own = printed[(printed["metric"] == claim.metric.key) & ~printed["row"].isin([row.name for row in claim.but])]
    values = own.pivot(index="row", columns="column", values="value")[[claim.system, claim.than]].astype(str)
    values = values.replace("fails?", "0", regex=True).astype(float).dropna()  # a failed training translates nothing
    difference = (values[claim.system] - values[claim.than]).mean()
    assert difference > -claim.tolerance if claim.expects == "higher" else difference < claim.tolerance


# The file


LINE = {
    "table": "table-3.6", "metric": "test-bleu", "column": "fixnorm", "expected": "higher", "than": "tied",
    "except": "", "absolute": "", "tolerance": "", "scale": "small", "origin": "claimed",
    "source": "thesis", "claim": "fixnorm is better.",
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


def test_a_claim_may_compare_two_settings_of_a_system(tmp_path):
    declared_claims.cache_clear()
    wide, narrow = find_metric("bleu-log-prob-12"), find_metric("bleu-log-prob-4")
    about = {"table": "length-planning", "metric": wide.key, "column": "ordinary", "expected": "lower"}
    (claim,) = claims_of(tmp_path, **about, than=narrow.key, origin="quoted")
    assert (claim.metric, claim.than, claim.origin) == (wide, narrow, "quoted")
    assert claim.direction == "ordinary: BLEU by log-prob, beam 12 − BLEU by log-prob, beam 4, expected below 0"


BEGINNINGS = {
    "proposed": ("Expected", "Surmised", "Conjectured", "Hoped for", "Proposed"),
    "quoted": (
        "Zoph", "Stahlberg", "Survey", "Shi", "Koehn", "Johnson", "Aharoni", "Trained out, as", "Khayrallah", "Hoang",
        "Pham", "Nishimura", "Kothur", "Tran and Bisk",
        "Jauregi Unanue", "Niu", "Imamura",
    ),
}  # fmt: skip


@pytest.mark.parametrize("claim", declared_claims(), ids=lambda claim: claim.text)
def test_a_claim_begins_with_whose_it_is_unless_the_thesis_claims_it(claim):
    worded = [origin for origin, beginnings in BEGINNINGS.items() if claim.text.startswith(beginnings)]
    assert worded == [origin for origin in BEGINNINGS if origin == claim.origin]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("table", "table-9", "line 2: table is 'table-9'; choose one of 'table-3.2'"),
        ("metric", "BLUE", "line 2: metric is 'BLUE'; choose one of 'test-bleu'"),
        ("column", "fixed", "line 2: column is 'fixed'; choose one of"),
        ("than", "fixed", "line 2: than is 'fixed'; give a column of the table, one of its measures, or a number"),
        ("origin", "hoped", "line 2: origin is 'hoped'; choose one of 'claimed', 'proposed', 'quoted', 'asked here'"),
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
