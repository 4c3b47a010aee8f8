"""Requested and realised lengths: against translations one by one, and shares by a loop."""

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.access.needs import unmet
from nmtlab.analysis.search.length_tokens import LENGTH_TOKENS, realised, requested_lengths
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model, open_system
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def tokens(tiny_recipe, tiny_corpus, tmp_path_factory) -> Run:
    """A run with three length tokens, barely trained."""
    workspace = Workspace(tmp_path_factory.mktemp("data"))
    pieces = {"text.segmentation": "bpe", "text.vocabulary_size": 50}  # so that ratios differ
    recipe = tiny_recipe.with_changes({**pieces, "text.length_bins": 3, "training.max_evaluations": 1})
    return train("lengths", recipe, tiny_corpus, workspace)


def test_each_length_token_is_asked_for_and_nothing_else_changes(tokens, tiny_corpus):
    found = requested_lengths(tokens, tiny_corpus, "dev", sample=4)
    pipeline = tokens.pipeline
    assert found["bin"].unique().tolist() == pipeline.used_length_bins == [0, 1, 2]
    edges = [np.nan, *pipeline.length_edges, np.nan]
    lines = list(tiny_corpus.pairs("dev"))
    for row in found.itertuples():
        search = tokens.recipe.search.model_copy(update={"length_bin": row.bin})
        source = lines[row.line - 1][0]
        (best,) = open_model(tokens, search).translate([source])[0].hypotheses
        assert (row.source_length, row.target_length) == (len(pipeline.source_pieces(source)) - 1, len(best.tokens))
        np.testing.assert_equal([row.low, row.high], edges[row.bin : row.bin + 2])


def test_a_translation_with_a_length_token_is_that_of_a_source_that_begins_with_it(tokens, tiny_corpus):
    source = next(iter(tiny_corpus.pairs("dev")))[0]
    (tag,) = tokens.pipeline.source.vocabulary.tag_ids([f"<length:{tokens.pipeline.used_length_bins[0]}>"])
    search = tokens.recipe.search.model_copy(update={"length_bin": tokens.pipeline.used_length_bins[0]})
    system = open_model(tokens, search)
    best = system.translate([source])[0].hypotheses[0]
    ids = [tag, *tokens.pipeline.source_ids(source)[1:]]
    ((_, forced),) = forced_decode_all(system.model, [ids], [[*best.tokens, *[2] * best.finished]])
    assert best.log_prob == pytest.approx(forced.log_prob, rel=1e-4)


def test_shares_in_the_bin_and_of_empty_translations_are_those_of_a_loop():
    frame = pd.DataFrame(
        {"run": "one", "bin": [0, 0, 0, 1, 1, 1], "low": [np.nan] * 3 + [0.8] * 3, "high": [0.8] * 3 + [np.nan] * 3,
         "line": [1, 2, 3] * 2, "source_length": [10, 10, 5] * 2, "target_length": [8, 7, 0, 8, 9, 0]}
    )  # fmt: skip
    shown = realised(frame).set_index("bin")
    assert shown["ratio"].tolist() == pytest.approx([(0.8 + 0.7) / 3, (0.8 + 0.9) / 3])
    assert shown["inside"].tolist() == pytest.approx([2 / 3, 2 / 3])  # the edge belongs to the bin above
    assert shown["empty"].tolist() == pytest.approx([1 / 3, 1 / 3])
    assert LENGTH_TOKENS.finding(frame).startswith("Target tokens per source token: one 0.5")
    assert [trace.name for trace in LENGTH_TOKENS.figure(frame).data if trace.name] == ["one"]


def test_runs_without_length_tokens_are_refused(zoo, tokens):
    assert unmet(zoo("learned"), LENGTH_TOKENS.needs).lack == "no length tokens"
    assert unmet(tokens, LENGTH_TOKENS.needs) is None
    with pytest.raises(RunError, match="the run has 3"):
        open_system(tokens, tokens.recipe.search.model_copy(update={"length_bin": 3}))
