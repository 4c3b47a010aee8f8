"""Systems that are trained on the part of a text that is like their pairs."""

import json
from dataclasses import replace

import pytest

from nmtlab.errors import CorpusError
from nmtlab.grids.declared.corpora import NoisyCorpus, SelectedCorpus
from nmtlab.grids.declared.whole_corpora import SyntheticCorpus
from nmtlab.grids.running.cells import cells_of
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.thesis.tables.selected import ALL, RANDOM, SELECTED, SELECTION
from nmtlab.workspace import Workspace

PAIRS = SyntheticCorpus("few", "qaa", ArtificialSettings(vocabulary=100, names=3), train=300, dev=20, test=20)


def test_pairs_like_the_domain_are_those_that_are_not_noise(tmp_path):
    workspace = Workspace(tmp_path / "data")
    further = SyntheticCorpus("further", "qaa", PAIRS.settings, train=200, dev=1, test=1, start=10_000_000)
    third = replace(further, name="third", source="qad", start=20_000_000)
    noisy = NoisyCorpus(further, "wrong-language-target", 1.0, third=third)
    selected = SelectedCorpus(noisy, PAIRS, 200)
    assert selected.name == "further.wrong-language-target-100.200-like-few"
    corpus = selected.open(workspace)
    clean = list(further.open(workspace).pairs("train"))
    kept = list(corpus.pairs("train"))
    assert len(kept) == 200
    assert sum(pair in set(clean) for pair in kept) >= 180  # 100 would be chance
    assert list(selected.open(workspace).pairs("train")) == kept  # made once
    report = corpus.folder / "import.json"
    report.write_text(json.dumps(json.loads(report.read_text()) | {"options": {"keep": 100}}))
    with pytest.raises(CorpusError, match="made with keep = 100 instead of 200"):
        selected.open(workspace)


@pytest.mark.parametrize("scale", ["tiny", "small"])
def test_at_random_is_as_much_as_selected_of_a_text_as_mixed(scale):
    cells = {(cell.row, cell.column): cell for cell in cells_of(SELECTION, scale) if cell.seed == 1}
    for row in {row for row, _ in cells}:
        (mixed,), (drawn,), (selected,) = (cells[row, system].more for system in (ALL, RANDOM, SELECTED))
        assert (selected.whole, selected.like) == (mixed, cells[row, ALL].corpus)
        size = 2 * drawn.whole.train if isinstance(drawn, NoisyCorpus) else drawn.train
        assert size == selected.keep
