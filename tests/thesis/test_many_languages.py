"""Tables on many languages: one training for several rows, systems on a base, zero-shot rows."""

from dataclasses import replace

import pytest

from nmtlab.analysis.metrics import find_metric, scored_text, scorer_of, stored_lines, sums_among
from nmtlab.errors import RunError
from nmtlab.grids.results.collected import collected_cells, made_rows
from nmtlab.grids.results.hypotheses import hypotheses
from nmtlab.grids.results.sentences import ALONE, sentence_spreads
from nmtlab.grids.running.cells import Cell, cells_of, made_run, run_cell, trainings
from nmtlab.grids.running.estimate import estimate_grid
from nmtlab.runs.run import Run
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

MANY, ZERO_SHOT = find_table("many-languages"), find_table("zero-shot")
SHARED = "tiny-many.many-to-many.many-shared.s1"


def cells(name: str, row: str, column: str, scale: str = "small") -> list[Cell]:
    return [cell for cell in cells_of(find_table(name), scale) if (cell.row, cell.column) == (row, column)]


def test_rows_of_one_set_of_texts_share_a_training_that_translates_all_their_texts():
    into, back = (cells("many-languages", row, "shared, many-to-many")[0] for row in ("gl-en", "en-gl"))
    assert into.run == back.run == "iberian.many-to-many.many-shared.lr_scale-0.35.s1"
    assert into.recipe == back.recipe
    directions = [(one.source, one.target) for one in into.recipe.corpora]
    assert directions == [("pt", "en"), ("es", "en"), ("gl", "en"), ("en", "pt"), ("en", "es"), ("en", "gl")]
    (one,) = trainings([into, back])
    assert [(text.source, text.target) for text in one.texts] == [("gl", "en"), ("en", "gl")]
    assert one.corpora[0] == into.corpus


def test_separate_models_of_both_directions_are_different_trainings():
    into, back = (cells("many-languages", row, "separate")[0] for row in ("gl-en", "en-gl"))
    assert into.run == "many-gl-en.many-shared.lr_scale-0.35.patience-4.s1"
    assert back.run == "many-gl-en.en-gl.many-shared.lr_scale-0.35.patience-4.s1"
    assert not into.recipe.more_corpora
    assert (back.recipe.corpus.source, back.recipe.corpus.target) == ("en", "gl")


def test_a_system_on_a_base_starts_from_half_of_its_training():
    (cell, *_) = cells("many-languages", "gl-en", "adapters on a frozen model, many-to-many")
    assert cell.needs[0].cell.run == "iberian.many-to-many.many-shared.lr_scale-0.35.max_evaluations-5.s1"
    assert cell.needs[0].cell.run in {one.run for one in cells_of(find_table("many-languages-tuning"), "small")}
    assert cell.recipe.transfer.parent == cell.needs[0].cell.run
    whole = cells("many-languages", "gl-en", "shared, many-to-many")[0].recipe
    halves = (cell.recipe.training.max_evaluations, cell.needs[0].cell.recipe.training.max_evaluations)
    assert sum(halves) == whole.training.max_evaluations
    assert cell.needs[0].cell.recipe.model == whole.model
    assert cell.recipe.transfer.encoder == "freeze"
    assert [one.run for one in trainings([cell])] == [cell.needs[0].cell.run, cell.run]


def test_zero_shot_rows_are_those_of_no_training_and_use_the_same_runs_but_for_the_turkic_ones():
    trained = {cell.run for cell in cells_of(MANY, "small")}
    for cell in cells_of(ZERO_SHOT, "small"):
        assert (cell.run in trained) != cell.run.startswith("turkic")
        assert all((one.source, one.target) != tuple(cell.row.split("-")) for one in cell.recipe.corpora)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Workspace:
    """A workspace with the tiny shared model of both languages in all directions."""
    workspace = Workspace(tmp_path_factory.mktemp("many") / "data")
    for table in (MANY, ZERO_SHOT):
        (cell,) = trainings([cell for cell in cells_of(table, "tiny") if cell.run == SHARED])
        run_cell(cell, workspace)
    return workspace


def test_one_training_gives_the_numbers_of_every_row(made):
    found = collected_cells(MANY, "tiny", made)
    measured = found[found["run"] == SHARED].set_index(["row", "metric"])
    assert sorted(measured.index.unique("row")) == ["en-qaa", "en-qab", "qaa-en", "qab-en"]
    assert measured["value"].notna().all()
    assert measured["value"].between(0, 100).all()
    assert measured.loc[("en-qaa", "test-chrf"), "value"] != measured.loc[("qaa-en", "test-chrf"), "value"]
    assert measured["corpus"].tolist()[0] == "tiny-many-qaa-en"


def test_zero_shot_directions_are_compared_with_a_way_through_english(made):
    found = collected_cells(ZERO_SHOT, "tiny", made)
    measured = found[found["run"] == SHARED].pivot(index="row", columns="metric", values="value")
    assert list(measured.index) == ["qaa-qab", "qab-qaa"]
    assert set(measured) == {"detokenized-test-bleu", "pivot-bleu", "off-target"}
    assert measured.notna().all().all()
    kept = hypotheses(ZERO_SHOT, "tiny", made)
    by_measure = kept[kept["row"] == "qaa-qab"].groupby("measure")["translation"].size()
    assert by_measure.to_dict() == {"": 30, "test BLEU through English": 30}
    run = Run(made.run_folder(SHARED))
    through = find_metric("pivot-bleu")
    corpus = next(text for cells, text, _ in made_rows(ZERO_SHOT, "tiny", made) if cells[0].row == "qaa-qab")
    lines = stored_lines(through, run, corpus)
    text = scored_text(through, corpus, run)
    assert scorer_of(through, "qab").corpus_score(lines, text.references).score == measured.loc["qaa-qab", through.key]


def test_the_translations_that_are_off_target_are_those_of_the_share(made):
    found = collected_cells(ZERO_SHOT, "tiny", made)
    off_target = find_metric("off-target")
    shares = found[(found["run"] == SHARED) & (found["metric"] == off_target.key)].set_index("row")["value"]
    for (cell, *_), corpus, runs in made_rows(ZERO_SHOT, "tiny", made):
        lines = stored_lines(find_metric(off_target.translations), runs[SHARED], corpus)
        amount, of = sums_among(off_target, lines, runs[SHARED], corpus).sum(axis=0)
        assert amount / of == pytest.approx(shares[cell.row])
    spreads = sentence_spreads(ZERO_SHOT, "tiny", made, hypotheses(ZERO_SHOT, "tiny", made), [])
    assert set(spreads[spreads["metric"] == off_target.key]["than"]) == {ALONE}


def test_the_estimate_has_a_line_for_each_training_of_several_texts(made):
    wanted = [cell for cell in cells_of(MANY, "tiny") if cell.run in (SHARED, SHARED.replace(".s1", ".s2"))]
    estimate = estimate_grid(wanted, made).set_index("run")
    assert list(estimate.index) == [SHARED, SHARED.replace(".s1", ".s2")]
    assert estimate.loc[SHARED, "minutes"] == 0


def test_a_run_on_other_texts_is_refused(made):
    cell = next(cell for cell in cells_of(MANY, "tiny") if cell.run == SHARED)
    fewer = replace(cell, recipe=cell.recipe.model_copy(update={"more_corpora": cell.recipe.more_corpora[:1]}))
    with pytest.raises(RunError, match="more_corpora"):
        made_run(fewer, cell.corpus.open(made), made)
