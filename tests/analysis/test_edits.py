"""Edits against attention: TER of sacrebleu, a correlation worked by hand, and what a run without edits is told."""

from shutil import copytree, ignore_patterns

import numpy as np
import pandas as pd
import pytest
from sacrebleu.metrics import TER
from scipy import stats

from nmtlab.analysis.access.needs import check_needs
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.attention.edits import EDITS, edits, edits_figure, edits_finding, edits_summary
from nmtlab.analysis.attention.focus import focus
from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.errors import RunError
from nmtlab.runs.run import Run

HAND = pd.DataFrame(
    {"line": [1, 2, 4], "words": [4, 5, 10], "before": [2, 0, 10], "after": [1, 0, 8], "mass": [0.5, 0.1, 0.6]}
).assign(run="editor")


def test_the_correlation_is_pearsons_of_edit_rate_and_attention():
    (row,) = edits_summary(HAND).itertuples()
    assert (row.sentences, row.unedited, row.edited) == (3, pytest.approx(1200 / 19), pytest.approx(900 / 19))
    assert row.correlation == pytest.approx(stats.pearsonr([50, 0, 100], [0.5, 0.1, 0.6]).statistic)
    assert edits_finding(HAND) == (
        "Edit rate against the attention to the source: editor has a correlation of 0.94 over 3 sentences, and a TER "
        "of 47.4 after 63.2."
    )
    (points,) = edits_figure(HAND).data
    assert (list(points.x), list(points.y)) == ([50, 0, 100], [0.5, 0.1, 0.6])


@pytest.mark.parametrize("some", [HAND.head(2), HAND.assign(mass=0.5), HAND.assign(before=0)])
def test_there_is_no_correlation_of_two_points_or_of_what_does_not_vary(some):
    assert np.isnan(edits_summary(some)["correlation"].item())
    assert "no correlation" in edits_finding(some)


def test_nothing_is_said_of_nothing():
    assert edits_finding(HAND.head(0)) == ""
    assert not edits_figure(HAND.head(0)).data


def test_a_run_is_measured_sentence_by_sentence(editor):
    run, corpus, _ = editor
    found = edits(run, corpus, "test", limit=6)
    machine, right = (list(corpus.lines("test", code)) for code in ("en-x-mt", "en"))
    edited = translations(run, corpus, "test")
    weights = focus(run, corpus, "test", limit=6)
    for row in found.itertuples():
        at = row.line - 1
        for lines, number in ((machine, row.before), (edited, row.after)):
            score = TER().sentence_score(lines[at], [right[at]])
            assert (number, row.words) == (score.num_edits, score.ref_length)
        of_line = weights[(weights["line"] == row.line) & (weights["source"] == "de")]
        assert row.mass == pytest.approx(of_line["mass"].mean(), abs=1e-6, nan_ok=True)
        assert np.isnan(row.mass) == (edited[at] == "")


def test_a_table_quotes_its_sums_over_the_test_text(editor):
    run, corpus, _ = editor
    found = edits(run, corpus, "test")
    assert len(found) == corpus.count("test")
    total = found[["words", "before", "after"]].sum()
    assert value_of(find_metric("test-ter"), run, corpus) == pytest.approx(100 * total["after"] / total["words"])
    saved = 100 * (total["before"] - total["after"]) / total["words"]
    assert value_of(find_metric("edits-saved"), run, corpus) == pytest.approx(saved)


def test_an_editor_with_an_attention_to_each_source_has_edits_but_no_share(editor, tmp_path):
    run, corpus, _ = editor
    joint = edits(run, corpus, "test")
    # with the same translations, and none of its answers
    other = copytree(run.folder, tmp_path / "other", ignore=ignore_patterns("measures"))
    recipe = other / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('"joint"', '"separate"'))
    separate = Run(other)
    assert not separate.recipe.model.joint_attention
    found = EDITS.of(separate, corpus=corpus, split="test")
    pd.testing.assert_frame_equal(found, joint.assign(mass=np.nan))
    for key in ("test-ter", "edits-saved"):
        assert value_of(find_metric(key), separate, corpus) == value_of(find_metric(key), run, corpus)
    assert np.isnan(value_of(find_metric("from-first"), separate, corpus))


def test_a_run_without_machine_translations_is_refused(editor, tmp_path):
    other = copytree(editor.run.folder, tmp_path / "other")
    recipe = other / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("en-x-mt", "nl"))
    with pytest.raises(RunError, match="none of its sources is a machine translation to be edited"):
        check_needs(Run(other), EDITS.needs)
    check_needs(editor.run, EDITS.needs)
