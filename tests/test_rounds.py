"""Back-translation in rounds, against a loop over the functions that it calls."""

import json
from dataclasses import replace

import numpy as np
import pytest
from conftest import write_split
from test_synthetic import Known

from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.recipe import Recipe, named_recipe
from nmtlab.rounds import Rounds, back_translate_in_rounds
from nmtlab.runs.run import Run
from nmtlab.synthetic import Synthesis, back_translate, write_translated
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.training.corpora import open_corpora
from nmtlab.training.inheritance import Inheritance
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

NAMES = ["two.back1", "two.forth1", "two.back2", "two.forth2"]


@pytest.fixture(scope="module")
def recipe(tiny_recipe) -> Recipe:
    short = ["validate_every=30", "max_evaluations=1", "warmup_updates=10", "lr_scale=1"]
    return tiny_recipe.with_settings([f"training.{change}" for change in short])


@pytest.fixture(scope="module")
def settings(tiny_corpus, recipe, tmp_path_factory) -> Rounds:
    folder = tmp_path_factory.mktemp("text") / "mono"
    write_split(folder, "train", 100, seed=7)
    texts = {language: MonolingualCorpus(folder, language) for language in ("de", "en")}
    return Rounds("two", recipe, tiny_corpus, texts, rounds=2, ratio=0.15)


@pytest.fixture(scope="module")
def here(tmp_path_factory, tiny_corpus) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("rounds") / "data", (tiny_corpus.folder.parent,))


@pytest.fixture(scope="module")
def steps(settings, here):
    return list(back_translate_in_rounds(settings, here, allow_overlap=True))


def digests(workspace: Workspace) -> list[str]:
    return [Run(workspace.runs / name).checkpoints.digest for name in NAMES]


def test_rounds_are_a_loop_over_training_and_translating(steps, settings, here, tmp_path):
    there, corpus, made = Workspace(tmp_path / "data", here.more_corpora), settings.corpus, []
    search = settings.recipe.search.model_copy(update={"beam_size": 1})
    for number in (1, 2):
        for way, source, target in (("back", "en", "de"), ("forth", "de", "en")):
            more = [{"name": name, "source": source, "target": target, "origin": "synthetic"} for name in made]
            mixed = settings.recipe.with_changes({"more_corpora": more, "training.sampling_exponent": 1.0})
            pairs = ParallelCorpus.open(corpus.folder, source, target)
            run = train(f"two.{way}{number}", mixed, pairs, there, allow_overlap=True)
            made = [f"by-{way}{number}"]
            how = Synthesis(search=search, limit=45, seed=1, part=number - 1)
            back_translate(run, settings.texts[source], there.data / "corpora" / made[0], how, mixed.machine)
    assert digests(here) == digests(there)
    assert [(step.round, step.run.name, step.run.direction) for step in steps] == [
        (1, "two.back1", ("en", "de")), (1, "two.forth1", ("de", "en")),
        (2, "two.back2", ("en", "de")), (2, "two.forth2", ("de", "en")),
    ]  # fmt: skip
    assert [step.lines for step in steps] == [45, 45, 45, 0]
    kept = [len(list(ParallelCorpus.open(here.data / "corpora" / f"two.by-{name}", "de", "en").pairs("train")))
            for name in ("back1", "forth1", "back2")]  # fmt: skip
    assert [step.lines - step.dropped for step in steps] == [*kept, 0]


def test_warm_rounds_go_on_from_the_run_of_the_round_before_without_tags(settings, here, tmp_path):
    there = Workspace(tmp_path / "data", here.more_corpora)
    made = list(back_translate_in_rounds(replace(settings, warm=True), there, allow_overlap=True))
    parents = [step.run.recipe.transfer.parent for step in made]
    assert parents == ["", "", "two.back1", "two.forth1"]
    types = [step.run.pipeline.target.vocabulary.types for step in made]
    assert types[2:] == types[:2]
    inherited = [Inheritance.of(step.run.inheritance) for step in made[2:]]
    assert [one.weights for one in inherited] == [step.run.checkpoints.digest for step in made[:2]]
    assert {named.origin for step in made for named in step.run.recipe.more_corpora} == {""}
    assert len(list(back_translate_in_rounds(replace(settings, warm=True), there, allow_overlap=True))) == 4


def test_the_target_side_is_always_real_text(steps, settings, here):
    for step in steps:
        for named in step.run.recipe.more_corpora:
            made = ParallelCorpus.open(here.corpus_folder(named.name), named.source, named.target)
            assert {target for _, target in made.pairs("train")} <= set(settings.texts[named.target].lines())


@pytest.mark.parametrize("warm", [False, True])
def test_one_run_of_both_directions_reads_what_the_one_before_made_of_real_targets(settings, here, tmp_path, warm):
    there = Workspace(tmp_path / "data", here.more_corpora)
    pieces = settings.recipe.with_settings(["text.segmentation=bpe", "text.vocabulary_size=120", "text.joint=true"])
    both = replace(settings, recipe=pieces, both_ways=True, warm=warm)
    made = list(back_translate_in_rounds(both, there, allow_overlap=True))
    assert [(step.run.name, step.run.direction, step.lines) for step in made] == [
        ("two.both1", ("de", "en"), 45), ("two.both1", ("en", "de"), 45),
        ("two.both2", ("de", "en"), 0), ("two.both2", ("en", "de"), 0),
    ]  # fmt: skip
    first, second = made[0].run.recipe, made[2].run.recipe
    name = settings.corpus.name
    assert [(one.name, one.source, one.target) for one in first.corpora] == [(name, "de", "en"), (name, "en", "de")]
    assert first.corpora == second.corpora[:2]
    texts = [(one.name, one.source, one.target) for one in second.corpora[2:]]
    assert texts == [("two.by-both1.de", "en", "de"), ("two.by-both1.en", "de", "en")]
    assert {one.origin for one in second.corpora[2:]} == {"" if warm else "synthetic"}
    assert second.transfer.parent == ("two.both1" if warm else "")
    for text, source, target in texts:
        pairs = ParallelCorpus.open(there.corpus_folder(text), source, target)
        written = [line for _, line in pairs.pairs("train")]
        assert written
        assert set(written) <= set(settings.texts[target].lines())
    assert len(list(back_translate_in_rounds(both, there, allow_overlap=True))) == 4  # nothing is made again


def test_the_share_of_synthetic_pairs_in_an_epoch_is_their_share_of_all_pairs(steps, settings, here):
    run = steps[1].run
    texts = open_corpora(run.recipe, settings.corpus, here)
    encoded = [EncodedCorpus.open(here.cache, run.pipeline, text) for text in texts]
    batches = Batches(Mixture(encoded, run.recipe.training.sampling_exponent), 200, seed=1)
    origins = np.concatenate([batch.origin for epoch in range(3) for batch in batches.epoch(epoch)])
    real, synthetic = (text.count("train") for text in texts)
    assert synthetic == steps[0].lines - steps[0].dropped
    assert np.mean(origins == 1) == synthetic / (real + synthetic)


def test_what_is_finished_is_not_made_again_and_what_is_not_goes_on(steps, settings, here, tmp_path):
    there, polls = Workspace(tmp_path / "data", here.more_corpora), iter(range(100))
    stopped = back_translate_in_rounds(settings, there, should_stop=lambda: next(polls) > 45, allow_overlap=True)
    assert [step.run.name for step in stopped] == NAMES[:1]
    assert Run(there.runs / NAMES[1]).status == "stopped"
    before = (there.runs / NAMES[0] / "metrics.jsonl").stat().st_mtime_ns
    assert len(list(back_translate_in_rounds(settings, there, allow_overlap=True))) == 4
    assert digests(there) == digests(here)
    assert (there.runs / NAMES[0] / "metrics.jsonl").stat().st_mtime_ns == before


def test_a_stop_during_a_translation_ends_the_steps_and_leaves_no_text(settings, here, tmp_path):
    there, polls = Workspace(tmp_path / "data", here.more_corpora), iter(range(100))
    assert not list(
        back_translate_in_rounds(settings, there, should_stop=lambda: next(polls) == 30, allow_overlap=True)
    )
    assert Run(there.runs / NAMES[0]).status == "finished"
    assert not list((there.data / "corpora").glob("*"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"recipe": ["training.label_smoothing=0.2"]}, "run 'two.back1' was begun with training.label_smoothing"),
        ({"beam_size": 2}, "corpus 'two.by-back1': already exists, but from another run, text, search or number of"),
        ({"ratio": 0.1}, "corpus 'two.by-back1': already exists"),
    ],
)
def test_a_name_that_is_taken_is_refused(steps, settings, here, change, problem):
    change = {
        name: settings.recipe.with_settings(value) if name == "recipe" else value for name, value in change.items()
    }
    with pytest.raises((RecipeError, CorpusError), match=problem):
        list(back_translate_in_rounds(replace(settings, **change), here, allow_overlap=True))


def test_a_run_that_diverged_is_reported(settings, here, tmp_path):
    there = Workspace(tmp_path / "data", here.more_corpora)
    mad = settings.recipe.with_settings(["training.schedule=constant", "training.learning_rate=1e30"])
    with pytest.raises(RunError, match=r"run 'two.back1': the loss is no longer finite"):
        list(back_translate_in_rounds(replace(settings, recipe=mad), there, allow_overlap=True))


def test_what_cannot_be_trained_in_rounds_is_refused(settings):
    english = {"en": settings.texts["en"]}
    with pytest.raises(CorpusError, match="no monolingual text in de; name it with --source-text, or make"):
        replace(settings, texts=english)
    assert replace(settings, texts=english, rounds=1).rounds == 1
    with pytest.raises(CorpusError, match="no monolingual text in en; name it with --target-text"):
        replace(settings, texts={}, rounds=1)
    with pytest.raises(RecipeError, match="the recipe names further corpora"):
        replace(settings, recipe=settings.recipe.with_changes({"more_corpora": [{"name": "other"}]}))
    with pytest.raises(RecipeError, match="the recipe is phrase-based"):
        replace(settings, recipe=named_recipe("moses"))


def test_with_true_translations_the_run_is_that_of_the_real_pairs(settings, here, tmp_path):
    there = Workspace(tmp_path / "data", here.more_corpora)
    folder = settings.texts["en"].folder
    real = ParallelCorpus.open(folder, "de", "en")
    truth = Known(("en", "de"), {target: source for source, target in real.pairs("train")})
    made = there.data / "corpora" / "made"
    write_translated(truth, {"run": "truth"}, settings.texts["en"], made, Synthesis())
    (there.data / "corpora" / "real").symlink_to(folder)
    report = json.loads((made / "import.json").read_text(encoding="utf-8"))
    assert report["synthetic"] == "de"
    runs = [
        train(
            name, settings.with_synthetic({settings.corpus.direction: name}), settings.corpus, there, allow_overlap=True
        )
        for name in ("made", "real")
    ]
    assert runs[0].checkpoints.digest == runs[1].checkpoints.digest
