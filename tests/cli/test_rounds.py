"""`nmtlab rounds`: trained, listed, and refused."""

import json

import pytest
from conftest import write_split

from nmtlab.cli.rounds import RoundsMade
from nmtlab.errors import RunError
from nmtlab.rounds import Step
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import read_lines, write_lines

SHORT = ["--set", "training.validate_every=20", "--set", "training.max_evaluations=1"]


@pytest.fixture
def words(nmtlab, data):
    write_split(data / "corpora" / "mono", "train", 60, seed=7)
    texts = ["--target-text", "mono:en", "--source-text", "mono:de"]
    ways = ["--source", "de", "--target", "en", "--recipe", "tiny.toml", "--allow-overlap", *SHORT]
    return ["rounds", "two", "--corpus", "tiny", *texts, *ways]


@pytest.mark.full  # near the limit of the quick tier on a slow machine
def test_a_round_is_trained_scored_and_named_again_for_nothing(nmtlab, data, words):
    done = nmtlab(*words, "--ratio", 0.05, "--json")
    assert not done.code, done.err
    made = RoundsMade.model_validate_json(done.out, strict=True)
    assert made.complete
    assert [(one.run, one.source, one.target) for one in made.runs] == [
        ("two.back1", "en", "de"), ("two.forth1", "de", "en"),
    ]  # fmt: skip
    back, forth = made.runs
    assert (back.lines, forth.lines) == (15, None)
    assert back.lines - back.dropped == len(list(read_lines(data / "corpora" / "two.by-back1" / "train.en")))
    evaluated = nmtlab("evaluate", "two.forth1", "--corpus", "tiny", "--json")
    assert json.loads(evaluated.out)["bleu"] == forth.bleu.model_dump()
    again = nmtlab(*words, "--ratio", 0.05)
    assert not again.code, again.err
    assert "two.forth1 │ de to en" in again.out
    assert f"{forth.chrf.score:.2f} ± {forth.chrf.margin:.2f}" in again.out


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--rounds", 0], "Invalid value for '--rounds'"),
        (["--rounds", 2, "--source-text", ""], "no monolingual text in de; name it with --source-text"),
        (["--target-text", "mono:de"], "text mono: in de, but en is needed; choose text in en"),
        (["--target-text", "mono:xx"], "no train.xx"),
        (["--split", "valid"], "valid"),
        (["--set", "training.seeds=1"], "training.seeds"),
    ],
)
def test_what_cannot_be_trained_is_refused_at_once(nmtlab, data, words, more, problem):
    refused = nmtlab(*words, *more)
    assert refused.code == 2
    assert problem in refused.err
    assert not (data / "runs" / "two.back1").exists()


def test_text_with_sentences_of_test_is_refused(nmtlab, data, words, tiny_corpus):
    words = [word for word in words if word != "--allow-overlap"]
    write_lines(data / "corpora" / "leak" / "train.en", tiny_corpus.lines("test", "en"))
    refused = nmtlab(*words, "--target-text", "leak:en", "--source-text", "")
    assert refused.code == 2
    assert f"text leak: has {tiny_corpus.count('test')} en sentences of test" in refused.err


def test_what_was_measured_is_shown_when_a_later_round_fails(nmtlab, data, words, monkeypatch):
    def fails(*_, **__):
        yield Step(1, Run(data / "runs" / "whole"), 12, 3)
        raise RunError("run 'two.back2': the loss is no longer finite", "choose a lower learning rate")

    monkeypatch.setattr("nmtlab.rounds.back_translate_in_rounds", fails)
    shown, answered = nmtlab(*words, "--rounds", 2), nmtlab(*words, "--rounds", 2, "--json")
    made = RoundsMade.model_validate_json(answered.out, strict=True)
    ((run, score),) = ((one.run, one.bleu) for one in made.runs)
    assert not made.complete
    assert made.error == "run 'two.back2': the loss is no longer finite; choose a lower learning rate"
    assert f"{run} │ de to en  │ {score.score:.2f} ± {score.margin:.2f}" in shown.out
    assert shown.out.endswith("the next run failed; these are the runs before it\n")
    assert (shown.code, shown.err) == (answered.code, answered.err) == (2, f"nmtlab: {made.error}\n")
