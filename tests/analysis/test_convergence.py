"""Verdicts on trainings whose logs are written by hand."""

import math
import shutil

import pytest

from nmtlab.analysis.dynamics.convergence import convergence
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter


@pytest.fixture
def logged(trained, tmp_path):
    """Return a function that makes a run of (BLEU, perplexity) every 100 updates, with a status at its end."""

    def make(*evaluations: tuple[float, float], ends: str = "") -> Run:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(trained[0].folder, folder)
        run = Run(folder)
        RunWriter(run).truncate_after(0)
        for place, (bleu, perplexity) in enumerate(evaluations, start=1):
            RunWriter(run).log("validation", 100 * place, bleu=bleu, perplexity=perplexity, seconds=float(place))
        if ends:
            RunWriter(run).log("end", 100 * len(evaluations) + 50, status=ends, seconds=100.0)
        return run

    return make


def judged(run: Run, **settings: float) -> tuple[str, int]:
    (row,) = convergence([run], **settings).itertuples()
    return row.verdict, row.step


def test_a_training_that_reaches_the_floor_is_alive_since_then(logged):
    run = logged((0.5, 200), (3, 90), (7, 30), (6, 25), (9, 20), ends="finished")
    assert judged(run) == ("converged", 300)
    assert judged(run, floor=8) == ("converged", 500)


def test_one_whose_perplexity_stands_still_below_the_floor_has_plateaued_at_its_best(logged):
    run = logged((0.1, 400), (0.3, 300), (0.2, 299), (0.3, 298), (0.2, 300), (0.3, 297), ends="finished")
    assert judged(run) == ("plateaued", 200)
    (row,) = convergence([run]).itertuples()
    assert (row.best_bleu, row.bleu, row.perplexity, row.updates) == (0.3, 0.3, 297, 650)


def test_one_that_still_learns_is_not_judged_yet(logged):
    assert judged(logged((0.1, 400), (0.3, 300), (0.5, 250), (0.8, 200), (1.0, 150), (2, 100))) == ("too early", 600)
    assert judged(logged((0.1, 400), (0.1, 400), (0.1, 400), (0.1, 400))) == ("too early", 400)


def test_one_that_was_alive_and_died_has_plateaued(logged):
    run = logged((4, 40), (12, 20), (1, 300), (0.2, 400), (0.1, 400), (0.1, 410), ends="finished")
    assert judged(run) == ("plateaued", 200)
    assert judged(run, patience=5) == ("converged", 200)


def test_a_loss_that_was_not_finite_has_diverged_whatever_was_reached_before(logged):
    assert judged(logged((4, 40), (12, 20), ends="diverged")) == ("diverged", 250)


def test_a_run_without_an_evaluation_is_too_early_and_has_no_score(logged):
    (row,) = convergence([logged()]).itertuples()
    assert row.verdict == "too early"
    assert math.isnan(row.best_bleu)
    assert row.updates == 0


def test_runs_are_judged_one_by_one_in_their_order(logged, trained):
    runs = [logged((9, 9), ends="finished"), trained[0]]
    frame = convergence(runs, floor=0.001)
    assert frame["run"].tolist() == [run.name for run in runs]
    assert frame["verdict"].iloc[0] == "converged"
