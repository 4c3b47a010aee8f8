"""A run from right to left, and another seed, on the n-best lists of the run that differs in its direction alone."""

import shutil

import numpy as np
import pytest
from scipy.stats import spearmanr
from support.learned import LEARNED

from nmtlab.analysis.comparison.second_opinion import (
    SECOND_OPINION,
    from_left_to_right,
    opinions,
    opinions_finding,
    second_opinion,
)
from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.analysis.search.n_best import n_best_lists
from nmtlab.errors import RunError
from nmtlab.evaluation import bleu, chrf_metric
from nmtlab.grids.running.cells import cells_of, trainings
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.thesis.tables.probability import BACKWARDS, RIGHT_TO_LEFT
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # three runs are trained, which takes seconds


@pytest.fixture(scope="module")
def recipe(tiny_recipe) -> Recipe:
    return tiny_recipe.with_changes({**LEARNED, "training.max_evaluations": 1})


@pytest.fixture(scope="module")
def runs(recipe, tiny_corpus, tmp_path_factory) -> dict[str, Run]:
    workspace = Workspace(tmp_path_factory.mktemp("opinions"))
    changes = {"first": {}, "control": {"training.seed": 3}, "back": {"text.reversed_target": True}}
    changes |= {"other": {"training.seed": 2, "model.dropout": 0.2}}
    return {name: train(name, recipe.with_changes(some), tiny_corpus, workspace) for name, some in changes.items()}


def test_the_runs_beside_it_differ_in_direction_alone_and_in_their_seed(runs):
    assert [run.name for run in from_left_to_right(runs["back"])] == ["first", "control"]
    with pytest.raises(RunError, match=r"run 'first': it writes from left to right; choose a run with text\.rev"):
        from_left_to_right(runs["first"])


def test_runs_without_weights_are_passed_over(runs, recipe, tmp_path):
    here = Workspace(tmp_path)
    for name in ("first", "control", "back"):
        shutil.copytree(runs[name].folder, here.runs / name)
    begun = here.runs / "a-seed"
    begun.mkdir()
    recipe.with_changes({"training.seed": 2}).save(begun / "recipe.toml")
    assert [run.name for run in from_left_to_right(Run(here.runs / "back"))] == ["first", "control"]


def test_nothing_is_said_of_a_single_sentence(runs, tiny_corpus):
    found = opinions(n_best_lists(runs["first"], tiny_corpus, size=3, second=runs["back"]))
    assert not opinions_finding(found.head(1))


def test_it_says_which_run_to_compare_with_is_not_here(runs, recipe, tiny_corpus, tmp_path):
    workspace = Workspace(tmp_path)
    turned = recipe.with_changes({"text.reversed_target": True})
    back = train("back", turned, tiny_corpus, workspace)
    with pytest.raises(RunError, match=r"differs from it in text\.reversed_target alone, which is not here; train one"):
        second_opinion(back, tiny_corpus)
    train("first", recipe, tiny_corpus, workspace)
    with pytest.raises(RunError, match="differs from it in its seed alone, which is not here; train one with another"):
        second_opinion(back, tiny_corpus)


def test_signs_are_per_token_of_the_first_translation(runs, tiny_corpus):
    lists = n_best_lists(runs["first"], tiny_corpus, size=3, second=runs["back"])
    found, system = opinions(lists), open_model(runs["back"])
    source, reference = next(tiny_corpus.pairs("test"))
    (translation,) = open_model(runs["first"]).translate([source])
    ids = system.pipeline.encode_target([translation.text])[0]
    ((_, forced),) = forced_decode_all(system.model, [system.pipeline.source_ids(source)], [ids])
    tokens = len(translation.hypotheses[0].tokens) + 1
    ours, theirs = translation.hypotheses[0].log_prob / tokens, forced.log_prob / tokens
    expected = [ours, theirs, -abs(ours - theirs), chrf_metric().sentence_score(translation.text, [reference]).score]
    assert found.iloc[0].tolist() == pytest.approx(expected, abs=1e-4)
    said = opinions_finding(found)
    rho = spearmanr(found["near second"], found["chrf"]).statistic
    assert f"how near second log p(y|x) is to it {rho:.2f}".replace("-", "−") in said.replace("-", "−")
    assert not opinions_finding(opinions(n_best_lists(runs["first"], tiny_corpus, size=3)))


def test_each_way_chooses_by_the_weights_that_are_best_on_dev(runs, tiny_corpus):
    found = SECOND_OPINION.of(runs["back"], corpus=tiny_corpus)
    for way, second in (("alone", None), ("by_seed", runs["control"]), ("by_direction", runs["back"])):
        weights = n_best_lists(runs["first"], tiny_corpus, "dev", 20, second=second).tuned("bleu")
        lists = n_best_lists(runs["first"], tiny_corpus, "test", 20, second=second)
        assert found[way].tolist() == lists.texts(lists.reranked(weights))
        key = f"reranked-{way.replace('_', '-')}-bleu"
        assert value_of(find_metric(key), runs["back"], tiny_corpus) == pytest.approx(
            bleu(found[way].tolist(), tiny_corpus.references("test")).value
        )
    assert (found["from_seed"] >= 0).all()
    errors = 100 - found["chrf"]
    for key, sign in (("rho-log-prob", -found["log_prob"]), ("rho-from-direction", found["from_direction"])):
        expected = spearmanr(sign, errors).statistic
        assert value_of(find_metric(key), runs["back"], tiny_corpus) == pytest.approx(expected)


def test_a_run_from_left_to_right_has_no_such_numbers(runs, tiny_corpus):
    assert np.isnan(value_of(find_metric("rho-from-direction"), runs["first"], tiny_corpus))


def test_all_seeds_from_left_to_right_are_trained_before_one_from_right_to_left():
    cells = cells_of(RIGHT_TO_LEFT, "tiny")
    forwards = [cell.run for cell in cells if cell.column != BACKWARDS.name]
    for cell in (cell for cell in cells if cell.column == BACKWARDS.name):
        assert [need.cell.run for need in cell.needs] == forwards
        assert cell.recipe.text.reversed_target
    assert [cell.run for cell in trainings(cells)][:2] == forwards
