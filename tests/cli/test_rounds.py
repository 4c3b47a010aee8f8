"""`nmtlab rounds`: trained, listed, and refused."""

import json

import pytest
from conftest import write_split

from nmtlab.cli.rounds import RoundsMade
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
