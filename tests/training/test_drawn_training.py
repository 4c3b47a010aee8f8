"""Trainings on segmentations that are drawn at random: each epoch reads the next one."""

import pytest
import torch

from nmtlab.training.events import Prepared
from nmtlab.training.setup import train

CHANGES = {
    "text.segmentation": "bpe", "text.vocabulary_size": 40, "training.validate_every": 0,
    "training.max_evaluations": 3, "training.batch_tokens": 800, "training.segmentations": 2,
}  # fmt: skip


@pytest.fixture
def recipe(tiny_recipe):
    return tiny_recipe.with_changes(CHANGES)


def test_a_training_on_drawn_segmentations_goes_on_exactly_where_it_was_stopped(tiny_corpus, recipe, workspace):
    events = []
    whole = train("whole", recipe, tiny_corpus, workspace, on_event=events.append)
    (prepared,) = (event for event in events if isinstance(event, Prepared))
    assert prepared.pairs == sum(1 for _ in tiny_corpus.pairs("train"))
    steps = whole.log.metrics("validation")["step"].tolist()
    count = iter(range(1000))
    train("stopped", recipe, tiny_corpus, workspace, should_stop=lambda: next(count) == steps[1] + 1)
    stopped = train("stopped", recipe, tiny_corpus, workspace, resume=True)
    ours, theirs = (run.checkpoints.weights("last")[0] for run in (whole, stopped))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours.keys() | theirs.keys())


def test_the_vocabulary_and_what_is_translated_are_cut_as_usual(tiny_corpus, recipe, workspace):
    drawn = train("drawn", recipe.with_changes({"training.max_evaluations": 1}), tiny_corpus, workspace)
    usual = recipe.with_changes({"training.max_evaluations": 1, "training.segmentations": 1})
    other = train("usual", usual, tiny_corpus, workspace)
    assert drawn.pipeline.checksum() == other.pipeline.checksum()
    assert drawn.pipeline.source_ids("ein hund") == other.pipeline.source_ids("ein hund")
    tokens = [run.log.metrics("train")["loss"].iloc[0] for run in (drawn, other)]
    assert tokens[0] != tokens[1]
