"""Table `architectures`: networks of equal size, on the same text, with as many updates."""

import numpy as np
import pytest

from nmtlab.grids.running.cells import Cell, cells_of
from nmtlab.models.build import ModelText, build_model
from nmtlab.thesis.tables.architectures import ARCHITECTURES, TRANSFORMER


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return [cell for cell in cells_of(ARCHITECTURES, "small") if cell.seed == 1]


def parameters(cell: Cell) -> int:
    types = cell.recipe.text.vocabulary_size
    model = build_model(cell.recipe.model, ModelText(types, np.ones(types, bool), joint=True))
    return sum(parameter.numel() for parameter in model.parameters())


def test_all_networks_have_as_many_parameters_as_the_transformer(cells):
    counts = {cell.column: parameters(cell) for cell in cells if cell.row == "tr-en (500)"}
    assert len(counts) == 5
    assert list(counts.values()) == pytest.approx([counts[TRANSFORMER.name]] * 5, rel=0.05)


def test_all_networks_read_the_same_text_in_the_same_batches_for_as_many_updates(cells):
    assert len({(cell.recipe.text, cell.recipe.search) for cell in cells}) == 1
    alike = ("batch_tokens", "batch_sentences", "label_smoothing", "validate_every", "max_evaluations", "patience")
    assert len({tuple(getattr(cell.recipe.training, field) for field in alike) for cell in cells}) == 1


def test_each_text_has_three_sizes(cells):
    sizes = {}
    for cell in cells:
        sizes.setdefault(cell.corpus.source, set()).add(cell.corpus.train)
    assert sizes == {"gl": {500, 2000, 8000}, "tr": {500, 2000, 10_000}, "qaa": {500, 2000, 8000}}
