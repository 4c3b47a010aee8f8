"""Sentences that are longer than any in training: which they are, and how they are translated."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import sacrebleu
from support.metrics import declare

from nmtlab.analysis.metrics import find_metric, find_metrics, scored_text, stored_lines, value_of
from nmtlab.analysis.search import unseen_lengths
from nmtlab.analysis.search.unseen_lengths import held_out_pairs, unseen_pairs, unseen_translations
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TRAIN = [("a", "x"), ("b", "y"), ("a b", "x y"), ("b a", "y x"), ("a b a", "x y x"), ("a b a b a b", "x y")] * 3
LEFT_OUT = [("a b a b", "x y x y"), ("b a b a", "X y x y"), ("b b b b b", "y y y y y"), ("a a a a a", "x x x x x")]
TEST = [("a b", "x y x"), ("b b b b b", "y y y y y"), ("b b b b", "y y y y"), ("b b b", ""), ("b b b b a", "y y y y")]


def write(folder: Path, split: str, pairs: list[tuple[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    for place, language in enumerate(("de", "en")):
        text = "".join(f"{pair[place]}\n" for pair in pairs)
        (folder / f"{split}.{language}").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> ParallelCorpus:
    folder = tmp_path_factory.mktemp("corpora") / "long"
    for split, pairs in (("train", TRAIN + LEFT_OUT), ("dev", TEST), ("test", TEST)):
        write(folder, split, pairs)
    return ParallelCorpus.open(folder, "de", "en")


@pytest.fixture(scope="module")
def runs(corpus, tiny_recipe, tmp_path_factory) -> tuple[Run, Run]:
    """An ordinary run and one that plans lengths, on targets of at most 3 tokens."""
    workspace = Workspace(tmp_path_factory.mktemp("short"))
    changes = {"text.max_target_tokens": 3, "training.max_evaluations": 1, "model.max_predicted_length": 8}
    return tuple(
        train(
            name, tiny_recipe.with_changes({**changes, "model.plan_length": plans}), corpus, workspace, False, **ALLOW
        )
        for name, plans in (("ordinary", False), ("planned", True))
    )


ALLOW = {"allow_overlap": True}


def test_what_training_left_out_stands_beside_the_test_text_each_target_once(runs, corpus):
    """Of two targets that differ in case alone, and of two equal ones, the first counts; a blank one never."""
    found = held_out_pairs(runs[0], corpus)
    seen, unseen = found[found["seen"]], found[~found["seen"]]
    assert seen[["part", "line", "target", "length"]].to_numpy().tolist() == [["test", 1, "x y x", 3]]
    assert list(zip(unseen["part"], unseen["line"].fillna(0), unseen["target"], unseen["length"], strict=True)) == [
        ("test", 2, "y y y y y", 5),
        ("test", 3, "y y y y", 4),
        ("train", 0, "x y x y", 4),
        ("train", 0, "x x x x x", 5),
    ]
    assert unseen["source"].tolist() == ["b b b b b", "b b b b", "a b a b", "a a a a a"]


def test_a_hole_below_the_longest_target_counts_as_seen(runs, corpus, tiny_recipe, tmp_path):
    write(tmp_path / "holes", "train", [("a", "x"), ("a b a b", "x y x y")] * 5)
    for split in ("dev", "test"):
        write(tmp_path / "holes", split, [("a b", "x y"), ("a b a b a", "x y x y x")])
    holes = ParallelCorpus.open(tmp_path / "holes", "de", "en")
    recipe = tiny_recipe.with_changes({"training.max_evaluations": 1})
    found = held_out_pairs(train("holes", recipe, holes, Workspace(tmp_path)), holes)
    assert found[["length", "seen"]].to_numpy().tolist() == [[2, True], [5, False]]


def test_no_more_are_drawn_than_are_needed_and_always_the_same(runs, corpus, monkeypatch):
    every = held_out_pairs(runs[0], corpus)
    monkeypatch.setattr(unseen_lengths, "MOST", 2)
    drawn = held_out_pairs(runs[0], corpus)
    assert (~drawn["seen"]).sum() == 2
    assert set(drawn["target"]) < set(every["target"])
    assert held_out_pairs(runs[1], corpus).equals(drawn)


def test_they_are_translated_with_their_length_predicted_or_told(runs, corpus):
    ordinary, planned = runs
    pairs = unseen_pairs(ordinary, corpus)
    for run in runs:
        found = unseen_translations(run, corpus)
        assert found["length"].tolist() == pairs["length"].tolist()
        assert found["text"].tolist() == [one.text for one in open_system(run).translate(pairs["source"].tolist())]
    told = unseen_translations(planned, corpus, told=True)
    assert [len(text.split()) for text in told["text"]] == told["length"].tolist() == [5, 4, 4, 5]
    with pytest.raises(RunError, match="does not plan lengths"):
        unseen_translations(ordinary, corpus, told=True)


def test_of_few_sentences_there_is_a_number_but_no_score(runs, corpus, monkeypatch):
    run = runs[1]
    loss, _, bleu, told = metrics = find_metrics(
        ["loss-unseen-lengths", "loss-rise", "bleu-unseen-lengths", "bleu-unseen-lengths-oracle"]
    )
    assert unseen_lengths.ENOUGH == 100
    assert value_of(find_metric("unseen-sentences"), run, corpus) == 4
    assert all(pd.isna(value_of(metric, run, corpus)) for metric in metrics)
    assert value_of(find_metric("loss-seen-lengths"), run, corpus) > 0
    assert stored_lines(bleu, run, corpus) is None
    monkeypatch.setattr(unseen_lengths, "ENOUGH", 4)
    for metric in (bleu, told):
        few = replace(metric, scoring=replace(metric.scoring, enough=4))
        declare(monkeypatch, unseen_lengths.UNSEEN_TRANSLATIONS, few)
    bleu, told = find_metrics([bleu.key, told.key])
    assert all(value_of(metric, run, corpus) >= 0 for metric in (bleu, told))
    assert value_of(loss, run, corpus) > 0
    texts, references = unseen_translations(run, corpus)["text"], unseen_pairs(run, corpus)["target"]
    expected = sacrebleu.corpus_bleu(texts.tolist(), [references.tolist()]).score
    assert value_of(bleu, run, corpus) == pytest.approx(expected)
    assert stored_lines(bleu, run, corpus) == texts.tolist()
    assert scored_text(bleu, corpus, run).references == [references.tolist()]
    assert scored_text(bleu, corpus, None) is None
    assert stored_lines(told, runs[0], corpus) is None
    assert pd.isna(value_of(told, runs[0], corpus))
