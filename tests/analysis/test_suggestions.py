"""Suggested translations of rare words: those used and those right, and what is generated of each token."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.figures import assert_dressed

from nmtlab.analysis.access.opened import forced_states
from nmtlab.analysis.lexical.rare_words import RAREST
from nmtlab.analysis.lexical.suggestions import (
    GENERATED,
    SUGGESTIONS,
    generated_figure,
    suggestions_figure,
    used_by_frequency,
)
from nmtlab.analysis.metrics import find_metric, sums_of, value_of
from nmtlab.errors import RunError
from nmtlab.evaluation.suggestions import hit, occurs
from nmtlab.recipe import named_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.annotation import aligned_words
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TINY = {
    "text.vocabulary_size": 60, "text.max_words": 50, "model.d_model": 16, "training.max_evaluations": 1,
    "training.validate_every": 4, "search.beam_size": 2, "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip
FOUND = pd.DataFrame(
    {
        "line": [1, 1, 3, 3], "word": ["fels", "wald", "fels", "bach"], "count": [1, 2, 1, 0],
        "suggested": ["rock", "forest", "rock", "river"], "used": [True, False, True, False],
        "right": [True, True, False, False], "run": "r",
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Run, Run, ParallelCorpus]:
    """A run that annotates and copies, one that does neither, and their text."""
    folder = tmp_path_factory.mktemp("data")
    pairs = {"der hund": "the dog", "die katze": "the cat", "der hund und die katze": "the dog and the cat"}
    train_lines = [
        *[*pairs.items()] * 5,
        ("der fels", "the rock"),
        ("ein wald", "a forest"),
        ("ein wald und", "a forest and"),
    ]
    texts = {"train": train_lines, "dev": [("der hund und", "the dog and")], "test": [
        ("der fels, ein wald", "the rock, a wood"), ("", ""), ("der fels und die katze", "the stone and the cat"),
    ]}  # fmt: skip
    for split, lines in texts.items():
        for language, side in zip(("de", "en"), zip(*lines, strict=True), strict=True):
            write_lines(folder / f"corpora/tiny/{split}.{language}", side)
    corpus, workspace = ParallelCorpus.open(folder / "corpora/tiny", "de", "en"), Workspace(folder)
    runs = [
        train(name, named_recipe(name).with_changes(TINY), corpus, workspace)
        for name in ("annotate-copy-bpe", "tied-bpe")
    ]
    return runs[0], runs[1], corpus


def test_a_phrase_occurs_word_after_word():
    assert occurs(["a", "b"], ["x", "a", "b"])
    assert not occurs(["a", "b"], ["a", "x", "b"])
    assert not occurs(["a"], [])
    assert hit([[4, 5], [6]], (1, 4, 5)) == 0.5


@pytest.mark.parametrize("which", [0, 1])
def test_the_rows_are_the_suggestions_of_the_text_with_what_translation_and_reference_have(which, made):
    run, corpus = made[which], made[2]
    found = SUGGESTIONS.of(run, corpus=corpus)
    known = aligned_words(run.recipe.text, [corpus])
    lines = [translation.text.split() for translation in open_model(run).translate([*corpus.lines("test", "de")])]
    expected = [
        (line, word, count, known[word], known[word] in lines[line - 1], known[word] in reference.split())
        for line, word, count, reference in (
            (1, "fels", 1, "the rock , a wood"), (1, "ein", 2, "the rock , a wood"),
            (1, "wald", 2, "the rock , a wood"), (3, "fels", 1, "the stone and the cat"),
        )
        if word in known
    ]  # fmt: skip
    assert expected
    assert list(found.itertuples(index=False, name=None)) == expected


def test_shares_are_those_of_the_paper():
    table = used_by_frequency(FOUND).set_index("frequency")
    assert table.loc["1", ["suggested", "used", "right", "right and used"]].tolist() == [2, 1.0, 0.5, 1.0]
    assert table.loc["0", "used"] == 0.0
    assert np.isnan(table.loc["0", "right and used"])
    used, right = find_metric("suggestions-used"), find_metric("right-suggestions-used")
    assert (used.read(FOUND), right.read(FOUND)) == (50.0, 50.0)
    assert SUGGESTIONS.finding(FOUND) == "Suggestions that are used: r 50 % of 4; 50 % are right."


@pytest.mark.parametrize("name", ["suggestions-used", "right-suggestions-used", "rarest-recall"])
def test_a_share_is_the_ratio_of_what_sentences_add_to_it(name, made):
    run, corpus = made[0], made[2]
    metric = find_metric(name)
    value = value_of(metric, run, corpus)
    sums = sums_of(metric, run, corpus)
    assert sums.shape == (3, 2)
    amount, of = sums.sum(0)
    assert (np.isnan(value) and of == 0) or value == pytest.approx(amount / of)


def test_the_share_of_what_is_generated_is_that_of_the_model_at_each_token(made):
    run, plain, _ = made
    found = GENERATED.of(run, source="der fels und", target="the rock and")
    system = open_model(run)
    ids = system.pipeline.target_ids("the rock and")
    states = forced_states(system.model, [system.pipeline.source_ids("der fels und")], [ids])
    with torch.inference_mode():
        gamma = system.model.generated_share(states)
    assert found["generated"].tolist() == pytest.approx(gamma.tolist())
    assert found["piece"].tolist() == [*system.pipeline.target.tokenizer.split("the rock and"), "</s>"]
    assert "Copies have the largest share of" in GENERATED.finding(found.assign(run="r"))
    with pytest.raises(RunError, match="it has no copy head"):
        GENERATED.of(plain, source="der", target="the")


def test_figures_show_every_run_and_token():
    figure = suggestions_figure(FOUND)
    assert_dressed(figure)
    assert figure.data[0].y == (50.0, 50.0)
    shares = pd.DataFrame({"position": [0, 1], "piece": ["▁a", "</s>"], "generated": [0.9, 0.2], "run": "r"})
    strip = generated_figure(shares)
    assert_dressed(strip)
    assert list(strip.data[0].z[0]) == [0.9, 0.2]


def test_words_seen_at_most_twice_are_one_bucket(made):
    found = RAREST.of(made[0], corpus=made[2], split="test", edges=[0, 3])
    assert set(found["frequency"]) == {"0-2", "3+"}
    assert found.query("frequency == '0-2' and line == 1")["words"].item() == 4  # all but the
