"""Claims at two budgets."""

import pandas as pd
import pytest

from nmtlab.analysis.metrics import find_metrics
from nmtlab.errors import NmtlabError
from nmtlab.grids.results.schemas import CELLS
from nmtlab.thesis.shown.budgets import at_two_budgets, budgets_figure, budgets_view
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import RESULTS


def line(evidence: str, effect: float, verdict: str, pair: str = "de-en", system: str = "b") -> dict:
    return {
        "claim": f"{system} is better than a ({evidence}).", "source": "thesis", "direction": f"{system} − a",
        "pair": pair, "text": f"{pair}, captions", "metric": "test BLEU", "seeds": 3, "effect": effect,
        "low": effect - 1, "high": effect + 1, "verdict": verdict, "budget": evidence, "evidence": evidence,
    }  # fmt: skip


def test_a_claim_stands_beside_itself_trained_out_and_says_whether_its_verdict_changed():
    measured = pd.DataFrame(
        [
            line("table-3.13.small.csv", 2.8, "reproduced here"),
            line("table-3.13.small.csv", 0.9, "inconclusive", system="c"),
            line("table-3.13.small.csv", 3.0, "reproduced here", pair="gl-en"),  # not trained out
            line("table-3.17.small.csv", 9.0, "reproduced here"),  # another table
            line("table-3.13-trained-out.small.csv", 0.4, "inconclusive"),
            line("table-3.13-trained-out.small.csv", 0.8, "inconclusive", system="c"),
        ]
    )
    both = at_two_budgets(measured)
    assert both["effect_short"].tolist() == [2.8, 0.9]
    assert both["effect_long"].tolist() == [0.4, 0.8]
    assert both["claim"].str.contains("3.13.small").all()
    assert both["changed"].tolist() == [True, False]


def test_without_a_second_budget_there_are_no_lines():
    assert at_two_budgets(pd.DataFrame([line("table-3.13.small.csv", 1.0, "inconclusive")])).empty


BOTH = pd.DataFrame(
    {
        "difference": ["b − a", "c − a"],
        "text": "de-en, captions",
        "metric": "test BLEU",
        "unit": "BLEU",
        "seeds_short": 3, "effect_short": [2.8, 0.9], "low_short": [1.0, -1.0], "high_short": [4.0, 3.0],
        "verdict_short": ["reproduced here", "inconclusive"], "budget_short": "after at most 1,200 updates",
        "seeds_long": 5, "effect_long": [0.4, 0.8], "low_long": [-0.5, 0.1], "high_long": [1.3, 1.5],
        "verdict_long": ["inconclusive", "reproduced here"], "budget_long": "after at most 5,000 updates",
    }
)  # fmt: skip


def test_each_claim_has_its_effect_and_interval_at_both_budgets():
    figure = budgets_figure(BOTH, "Normalisation")
    short, long = figure.data
    assert (short.name, long.name) == ("short", "trained out")
    for trace, budget in ((short, "short"), (long, "long")):
        assert list(trace.x) == BOTH[f"effect_{budget}"].tolist()
        assert list(trace.x + trace.error_x.array) == pytest.approx(BOTH[f"high_{budget}"].tolist())
        assert list(trace.x - trace.error_x.arrayminus) == pytest.approx(BOTH[f"low_{budget}"].tolist())
        assert [data[0] for data in trace.customdata] == BOTH[f"verdict_{budget}"].tolist()
    names = dict(zip(figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext, strict=True))
    assert [names[round(place)] for place in short.y] == ["b<br>− a", "c<br>− a"]
    assert figure.layout.xaxis.title.text == "difference in test BLEU"


def test_claims_about_several_measures_or_texts_are_called_by_them():
    several = BOTH.assign(difference="b − a", metric=["BLEU, beam 1", "BLEU, beam 4"])
    figure = budgets_figure(several, "Length planning")
    names = dict(zip(figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext, strict=True))
    assert [names[round(place)] for place in figure.data[0].y] == ["b − a<br>BLEU, beam 1", "b − a<br>BLEU, beam 4"]
    assert figure.layout.xaxis.title.text == "difference in BLEU"
    texts = budgets_figure(BOTH.assign(text=["de-en", "gl-en"]), "Normalisation")
    assert list(texts.layout.yaxis.ticktext) == ["b − a<br>de-en", "c − a<br>gl-en"]
    shares = budgets_figure(several.assign(metric=["BLEU", "% empty"], unit=["BLEU", "%"]), "Length planning")
    assert shares.layout.xaxis.title.text == "difference"


@pytest.mark.full
def test_claims_at_two_budgets_have_the_effects_of_both_tables():
    shown = budgets_view("length-planning", "de-en, Multi30k").frame.set_index("metric")
    keys = {metric.label: metric.key for metric in find_metrics(find_table("length-planning").metrics)}
    for budget, name in (("short", "length-planning"), ("long", "length-planning-trained-out")):
        cells = CELLS.read(RESULTS / f"{name}.small.csv").query("row == 'de-en'")
        means = cells.groupby(["metric", "column"])["value"].mean().unstack()
        effects = (means["planned"] - means["ordinary"])[[keys[label] for label in shown.index]]
        assert shown[f"effect_{budget}"].tolist() == pytest.approx(effects.tolist())
    with pytest.raises(NmtlabError, match="not measured at two budgets"):
        budgets_view("length-planning", "gl-en, LibreOffice")
