"""The figure of effects at two budgets."""

import pandas as pd
import pytest

from nmtlab.plots import budgets_figure

BOTH = pd.DataFrame(
    {
        "direction": ["b − a, expected above 0", "c − a, expected above 0"],
        "text": "de-en, captions",
        "metric": "test BLEU",
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
    several = BOTH.assign(direction="b − a, expected above 0", metric=["BLEU, beam 1", "BLEU, beam 4"])
    figure = budgets_figure(several, "Length planning")
    names = dict(zip(figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext, strict=True))
    assert [names[round(place)] for place in figure.data[0].y] == ["b − a<br>BLEU, beam 1", "b − a<br>BLEU, beam 4"]
    assert figure.layout.xaxis.title.text == "difference in BLEU"
    texts = budgets_figure(BOTH.assign(text=["de-en", "gl-en"]), "Normalisation")
    assert list(texts.layout.yaxis.ticktext) == ["b − a<br>de-en", "c − a<br>gl-en"]
    shares = budgets_figure(several.assign(metric=["BLEU", "% empty"]), "Length planning")
    assert shares.layout.xaxis.title.text == "difference"
