"""The page of noise in training text."""

from pathlib import Path

import pytest
from dashboards.test_pages import told
from support.unfolded import unfolded

from nmtlab.dashboards.pages.noise import NoisePage
from nmtlab.thesis.shown.noise import SYSTEMS, noise_view
from nmtlab.workspace import Workspace

CHECKOUT = Workspace(Path(__file__).parents[2] / "data")


@pytest.mark.full  # all folds of the page, from the packed runs
def test_the_page_shows_costs_copies_and_the_translations_of_runs():
    page = unfolded(NoisePage(CHECKOUT))
    assert told(page) == ""
    assert page.cost.answer.value == noise_view().finding
    assert set(page.copies.frame["share"]) >= {0, 100}
    shares = page.effects.frame.set_index("run")["nearer"]
    assert shares.idxmax().count("copied-target-100")


def test_one_kind_of_system_is_shown_if_it_is_chosen(tmp_path):
    page = NoisePage(Workspace(tmp_path / "data"))
    assert set(page.cost.frame["system"]) == {*SYSTEMS}
    page.system.value = "neural"
    assert set(page.cost.frame["system"]) == {"neural"}
    assert page.cost.answer.value == noise_view("neural").finding


@pytest.mark.full  # all folds of the page, from the packed runs
def test_the_folds_follow_the_choice_of_systems():
    page = unfolded(NoisePage(CHECKOUT))
    page.system.value = "phrase-based"
    assert page.copies.frame.empty or set(page.copies.frame["system"]) == {"phrase-based"}
    assert "No run behind the table is here" in page.effects.answer.value
