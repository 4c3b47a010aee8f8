"""What a selection of lines has kept and dropped, on the page of monolingual text."""

import shutil

import numpy as np
import pytest
from support.unfolded import unfolded

from nmtlab.dashboards.pages.monolingual import MonolingualPage
from nmtlab.dashboards.parts.selected import selection_view, selections, share_kept
from nmtlab.errors import NmtlabError, RunError
from nmtlab.selection import COSTS, DIFFERENCE, DUAL, Costs, select
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.workspace import Workspace

LINES = 200
VALUES = np.random.default_rng(1).permutation(LINES) / 10
"""The cost of each line: its place in the order, in tenths."""


@pytest.fixture
def here(tmp_path) -> Workspace:
    """A workspace with a text, of which the best fifth but one blank line is the corpus `fifth`."""
    workspace = Workspace(tmp_path / "data")
    folder = workspace.data / "corpora" / "crawl"
    folder.mkdir(parents=True)
    write_lines(folder / "train.en", [f"line <b>{number}</b>" for number in range(LINES)])
    values = VALUES.copy()
    values[7] = np.nan
    costs = Costs(values, DIFFERENCE, {"like": []})
    select(workspace.data / "corpora" / "fifth", MonolingualCorpus(folder, "en"), costs, 0.2)
    return workspace


def test_the_lines_beside_the_cut_are_the_last_that_are_kept_and_the_first_that_are_not(here):
    folder = selections(here)["fifth"]
    assert (list(selections(here)), share_kept(folder)) == (["fifth"], 40 / 199)
    view = selection_view(folder, 0.5, here)
    order = [place for place in np.argsort(VALUES) if place != 7]
    kept = round(0.5 * 199)
    shown = view.frame
    assert shown["line"].tolist() == [place + 1 for place in order[kept - 5 : kept + 5]]
    assert shown[""].tolist() == ["kept"] * 5 + ["dropped"] * 5
    assert shown["en"].tolist() == [f"line <b>{place}</b>" for place in order[kept - 5 : kept + 5]]
    assert f"{kept} of 199 lines are kept, with costs of at most {VALUES[order[kept - 1]]:.2f}" in view.finding
    assert view.finding.endswith("; 1 without words have none.")
    counts = {bars.name: int(sum(bars.y)) for bars in view.figure.data}
    assert counts == {"kept": kept, "dropped": 199 - kept}


@pytest.mark.parametrize(("share", "kept"), [(0.001, 1), (1.0, 199)])
def test_the_first_and_the_last_cut(here, share, kept):
    view = selection_view(selections(here)["fifth"], share, here)
    assert f"{kept} of 199" in view.finding
    assert (view.frame[""] == "kept").sum() == min(5, kept)


def test_without_the_text_as_it_was_there_are_costs_alone(here):
    write_lines(here.data / "corpora" / "crawl" / "train.en", ["other"])
    assert list(selection_view(selections(here)["fifth"], 0.2, here).frame) == ["", "line", "cost"]


def test_pairs_are_shown_with_both_sides_and_equal_costs_are_drawn(here, tiny_corpus):
    corpora = here.data / "corpora"
    shutil.copytree(tiny_corpus.folder, corpora / "pairs")
    pairs = ParallelCorpus.open(corpora / "pairs")
    select(corpora / "ten", pairs, Costs(np.ones(300), DUAL, {"run": "a"}), 10)
    view = selection_view(selections(here)["ten"], 10 / 300, here)
    assert list(view.frame)[3:] == list(pairs.direction)
    assert view.frame["de"].tolist() == [source for source, _ in pairs.pairs("train")][5:15]
    assert sum(sum(bars.y) for bars in view.figure.data) == 300


def test_costs_of_at_most_zero_are_drawn_up_to_zero(here):
    corpora = here.data / "corpora"
    pairs = MonolingualCorpus(corpora / "crawl", "en")
    select(corpora / "below", pairs, Costs(np.minimum(0, np.arange(200.0) - 100), DIFFERENCE, {"like": []}), 0.2)
    bars = selection_view(selections(here)["below"], 1.0, here).figure.data[0]
    assert bars.x[-1] + bars.width / 2 == pytest.approx(0)


def test_damaged_costs_are_named(here):
    folder = selections(here)["fifth"]
    (folder / COSTS).write_bytes(b"no array")
    with pytest.raises(RunError, match=r"costs\.npy: damaged or truncated .*; select its lines again"):
        selection_view(folder, 0.2, here)


def test_the_page_begins_at_the_share_that_was_kept_and_moves_the_cut(here, monkeypatch, tmp_path):
    def not_measured(*_):
        raise NmtlabError("not measured", "measure it")

    monkeypatch.setattr("nmtlab.thesis.shown.monolingual.measured", not_measured)
    page = unfolded(MonolingualPage(here))
    assert page.share.value == pytest.approx(40 / 199)
    assert "40 of 199 lines are kept" in page.selected.answer.value
    page.share.value = 0.5
    assert "100 of 199 lines are kept" in page.selected.answer.value
    page = unfolded(MonolingualPage(Workspace(tmp_path / "empty")))
    assert "nmtlab corpus select" in page.selected.answer.value
