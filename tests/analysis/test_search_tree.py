"""What a beam held at each step, kept and dropped."""

import pandas as pd
import pytest
import torch

from nmtlab.analysis.search.beams import decoded
from nmtlab.analysis.search.planned_lengths import length_plan
from nmtlab.analysis.search.search_tree import (
    SEARCH_TREE,
    best_of_all,
    ended_hypotheses,
    first_empty_rank,
    ranked,
    search_tree,
)
from nmtlab.recipe import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_system
from nmtlab.text.segmentation.vocabulary import EOS
from nmtlab.translation import Translator

SEARCH = SearchSettings(score="log-prob", beam_size=4, extra_length=5)
SENTENCE = "ein Hund singt"


@pytest.fixture(scope="module")
def system(zoo) -> Translator:
    return open_system(zoo("learned"), SEARCH)


@pytest.fixture(scope="module")
def tree(system) -> pd.DataFrame:
    return search_tree(system, SENTENCE)


def test_every_hypothesis_continues_one_of_the_step_before(tree):
    assert (tree.groupby("step").size() <= 4).all()
    places = {(row.step, row.slot): row for row in tree.itertuples()}
    for row in tree.itertuples():
        assert (row.parent == 0) == (row.step == 1)
        if row.step > 1:
            above = places[row.step - 1, row.parent]
            assert row.log_prob <= above.log_prob
            assert row.scored_length == above.scored_length + (not above.ended)
            assert (row.piece == "") == above.ended
            assert not above.dropped


def test_a_bounded_reward_counts_no_more_tokens_than_the_source_has():
    found = pd.DataFrame({"log_prob": [-1.0, -2.0, -3.5], "scored_length": [1, 3, 4]})
    reranked = ranked(found, SearchSettings(score="bounded-reward", gamma=2), source=3)
    assert list(zip(reranked["scored_length"], reranked["score"], strict=True)) == [(3, 4.0), (4, 2.5), (1, 1.0)]


def test_log_probabilities_are_the_models(tree, system):
    source = torch.tensor([system.pipeline.source_ids(SENTENCE)])
    for row in tree[tree["ended"]].itertuples():
        target = torch.tensor([system.pipeline.target_ids(row.text)])
        if row.scored_length == target.shape[1]:  # the text is segmented as the model said it
            assert forced_decode(system.model, system.model.encode(source), target)[0].log_prob == pytest.approx(
                row.log_prob, abs=1e-3
            )


def test_what_is_returned_is_followed_from_the_first_step_to_the_last(tree, system):
    best = tree[tree["best"]]
    assert best["step"].tolist() == list(range(1, tree["step"].max() + 1))
    assert best["text"].iloc[-1] == system.translate([SENTENCE])[0].text
    assert not best["dropped"].any()


def test_what_has_no_child_before_the_end_was_dropped(tree):
    last = tree["step"].max()
    parents = set(zip(tree["step"] - 1, tree["parent"], strict=True))
    for row in tree.itertuples():
        assert row.dropped == (row.step < last and (row.step, row.slot) not in parents)
    assert tree["dropped"].any()


def test_a_reference_is_followed_as_far_as_the_beam_holds_it(system):
    best = system.translate([SENTENCE])[0].text
    followed = search_tree(system, SENTENCE, reference=best)
    assert followed["reference"].tolist() == followed["best"].tolist()
    other = search_tree(system, SENTENCE, reference="sees sees sees sees")
    assert not other.loc[other["step"] > 1, "reference"].any()


def test_the_empty_translation_is_in_a_beam_from_its_rank_on(system):
    rank = first_empty_rank(system, SENTENCE)
    source = torch.tensor([system.pipeline.source_ids(SENTENCE)])
    for beam, inside in ((rank - 1, False), (rank, True)):
        if beam:
            search = SEARCH.model_copy(update={"beam_size": beam})
            first = beam_search(system.model, system.model.encode(source), search, record=True)[0].tree[0]
            assert (EOS in first.token.tolist()) == inside
            tree = search_tree(system, SENTENCE, search)
            assert (tree[tree["step"] == 1]["ended"]).any() == inside


def test_the_best_of_all_is_no_worse_than_the_beams(system, tree):
    found = best_of_all(system, SENTENCE, SEARCH, budget=2000).iloc[0]
    beam = tree[tree["best"]].iloc[-1]
    assert found["log_prob"] >= beam["log_prob"] - 1e-5
    assert found["score"] == pytest.approx(found["log_prob"])
    assert found["expansions"] <= 2000
    if found["text"] == beam["text"]:
        assert found["scored_length"] == beam["scored_length"]


TREE = pd.DataFrame(
    [
        (1, "", 1, -5.0, True), (1, "a", 1, -1.0, False),
        (2, "", 1, -5.0, True), (2, "a", 2, -2.0, True), (2, "a b", 2, -3.0, False),
        (3, "a", 2, -2.0, True), (3, "a b", 3, -3.5, True),
    ],
    columns=["step", "text", "scored_length", "log_prob", "ended"],
)  # fmt: skip


def test_ended_translations_are_listed_once_with_when_they_lost_their_slot():
    found = ended_hypotheses(TREE)
    assert found["text"].tolist() == ["", "a", "a b"]
    assert found["step"].tolist() == [1, 2, 3]
    assert found["dropped_at"].tolist() == [2, pd.NA, pd.NA]
    assert found["log_prob"].tolist() == [-5.0, -2.0, -3.5]


def test_the_same_text_in_other_pieces_is_another_translation():
    other = TREE.iloc[[3]].assign(log_prob=-4.0, step=3)
    found = ended_hypotheses(pd.concat([TREE, other], ignore_index=True))
    assert found[["text", "log_prob"]].to_numpy().tolist() == [["", -5.0], ["a", -2.0], ["a b", -3.5], ["a", -4.0]]


def test_they_are_ranked_by_any_score_without_another_search():
    found = ended_hypotheses(TREE)
    assert ranked(found, SearchSettings(score="log-prob"))["text"].tolist() == ["a", "a b", ""]
    average = ranked(found, SearchSettings(score="average"))
    assert average["text"].tolist() == ["a", "a b", ""]
    assert average["score"].tolist() == pytest.approx([-1.0, -3.5 / 3, -5.0])
    reward = ranked(found, SearchSettings(score="word-reward", gamma=2.0))
    assert reward["text"].tolist() == ["a b", "a", ""]
    assert reward["score"].tolist() == pytest.approx([2.5, 2.0, -3.0])


@pytest.mark.parametrize("extra_length", [0, 50])
@pytest.mark.parametrize("score", ["average", "length-normalised", "word-reward"])
def test_translations_whose_length_leaves_out_the_end_are_ranked_by_the_scores_that_they_were_found_by(
    trained, tiny_corpus, score, extra_length
):
    search = SEARCH.model_copy(update={"score": score, "gamma": 0.7, "extra_length": extra_length})
    found = decoded(trained[0], tiny_corpus, "dev", search)
    again = ranked(found, search)
    assert again["score"].tolist() == pytest.approx(sorted(found["score"], reverse=True), abs=1e-4)
    if not extra_length:
        assert not found["finished"].all()  # what is cut off has no end to count


def test_of_lengths_that_may_or_may_not_count_the_end_nothing_is_ranked():
    with pytest.raises(KeyError, match="finished"):
        ranked(TREE.rename(columns={"scored_length": "length"}), SearchSettings(score="average"))


def test_a_run_that_plans_lengths_has_a_tree_of_its_beams(zoo):
    system = open_system(zoo("planned"), SEARCH.model_copy(update={"length_candidates": 3}))
    tree = search_tree(system, SENTENCE)
    best = tree[tree["best"]]
    (translation,) = system.translate([SENTENCE])
    assert best["step"].tolist() == list(range(1, tree["step"].max() + 1))
    assert best["text"].iloc[-1] == translation.text
    assert best["log_prob"].iloc[-1] == pytest.approx(translation.hypotheses[0].log_prob)
    plan = length_plan(system, SENTENCE)
    ended = tree[tree["ended"]]
    assert set(ended["scored_length"]) == set(plan.loc[plan["tried"] & (plan["length"] > 0), "length"] + 1)
    for row in ended.itertuples():
        place, tokens = (row.step, row.slot), []
        while place[0]:
            above = tree[(tree["step"] == place[0]) & (tree["slot"] == place[1])].iloc[0]
            tokens += [above["piece"]] if above["piece"] else []
            place = (place[0] - 1, above["parent"])
        assert len(tokens) == row.scored_length - 1


def test_of_a_planned_nothing_there_is_no_tree(zoo):
    system = open_system(zoo("classified"))
    with torch.no_grad():
        system.model.length_model.output.bias[0] = 99.0
    for lengths in (1, 3):
        tree = search_tree(system, SENTENCE, SEARCH.model_copy(update={"length_candidates": lengths}))
        assert not tree["best"].any()
        assert tree.empty == (lengths == 1)


def test_the_tree_of_a_sentence_comes_with_what_it_has_ended(trained):
    view = SEARCH_TREE.view(trained[0], sentence=SENTENCE, search=SearchSettings(score="log-prob", beam_size=3))
    assert view.frame["log_prob"].is_monotonic_decreasing
    assert view.figure.data
    assert "text" in repr(view)
