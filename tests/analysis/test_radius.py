"""Training perplexity and dev BLEU by r."""

import math

import pytest
from hand_made_model import hand_made_pipeline

from nmtlab.analysis.lexical.radius import radius_table
from nmtlab.errors import RunError
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run


@pytest.fixture
def make_run(tmp_path):
    def make(name: str, **model) -> Run:
        recipe = Recipe().with_changes({f"model.{key}": value for key, value in {"family": "rnn", **model}.items()})
        return Run.create(tmp_path / name, recipe, {}, hand_made_pipeline({"a": 1}, {"A": 1}))

    return make


def test_runs_come_by_system_and_r_with_their_last_epoch_and_best_bleu(make_run):
    small, large = (make_run(name, fixnorm=True, radius=r) for name, r in (("small", 3.0), ("large", 7.0)))
    lexical = make_run("lexical", fixnorm=True, lexicon="module", radius=3.5)
    free = make_run("free", fixnorm=True, fix_hidden=False, radius=5.0)
    for run in (small, large, lexical):
        for step, perplexity in ((100, 90.0), (200, 8.0), (300, 4.0), (350, 16.0)):
            run.log("train", step, loss=1.0, perplexity=perplexity, seconds=1.0)
        for step, bleu in ((100, 3.0), (200, 13.6), (350, 11.0)):
            run.log("validation", step, bleu=bleu, perplexity=9.0, seconds=1.0)
    frame = radius_table([large, lexical, free, small])
    assert frame[["system", "radius", "run"]].to_numpy().tolist() == [
        ["fixnorm", 3.0, "small"], ["fixnorm", 7.0, "large"], ["fixnorm+lex", 3.5, "lexical"],
        ["fixnorm, h free", 5.0, "free"],
    ]  # fmt: skip
    # 100 updates at 4 and 50 at 16 since the evaluation before the last.
    assert frame["train_perplexity"].to_numpy()[:3] == pytest.approx(
        [math.exp((2 * math.log(4) + math.log(16)) / 3)] * 3
    )
    assert frame["dev_bleu"].tolist()[:3] == [13.6] * 3
    assert frame["evaluations"].tolist() == [3, 3, 3, 0]
    assert frame.loc[3, ["train_perplexity", "dev_bleu"]].isna().all()


def test_before_the_second_evaluation_all_updates_count(make_run):
    run = make_run("young", fixnorm=True)
    run.log("train", 10, loss=1.0, perplexity=100.0, seconds=1.0)
    run.log("train", 20, loss=1.0, perplexity=25.0, seconds=1.0)
    run.log("validation", 20, bleu=0.5, seconds=1.0)
    frame = radius_table([run])
    assert frame.loc[0, "train_perplexity"] == pytest.approx(50.0)
    assert frame.loc[0, "dev_bleu"] == 0.5


def test_no_runs_give_an_empty_table():
    assert radius_table([]).columns.tolist() == [
        "system", "radius", "train_perplexity", "dev_bleu", "evaluations", "run",
    ]  # fmt: skip


@pytest.mark.parametrize("model", [{}, {"family": "transformer"}, {"family": "phrase"}])
def test_a_run_without_a_fixed_length_is_refused(make_run, model):
    with pytest.raises(RunError, match="run 'tied': its word vectors have no fixed norm r; choose recurrent runs"):
        radius_table([make_run("tied", **model)])
