"""`nmtlab translate --length-bin`, of a run with length tokens."""

import pytest

from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TEXT = "ein hund singt\n\nein kind\n"


@pytest.fixture
def lengths(data, tiny_corpus, tiny_recipe) -> Run:
    """A run with two length tokens in the workspace."""
    pieces = {"text.segmentation": "bpe", "text.vocabulary_size": 50}  # so that ratios differ
    changes = {**pieces, "text.length_bins": 2, "training.max_evaluations": 1}
    return train("lengths", tiny_recipe.with_changes(changes), tiny_corpus, Workspace(data))


def test_a_length_token_is_asked_for(nmtlab, lengths):
    assert lengths.pipeline.used_length_bins == [0, 1]
    for asked in (0, 1):
        said = nmtlab("translate", "lengths", "--length-bin", str(asked), "--beam", "2", stdin=TEXT)
        assert said.code == 0, said.err
        search = SearchSettings(**{**lengths.recipe.search.model_dump(), "beam_size": 2, "length_bin": asked})
        assert said.out.splitlines() == [one.text for one in open_model(lengths, search).translate(TEXT.splitlines())]


@pytest.mark.parametrize(
    ("run", "asked", "problem"), [("lengths", "2", "choose from 0 to 1"), ("whole", "0", "leave it out")]
)
def test_one_that_there_is_not_is_refused(nmtlab, lengths, run, asked, problem):
    said = nmtlab("translate", run, "--length-bin", asked, stdin=TEXT)
    assert said.code == 2
    assert problem in " ".join(said.err.split())


def test_such_a_run_is_not_exported(nmtlab, lengths, tmp_path):
    said = nmtlab("runs", "export", "lengths", "--to", "huggingface", "--folder", tmp_path / "out")
    assert said.code == 2
    assert "text.length_bins" in said.err
