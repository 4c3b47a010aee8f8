"""Signs of bad translations, on sentences whose scores are made up."""

import numpy as np
import pandas as pd
import pytest
from sacrebleu.metrics import CHRF

from nmtlab.analysis.attribution.signs import signs, signs_finding, signs_view


def sentences(run: str = "a", translations: str = "a dog|a cat|no|the old man|so") -> pd.DataFrame:
    texts = translations.split("|")
    return pd.DataFrame(
        {
            "run": run,
            "line": range(1, 6),
            "translation": texts,
            "log_prob": [-1.0, -2.0, -3.0, -4.0, -5.0],
            "source_share": [0.1, 0.3, 0.2, 0.4, 0.5],
            "agreement": [50.0, 40.0, 10.0, 20.0, 30.0],
            "length_ratio": [1.0, 1.0, 0.0, 2.0, 1.0],
            "repeats": [0, 0, 0, 0, 0],
            "chrf": [90.0, 70.0, 10.0, 50.0, 30.0],
        }
    )


def test_a_sign_goes_with_chrf_as_far_as_their_ranks_do():
    found = signs(sentences()).set_index("sign")
    ranks = {
        "high log p per token": [5, 4, 3, 2, 1],
        "large share from the source": [1, 3, 2, 4, 5],
        "likeness to its samples": [5, 4, 1, 2, 3],
    }
    of_chrf = [5, 4, 1, 3, 2]
    for sign, of_sign in ranks.items():
        differences = sum((one - other) ** 2 for one, other in zip(of_sign, of_chrf, strict=True))
        assert found.loc[sign, "rho"] == pytest.approx(
            1 - 6 * differences / (5 * 24)
        )  # Spearman's formula without ties
    assert np.isnan(found.loc["no repetition", "rho"])  # no translation does
    assert found["worst_found"].dropna().to_dict() == {
        "high log p per token": 0, "large share from the source": 0, "likeness to its samples": 1, "usual length": 1
    }  # fmt: skip
    assert found.loc["usual length", "rho"] > 0  # the empty one is the worst


def test_likeness_to_other_systems_is_a_sign_where_all_have_the_line():
    both = [sentences(), sentences("b", "a dog|a cat|yes|an old man|or")]
    found = signs(pd.concat(both, ignore_index=True))
    assert found.groupby("run")["sign"].count().tolist() == [6, 6]
    assert "likeness to other systems" not in set(signs(sentences())["sign"])
    alike = [
        CHRF().sentence_score(one, [other]).score
        for one, other in zip(*(of["translation"] for of in both), strict=True)
    ]
    expected = pd.Series(alike).rank().corr(sentences()["chrf"].rank())
    of_first = found[(found["run"] == "a") & (found["sign"] == "likeness to other systems")]
    assert of_first["rho"].item() == pytest.approx(expected)
    missing = pd.concat([both[0], both[1].head(4)], ignore_index=True)
    assert signs(missing).groupby("run")["sign"].count().to_dict() == {"a": 5, "b": 6}


def test_the_best_sign_is_named_first_and_each_run_is_a_point():
    view = signs_view(pd.concat([sentences(), sentences("<b>")], ignore_index=True))
    best = (
        "How well a sign of a good translation goes with its chrF: likeness to its samples (ρ 0.90, 100 % of the worst"
    )
    assert view.finding.startswith(best)
    assert [trace.name for trace in view.figure.data] == ["a", "&lt;b&gt;"]
    assert signs_finding(signs(sentences().head(0))) == ""


def test_ties_find_as_many_of_the_worst_as_a_random_order_would():
    chrf = [float(score) for score in range(20)]
    many = pd.concat([sentences()] * 4, ignore_index=True).assign(line=range(20), chrf=chrf, repeats=[1] * 4 + [0] * 16)
    found = signs(many).set_index("sign")["worst_found"]
    assert found["no repetition"] == pytest.approx(0.5)  # two of the four that repeat, in any order
    worst, drawn = {0, 1}, [{one, other} for one in range(4) for other in range(one)]
    assert found["no repetition"] == pytest.approx(np.mean([len(worst & pair) / 2 for pair in drawn]))
