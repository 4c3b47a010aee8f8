import pytest
from support.little_table import little_table

from nmtlab.analysis.access.ceiling import word_ceiling
from nmtlab.grids.results.signatures import ceilings
from nmtlab.workspace import Workspace

LINE = "He said that he doesn’t, and that he won’t"


def test_the_ceiling_of_rows_with_word_systems_scored_on_joined_text_is_known(tmp_path, make_corpus, tiny_recipe):
    folder = make_corpus()
    path = folder / "test.en"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([LINE, *lines[1:]]) + "\n", encoding="utf-8")
    workspace = Workspace(tmp_path / "data", (folder.parent,))
    table = little_table(tmp_path, tiny_recipe, metrics=("test-bleu",))
    assert ceilings(table, "tiny", workspace) == {
        "ha-en": pytest.approx(word_ceiling([LINE, *lines[1:]], "en", "moses"))
    }
    assert ceilings(little_table(tmp_path, tiny_recipe, metrics=("dev-bleu",)), "tiny", workspace) == {}
    subwords = tiny_recipe.with_changes({"text.segmentation": "bpe", "text.vocabulary_size": 60})
    assert ceilings(little_table(tmp_path, subwords, metrics=("test-bleu",)), "tiny", workspace) == {}


def test_a_ceiling_of_100_and_a_text_that_is_not_here_have_none(tmp_path, space, tiny_recipe):
    table = little_table(tmp_path, tiny_recipe, metrics=("test-bleu",))
    assert ceilings(table, "tiny", space) == {}
    assert ceilings(table, "tiny", Workspace(tmp_path / "nowhere", ())) == {}
