"""Systems tested on another text than theirs, of which there is nothing to train on."""

from dataclasses import replace

import pytest
from support.little_table import little_table

from nmtlab.analysis.metrics import find_metric
from nmtlab.evaluation import bleu
from nmtlab.grids.declared.declaration import Setup
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.grids.results.collected import collected_cells
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.grid import run_grid
from nmtlab.runs.run import Run
from nmtlab.thesis.claims.verdicts import budget
from nmtlab.thesis.tables.listing import find_table

NEWS = "ntrex-de-en"


@pytest.fixture
def table(tmp_path, tiny_recipe):
    """Two systems trained on the corpus `tiny`, and tested on news."""
    recipe = tiny_recipe.with_changes({"training.max_evaluations": 1})
    table = little_table(tmp_path, recipe, seeds=(1,), metrics=("ntrex-bleu",))
    row = table.rows[0]
    setup = replace(row.at["tiny"], tested=ExternalCorpus(NEWS, "de", "en", "NTREX"))
    return replace(table, rows=(replace(row, at={**row.at, "tiny": setup}),), published=False)


def test_a_system_is_trained_on_its_text_and_scored_on_the_other(space, table):
    workspace = space
    news = workspace.data / "corpora" / NEWS
    news.mkdir(parents=True)
    references = ["a little house", "the dog sees a man", "no"]
    (news / "test.de").write_text("ein kleines Haus\nder Hund sieht einen Mann\nnein\n", encoding="utf-8")
    (news / "test.en").write_text("".join(f"{line}\n" for line in references), encoding="utf-8")

    cells = cells_of(table, "tiny")
    assert {cell.corpus.name for cell in cells} == {"tiny"}
    assert run_grid(cells, workspace) == []
    found = collected_cells(table, "tiny", workspace)
    assert found["corpus"].unique().tolist() == [NEWS]
    for line in found.itertuples():
        run = Run(workspace.run_folder(line.run))
        assert run.recipe.corpus.name == "tiny"
        (stored,) = (run.folder / "translations").glob("test-*.txt")
        hypotheses = stored.read_text(encoding="utf-8").splitlines()
        assert len(hypotheses) == len(references)
        assert line.value == pytest.approx(bleu(hypotheses, [references]).value)
    assert row_label(table.rows[0], "tiny") == "de-en, tiny, tested on NTREX"
    assert budget(found, table.rows[0], "tiny", find_metric(table.metrics[0])).endswith(
        "all sentence pairs of tiny, tested on NTREX"
    )


def test_news_is_translated_by_the_trainings_of_the_tables_that_are_trained_out():
    for name in ("table-3.6", "table-3.13-trained-out"):
        trained = {cell.run: cell.recipe for cell in cells_of(find_table(name), "small")}
        cells = cells_of(find_table(f"{name}-ntrex"), "small")
        assert cells
        assert all(trained[cell.run] == cell.recipe for cell in cells)
        for cell in cells:
            (text,) = cell.texts
            assert (text.source, text.target) == (cell.corpus.source, cell.corpus.target)
            assert text.name == f"ntrex-{'ja' if text.target == 'ja' else text.source}-en"


def test_an_artificial_language_has_no_news_and_at_the_tiny_scale_other_sentences():
    (row,) = find_table("table-3.6-ntrex").only(["qaa-en"]).rows
    assert row.at["small"] == "NTREX has no artificial language"
    tiny = row.at["tiny"]
    assert isinstance(tiny, Setup)
    assert (tiny.tested.settings, tiny.tested.name != tiny.corpus.name) == (tiny.corpus.settings, True)
    assert tiny.tested.start > tiny.corpus.start + tiny.corpus.train
