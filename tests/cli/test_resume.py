"""An interrupted run resumes with --resume alone, with exactly its settings, or not at all."""

import shutil

import pytest

from nmtlab.recipe import named_recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

EXACT = ["step", "loss", "perplexity", "gradient_norm", "rate"]


@pytest.fixture
def reversed_corpus(tiny_corpus) -> ParallelCorpus:
    """The corpus in the reverse direction."""
    return ParallelCorpus.open(tiny_corpus.folder, "en", "de")


@pytest.fixture
def stopped(data, reversed_corpus, tiny_recipe) -> Run:
    """A run into German that was stopped at update 27, between two lines of its log."""
    steps = iter(range(1000))
    return train("stopped", tiny_recipe, reversed_corpus, Workspace(data), should_stop=lambda: next(steps) == 27)


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory, tiny_corpus, tiny_recipe) -> Run:
    corpus = ParallelCorpus.open(tiny_corpus.folder, "en", "de")
    return train("whole", tiny_recipe, corpus, Workspace(tmp_path_factory.mktemp("uninterrupted")))


@pytest.mark.full
@pytest.mark.parametrize("cache", ["kept", "empty"])
def test_a_run_into_another_language_goes_on_exactly(cache, nmtlab, data, stopped, uninterrupted):
    if cache == "empty":
        shutil.rmtree(data / "cache")
    assert nmtlab("train", "tiny", "--name", "stopped", "--resume").code == 0
    for kind, columns in (("train", EXACT), ("validation", ["step", "bleu", "perplexity"])):
        assert stopped.log.metrics(kind)[columns].equals(uninterrupted.log.metrics(kind)[columns])
    assert stopped.log.gradient_norms().equals(uninterrupted.log.gradient_norms())
    assert stopped.log.g_values().equals(uninterrupted.log.g_values())


@pytest.mark.full
def test_a_training_after_such_a_resume_learns_from_the_right_text(
    nmtlab, data, stopped, uninterrupted, reversed_corpus, tiny_recipe
):
    shutil.rmtree(data / "cache")
    nmtlab("train", "tiny", "--name", "stopped", "--resume")
    again = train("again", tiny_recipe, reversed_corpus, Workspace(data))
    assert again.log.metrics("train")[EXACT].equals(uninterrupted.log.metrics("train")[EXACT])


@pytest.mark.full
def test_a_run_on_several_corpora_goes_on_with_resume_alone(nmtlab, data, tiny_corpus, tiny_recipe):
    shutil.copytree(tiny_corpus.folder, data / "corpora/more")
    tiny_recipe.save(data / "tiny.toml")
    words = ("train", "tiny", "--recipe", str(data / "tiny.toml"), "--also", "more")
    cost = nmtlab(*words, "--estimate")
    assert cost.out.startswith("corpus      tiny, more: ")
    assert "named twice" in nmtlab("train", "tiny", "--also", "tiny", "--name", "twice").err
    assert nmtlab(*words, "--name", "both").code == 0
    run = Run(data / "runs/both")
    assert [corpus.name for corpus in run.recipe.corpora] == ["tiny", "more"]
    assert "tiny de-en, more de-en" in nmtlab("runs", "list").out
    said = nmtlab("train", "tiny", "--name", "both", "--resume", "--also", "tiny")
    assert "was begun with more_corpora = ['more'], not ['more', 'tiny']" in said.err
    assert "it has finished" in nmtlab("train", "tiny", "--name", "both", "--resume").err


def test_another_direction_is_refused(nmtlab, stopped):
    said = nmtlab("train", "tiny", "--name", "stopped", "--resume", "--source", "de", "--target", "en")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "run 'stopped': translates en to de, but the corpus was opened as de to en" in said.err
    assert stopped.status == "stopped"


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--set", "model.d_model=128"), "model.d_model = 16, not 128"),
        (("--set", "training.select_by=chrf"), "training.select_by = 'bleu', not 'chrf'"),
        (("--seed", "77"), "training.seed = 1, not 77"),
        (("--set", "machine.precision=bf16"), "machine.precision = 'fp32', not 'bf16'"),
        (("--recipe", "untied"), "text.word_rules = 'moses', not 'unicode'"),
    ],
)
def test_what_would_make_another_training_is_refused(words, problem, nmtlab, stopped):
    said = nmtlab("train", "tiny", "--name", "stopped", "--resume", *words)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert f"--resume: run 'stopped' was begun with {problem}; leave out the change" in said.err
    assert stopped.status == "stopped"


@pytest.mark.full
def test_the_whole_command_and_other_threads_are_accepted(nmtlab, data, tmp_path, stopped, uninterrupted):
    words = ("--recipe", tmp_path / "tiny.toml", "--set", "model.d_model=16", "--threads", "1", "--source", "en")
    assert nmtlab("train", "tiny", "--name", "stopped", "--resume", *words, "--target", "de").code == 0
    assert stopped.log.metrics("train")[EXACT].equals(uninterrupted.log.metrics("train")[EXACT])


@pytest.mark.full
def test_precision_is_the_runs(nmtlab, data, tiny_corpus, tiny_recipe):
    steps = iter(range(1000))
    recipe = tiny_recipe.with_changes({"machine.precision": "bf16"})
    run = train("half", recipe, tiny_corpus, Workspace(data), should_stop=lambda: next(steps) == 25)
    whole = train("whole-half", recipe, tiny_corpus, Workspace(data))
    assert nmtlab("train", "tiny", "--name", "half", "--resume").code == 0
    assert run.log.metrics("train")[EXACT].equals(whole.log.metrics("train")[EXACT])


def test_a_phrase_based_run_says_that_there_is_nothing_to_resume(nmtlab, data):
    recipe = named_recipe("moses").with_changes({"corpus.name": "tiny", "corpus.source": "de", "corpus.target": "en"})
    folder = data / "runs" / "phrases"
    shutil.copytree(data / "runs" / "whole", folder)
    recipe.save(folder / "recipe.toml")
    said = nmtlab("train", "tiny", "--name", "phrases", "--resume")
    assert (said.code, said.err) == (
        2, "nmtlab: run 'phrases': a phrase-based training cannot be resumed; leave out --resume\n"
    )  # fmt: skip


def test_a_run_of_other_processes_is_not_resumed(nmtlab, stopped):
    path = stopped.folder / "environment.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"processes": 1', '"processes": 2'), encoding="utf-8")
    said = nmtlab("train", "tiny", "--name", "stopped", "--resume")
    assert "started with 2 processes, whose dropout differs from that of 1; resume it with 2 under torchrun" in said.err


@pytest.mark.full
def test_text_that_overlaps_is_trained_on_if_asked_for_and_the_run_says_so(nmtlab, data, make_corpus, tmp_path):
    folder = make_corpus()
    for language in ("de", "en"):
        lines = (folder / f"train.{language}").read_text(encoding="utf-8").splitlines()
        with (folder / f"test.{language}").open("a", encoding="utf-8") as file:
            file.write(lines[0] + "\n")
    words = ("train", folder, "--recipe", tmp_path / "tiny.toml", "--set", "training.max_evaluations=1")
    refused = nmtlab(*words, "--name", "refused")
    assert refused.code == 2
    assert "1 pair of test is in train too" in refused.err
    assert "--allow-overlap" in refused.err
    assert nmtlab(*words, "--name", "allowed", "--allow-overlap").code == 0
    run = Run(data / "runs/allowed")
    assert run.environment["overlap"] == {"test": 1}
    caveat = "run 'allowed': 1 pairs of test also occur in its training text: its scores on them are too high\n"
    assert nmtlab("evaluate", "allowed", "--corpus", folder).out.endswith(caveat)
    assert caveat in nmtlab("beam-sweep", "allowed", "--corpus", folder, "--beams", "1").out
    assert caveat not in nmtlab("evaluate", "allowed", "--corpus", folder, "--split", "dev").out
    assert caveat not in nmtlab("evaluate", "allowed", "--corpus", "tiny").out
    assert caveat.removeprefix("run 'allowed': ") in nmtlab("runs", "list").out
