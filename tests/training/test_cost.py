"""Estimates of a training's cost."""

import pytest

from nmtlab.errors import RunError
from nmtlab.models.build import model_for
from nmtlab.recipe import named_recipe
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.cost import check_fits, estimate_cost


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("norm", ["scale", "layer"])
def test_the_number_of_parameters_is_that_of_the_real_model(tiny_corpus, tiny_recipe, joint, norm):
    recipe = tiny_recipe.with_changes(
        {"text.segmentation": "bpe", "text.vocabulary_size": 60, "text.joint": joint, "model.norm": norm}
    )
    pipeline = Pipeline.learn(recipe.text, tiny_corpus)
    assert (pipeline.source.size, pipeline.target.size) == (60, 60)
    model = model_for(recipe, pipeline)
    assert estimate_cost(recipe, tiny_corpus).parameters == sum(parameter.numel() for parameter in model.parameters())


def test_pairs_and_updates_are_exact_and_the_rest_is_positive(tiny_corpus, tiny_recipe):
    estimate = estimate_cost(tiny_recipe, tiny_corpus)
    assert (estimate.pairs, estimate.updates) == (300, 60)
    words = sum(len(line.split()) for language in ("de", "en") for line in tiny_corpus.lines("train", language))
    assert estimate.tokens == words + 2 * 300  # and an EOS on either side
    assert min(estimate.minutes, estimate.memory.total, estimate.disk_mib, estimate.epochs) > 0


def test_low_rank_changes_are_advised_only_for_models_that_have_them(tiny_corpus, monkeypatch):
    recipe = named_recipe("tied").with_changes({"model.d_model": 8})
    monkeypatch.setattr("nmtlab.training.cost.free_mib", lambda: 100.0)
    with pytest.raises(RunError, match="are free; train it on a larger machine, or choose a smaller model"):
        check_fits(recipe, Pipeline.learn(recipe.text, tiny_corpus), [tiny_corpus])


def test_twice_the_updates_take_twice_the_epochs(tiny_corpus, tiny_recipe):
    once, twice = (
        estimate_cost(tiny_recipe.with_changes({"training.max_evaluations": number}), tiny_corpus) for number in (3, 6)
    )
    assert twice.epochs == pytest.approx(2 * once.epochs)


def test_nothing_is_trained_or_written(tiny_corpus, tiny_recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    before = {path: path.stat().st_mtime_ns for path in tiny_corpus.folder.rglob("*")}
    estimate_cost(tiny_recipe, tiny_corpus)
    assert list(tmp_path.rglob("*")) == []
    assert {path: path.stat().st_mtime_ns for path in tiny_corpus.folder.rglob("*")} == before


def test_a_recurrent_recipes_plan_counts_passes_over_the_text(tiny_corpus):
    recipe = named_recipe("fixnorm-lex").with_changes({"model.d_model": 16, "text.min_frequency": 1})
    estimate = estimate_cost(recipe, tiny_corpus)
    assert estimate.updates == pytest.approx(30 * 300 / 32, rel=0.15)
    assert estimate.epochs == pytest.approx(30, rel=0.15)
    copied = recipe.with_changes({"text.unk_copy_threshold": 2})
    assert estimate_cost(copied, tiny_corpus).updates == pytest.approx(2 * estimate.updates, rel=0.1)


def test_a_teachers_distributions_keep_the_logits_several_times(tiny_corpus, tiny_recipe):
    """Five times, seven with a temperature, six in bf16: counted as the growth of a process in multiples of them."""

    def activations(**changes: object) -> float:
        recipe = tiny_recipe.with_changes({name.replace("__", "."): value for name, value in changes.items()})
        return estimate_cost(recipe, tiny_corpus).memory.activations

    plain, taught = activations(), {"training__teacher": "parent", "training__teacher_weight": 0.5}
    assert activations(**taught, training__teacher_temperature=2.0) - plain == pytest.approx(
        1.5 * (activations(**taught) - plain)
    )
    halved = activations(**taught, machine__precision="bf16")
    assert halved == pytest.approx(activations(**taught, machine__precision="bf16", training__teacher_temperature=2.0))
    logits = (activations(**taught) - plain) / 4
    assert halved - activations(machine__precision="bf16") == pytest.approx((6 - 0.55) * logits)
