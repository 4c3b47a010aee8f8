"""N-best lists that are rescored by length, against searches by these scores."""

import shutil

import numpy as np
import pytest
import torch
from support.figures import assert_dressed
from support.scripted_model import ScriptedModel

from nmtlab.analysis.search.beams import OUTCOME
from nmtlab.analysis.search.length_scores import FORMS, LENGTH_SCORES
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.beam import beam_search
from nmtlab.search.rerank import best_candidates
from nmtlab.text.segmentation.vocabulary import EOS


@pytest.fixture
def run(zoo, tmp_path) -> Run:
    """A run of its own, so that no answer is there yet."""
    return Run(shutil.copytree(zoo("learned").folder, tmp_path / "whole"))


def search(**settings) -> SearchSettings:
    return SearchSettings.model_validate({"score": "log-prob", "extra_length": 2, "beam_size": 1, **settings})


@pytest.mark.parametrize(
    ("title", "strength", "settings"),
    [
        ("log p / length^w", 0.0, {"score": "log-prob"}),
        ("log p / length^w", 1.0, {"score": "average"}),
        ("log p + w length", 0.0, {"score": "log-prob"}),
        ("log p + w length", 0.7, {"score": "word-reward", "gamma": 0.7}),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_where_the_list_has_all_translations_rescoring_finds_what_the_search_by_that_score_finds(
    title, strength, settings, seed
):
    model = ScriptedModel(types=6, seed=seed)
    memory = model.encode(torch.tensor([[4, 5, EOS]]))
    (listed,) = beam_search(model, memory, search(beam_size=200), n_best=200)
    (decoded,) = beam_search(model, memory, search(beam_size=200, **settings))
    log_prob = np.array([one.log_prob for one in listed.hypotheses])
    length = np.array([len(one.tokens) + 1 for one in listed.hypotheses])
    (best,) = best_candidates(FORMS[title](log_prob, length, strength), np.zeros(len(length)))
    assert listed.hypotheses[best].tokens == decoded.hypotheses[0].tokens


def test_of_lists_of_one_candidate_no_strength_changes_anything_and_it_is_the_outcome_of_the_search(run, tiny_corpus):
    asked = {"corpus": tiny_corpus, "split": "dev", "search": search()}
    found = LENGTH_SCORES.of(run, size=1, strengths=[0.0, 1.0, 2.0], **asked)
    outcome = OUTCOME.of(run, **asked).iloc[0]
    assert found["bleu"].to_numpy() == pytest.approx([outcome["bleu"]] * 6)
    assert found["length_ratio"].to_numpy() == pytest.approx([outcome["length_ratio"]] * 6)


def test_lists_grow_longer_with_the_strength_and_at_0_both_scores_are_log_p(run, tiny_corpus):
    asked = {"corpus": tiny_corpus, "split": "dev", "search": search(), "size": 6}
    found = LENGTH_SCORES.of(run, strengths=[0.0, 0.5, 1.0, 4.0], **asked)
    for _, curve in found.groupby("score"):
        assert curve["length_ratio"].is_monotonic_increasing
    first = found[found["strength"] == 0]
    assert first["bleu"].nunique() == 1
    assert first["bleu"].iloc[0] == pytest.approx(
        OUTCOME.of(run, corpus=tiny_corpus, split="dev", search=search(beam_size=6))["bleu"].item()
    )


def test_the_curves_are_drawn_with_the_best_strength_of_each_score(run, tiny_corpus):
    view = LENGTH_SCORES.view(run, corpus=tiny_corpus, split="dev", search=search(), size=2, strengths=[0.0, 1.0])
    assert_dressed(view.figure)
    assert view.table.frame["score"].tolist() == ["log p / length^w", "log p + w length"]
