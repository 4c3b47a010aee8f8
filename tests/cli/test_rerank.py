"""`nmtlab rerank`."""

import pytest

from nmtlab.cli.rerank import Reranking
from nmtlab.text.corpora.lines import read_lines, write_lines

ASKED = ("rerank", "whole", "--split", "dev", "--n-best", "3", "--set", "search.extra_length=4")


def test_lists_are_reranked_by_weights_tuned_on_dev_and_the_choice_is_written(nmtlab, data, tmp_path):
    said = nmtlab(*ASKED, "--metric", "chrf", "--json", "-o", tmp_path / "chosen.en")
    assert (said.code, said.err) == (0, "")
    found = Reranking.model_validate_json(said.out, strict=True)
    assert list(found.weights) == ["log-prob", "length", "chrf"]
    assert (found.weights["log-prob"], found.tuned_on, found.n_best) == (1.0, "dev", 3)
    assert found.warnings == ["the weights were tuned on the text that is scored"]
    assert found.oracle.chrf.score >= found.search.chrf.score
    assert len(list(read_lines(tmp_path / "chosen.en"))) == found.sentences
    assert len(list((data / "runs/whole/measures").glob("n_best.n_best-*.parquet"))) == 1


def test_each_feature_is_tuned_alone_and_left_out(nmtlab):
    said = nmtlab(*ASKED, "--with", "whole", "--metric", "chrf", "--each", "--json")
    found = Reranking.model_validate_json(said.out, strict=True)
    assert list(found.alone) == list(found.without) == ["length", "chrf", "second"]
    scores = {name: one.chrf.score for name, one in found.alone.items()}
    assert scores["second"] == found.search.chrf.score  # the same log-probability twice chooses the same
    assert min(scores.values()) >= found.search.chrf.score  # tuned on the text itself
    assert found.without["second"].chrf.score == pytest.approx(found.reranked.chrf.score, abs=0.5)
    both = nmtlab(*ASKED, "--metric", "chrf", "--each").out
    assert [line.split("│")[1].strip() for line in both.splitlines() if line.startswith("│")] == [
        "search", "reranked", "log-prob + length", "log-prob + chrf", "all but length", "all but chrf", "oracle",
    ]  # fmt: skip
    # Of two features besides log p, one left out is the other alone.
    found = Reranking.model_validate_json(nmtlab(*ASKED, "--metric", "chrf", "--each", "--json").out)
    assert found.without["length"] == found.alone["chrf"]
    assert found.without["chrf"] == found.alone["length"]


def test_weights_by_hand_are_used_as_given(nmtlab, data):
    said = nmtlab(*ASKED, "--with", "whole", "--weights", "log-prob=0.5,second=0.5,length=-2")
    assert said.code == 0
    assert "reranked by 0.5 log-prob + 0.5 second - 2 length" in said.out
    assert [line.split("│")[1].strip() for line in said.out.splitlines() if line.startswith("│")] == [
        "search", "reranked", "oracle",
    ]  # fmt: skip


def test_a_language_model_of_a_file_or_of_the_training_text_is_a_feature(nmtlab, data, tiny_corpus, tmp_path):
    lines = list(tiny_corpus.lines("train", "en"))
    write_lines(tmp_path / "news.en", [*lines, ""])
    asked = (*ASKED, "--metric", "chrf", "--json", "--language-model")
    answers = [Reranking.model_validate_json(nmtlab(*asked, text).out) for text in ("train", tmp_path / "news.en")]
    assert list(answers[0].weights) == ["log-prob", "length", "chrf", "language-model"]
    assert answers[0] == answers[1]


def test_coverage_adds_three_features(nmtlab, data):
    found = Reranking.model_validate_json(nmtlab(*ASKED, "--metric", "chrf", "--json", "--coverage").out)
    assert list(found.weights) == ["log-prob", "length", "chrf", "coverage-wu", "coverage-li", "covered"]


def test_of_lists_of_one_candidate_nothing_can_change_and_that_is_said(nmtlab, data):
    said = nmtlab(*ASKED[:-4], "--n-best", "1", "--set", "search.beam_size=1", "--weights", "length=9", "--json")
    found = Reranking.model_validate_json(said.out, strict=True)
    assert (found.changed, found.search, found.p_bleu) == (0, found.oracle, 1.0)
    assert found.missing == {"tuned_on": "the weights were given with --weights"}
    assert found.warnings == ["lists of one candidate: nothing can change; raise --n-best"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--channel", "whole"], "run 'whole': translates de to en, but the candidates need en to de"),
        (["--channel", "nobody"], "nobody"),
        (["--weights", "beauty=1"], "--weights beauty=1: no such feature; choose from log-prob, length, chrf, channel"),
        (["--weights", "channel=1"], "--weights channel=1: the candidates lack it; add --channel RUN"),
        (["--blank", "whole"], "run 'whole': is no language model; train"),
        (["--lexicon"], "run 'whole': has no lexicon; align its training text first: nmtlab runs align whole"),
        (["--weights", "lexicon=1"], "--weights lexicon=1: the candidates lack it; add --lexicon"),
        (["--weights", "covered=1"], "--weights covered=1: the candidates lack it; add --coverage"),
        (["--weights", "blank=1"], "--weights blank=1: the candidates lack it; add --blank RUN"),
        (["--weights", "language-model=1"], "the candidates lack it; add --language-model FILE"),
        (
            ["--weights", "length=1", "--tune", "dev"],
            "--tune and --weights: weights that are given are not tuned; leave",
        ),
        (["--weights", "length=1", "--metric", "chrf"], "--metric and --weights: weights that are given are not tuned"),
        (
            ["--language-model", "news.de"],
            "--language-model news.de: is in de, the candidates in en; give another text",
        ),
        (["--language-model", "none.en"], "none.en"),
        (["--weights", "length"], "--weights length: not a finite number; write length=0.5"),
        (["--weights", "length=nan"], "--weights length=nan: not a finite number; write length=0.5"),
        (["--tune", "devel"], "devel"),
        (["--set", "training.seed=2"], "training.seed=2: the run is already trained"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(nmtlab, data, arguments, said):
    found = nmtlab(*ASKED, *arguments)
    assert found.code == 2
    assert said in found.err
    assert len(found.err.strip().splitlines()) == 1
