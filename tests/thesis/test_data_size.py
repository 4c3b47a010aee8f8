"""Table `data-size`: nested texts, and cells that earlier tables have trained."""

import pytest

from nmtlab.grids.running.cells import Cell, cells_of
from nmtlab.thesis.tables.data_size import DATA_SIZE
from nmtlab.thesis.tables.listing import find_table


@pytest.fixture(scope="module")
def cells() -> dict[tuple[str, str, int | None], Cell]:
    return {(cell.row, cell.column, cell.seed): cell for cell in cells_of(DATA_SIZE, "small")}


def test_cells_of_earlier_tables_are_the_same_trainings(cells):
    earlier = [cell for name in ("table-3.6", "table-3.13") for cell in cells_of(find_table(name), "small")]
    found = {cell.run: cell for cell in cells.values()}
    shared = [cell for cell in earlier if cell.run in found]
    assert {(cell.corpus.name, cell.column) for cell in shared} == {
        *(("small-tr-en", name) for name in ("Moses", "tied", "fixnorm+lex")),
        *(("small-qaa-en", name) for name in ("Moses", "tied", "fixnorm+lex", "PostNorm + LayerNorm")),
    }
    assert all((cell.recipe, cell.corpus) == (found[cell.run].recipe, found[cell.run].corpus) for cell in shared)


def test_recurrent_systems_have_as_many_updates_with_every_text_and_transformers_the_settings_of_theirs(cells):
    for (row, column, seed), cell in cells.items():
        recipe = cell.recipe.training
        if seed == 1 and column in ("tied", "fixnorm+lex") and row not in ("tr-en (10,000)", "qaa-en (8,000)"):
            assert recipe.validate_every * recipe.max_evaluations == 6000  # 24 epochs of 8,000 pairs
        if seed == 1 and column == "Transformer":
            assert recipe.validate_every * recipe.max_evaluations == 1200
            assert cell.recipe.text.vocabulary_size == 2000


def test_a_smaller_text_is_the_same_text_with_fewer_pairs(cells):
    texts = {cell.row: cell.corpus for cell in cells.values()}
    for languages, sizes in (("gl-en", 6), ("tr-en", 5), ("qaa-en", 6)):
        of_pair = [text for row, text in texts.items() if row.startswith(languages)]
        assert len({text.train for text in of_pair}) == sizes
        assert len({(text.dev, text.test, getattr(text, "parts", text.source)) for text in of_pair}) == 1
