"""What is said of searches, and the sentences that show it: against plain loops over sentences."""

import math

import pandas as pd
import pytest
import torch
from support.packed import packed_folder

from nmtlab.analysis.access.findings import cited
from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.search.beams import SWEEPS
from nmtlab.analysis.search.length_baselines import length_models_finding
from nmtlab.analysis.search.planned_lengths import PLANNED_LENGTHS, lengths_finding
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, empty_bests, error_rates
from nmtlab.analysis.search.search_tree import (
    LOG_PROB,
    best_of_all,
    empty_above_beam,
    empty_log_prob,
    exact_finding,
    memory_of,
    search_tree,
    tree_finding,
)
from nmtlab.analysis.search.tree_figure import tree_figure
from nmtlab.runs.run import Run
from nmtlab.search.beam import beam_search
from nmtlab.search.forced import forced_decode
from nmtlab.text.segmentation.vocabulary import EOS
from nmtlab.translation import Translator

EDDINGTON = 99
"""The line of the packed Turkish sentences whose global best is empty for fixnorm."""


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(packed_folder("small-tr-en.fixnorm.s1"))


@pytest.fixture(scope="module")
def system(run) -> Translator:
    return opened(run)


@pytest.fixture(scope="module")
def sources(run) -> list[str]:
    return [source for source, _ in run.sentences.pairs("dev")]


@pytest.fixture(scope="module")
def searched() -> pd.DataFrame:
    run = Run(packed_folder("small-gl-en.postnorm.s1")).labelled("postnorm")
    return SEARCH_ERRORS.among([run])


def test_an_empty_global_best_is_said_beside_what_the_beam_finds(system, sources):
    source = sources[EDDINGTON - 1]
    tree, exact = search_tree(system, source, LOG_PROB), best_of_all(system, source).iloc[0]
    assert exact["complete"]
    assert exact["text"] == ""
    beam = tree[tree["best"]].iloc[-1]
    assert exact_finding(tree, exact) == (
        f"The most probable translation of this sentence is the empty one (log p −{-exact['log_prob']:.2f}); "
        f"a beam of 4 finds {cited(beam['text'])} (−{-beam['log_prob']:.2f})."
    )
    assert exact_finding(tree, beam.to_frame().T.assign(complete=False).iloc[0]).endswith("; a beam of 4 finds it.")
    assert "is, so far, “" in exact_finding(tree, beam.to_frame().T.assign(complete=False).iloc[0])


def test_what_becomes_of_the_empty_translation_in_a_beam_is_said(system, sources):
    wide = LOG_PROB.model_copy(update={"beam_size": 100})
    source = sources[EDDINGTON - 1]
    narrow, broad = (tree_finding(search_tree(system, source, search)) for search in (LOG_PROB, wide))
    assert "empty" not in narrow
    assert narrow.startswith("A beam of 4 finds “")
    assert broad.endswith("The empty one enters the beam, which drops it (−7.58) after step 1.")
    assert tree_finding(pd.DataFrame()) == ""


def test_the_empty_translation_outside_the_beam_is_a_line_at_its_log_probability(system, sources):
    source = sources[EDDINGTON - 1]
    empty = empty_log_prob(system, source)
    assert empty == pytest.approx(best_of_all(system, source)["log_prob"].item(), abs=1e-3)
    wide = LOG_PROB.model_copy(update={"beam_size": 100})
    narrow, broad = (search_tree(system, source, search) for search in (LOG_PROB, wide))
    (line,) = tree_figure(narrow, empty=empty).layout.shapes
    assert (line.y0, line.y1) == (empty, empty)
    assert "empty translation, −7.58" in [note.text for note in tree_figure(narrow, empty=empty).layout.annotations]
    assert not tree_figure(narrow).layout.shapes
    assert not tree_figure(broad, empty=empty).layout.shapes


def test_only_sentences_whose_empty_translation_beats_the_beam_are_found(system, sources):
    some = [*sources[90:100], "", *sources[100:110]]
    gaps = {}
    for line, source in enumerate(some, start=1):
        if source:
            memory = memory_of(system, source)
            empty = forced_decode(system.model, memory, torch.tensor([[EOS]]))[0].log_prob
            gaps[line] = empty - beam_search(system.model, memory, LOG_PROB)[0].hypotheses[0].log_prob
    expected = sorted((line for line, gap in gaps.items() if gap > 0), key=lambda line: -gaps[line])
    assert EDDINGTON - 90 in expected
    assert empty_above_beam(system, some) == expected


def test_lines_with_an_empty_best_come_by_the_width_of_the_gap(searched):
    rows = [row for row in searched.itertuples() if row.complete]
    gap = {row.line: row.exact_score - row.beam_score for row in rows}
    empty = [row.line for row in rows if row.exact_length == 0]
    assert empty_bests(searched) == sorted(empty, key=lambda line: -gap[line])
    assert len(empty) == 193


def test_rates_of_exact_search_are_said(searched):
    rates = error_rates(searched)
    assert SEARCH_ERRORS.finding(searched) == (
        "Sentences whose most probable translation is empty, and those whose beam misses it: "
        f"postnorm {100 * rates['empty']:.0f} % and {100 * rates['errors']:.0f} % of 500."
    )
    assert SEARCH_ERRORS.finding(pd.DataFrame()) == ""


def test_a_sweep_says_what_the_widest_beam_costs():
    run = Run(packed_folder("small-gl-en.postnorm.s1"))
    found = SWEEPS.among([run])
    curve = found[found["way"].str.startswith("log-prob")].set_index("beam_size")
    best, widest = curve["bleu"].idxmax(), curve.index.max()
    empty = f"{100 * curve.loc[widest, 'empty']:.0f} % empty"
    said = f"log-prob: {curve['bleu'].max():.1f} at {best}, {curve.loc[widest, 'bleu']:.1f} at {widest}, {empty}"
    assert SWEEPS.finding(curve.reset_index()) == f"BLEU at the best beam and at the widest: {said}."
    assert SWEEPS.finding(found).endswith(" and 1 more.")
    assert SWEEPS.finding(pd.DataFrame()) == ""


def test_planned_lengths_are_said_beside_the_references():
    plan = pd.DataFrame({"length": range(4), "probability": [0.0001, 0.2, 0.5, 0.2999]})
    assert lengths_finding(plan, 3) == (
        "Most probable length: 2 tokens (p 0.50); that of the reference, 3, has p 0.30. "
        "The empty translation has p 0.0001."
    )
    assert lengths_finding(plan).startswith("Most probable length: 2 tokens (p 0.50). The")
    assert "has p 0.00." in lengths_finding(plan, 9)
    columns = {"likeliest": [3, 5, 6, 2], "reference_length": [3, 4, 4, 2], "reference_rank": [1, 2, 3, 1]}
    found = pd.DataFrame(columns).assign(run="planned", reference_probability=math.e**-1)
    assert PLANNED_LENGTHS.finding(found) == (
        "Sentences whose most probable length is that of the reference: planned 50 % of 4, off by 0.8 tokens."
    )
    models = pd.DataFrame({"system": ["line", "model"], "error": [2.81, 2.6]})
    assert length_models_finding(models) == "Mean error of the predicted length, in tokens: model 2.6, line 2.8."
