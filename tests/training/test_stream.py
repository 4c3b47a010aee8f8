"""Batches come epoch after epoch, and can be resumed from any position."""

import numpy as np
import pytest

from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.stream import BatchStream


@pytest.fixture
def batches(tiny_corpus, tiny_recipe, workspace) -> Batches:
    pipeline = Pipeline.learn(tiny_recipe.text, tiny_corpus)
    return Batches(Mixture([EncodedCorpus.open(workspace.cache, pipeline, tiny_corpus)]), 200, seed=1)


def same(ours, theirs) -> bool:
    pairs = zip(ours, theirs, strict=True)
    return all(np.array_equal(one.source, two.source) and np.array_equal(one.target, two.target) for one, two in pairs)


def test_a_stream_is_one_epoch_after_the_other(batches):
    stream, expected = BatchStream(batches), [*batches.epoch(0), *batches.epoch(1)]
    assert same([next(iter(stream)) for _ in expected], expected)
    assert (stream.epoch, stream.at_end) == (1, True)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_what_is_taken_together_never_crosses_the_end_of_an_epoch(batches, count):
    stream, taken = BatchStream(batches), []
    while stream.epoch < 2:
        taken.append(stream.take(count))
    first = -(-batches.count(0) // count)
    assert same([batch for some in taken[:first] for batch in some], list(batches.epoch(0)))
    assert all(len(some) == count for some in taken[: first - 1])


@pytest.mark.parametrize("taken", [0, 1, 5, "all"])
def test_a_stream_goes_on_from_the_place_that_it_names(batches, taken):
    stream = BatchStream(batches)
    for _ in range(stream.size if taken == "all" else taken):
        stream.take(1)
    again = BatchStream(batches, stream.epoch, stream.batch)
    assert same([stream.take(3)[0] for _ in range(4)], [again.take(3)[0] for _ in range(4)])
