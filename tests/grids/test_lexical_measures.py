"""Measures of lexical choice and attention: what they say nothing about, and what they do not depend on."""

import math
from types import SimpleNamespace

import pytest

from nmtlab.analysis.dynamics import convergence
from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.recipe import named_recipe

PEAKS_LINKED = find_metric("peaks-linked")
NORM_DECIDES = find_metric("norm-decides")
NORM_FREQUENCY = find_metric("norm-frequency")
DEV_BLEU = find_metric("dev-bleu")
TEST_BLEU = find_metric("test-bleu")


def run_of(recipe: str) -> SimpleNamespace:
    return SimpleNamespace(recipe=named_recipe(recipe))


@pytest.mark.parametrize("measure", [NORM_DECIDES, NORM_FREQUENCY])
@pytest.mark.parametrize("recipe", ["fixnorm", "fixnorm-lex", "fixnorm-free"])
def test_norms_that_are_fixed_are_no_finding(measure, recipe):
    """That they never decide follows from the system: it is not better for it."""
    assert math.isnan(value_of(measure, run_of(recipe), None))


def test_a_phrase_based_system_has_no_attention():
    assert math.isnan(value_of(PEAKS_LINKED, run_of("moses"), None))


def test_what_counts_as_converged_does_not_decide_which_scores_are_compared(monkeypatch):
    monkeypatch.setattr(convergence, "FLOOR", 50.0)
    assert (TEST_BLEU.usable, DEV_BLEU.usable) == (5.0, 5.0)
