"""Focus and coverage of attention: against loops, limits worked by hand, and forced decoding of a run."""

import math

import numpy as np
import pytest

from nmtlab.analysis.attention.confidence import CONFIDENCE, attention_confidence, mean_penalties, penalties
from nmtlab.errors import RunError
from nmtlab.search.attention import word_attention
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.segmentation.vocabulary import EOS
from nmtlab.workspace import Workspace


def by_loops(weights: np.ndarray) -> tuple[float, float, float]:
    rows, columns = weights.shape
    deviation = out = back = 0.0
    for j in range(columns):
        received = sum(weights[i, j] for i in range(rows))
        deviation += math.log(1 + (1 - received) ** 2)
        back -= sum(w / received * math.log(w / received) for w in weights[:, j] if w)
    for row in weights:
        out -= sum(w * math.log(w) for w in row if w)
    return deviation / columns, out / rows, back / columns


def test_penalties_are_those_of_loops():
    weights = np.random.default_rng(2).dirichlet(np.ones(6), size=4)[:, :5]  # the rest is on EOS
    assert penalties(weights) == pytest.approx(by_loops(weights))


def test_one_word_for_each_has_no_penalty_and_even_weights_have_the_largest_entropy():
    assert penalties(np.eye(5)[[2, 0, 1, 4, 3]]) == pytest.approx((0, 0, 0))
    assert penalties(np.full((4, 4), 0.25)) == pytest.approx((0, math.log(4), math.log(4)))


def test_a_word_that_nothing_attends_to_counts_log_two_in_coverage_and_nothing_in_entropy():
    assert penalties(np.array([[1.0, 0.0], [0.0, 0.0]])) == pytest.approx((math.log(2) / 2, 0, 0))


def test_the_penalties_of_a_run_are_those_of_its_own_translations(zoo, tiny_corpus):
    run = zoo("learned")
    found = attention_confidence(run, tiny_corpus, "test", limit=6).set_index("line")
    system = open_model(run)
    for line, (source, _) in zip(range(1, 7), tiny_corpus.pairs("test"), strict=False):
        tokens = system.translate([source])[0].hypotheses[0].tokens
        ids = system.pipeline.source_ids(source)
        ((_, forced),) = forced_decode_all(system.model, [ids], [[*tokens, EOS]])
        weights = word_attention(forced.attention, range(len(ids) - 1))[:-1]
        row = found.loc[line]
        assert (row["source_length"], row["target_length"]) == weights.T.shape
        assert row.tolist()[2:] == pytest.approx(by_loops(weights), rel=1e-4, abs=1e-6)


def test_a_run_without_packed_sentences_is_measured_on_a_corpus_that_is_given(zoo, tiny_corpus, tmp_path):
    run = zoo.copy("learned", Workspace(tmp_path))
    with pytest.raises(RunError, match="no sentences are packed with it"):
        CONFIDENCE.of(run)
    view = CONFIDENCE.view(run, corpus=tiny_corpus, part="test", limit=6)
    assert view.frame["sentences"].tolist() == [6]


def test_it_is_summarised_and_drawn_for_each_run(zoo, tiny_corpus):
    found = attention_confidence(zoo("learned"), tiny_corpus, "test", limit=6)
    frame = found.assign(run="one")
    assert mean_penalties(frame)["sentences"].tolist() == [6]
    assert [trace.name for trace in CONFIDENCE.figure(frame).data] == ["one"]
    assert CONFIDENCE.finding(frame).startswith("Mean entropy of attention in nats")
