"""Paths through a search tree, and what follows a prefix."""

import pytest
import torch

from nmtlab.analysis.search.search_tree import continue_from, path_to, reference_path, search_tree
from nmtlab.errors import NmtlabError, RunError
from nmtlab.recipe import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_system
from nmtlab.translation import Translator

SEARCH = SearchSettings(score="log-prob", beam_size=4, extra_length=5)
SENTENCE, REFERENCE = "ein Hund singt", "sees sees sees"


@pytest.fixture(scope="module")
def system(zoo) -> Translator:
    return open_system(zoo("learned"), SEARCH)


@pytest.fixture(scope="module")
def planning(zoo) -> Translator:
    return open_system(zoo("planned"))


@pytest.fixture(scope="module")
def tree(system):
    return search_tree(system, SENTENCE, reference=REFERENCE)


def test_a_path_adds_a_token_a_step_and_ends_at_its_node(tree, system):
    for node in tree.itertuples():
        path = path_to(tree, node.step, node.slot)
        assert path["step"].tolist() == list(range(1, node.scored_length + 1))
        last = path.iloc[-1]
        assert (last["text"], last["log_prob"], last["ended"]) == (node.text, node.log_prob, node.ended)
        tokens = system.pipeline.target.vocabulary.ids(path["piece"].tolist())
        assert system.pipeline.target.text(tokens[: len(tokens) - node.ended]) == node.text


def test_a_node_that_is_not_there_is_refused(tree):
    with pytest.raises(NmtlabError, match="step 99, slot 1: no hypothesis of the tree"):
        path_to(tree, 99, 1)


def test_a_reference_has_the_models_probabilities_inside_the_beam_and_outside(tree, system):
    path = reference_path(system, SENTENCE, REFERENCE, tree)
    ids = system.pipeline.target_ids(REFERENCE)
    source = torch.tensor([system.pipeline.source_ids(SENTENCE)])
    (forced,) = forced_decode(system.model, system.model.encode(source), torch.tensor([ids]))
    assert path["log_prob"].tolist() == pytest.approx(forced.log_probs.cumsum().tolist(), abs=1e-5)
    assert path["text"].iloc[-1] == REFERENCE
    assert path["ended"].tolist() == [False] * (len(ids) - 1) + [True]
    held = tree[tree["reference"]].groupby("step")["slot"].first()
    assert dict(path.loc[path["slot"] > 0, ["step", "slot"]].to_numpy()) == held.to_dict()
    assert (path["slot"] == 0).any()


def test_the_returned_translation_as_a_reference_is_its_path(system):
    best = system.translate([SENTENCE])[0].text
    tree = search_tree(system, SENTENCE, reference=best)
    returned = tree[tree["best"]].iloc[-1]
    path = reference_path(system, SENTENCE, best, tree)
    expected = path_to(tree, int(returned["step"]), int(returned["slot"]))
    assert (
        path[["step", "slot", "piece"]].to_numpy().tolist() == expected[["step", "slot", "piece"]].to_numpy().tolist()
    )


def test_a_references_score_is_that_of_the_search(system, tree):
    average = SEARCH.model_copy(update={"score": "average"})
    path = reference_path(system, SENTENCE, REFERENCE, tree, average)
    assert path["score"].tolist() == pytest.approx((path["log_prob"] / path["scored_length"]).tolist())


def test_with_planned_lengths_the_reference_is_held_by_the_beam_of_its_length(planning):
    search = planning.settings.model_copy(update={"length_weight": 0.5})
    best = planning.translate([SENTENCE])[0]
    found = search_tree(planning, SENTENCE, search, best.text)
    path = reference_path(planning, SENTENCE, best.text, found, search)
    assert len(path) == len(planning.pipeline.target_ids(best.text)) - 1
    assert path["log_prob"].iloc[-1] == pytest.approx(best.hypotheses[0].log_prob, abs=1e-3)
    for row in path[path["slot"] > 0].itertuples():
        (held,) = found[(found["step"] == row.step) & (found["slot"] == row.slot)].itertuples()
        assert held.text == row.text
        assert (held.log_prob, held.score) == pytest.approx((row.log_prob, row.score), abs=1e-3)
    assert (path["slot"] > 0).any()


def test_continuing_keeps_the_tokens_and_finds_what_a_constrained_beam_finds(system, tree):
    best = tree[tree["best"]].iloc[-1]
    whole = path_to(tree, int(best["step"]), int(best["slot"]))["piece"].tolist()
    again = continue_from(system, SENTENCE, whole[:1]).iloc[0]
    assert again["text"] == best["text"]
    assert again["log_prob"] == pytest.approx(best["log_prob"], abs=1e-4)
    forced = continue_from(system, SENTENCE, ["sees", "sees"]).iloc[0]
    assert forced["text"].startswith("sees sees")
    assert forced["log_prob"] < best["log_prob"]
    source = torch.tensor([system.pipeline.source_ids(SENTENCE)])
    tokens = system.pipeline.target_ids(forced["text"])
    if forced["scored_length"] == len(tokens):
        (scored,) = forced_decode(system.model, system.model.encode(source), torch.tensor([tokens]))
        assert forced["log_prob"] == pytest.approx(scored.log_prob, abs=1e-4)


def test_continuing_from_nothing_is_the_ordinary_search(system):
    source = torch.tensor([system.pipeline.source_ids(SENTENCE)])
    best = beam_search(system.model, system.model.encode(source), SEARCH)[0].hypotheses[0]
    found = continue_from(system, SENTENCE, []).iloc[0]
    assert found["log_prob"] == pytest.approx(best.log_prob, abs=1e-5)
    assert found["scored_length"] == len(best.tokens) + best.finished


def test_a_system_that_plans_lengths_does_not_continue(planning):
    with pytest.raises(RunError, match="the system plans lengths; choose one that does not"):
        continue_from(planning, SENTENCE, ["a"])
