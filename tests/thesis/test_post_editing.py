"""Table `post-editing`: its triplets, and which system reads which of them."""

from dataclasses import replace

import pytest

from nmtlab.errors import CorpusError
from nmtlab.grids.declared.corpora import DamagedTriplets, SeveralSources
from nmtlab.grids.declared.labels import text_title
from nmtlab.grids.declared.whole_corpora import SyntheticCorpus
from nmtlab.grids.running.cells import cells_of
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.thesis.tables.post_editing import POST_EDITING
from nmtlab.workspace import Workspace

WHOLE = SyntheticCorpus("whole", "qaa", ArtificialSettings(vocabulary=100, names=3), train=60, dev=10, test=10)
TRIPLETS = DamagedTriplets(WHOLE, 0.2)


def test_triplets_have_the_pairs_of_their_corpus_and_damaged_references(tmp_path):
    workspace = Workspace(tmp_path / "data")
    pairs = list(WHOLE.open(workspace).pairs("train"))
    found = SeveralSources(TRIPLETS, ("en-x-mt",)).open(workspace)
    rows = list(found.rows("train"))
    assert found.folder.name == TRIPLETS.name == "whole.damaged-20"
    assert [(source, target) for source, _, target in rows] == pairs
    same = [machine.split() == target.split() for _, machine, target in rows]
    assert 0 < sum(same) < len(same)
    assert list(TRIPLETS.open(workspace).pairs("train")) == pairs
    assert text_title(TRIPLETS) == "artificial"


def test_triplets_of_another_text_are_not_used_again(tmp_path):
    workspace = Workspace(tmp_path / "data")
    folder = TRIPLETS.open(workspace).folder
    other = DamagedTriplets(replace(WHOLE, name="other"), 0.1).open(workspace).folder
    other.rename(folder.with_name("elsewhere"))
    folder.rename(other)
    with pytest.raises(CorpusError, match=r"damage = 0.2 instead of 0.1"):
        DamagedTriplets(replace(WHOLE, name="other"), 0.1).open(workspace)


def test_editors_read_source_and_translation_and_all_are_tested_on_the_same_text():
    cells = {(cell.row, cell.column): cell for cell in cells_of(POST_EDITING, "small") if cell.seed == 1}
    assert {row for row, _ in cells} == {"qaa-en (1,000)", "qaa-en (4,000)"}
    for (_, column), cell in cells.items():
        assert cell.recipe.corpus.also_sources == (() if column == "source alone" else ("en-x-mt",))
        assert [text.source for text in cell.texts] == ["qaa"]
