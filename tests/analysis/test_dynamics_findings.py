"""What is said of trainings: against the numbers of their logs."""

import pandas as pd
import pytest
from support.packed import packed_folder

from nmtlab.analysis.dynamics.convergence import CONVERGENCE, learned
from nmtlab.analysis.dynamics.curves import DEV_CURVE, GRADIENT_CURVE, GRADIENT_SIZES, LOSS_CURVE
from nmtlab.analysis.dynamics.depth import G_BY_DEPTH, SLOPES_OF_G, g_fits
from nmtlab.analysis.dynamics.signals import SIGNALS, STORED_SIGNALS
from nmtlab.runs.run import Run

NAMES = ("post-layernorm", "post-scalenorm", "pre-scalenorm")
EVERY = (DEV_CURVE, LOSS_CURVE, GRADIENT_CURVE, GRADIENT_SIZES, CONVERGENCE, G_BY_DEPTH, SLOPES_OF_G, SIGNALS)


@pytest.fixture(scope="module")
def deep() -> list[Run]:
    return [Run(packed_folder(f"deep-de-en.{name}")).labelled(name) for name in NAMES]


@pytest.mark.parametrize("analysis", [*EVERY, STORED_SIGNALS])
def test_nothing_is_said_of_nothing(analysis):
    assert analysis.finding(analysis.among([])) == ""


def test_the_best_score_of_each_run_and_those_still_rising_are_named(deep):
    best = {run.label: run.log.metrics("validation")["bleu"] for run in deep}
    scores = [f"{label} {one.max():.1f}" for label, one in sorted(best.items(), key=lambda item: -item[1].max())]
    rising = [label for label, one in best.items() if one.iloc[-1] == one.max()]
    assert rising == ["post-layernorm", "post-scalenorm"]
    said = DEV_CURVE.finding(DEV_CURVE.among(deep))
    assert said == (
        f"Best dev BLEU: {scores[0]}, {scores[1]}, {scores[2]}. "
        "Still rising at the end: post-layernorm, post-scalenorm."
    )


def test_a_score_that_stays_at_0_is_not_rising(deep):
    said = DEV_CURVE.finding(DEV_CURVE.among(deep[:1]).assign(bleu=0.0))
    assert said == "Best dev BLEU: post-layernorm 0.0."


def test_the_loss_and_the_gradient_at_the_end_are_those_of_the_log(deep):
    run = deep[0]
    loss = run.log.metrics("train")["loss"].iloc[-1]
    assert LOSS_CURVE.finding(LOSS_CURVE.among([run])) == f"Loss per target token at the end: {run.label} {loss:.2f}."
    norms = run.log.gradient_norms()["norm"]
    late = norms.iloc[-len(norms) // 4 :].median()
    said = GRADIENT_CURVE.finding(GRADIENT_CURVE.among([run]))
    assert said.startswith(f"Median gradient norm in the last quarter: {run.label} {late:.2f}, ")


def test_runs_that_learned_are_counted_and_others_named(deep):
    found = CONVERGENCE.among(deep)
    assert CONVERGENCE.finding(found).startswith("3 of 3 learned to translate (dev BLEU 5 or more). Still rising")
    lost = found.assign(verdict=["converged", "plateaued", "too early"], bleu=1.0)
    assert CONVERGENCE.finding(lost) == (
        "1 of 3 learned to translate (dev BLEU 5 or more), not post-scalenorm, pre-scalenorm."
    )


def test_a_training_that_lost_what_it_had_learned_collapsed(deep, monkeypatch):
    rows = pd.DataFrame({"verdict": ["converged", "plateaued", "plateaued"], "best_bleu": [30.0, 30.0, 1.0]})
    monkeypatch.setattr("nmtlab.analysis.dynamics.convergence.convergence", lambda runs: rows)
    found = learned(deep)
    assert found["verdict"].tolist() == ["learned to translate", "collapsed", "never learned"]
    assert found["rising"].tolist() == [True, True, False]


def test_slopes_of_g_above_0_are_counted(deep):
    found = G_BY_DEPTH.among(deep[1:])
    fits = g_fits(found)
    grows = [(fits.loc[fits["run"] == run.label, "slope"] > 0).sum() for run in deep[1:]]
    said = G_BY_DEPTH.finding(found)
    assert said.startswith(
        f"Kinds of sublayers whose g grows with depth: {grows[0]} of 5 in post-scalenorm; {grows[1]} of 5 in pre-"
    )
    assert SLOPES_OF_G.finding(SLOPES_OF_G.among(deep[1:2])).endswith("post-scalenorm 1 of 5, then 4.")


def test_vanishing_gradients_are_said_to_be_small():
    columns = ["run", "update", "side", "gradient"]
    rows = [
        ("post", 0, "encoder", 9),
        ("post", 0, "encoder", 1),
        ("post", 5, "encoder", 0.001),
        ("post", 5, "encoder", 1),
    ]
    rows += [("post", 5, "decoder", 3.0), ("post", 5, "decoder", 2.0)]
    assert STORED_SIGNALS.finding(pd.DataFrame(rows, columns=columns)) == (
        "Norm of the gradient, from the last normalisation to the first, in decoder and encoder: "
        "post × 1.50 and under × 0.01."
    )
