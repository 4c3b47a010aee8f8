"""The page Train: what a training would cost, its settings, how far it is, and where to look at it."""

import shutil
from typing import get_args

import pytest

from nmtlab.dashboards.pages.train import TrainPage, train_page
from nmtlab.jobs import Job
from nmtlab.recipe import TransformerSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.cost import estimate_cost


@pytest.fixture
def page(workspace, tiny_corpus) -> TrainPage:
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora/tiny")
    return train_page(workspace)


def select(page: TrainPage, field: str) -> object:
    """Return the control that sets a field."""
    page.editor.table.choose([field])
    return page.editor.children[1].children[0]


def test_the_plan_is_the_estimate_of_the_changed_recipe(page):
    page.settings.value = "training.max_evaluations=3 model.d_ff=128"
    recipe = named_recipe("transformer-tiny").with_settings(page.settings.value.split())
    cost = estimate_cost(recipe, ParallelCorpus.open(page._workspace.data / "corpora/tiny"))
    plan = page.plan.children[0].value
    assert f"{cost.pairs:,} pairs" in plan
    assert f"at most {cost.updates:,} updates" in plan
    assert f"{cost.memory.total:,.0f} MiB of memory, {cost.disk_mib:,.0f} MiB of disk" in plan
    page.settings.value = ""
    page.recipe.value = "moses"
    assert "No estimate" in page.plan.children[0].value
    page.settings.value = "model.no_such=1"
    assert page.plan.children[0].value == ""


def test_without_a_corpus_the_page_says_how_to_get_one_until_there_is_one(workspace, tiny_corpus):
    page = train_page(workspace)
    assert "nmtlab corpus import" in page.plan.children[0].value
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora/tiny")
    page._looking()
    assert "Plan: " in page.plan.children[0].value


def test_the_default_name_is_that_of_the_command_line(page):
    assert page.name.placeholder == "tiny.transformer-tiny.1"
    page.settings.value = "training.seed=7"
    assert page.name.placeholder == "tiny.transformer-tiny.7"


def test_a_setting_that_is_not_allowed_starts_nothing_whatever_the_training_is_called(page):
    page.name.value = "named"
    page.settings.value = "model.dropout=7"
    page.start.click()
    assert "model.dropout" in page._message.value
    assert not (page._workspace.data / "jobs/named").exists()


def test_a_new_value_becomes_a_setting_and_the_recipes_own_value_removes_it(page):
    page.settings.value = "model.norm=layer"
    control = select(page, "model.dropout")
    control.value = "0.25"
    assert page.settings.value == "model.norm=layer model.dropout=0.25"
    line = page.editor.table.frame.loc["model.dropout"]
    assert (line["value"], line["in the recipe"]) == ("0.25", "0.1")
    select(page, "model.dropout").value = "0.10"
    assert page.settings.value == "model.norm=layer"
    control = select(page, "model.norm")
    assert (control.value, control.options) == ("layer", get_args(TransformerSettings.model_fields["norm"].annotation))
    control.value = "rms"
    assert page.settings.value == "model.norm=rms"


def test_an_invalid_value_is_refused_in_words_and_changes_nothing(page):
    select(page, "training.patience").value = "0"
    assert page.settings.value == ""
    assert "training.patience = 0 is not allowed" in page._message.value


def test_a_training_shows_how_far_it_is_and_then_leads_to_its_pages(trained, workspace):
    run = Run(shutil.copytree(trained[0].folder, workspace.runs / "whole"))
    job = Job.start(workspace.data / "jobs/whole", ["sleep", "60"])
    page = train_page(workspace)
    step, updates = run.log.metrics("train")["step"].iloc[-1], 20 * run.recipe.training.max_evaluations
    assert f"update {step:,} of at most {updates:,}" in page.progress.value
    assert f"<progress max='{updates}' value='{step}'" in page.progress.value
    assert "left" in page.progress.value
    assert f"best {run.log.metrics('validation')['bleu'].max():.1f}" in page.progress.value
    assert page.links.value == ""
    job.kill()
    job._process.wait()
    page._looking()
    assert "<progress" not in page.progress.value
    for name in ("attention", "translate", "dynamics", "norms"):
        assert f"href='{name}.ipynb?runs=whole'" in page.links.value
