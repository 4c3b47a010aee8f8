"""Measures of lexical choice and attention: what they say nothing about, and what they do not depend on."""

import math
from types import SimpleNamespace

import pytest

from nmtlab.analysis.dynamics import convergence
from nmtlab.experiments.measures import quality
from nmtlab.experiments.measures.attention import PEAKS_LINKED
from nmtlab.experiments.measures.lexical import NORM_DECIDES, NORM_FREQUENCY
from nmtlab.experiments.measures.quality import DEV_BLEU, TEST_BLEU
from nmtlab.recipe import named_recipe


def run_of(recipe: str) -> SimpleNamespace:
    return SimpleNamespace(recipe=named_recipe(recipe))


@pytest.mark.parametrize("measure", [NORM_DECIDES, NORM_FREQUENCY])
@pytest.mark.parametrize("recipe", ["fixnorm", "fixnorm-lex", "fixnorm-free"])
def test_norms_that_are_fixed_are_no_finding(measure, recipe):
    """That they never decide follows from the system: it is not better for it."""
    assert math.isnan(measure.value(run_of(recipe), None))


def test_a_phrase_based_system_has_no_attention():
    assert math.isnan(PEAKS_LINKED.value(run_of("moses"), None))


def test_what_counts_as_converged_does_not_decide_which_scores_are_compared(monkeypatch):
    monkeypatch.setattr(convergence, "FLOOR", 50.0)
    assert (TEST_BLEU.usable, DEV_BLEU.usable) == (5.0, 5.0)
    assert not hasattr(quality, "FLOOR")
