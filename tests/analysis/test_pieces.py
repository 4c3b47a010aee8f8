"""How a word is cut: of runs with a unigram model or byte-pair encoding, on the page and in Python."""

import pytest
from support.unfolded import unfolded

from nmtlab.analysis.access.needs import unmet
from nmtlab.analysis.lexical.pieces import MERGES, SEGMENTATIONS, word_merges, word_segmentations
from nmtlab.dashboards.pages.norms import NormsPage
from nmtlab.errors import CorpusError
from nmtlab.runs.run import Run
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def here(tiny_recipe, tiny_corpus, tmp_path_factory) -> Workspace:
    """A workspace with a run of each kind of subwords, barely trained."""
    workspace = Workspace(tmp_path_factory.mktemp("data"))
    for kind, size in (("unigram", 40), ("bpe", 50), ("word", 0)):
        changes = {"text.segmentation": kind, "text.vocabulary_size": size, "training.max_evaluations": 1}
        train(kind, tiny_recipe.with_changes(changes), tiny_corpus, workspace)
    return workspace


def test_the_segmentation_of_the_system_is_the_most_probable_one(here):
    run = Run(here.run_folder("unigram"))
    found = word_segmentations(run, "mountain")
    assert found["pieces"].iloc[0].split() == run.pipeline.target.tokenizer.split("mountain")
    assert found["rank"].tolist() == [*range(1, len(found) + 1)]
    assert found["log_prob"].is_monotonic_decreasing
    if found["ways"].iloc[0] == len(found):
        assert found["share"].sum() == pytest.approx(1)
    assert SEGMENTATIONS.finding(found).startswith(f"{found['ways'].iloc[0]:,} ways to cut it; the best, ▁")


def test_merges_lead_from_letters_to_the_pieces_of_the_system(here):
    run = Run(here.run_folder("bpe"))
    for side in ("source", "target"):
        found = word_merges(run, "the dog", side)
        assert found["pieces"].iloc[0] == "▁ t h e ▁ d o g"
        assert found["pieces"].iloc[-1].split() == getattr(run.pipeline, side).tokenizer.split("the dog")
        assert found["step"].tolist() == [*range(len(found))]
        assert found["made"].isna().tolist() == [True] + [False] * (len(found) - 1)


def test_each_kind_of_subwords_has_its_question(here):
    words, unigram, bpe = (Run(here.run_folder(name)) for name in ("word", "unigram", "bpe"))
    assert [bool(unmet(run, SEGMENTATIONS.needs)) for run in (words, unigram, bpe)] == [True, False, True]
    assert [bool(unmet(run, MERGES.needs)) for run in (words, unigram, bpe)] == [True, True, False]
    with pytest.raises(CorpusError, match="blank"):
        word_merges(bpe, "  ")


def test_the_page_shows_how_a_word_is_cut_by_the_chosen_system(here):
    page = unfolded(NormsPage(here))
    page.runs.table.choose(["bpe"])
    page.word.value = "hund"
    assert page.pieces.frame["pieces"].tolist() == word_merges(Run(here.run_folder("bpe")), "hund")["pieces"].tolist()
    page.runs.table.choose(["unigram"])
    assert "ways to cut it" in page.cut.value
    assert page.pieces.frame["rank"].iloc[0] == 1
    page.runs.table.choose(["word"])
    assert page.pieces.frame.empty
    assert page.cost.frame["types"].tolist()[0] == 1000
