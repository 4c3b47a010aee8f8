"""A run that goes on training another has its pipeline and its model, and begins with its weights."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from support.foreign_folder import write_marian
from typer.testing import CliRunner

from nmtlab.alignment.table import LexicalTable
from nmtlab.cli.main import app
from nmtlab.cli.options import run_recipe
from nmtlab.errors import NmtlabError
from nmtlab.interchange.export import export_model
from nmtlab.interchange.huggingface import import_model
from nmtlab.models.build import load_weights, model_for
from nmtlab.models.interface import on_device
from nmtlab.nn.low_rank import is_low_rank, merged
from nmtlab.recipe import Recipe, SearchSettings, named_recipe
from nmtlab.runs.pack import pack, unpack
from nmtlab.runs.run import TABLE, Run
from nmtlab.runs.tensors import load_digest, save_tensors
from nmtlab.systems import open_ensemble, open_model
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.cost import check_fits, estimate_cost
from nmtlab.training.derived import average_checkpoints, cut_run
from nmtlab.training.events import Hint
from nmtlab.training.parallel import Group
from nmtlab.training.setup import train
from nmtlab.training.step import Stepper
from nmtlab.training.transfer import continued_recipe, freeze
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

SHORT = {
    "training.validate_every": 10, "training.max_evaluations": 2, "training.batch_tokens": 400,
    "training.learning_rate": 1e-3, "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory, make_corpus, tiny_corpus, tiny_recipe) -> Workspace:
    """A workspace with a corpus `tiny`, a run `parent` of it, and an imported run `opus`."""
    workspace = Workspace(tmp_path_factory.mktemp("continued") / "data")
    (workspace.data / "corpora").mkdir(parents=True)
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora/tiny")
    train("parent", tiny_recipe.with_changes({"training.max_evaluations": 1}), opened(workspace), workspace)
    write_marian(workspace.data / "opus")
    import_model(workspace.data / "opus", "opus", workspace)
    return workspace


def opened(workspace: Workspace, name: str = "tiny") -> ParallelCorpus:
    return ParallelCorpus.open(workspace.data / "corpora" / name)


def run_of(workspace: Workspace, name: str) -> Run:
    return Run(workspace.runs / name)


def recipe_from(parent: Run, **changes) -> Recipe:
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return continued_recipe(parent, named_recipe("fine-tune")).with_changes(SHORT | named)


@pytest.fixture(scope="module", params=["parent", "opus"])
def parent(request, here) -> Run:
    return run_of(here, request.param)


@pytest.fixture(scope="module")
def child(parent, here) -> Run:
    return train(f"{parent.name}-child", recipe_from(parent), opened(here), here)


def test_it_has_its_parents_pipeline_with_the_counts_of_its_own_text(parent, child, here, tmp_path):
    pipeline = child.pipeline
    assert pipeline.checksum() == parent.pipeline.checksum()
    assert np.array_equal(pipeline.target_allowed, parent.pipeline.target_allowed)
    encoded = [pipeline.target_ids(line) for line in opened(here).lines("train", "en")]
    assert np.array_equal(pipeline.target.counts, np.bincount(np.concatenate(encoded), minlength=pipeline.target.size))
    assert open_ensemble([parent, child]).translate(["ein hund"])[0].hypotheses
    pack(child, tmp_path / "child.tar.xz")
    again = unpack(tmp_path / "child.tar.xz", Workspace(tmp_path)).pipeline
    assert np.array_equal(again.target.counts, pipeline.target.counts)


def test_it_begins_with_all_of_its_parents_weights(parent, child):
    assert child.inheritance["weights"] == parent.checkpoints.digest
    assert all(one["types"] in (None, one["kept"]) for one in child.inheritance["parameters"])
    ours, theirs = child.checkpoints.weights("last")[0], parent.checkpoints.weights()[0]
    assert not torch.equal(ours["encoder.0.attention.query.weight"], theirs["encoder.0.attention.query.weight"])


def digest(weights: dict[str, torch.Tensor], facts: dict, folder: Path) -> str:
    save_tensors(folder / "some.safetensors", weights, facts)
    return load_digest(folder / "some.safetensors")


def test_updates_at_rate_0_leave_the_parents_digest(parent, here, tmp_path):
    recipe, facts = recipe_from(parent), parent.checkpoints.weights()[1]
    train("still", recipe, opened(here), here, should_stop=lambda: True)
    try:
        started = run_of(here, "still").checkpoints.weights("last")[0]
        assert digest(started, facts, tmp_path) == parent.checkpoints.digest
        model = open_model(parent).model.requires_grad_().train()
        stepper = Stepper(model, recipe, parent.pipeline, Group.init(torch.device("cpu")))
        mixture = Mixture([EncodedCorpus.open(here.cache, parent.pipeline, opened(here))])
        for step, batch in zip(range(1, 4), Batches(mixture, 400, seed=1).epoch(0), strict=False):
            assert stepper.update(step, [batch], rate=0.0).norm > 0
        assert digest(dict(model.named_parameters()), facts, tmp_path) == parent.checkpoints.digest
    finally:
        shutil.rmtree(here.runs / "still")


def test_an_interrupted_training_goes_on_exactly(parent, child, here):
    steps = iter(range(100))
    name = f"{parent.name}-stopped"
    train(name, recipe_from(parent), opened(here), here, should_stop=lambda: next(steps) == 13)
    stopped = train(name, recipe_from(parent), opened(here), here, resume=True)
    assert stopped.log.gradient_norms().equals(child.log.gradient_norms())
    ours, theirs = (run.checkpoints.weights("last")[0] for run in (stopped, child))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_it_says_what_its_parent_does_not_know(parent, here, tmp_path):
    folder = Path(shutil.copytree(opened(here).folder, tmp_path / "odd"))
    lines = list(opened(here).lines("train", "de"))
    write_lines(folder / "train.de", [f"{line} ☃" for line in lines])
    said: list[str] = []

    def note(event) -> None:
        said.extend([event.text] if isinstance(event, Hint) else [])

    corpus = ParallelCorpus.open(folder)
    run = train(f"{parent.name}-odd", recipe_from(parent), corpus, here, on_event=note, should_stop=lambda: True)
    source = run.pipeline.source.counts
    assert source[3] >= len(lines)
    words = source.sum() - source[2]
    expected = f"unknown to {parent.name}: {source[3] / words:.2%} of the source tokens and 0.00% of the target tokens"
    unseen = "; its training text is not here: it may have seen sentences of dev and test"
    assert said[:1] == [expected + (unseen if parent.name == "opus" else "")]


def refused(here: Workspace, recipe: Recipe, corpus: ParallelCorpus) -> str:
    with pytest.raises(NmtlabError) as error:
        train("refused", recipe, corpus, here)
    assert not (here.runs / "refused").exists()
    return str(error.value)


def test_what_does_not_fit_is_refused(parent, here, tmp_path):
    corpus = opened(here)
    recipe = recipe_from(parent, model__d_ff=8)
    assert f"parent {parent.name!r}: model.d_ff is" in refused(here, recipe, corpus)
    recipe = recipe_from(parent, text__max_words=20)
    assert "text.max_words is 250, but 20 in the child" in refused(here, recipe, corpus)
    folder = tmp_path / "french"
    folder.mkdir()
    for split in ("train", "dev"):
        for code, name in (("de", "fr"), ("en", "en")):
            shutil.copyfile(corpus.folder / f"{split}.{code}", folder / f"{split}.{name}")
    message = refused(here, recipe_from(parent), ParallelCorpus.open(folder, "fr", "en"))
    imported = parent.name == "opus"
    remedy = "import the model again with --source fr" if imported else "choose a parent that reads fr"
    assert f"reads de, the text that it is to be continued on is in fr; {remedy}" in message
    message = refused(here, recipe_from(parent), ParallelCorpus.open(folder, "en", "fr"))
    remedy = "import the model again with --target fr" if imported else "choose a parent into fr"
    assert f"translates into en, the child into fr; {remedy}" in message


def test_other_subwords_or_tags_than_the_parents_are_refused(here):
    recipe = recipe_from(run_of(here, "parent"))
    tagged = recipe.with_changes({"corpus.origin": "synthetic"})
    message = refused(here, tagged, opened(here))
    assert "does not know the tag <origin:synthetic>; leave out the origin of the corpus" in message
    more = recipe.with_changes({"more_corpora": [{"name": "tiny", "vocabulary_only": True}]})
    assert "has its subwords, and learns none from tiny; leave out --vocabulary" in refused(here, more, opened(here))


def test_a_parent_that_has_seen_dev_is_refused(here, tmp_path):
    corpus = opened(here)
    folder = Path(shutil.copytree(corpus.folder, tmp_path / "leaky"))
    pairs = list(corpus.pairs("train"))
    for place, code in enumerate(("de", "en")):
        write_lines(folder / f"dev.{code}", [pair[place] for pair in pairs[:20]])
        write_lines(folder / f"train.{code}", [pair[place] for pair in pairs if pair not in pairs[:20]])
    message = refused(here, recipe_from(run_of(here, "parent")), ParallelCorpus.open(folder))
    assert "parent 'parent': was trained on 20 en sentences of dev" in message
    other = tmp_path / "other"
    other.mkdir()
    for code in ("de", "en"):
        write_lines(other / f"dev.{code}", list(corpus.lines("dev", code)))
        write_lines(other / f"train.{code}", list(corpus.lines("dev", code)))
    between = train(
        "between", recipe_from(run_of(here, "parent")), ParallelCorpus.open(other), here, allow_overlap=True
    )
    message = refused(here, recipe_from(between), ParallelCorpus.open(folder))
    assert "parent 'between': was trained on 20 en sentences of dev" in message


def test_a_translation_table_is_kept(here, tmp_path):
    recipe = named_recipe("arthur").with_changes({"model.d_model": 8, **SHORT, "training.max_evaluations": 1})
    first = train("tabled", recipe, opened(here), here)
    folder = Path(shutil.copytree(opened(here).folder, tmp_path / "backwards"))
    write_lines(folder / "train.de", reversed(list(opened(here).lines("train", "de"))))
    again = train("tabled-2", recipe_from(first), ParallelCorpus.open(folder), here, should_stop=lambda: True)
    tables = [(run.folder / "translation_table.safetensors").read_bytes() for run in (first, again)]
    assert tables[0] == tables[1]


def test_the_lexicon_of_a_parent_that_was_aligned_is_not_inherited(here):
    aligned = Run(shutil.copytree(run_of(here, "parent").folder, here.run_folder("aligned")))
    LexicalTable.of_rows([[]] * aligned.pipeline.source.size).save(aligned.folder / TABLE)
    assert aligned.translation_table is not None
    child = train("of-aligned", recipe_from(aligned), opened(here), here, should_stop=lambda: True)
    assert child.translation_table is None


def test_the_command_line_goes_on_from_a_run(here, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(here.data))
    words = ["train", "tiny", "--from", "opus", "--name", "said"]
    for change in (*SHORT, "training.max_evaluations"):
        words += ["--set", f"{change}={1 if change.endswith('evaluations') else SHORT[change]}"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "unknown to opus:" in done.output
    recipe = run_of(here, "said").recipe
    assert (recipe.transfer.parent, recipe.transfer.continued, recipe.transfer.output) == ("opus", True, "freeze")
    assert recipe.model == run_of(here, "opus").recipe.model
    both = CliRunner().invoke(app, ["train", "tiny", "--from", "opus", "--parent", "parent"])
    assert "--parent and --from: a run has one parent" in str(both.exception)
    mixed = CliRunner().invoke(app, ["train", "tiny", "--parent", "opus", "--recipe", "fine-tune"])
    assert "recipe 'fine-tune' goes on training a run; use --from opus" in str(mixed.exception)
    words = ["train", "tiny", "--from", "opus", "--estimate", "--set", "model.d_ff=8"]
    assert "model.d_ff is" in str(CliRunner().invoke(app, words).exception)


def test_adapters_are_added_to_frozen_parts(parent, here):
    parts = ("source_embedding", "encoder", "decoder", "target_embedding", "output")
    recipe = recipe_from(parent, model__adapter_width=4, **{f"transfer__{part}": "freeze" for part in parts})
    child = train(f"{parent.name}-adapters", recipe, opened(here), here)
    ours, theirs = child.checkpoints.weights("last")[0], parent.checkpoints.weights()[0]
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    added = [weight for name, weight in ours.items() if name not in theirs and "up.weight" in name]
    assert len(added) == sum(parent.recipe.model.depth)
    assert all(weight.any() for weight in added)


# LoRA


def low_rank_recipe(parent: Run, **changes) -> Recipe:
    named = {name.replace("__", "."): value for name, value in changes.items()}
    recipe = continued_recipe(parent, named_recipe("fine-tune-lora"))
    return recipe.with_changes(SHORT | {"model.lora_rank": 3, "training.learning_rate": 0.01} | named)


@pytest.fixture(scope="module")
def low_rank(parent, here) -> Run:
    return train(f"{parent.name}-lora", low_rank_recipe(parent), opened(here), here)


def test_only_low_rank_changes_are_trained(parent, low_rank):
    ours, theirs = low_rank.checkpoints.weights("last")[0], parent.checkpoints.weights()[0]
    changes = ours.keys() - theirs.keys()
    uses = {one["name"]: one["use"] for one in low_rank.inheritance["parameters"]}
    assert {name for name, use in uses.items() if use != "freeze"} == changes
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert {name.rpartition(".")[2] for name in changes} == {"low_rank_down", "low_rank_up"}
    layers = sum(name.endswith(("attention.query.weight", "inner.weight")) for name in theirs)
    decoders = sum(name.startswith("decoder") and name.endswith("inner.weight") for name in theirs)
    assert len(changes) == 2 * (4 * (layers - (layers - decoders) // 2) + 2 * ((layers - decoders) // 2))
    assert all(ours[name].any() for name in changes)


def test_a_merged_model_is_the_unmerged_one(low_rank, here):
    unmerged = model_for(low_rank.recipe, low_rank.pipeline).double().eval()
    weights, _ = low_rank.checkpoints.weights("last")
    load_weights(unmerged, weights)
    together = model_for(low_rank.recipe.with_changes({"model.lora_rank": 0}), low_rank.pipeline).double().eval()
    load_weights(together, merged({name: weight.double() for name, weight in weights.items()}))
    text = EncodedCorpus.open(here.cache, low_rank.pipeline, opened(here))
    batch = on_device(next(iter(Batches(Mixture([text]), 400, seed=1).epoch(0))))
    torch.testing.assert_close(unmerged(batch), together(batch), atol=1e-6, rtol=1e-6)
    opened_weights = dict(open_model(low_rank, which="last").model.named_parameters())
    assert not any(is_low_rank(name) for name in opened_weights)
    name = "encoder.0.attention.query.weight"
    torch.testing.assert_close(opened_weights[name].double(), together.get_parameter(name), atol=1e-6, rtol=1e-6)


@pytest.mark.full  # two more trainings, and an export
def test_low_rank_changes_are_exported_and_continued_as_merged(low_rank, here, tmp_path):
    again = train(f"{low_rank.name}-2", recipe_from(low_rank, model__lora_rank=0), opened(here), here)
    recipe = recipe_from(low_rank)
    assert recipe.model.lora_rank == 0
    begun = train(f"{low_rank.name}-3", recipe, opened(here), here, should_stop=lambda: True).checkpoints.weights(
        "last"
    )[0]
    theirs = merged(low_rank.checkpoints.weights()[0])
    assert again.checkpoints.weights("last")[0].keys() == theirs.keys()
    assert all(torch.equal(begun[name], theirs[name]) for name in theirs)
    if low_rank.pipeline.settings.segmentation == "imported":
        lines = list(opened(here).lines("test", "de"))[:8]
        export_model(low_rank, "huggingface", tmp_path / "out")
        copy = import_model(tmp_path / "out", "copy", Workspace(tmp_path / "data"))
        first, second = (open_model(run, SearchSettings(beam_size=1)).translate(lines) for run in (low_rank, copy))
        assert [one.text for one in first] == [one.text for one in second]


def test_low_rank_changes_that_do_not_fit_are_refused(here):
    with pytest.raises(NmtlabError, match=r"model.lora_rank .* needs a run to go on from"):
        named_recipe("transformer-small").with_changes({"model.lora_rank": 2})
    with pytest.raises(NmtlabError, match="lora_rank needs maps that all languages share"):
        low_rank_recipe(run_of(here, "parent"), model__attention_share=0.5)
    recurrent = named_recipe("tied").with_changes({"model.d_model": 8, **SHORT, "training.max_evaluations": 1})
    run = train("recurrent", recurrent, opened(here), here)
    with pytest.raises(NmtlabError, match=r"model.lora_rank: no such field; only models of family transformer have it"):
        continued_recipe(run, named_recipe("fine-tune-lora"))
    assert "none is named; name it with --from" in refused(here, named_recipe("fine-tune"), opened(here))
    both = low_rank_recipe(run_of(here, "parent"), model__adapter_width=4)
    assert "would not be trained beside model.lora_rank; set one of them to 0" in refused(here, both, opened(here))


def test_low_rank_changes_of_frozen_parts_are_frozen(here):
    parent = run_of(here, "parent")
    recipe = low_rank_recipe(parent, transfer__encoder="freeze", training__max_evaluations=1)
    weights = train("frozen-lora", recipe, opened(here), here).checkpoints.weights("last")[0]
    moved = {name.partition(".")[0] for name, weight in weights.items() if "low_rank_up" in name and weight.any()}
    assert moved == {"decoder"}


@pytest.mark.parametrize("recipe_of", [recipe_from, low_rank_recipe])
def test_a_training_of_nothing_is_refused_before_it_makes_a_run(parent, here, recipe_of):
    """With LoRA, embeddings may be tuned, but they are no linear maps."""
    parts = ["encoder", "decoder"] + ["source_embedding", "target_embedding", "output"] * (recipe_of is recipe_from)
    recipe = recipe_of(parent, **{f"transfer__{part}": "freeze" for part in parts})
    said = {
        recipe_from: "all parts of its model are frozen, so that nothing is trained; set one of them to tune",
        low_rank_recipe: "whose linear maps model.lora_rank changes, are frozen; set transfer.encoder or",
    }
    assert f"parent {parent.name!r}: " in (message := refused(here, recipe, opened(here)))
    assert said[recipe_of] in message


def test_a_phrase_based_run_cannot_be_continued(here):
    phrases = Run.create(here.runs / "phrases", named_recipe("moses"), {}, run_of(here, "parent").pipeline)
    with pytest.raises(NmtlabError, match="run 'phrases': phrase-based, it has no weights; choose a neural run"):
        recipe_from(phrases)


def test_merged_weights_are_averaged(here):
    recipe = low_rank_recipe(run_of(here, "parent"), training__keep_checkpoints=2)
    run = train("kept-lora", recipe, opened(here), here)
    mean = average_checkpoints(run, here.runs / "mean-lora")
    theirs = [merged(run.checkpoints.kept_weights(step)) for step in run.checkpoints.kept]
    found, name = mean.checkpoints.weights()[0], "encoder.0.attention.query.weight"
    assert not torch.equal(theirs[0][name], theirs[1][name])
    torch.testing.assert_close(found[name], (theirs[0][name] + theirs[1][name]) / 2)
    assert not any(map(is_low_rank, found))
    assert open_model(mean).translate(["ein hund"])


# LoRA with a base in half precision

HALF = {"model.lora_base": "bf16", "machine.precision": "bf16"}


@pytest.fixture(scope="module")
def half(parent, here) -> Run:
    return train(f"{parent.name}-half", low_rank_recipe(parent).with_changes(HALF), opened(here), here)


def test_a_base_in_half_precision_stays_the_parents_rounded_once(parent, half):
    theirs = parent.checkpoints.weights()[0]
    for which in ("best", "last"):
        ours = half.checkpoints.weights(which)[0]
        kept = {name for name, weight in ours.items() if weight.dtype == torch.bfloat16}
        matrices = {name for name, weight in theirs.items() if weight.dim() == 2}
        assert kept == {name for name in matrices if "positions" not in name}
        assert all(torch.equal(ours[name], theirs[name].to(ours[name].dtype)) for name in theirs)
        assert all(ours[name].any() and ours[name].dtype == torch.float32 for name in ours.keys() - theirs.keys())
    state = half.checkpoints.optimiser(half.checkpoints.last_step)[0]
    assert state
    assert all(is_low_rank(name) and tensor.dtype == torch.float32 for name, tensor in state.items())


def test_it_is_updated_as_beside_a_base_of_the_same_values_in_single_precision(parent, half, here):
    """Autocast rounds products and not what it multiplies if that is rounded already: the results are equal bits."""
    recipes = half.recipe, half.recipe.with_changes({"model.lora_base": "fp32"})
    models = [model_for(recipe, half.pipeline).train() for recipe in recipes]
    for model in models:
        load_weights(model, half.checkpoints.weights("last")[0])
        freeze(model, half.recipe.transfer)
    group = Group.init(torch.device("cpu"))
    steppers = [
        Stepper(model, recipe, half.pipeline, group) for model, recipe in zip(models, recipes, strict=True)
    ]  # fmt: skip
    mixture = Mixture([EncodedCorpus.open(here.cache, half.pipeline, opened(here))])
    for step, batch in zip(range(1, 4), Batches(mixture, 400, seed=1).epoch(0), strict=False):
        norms = [stepper.update(step, [batch], rate=0.01).norm for stepper in steppers]
        assert norms[0] == norms[1] > 0
    for name, weight in models[0].named_parameters():
        assert torch.equal(weight.float(), models[1].get_parameter(name)), name


def test_a_model_with_a_base_in_half_precision_is_the_merged_one(half, here):
    unmerged = model_for(half.recipe, half.pipeline).eval()
    load_weights(unmerged, half.checkpoints.weights("last")[0])
    together = open_model(half, which="last").model
    assert {weight.dtype for weight in together.parameters()} == {torch.float32}
    batch = on_device(
        next(
            iter(Batches(Mixture([EncodedCorpus.open(here.cache, half.pipeline, opened(here))]), 400, seed=1).epoch(0))
        )
    )
    with torch.no_grad():
        torch.testing.assert_close(unmerged(batch), together(batch), atol=1e-5, rtol=1e-5)
    lines = list(opened(here).lines("dev", "de"))[:8]
    greedy = SearchSettings(beam_size=1)
    first, second = (Translator(model, half.pipeline, greedy).translate(lines) for model in (unmerged, together))
    assert [one.text for one in first] == [one.text for one in second]


def test_an_interrupted_training_beside_it_goes_on_exactly(half, parent, here):
    steps = iter(range(100))
    name = f"{half.name}-stopped"
    train(name, half.recipe, opened(here), here, should_stop=lambda: next(steps) == 13)
    stopped = train(name, half.recipe, opened(here), here, resume=True)
    ours, theirs = (run.checkpoints.weights("last")[0] for run in (stopped, half))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert stopped.log.gradient_norms().equals(half.log.gradient_norms())


def test_runs_that_go_on_from_it_or_are_made_of_it_have_single_precision(half, here):
    recipe = recipe_from(half)
    assert (recipe.model.lora_rank, recipe.model.lora_base) == (0, "fp32")
    begun = train(f"{half.name}-2", recipe, opened(here), here, should_stop=lambda: True).checkpoints.weights("last")[0]
    theirs = merged(half.checkpoints.weights()[0])
    assert all(torch.equal(begun[name], theirs[name].float()) for name in theirs)
    cut = cut_run(half, here.runs / f"{half.name}-cut", 0.5)
    assert cut.recipe.model.lora_base == "fp32"
    assert open_model(cut).translate(["ein hund"])


def test_it_is_used_from_the_command_line_like_any_run(half):
    used = run_recipe(half.recipe, ["search.beam_size=2"], 1, None)
    assert (used.search.beam_size, used.machine.threads, used.machine.precision) == (2, 1, "fp32")


def test_half_precision_without_what_it_needs_is_refused(here):
    low = low_rank_recipe(run_of(here, "parent"))
    with pytest.raises(NmtlabError, match=r"model.lora_base 'bf16' saves no memory .* set machine.precision to 'bf16'"):
        low.with_changes({"model.lora_base": "bf16"})
    with pytest.raises(NmtlabError, match=r"lora_base is 'bf16', but lora_rank is 0; set that to 16"):
        low.with_changes({**HALF, "model.lora_rank": 0})


# Memory


def test_the_estimate_counts_a_base_in_half_precision(parent, here, half):
    def memory(**changes):
        recipe = low_rank_recipe(parent).with_changes({name.replace("__", "."): one for name, one in changes.items()})
        return estimate_cost(recipe, opened(here), continued=parent.pipeline)

    weights = half.checkpoints.weights()[0]
    halved = memory(**HALF)
    changes = sum(weight.numel() for name, weight in weights.items() if is_low_rank(name))
    stored = sum(weight.nbytes for weight in weights.values())
    others = sum(weight.numel() for weight in weights.values() if weight.dim() == 2 and weight.itemsize == 4)
    assert halved.memory.weights == pytest.approx((stored + 2 * others) / 2**20)
    assert halved.memory.gradients == pytest.approx(4 * changes / 2**20)
    rounded = memory(machine__precision="bf16")
    copies = sum(weight.numel() for weight in weights.values() if weight.dim() == 2)
    assert rounded.memory.weights - memory().memory.weights == pytest.approx(2 * copies / 2**20)
    assert halved.memory.activations == rounded.memory.activations < memory().memory.activations
    assert rounded.disk_mib - halved.disk_mib == pytest.approx(2 * 2 * (copies - others) / 2**20)


def test_the_estimate_counts_what_is_trained(parent, here):
    full, low = recipe_from(parent), low_rank_recipe(parent)
    costs = [estimate_cost(recipe, opened(here), continued=parent.pipeline) for recipe in (full, low)]
    weights = parent.checkpoints.weights()[0]
    size = sum(weight.numel() for weight in weights.values())
    frozen = weights["output_layer.bias"].numel() if parent.name == "opus" else 0
    changes = costs[1].parameters - size
    assert costs[0].parameters == size
    assert costs[0].memory.gradients == pytest.approx(4 * (size - frozen) / 2**20)
    assert costs[1].memory.gradients == pytest.approx(4 * changes / 2**20)
    assert costs[1].memory.optimiser == pytest.approx(8 * changes / 2**20)
    assert costs[0].memory.weights == pytest.approx(4 * size / 2**20)
    sgd = estimate_cost(full.with_changes({"training.optimiser": "sgd"}), opened(here), continued=parent.pipeline)
    assert sgd.memory.optimiser == 0
    assert costs[0].disk_mib - sgd.disk_mib == pytest.approx(8 * (size - frozen) / 2**20)
    averaged = estimate_cost(low.with_changes({"training.average": 1e-4}), opened(here), continued=parent.pipeline)
    for more in (averaged.memory.weights - costs[1].memory.weights, averaged.disk_mib - costs[1].disk_mib):
        assert more == pytest.approx(4 * changes / 2**20)


def test_a_training_that_does_not_fit_says_what_would(here, monkeypatch):
    parent = run_of(here, "opus")
    large = recipe_from(parent, training__batch_tokens=100_000)
    monkeypatch.setattr("nmtlab.training.cost.free_mib", lambda: 600.0)
    message = refused(here, large, opened(here))
    assert "of memory, and 600 MiB are free" in message
    tokens = int(re.search(r"set training.batch_tokens to (\d+) at most", message)[1])
    check_fits(large.with_changes({"training.batch_tokens": tokens}), parent.pipeline, [opened(here)])
    with pytest.raises(NmtlabError):
        check_fits(large.with_changes({"training.batch_tokens": tokens + 100}), parent.pipeline, [opened(here)])
    check_fits(large.with_changes({"training.batch_sentences": 8}), parent.pipeline, [opened(here)])
    monkeypatch.setattr("nmtlab.training.cost.free_mib", lambda: 452.0)  # room for some 200 tokens
    assert "try --recipe fine-tune-lora" in refused(here, large, opened(here))
    monkeypatch.setattr("nmtlab.training.cost.free_mib", lambda: 100.0)
    assert "try --recipe fine-tune-lora" in refused(here, large, opened(here))
    low = low_rank_recipe(parent)
    assert "try --set model.lora_base=bf16 --set machine.precision=bf16" in refused(here, low, opened(here))
    assert "choose a smaller model" in refused(here, low.with_changes(HALF), opened(here))
    monkeypatch.setenv("NMTLAB_DATA", str(here.data))
    monkeypatch.setattr("nmtlab.training.cost.free_mib", lambda: 600.0)
    words = ["train", "tiny", "--from", "opus", "--estimate", "--set", "training.batch_tokens=100000"]
    said = CliRunner().invoke(app, words).output
    assert re.search(r"more than the 600 MiB that are free; set training.batch_tokens to \d+ at most", said)


def test_the_command_line_says_the_memory(here, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(here.data))
    said = CliRunner().invoke(app, ["train", "tiny", "--from", "opus", "--estimate"]).output
    assert re.search(r"memory +about [\d,]+ MiB \(weights \d+, gradients \d+, optimiser \d+, activations", said)
    assert not (here.runs / "tiny.fine-tune.1").exists()
