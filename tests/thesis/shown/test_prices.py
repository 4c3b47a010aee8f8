"""What techniques are worth, in pairs of text, on rulers worked out by hand and on the measured tables."""

import dataclasses
import math

import pandas as pd
from support.child_sizes import Scores, results_of

from nmtlab.grids.results.results import Lines, Results
from nmtlab.grids.results.schemas import SENTENCES
from nmtlab.thesis.measured import measured
from nmtlab.thesis.shown.prices import Price, price_figure, price_finding, price_view, prices
from nmtlab.thesis.shown.worth import worth
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import Workspace

CURVE = {500: [5.0] * 3, 2000: [11.0] * 3, 8000: [17.0] * 3}  # 3 points for each doubling of the text


def table(tmp_path, name: str, scores: Scores, sentences: pd.DataFrame | None = None, metric: str = "") -> Results:
    """Return results made up for a table, a run a cell; systems without seeds have one value."""
    cells = results_of(name, scores, metric)
    unseeded = [system.name for system in find_table(name).columns if not system.seeded]
    cells["run"] = cells["row"] + cells["column"] + cells["seed"].astype(str)
    cells.loc[cells["column"].isin(unseeded), "seed"] = pd.NA
    lines = Lines(cells, SENTENCES.empty if sentences is None else sentences, {})
    return Results(find_table(name), "small", Workspace(tmp_path), tmp_path, lines)


def price(worth: float = 1500, low: float = math.nan, high: float = math.nan, technique: str = "lexicon") -> Price:
    return Price("tr-en, Tatoeba", "tied", technique, 500, "test-bleu", 3, 11.0, worth, low, high, False, CURVE)


def said(found: list[Price]) -> dict[tuple[str, int], float]:
    return {(one.technique, one.pairs): one.worth for one in found}


def test_a_table_is_priced_by_the_ruler_of_another_and_lengthens_it(tmp_path):
    sizes = {
        "tr-en (500)": {"tied": [5.0] * 3, "fixnorm+lex": [8.0] * 3, "Moses": [11.0]},
        "tr-en (2,000)": {"tied": [11.0] * 3, "fixnorm+lex": [14.0] * 3},
    }
    # Of what is better than the largest text, the ruler says nothing.
    whole = {"tu-en": {"tied": [17.0] * 3, "fixnorm": [17.0] * 3, "fixnorm+lex": [17.1] * 3, "Arthur": [14.0] * 3}}
    found = prices([table(tmp_path, "table-3.6", whole), table(tmp_path, "data-size", sizes)])
    assert said(found) == {
        ("fixnorm", 10_000): 0,
        ("Arthur", 10_000): round(math.sqrt(2000 * 10_000)) - 10_000,  # halfway from 2,000 to 10,000 pairs
        ("phrase-based (Thot)", 500): 1500,
        ("fixnorm+lex", 500): 500,
        ("fixnorm+lex", 2000): round(math.sqrt(2000 * 10_000)) - 2000,
    }
    assert {(one.text, one.ruler, tuple(one.curve)) for one in found} == {
        ("tr-en, Tatoeba", "tied", (500, 2000, 10_000))
    }
    assert all(one.low == one.high == one.worth for one in found)  # no seed differs


def test_text_that_runs_make_is_priced_by_the_pairs_alone(tmp_path):
    sizes = {
        "gl-en (500)": {"pairs alone": [5.0] * 3, "sampled, 4:1": [8.0] * 3},
        "gl-en (2,000)": {"pairs alone": [11.0] * 3, "copied, 4:1": [8.0] * 3},
    }
    assert said(prices([table(tmp_path, "monolingual", sizes)])) == {
        ("sampled, 4:1", 500): 500,
        ("copied, 4:1", 2000): -1000,
    }


def test_further_real_pairs_make_the_ruler_longer_and_have_no_price(tmp_path):
    alone, real = {"pairs alone": [5.0] * 3}, {"real pairs, 4:1": [11.0] * 3}
    found = prices([table(tmp_path, "monolingual", {"qaa-en (500)": {**alone, **real, "copied, 4:1": [8.0] * 3}})])
    assert [one.curve for one in found] == [{500: [5.0] * 3, 2500: [11.0] * 3}]
    assert said(found) == {("copied, 4:1", 500): round(math.sqrt(500 * 2500)) - 500}  # halfway in the logarithm
    turkish = {"tr-en (500)": {**alone, **real, "copied, 4:1": [8.0] * 3}}
    assert [list(one.curve) for one in prices([table(tmp_path, "monolingual", turkish)])] == [[500, 2500]]


def test_a_technique_that_is_its_ruler_is_worth_nothing_whatever_seeds_and_sentences_do(tmp_path):
    same = {f"tr-en ({size})": dict.fromkeys(("tied", "fixnorm+lex"), scores) for size, scores in
            (("500", [4.8, 5.1, 5.4]), ("2,000", [10.0, 11.0, 11.5]), ("4,000", [13.0, 14.0, 14.1]))}  # fmt: skip
    spread = SENTENCES.frame([("tr-en (2,000)", "test-bleu", "fixnorm+lex", "tied", 0.4, 499.0, 500, "")])
    found = prices([table(tmp_path, "data-size", same, spread)])
    assert [(one.pairs, one.worth, one.sentences) for one in found] == [
        (500, 0, False),
        (2000, 0, True),
        (4000, 0, False),
    ]
    assert all(one.low < 0 < one.high for one in found)


def test_a_ruler_has_two_sizes_of_one_text_with_one_score(tmp_path):
    one_size = {"tr-en (500)": {"tied": [5.0] * 3, "fixnorm+lex": [8.0] * 3}}
    other_text = {"gl-en (2,000)": {"tied": [11.0] * 3}}
    other_score = {"tr-en (2,000)": {"tied": [30.0] * 3}}
    tables = [table(tmp_path, "data-size", {**one_size, **other_text})]
    assert prices(tables) == []
    assert prices([*tables, table(tmp_path, "data-size", other_score, metric="test-chrf")]) == []
    assert prices([]) == []


def test_a_system_on_other_text_is_not_the_one_on_the_clean_text(tmp_path):
    sizes = {
        "2,000 pairs": {"clean": [10.0], "copied-target, 100 %": [6.0]},
        "10,000 pairs": {"clean": [20.0], "copied-target, 100 %": [15.0]},
    }
    found = prices([table(tmp_path, "noise-phrase-based", sizes)])
    assert said(found) == {("copied-target, 100 %", 10_000): round(math.sqrt(2000 * 10_000)) - 10_000}
    assert found[0].curve == {2000: [10.0] * 3, 10_000: [20.0] * 3}
    assert found[0].seeds == 1


def test_values_that_are_no_scores_and_rows_that_are_not_declared_are_left_out(tmp_path):
    sizes = {"tr-en (500)": {"tied": [5.0], "fixnorm+lex": [8.0]}, "tr-en (2,000)": {"tied": [11.0]}}
    odd = {"tr-en (4,000)": {"tied": [math.inf], "fixnorm+lex": [1e300]}, "tr-en (123)": {"tied": [3.0]}}
    assert said(prices([table(tmp_path, "data-size", {**sizes, **odd})])) == {("fixnorm+lex", 500): 500}


def test_an_interval_beyond_the_ruler_has_one_end():
    assert price(math.inf, math.inf, math.inf).interval == "more than 7,500"


def test_a_damaged_table_has_no_prices_and_harms_no_other(tmp_path):
    sizes = {"tr-en (500)": {"tied": [5.0], "fixnorm+lex": [8.0]}, "tr-en (2,000)": {"tied": [11.0]}}
    (tmp_path / "table-3.6.small.csv").write_text("row,column\n", encoding="utf-8")
    damaged = Results(find_table("table-3.6"), "small", Workspace(tmp_path), tmp_path)
    found = prices([damaged, table(tmp_path, "data-size", sizes)])
    assert said(found) == {("fixnorm+lex", 500): 500}
    assert found[0].interval == ""  # of one seed


def test_beyond_the_ruler_it_is_only_said_that_it_is_more_or_less():
    assert price().said(1500) == "1,500"
    assert price().said(-120.0, sign=True) == "−120"
    assert price().said(math.inf) == "more than 7,500"
    assert price().said(-math.inf) == "less than 0"
    found = [price(math.inf, 1200, math.inf), price(-math.inf, technique="copies")]
    assert price_finding(found) == (
        "Compared with tied on 500 pairs (tr-en, Tatoeba), lexicon is worth more than 7,500 further pairs "
        "(95 %: 1,200 to more than 7,500); copies less than 0 further pairs, going by test BLEU."
    )


def test_the_figure_ends_each_line_where_the_ruler_has_the_score():
    found = [price(math.inf, 1200, math.inf), price(1500, 900, 2500, technique="<b>")]
    lines = [trace for trace in price_figure(found).data if trace.mode == "lines"]
    (beyond, inside) = (trace.x for trace in lines)
    assert (beyond[0], inside) == (500, (500, 2000))
    assert beyond[1] > 8000
    (ruler,) = (trace for trace in price_figure(found).data if trace.mode == "lines+markers")
    assert (list(ruler.x), list(ruler.y)) == ([500, 2000, 8000], [5.0, 11.0, 17.0])
    assert price_view(found).frame["technique"].tolist() == ["lexicon", "<b>"]
    assert "<b>" not in [trace.name for trace in price_figure(found).data]


def test_a_parent_of_the_measured_tables_is_worth_the_pairs_that_it_replaces():
    results = measured("child-size")
    cells = results.of_metric("test-bleu").query("row.str.startswith('gl-en')")
    found = prices([dataclasses.replace(results, lines=Lines(cells, results.sentences, {}))])
    scores = {
        (system, int(row[7:-1].replace(",", ""))): some["value"].tolist()
        for (row, system), some in cells[cells["row"] != "gl-en"].groupby(["row", "column"])
    }
    alone = {pairs: values for (system, pairs), values in scores.items() if system == "BPE"}
    assert {(one.technique, one.pairs): one.worth for one in found} == {
        (system, pairs): worth(values, pairs, alone).replaced
        for (system, pairs), values in scores.items()
        if system != "BPE" and pairs < max(alone)
    }
    assert len(found) == 6  # all but those of 10,000 pairs, which are better than the ruler's end
    assert all(one.sentences and one.low < one.high for one in found if math.isfinite(one.worth))
