"""What a training that learns nothing says, and which of its evaluations counts as the best."""

import pytest

from nmtlab.recipe import named_recipe
from nmtlab.training.events import Hint, Validated
from nmtlab.training.loop import hint
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def events(tiny_corpus, tiny_recipe, tmp_path_factory):
    """The events of four evaluations, one after each of the first updates: dev BLEU stays at 0."""
    found = []
    changes = {"training.validate_every": 1, "training.max_evaluations": 4}
    workspace = Workspace(tmp_path_factory.mktemp("hints"))
    train("early", tiny_recipe.with_changes(changes), tiny_corpus, workspace, on_event=found.append)
    return found


def test_a_hint_follows_the_third_evaluation_below_bleu_1_and_no_other(events):
    kinds = [type(event) for event in events if isinstance(event, Validated | Hint)]
    assert kinds == [Validated, Validated, Validated, Hint, Validated]


def test_below_bleu_1_the_evaluation_with_the_lowest_perplexity_is_the_best(events):
    evaluations = [event for event in events if isinstance(event, Validated)]
    assert max(event.bleu for event in evaluations) < 1
    seen = [event.perplexity for event in evaluations]
    assert [event.is_best for event in evaluations] == [seen[n] == min(seen[: n + 1]) for n in range(4)]
    assert sum(event.is_best for event in evaluations) > 1


def test_a_hint_names_recipes_of_the_same_family_for_little_text():
    assert "transformer-tiny" in hint(named_recipe("prenorm"))
    assert "fixnorm-lex-small" in hint(named_recipe("tied"))
    assert "conv-tiny" in hint(named_recipe("conv").with_changes({"about": "mine"}))
    assert "fixnorm-lex-small" in hint(named_recipe("tied-small"))
    assert "-small" not in hint(named_recipe("fixnorm-lex-small").with_changes({"training.seed": 2}))
    continued = {"transfer.parent": "opus", "transfer.continued": True}
    assert hint(named_recipe("prenorm").with_changes(continued)).endswith("more updates may help, or more text")
