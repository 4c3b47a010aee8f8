"""A person's grid as a file: what it says becomes a table, and what it cannot mean is named with its line."""

import json
import re
import shutil
from pathlib import Path

import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.corpora import FirstPairs
from nmtlab.grids.declared.declaration import GRID, Setup, Table
from nmtlab.grids.declared.example import EXAMPLE
from nmtlab.grids.declared.grid_file import portable, read_grid, stored_grid
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.declared.places import line_of
from nmtlab.grids.declared.whole_corpora import ExternalCorpus, SyntheticCorpus
from nmtlab.grids.running.cells import cells_of, trainings
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.workspace import Workspace

TWO = """
[[system]]
name = "plain"
recipe = "transformer-tiny"

[[system]]
name = "layered"
recipe = "transformer-tiny"
changes = { model.norm = "layer", "training.patience" = 3 }
"""
TINY = '\n[[text]]\ncorpus = "tiny"\n'


def read(folder: Path, text: str, workspace: Workspace) -> Table:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_grid(path, workspace)


def test_the_example_is_a_question_of_fifteen_lines_that_anybody_can_run(tmp_path, workspace):
    table = read(tmp_path, EXAMPLE, workspace)
    assert len([line for line in EXAMPLE.splitlines() if line.strip() and not line.startswith("#")]) <= 15
    assert (table.name, table.baseline, table.metrics) == ("mine", "tied", ("test-bleu", "test-chrf"))
    assert len(cells_of(table, GRID)) == 2 * 2 * 3
    assert [row_label(row, GRID) for row in table.rows] == ["qaa-en (1,000), artificial", "qaa-en (4,000), artificial"]
    assert not table.published


def test_what_is_not_said_is_usual(tmp_path, space):
    table = read(tmp_path, TWO + TINY, space)
    assert (table.title, table.metrics, table.baseline, table.seeds) == (
        "mine",
        ("test-bleu",),
        "plain",
        {GRID: (1, 2, 3)},
    )
    assert table.rows[0].at[GRID] == Setup(ExternalCorpus("tiny", "de", "en"))
    cell = next(cell for cell in cells_of(table, GRID) if cell.column == "layered")
    assert cell.run == "tiny.transformer-tiny.norm-layer.patience-3.s1"
    assert (cell.recipe.model.norm, cell.recipe.training.patience) == ("layer", 3)


def test_a_recurrent_system_splits_words_as_its_recipe_says(tmp_path, space):
    text = '[[system]]\nname = "a"\nrecipe = "tied-small"\n' + TINY
    assert {cell.recipe.text.word_rules for cell in cells_of(read(tmp_path, text, space), GRID)} == {"unicode"}


def test_changes_to_all_are_part_of_a_name_so_that_other_ones_are_other_runs(tmp_path, space):
    names = {
        cell.run
        for most in (3, 4)
        for cell in cells_of(
            read(tmp_path, f"changes = {{ training.max_evaluations = {most} }}\n{TWO}{TINY}", space), GRID
        )
    }
    assert len(names) == 2 * 2 * 3


def test_a_name_with_other_signs_or_too_long_still_names_a_run(tmp_path, space):
    names = ("lr_scale", "clip_norm", "label_smoothing", "word_dropout", "sampling_exponent", "min_learning_rate")
    long = ", ".join(f"training.{name} = 0.123456" for name in names)
    text = f'[[system]]\nname = "a"\nrecipe = "transformer-tiny"\nchanges = {{ {long} }}\n{TINY}'
    (name, *_) = [cell.run for cell in cells_of(read(tmp_path, text, space), GRID)]
    assert space.run_folder(name)
    assert len(name) < 140


def test_rows_are_the_first_pairs_of_a_text_and_all_of_it(tmp_path, space):
    table = read(tmp_path, TWO + '\n[[text]]\nname = "news"\ncorpus = "tiny"\nsizes = [50, 100, "all"]\n', space)
    whole = ExternalCorpus("tiny", "de", "en", "news")
    corpora = [row.at[GRID].corpus for row in table.rows]
    assert corpora == [FirstPairs(whole, 50), FirstPairs(whole, 100), whole]
    assert [row_label(row, GRID) for row in table.rows] == [
        "de-en (50), news",
        "de-en (100), news",
        "de-en (all), news",
    ]
    assert corpora[0].open(space).count("train") == 50


def test_directions_of_one_corpus_are_rows_with_runs_of_their_own(tmp_path, workspace):
    folder = workspace.data / "corpora" / "three"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        for code in ("gl", "pt", "en"):
            (folder / f"{split}.{code}").write_text(f"{code} a\n{code} b\n", encoding="utf-8")
    texts = "".join(
        f'[[text]]\nname = "{code}"\ncorpus = "three"\nsource = "{code}"\ntarget = "en"\nsizes = [1, "all"]\n'
        for code in ("gl", "pt")
    )
    table = read(tmp_path, TWO + texts, workspace)
    cells = trainings(cells_of(table, GRID))
    assert len(cells) == 2 * 2 * 2 * 3
    assert "three.pt-en.transformer-tiny.s1" in {cell.run for cell in cells}
    assert [row_label(row, GRID) for row in table.rows] == [
        "gl-en (1), gl", "gl-en (all), gl", "pt-en (1), pt", "pt-en (all), pt",
    ]  # fmt: skip
    texts = [row.at[GRID].corpus.open(workspace) for row in table.rows]
    assert [next(iter(text.pairs("train"))) for text in texts] == [("gl a", "en a")] * 2 + [("pt a", "en a")] * 2


def test_a_folder_is_found_from_the_folder_of_the_file(tmp_path, tiny_corpus, workspace, monkeypatch):
    (tmp_path / "grids").mkdir()
    (tmp_path / "texts").symlink_to(tiny_corpus.folder.parent)
    monkeypatch.chdir(tiny_corpus.folder)
    table = read(tmp_path / "grids", TWO + '\n[[text]]\ncorpus = "../texts/tiny"\n', workspace)
    assert table.rows[0].at[GRID].corpus.open(workspace).count("train") == tiny_corpus.count("train")
    assert cells_of(table, GRID)[0].run.startswith("tiny.")


def test_two_folders_of_one_name_are_refused_before_anything_is_trained(tmp_path, tiny_corpus, workspace):
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        shutil.copytree(tiny_corpus.folder, tmp_path / place / "news")
    texts = "".join(f'\n[[text]]\nname = "{place}"\ncorpus = "./{place}/news"\n' for place in ("here", "there"))
    with pytest.raises(NmtlabError, match=r"here/news has the name 'news', too, .* rename one of the folders"):
        read(tmp_path, TWO + texts, workspace)


def test_an_artificial_text_has_settings_and_its_name_has_them(tmp_path, workspace):
    text = '\n[[text]]\nname = "hard"\nartificial = "qab"\nsizes = [10]\nsettings = { ambiguity = 0.5 }\ndev = 20\n'
    table = read(tmp_path, TWO + text, workspace)
    corpus = table.rows[0].at[GRID].corpus
    settings = ArtificialSettings(ambiguity=0.5)
    assert corpus == SyntheticCorpus("artificial-qab-10.ambiguity-0.5.dev-20", "qab", settings, 10, 20, 500)
    assert row_label(table.rows[0], GRID) == "qab-en (hard, 10), artificial"


PARENT = """
[[parent]]
name = "near"
artificial = "qaa"
size = 60

[[system]]
name = "alone"
recipe = "transfer-bpe"

[[system]]
name = "child"
recipe = "transfer-bpe"
parent = "near"

[[text]]
artificial = "qab"
sizes = [20, 40]
"""


def test_all_sizes_of_a_text_share_a_parent_whose_sentences_are_far_away(tmp_path, workspace):
    table = read(tmp_path, f"seeds = [1]\n{PARENT}", workspace)
    order = trainings(cells_of(table, GRID))
    (parent,) = [cell for cell in order if cell.corpus.source == "qaa"]
    assert parent.corpus.start >= 1_000_000
    assert parent.also == table.rows[1].at[GRID].corpus
    children = [cell for cell in cells_of(table, GRID) if cell.column == "child"]
    assert [cell.recipe.transfer.parent for cell in children] == [parent.run] * 2


def test_a_system_starts_from_the_training_of_another_one(tmp_path, space):
    more = '\n[[system]]\nname = "further"\nbase = "plain"\nrecipe = "transformer-tiny"\n'
    more += "changes = { model.adapter_width = 8 }\n"
    cells = cells_of(read(tmp_path, TWO + more + TINY, space), GRID)
    plain, further = (next(cell for cell in cells if cell.column == name) for name in ("plain", "further"))
    assert [need.cell.run for need in further.needs] == [plain.run] == [further.recipe.transfer.parent]
    assert further.run == "tiny.transformer-tiny.adapter_width-8.from-plain.s1"
    assert len(trainings(cells)) == len(cells)


def test_two_trainings_with_one_name_are_refused(tmp_path, space):
    texts = []
    for folder, size in (("one", 64), ("two", 32)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my.toml").write_text(f'base = "transformer-tiny"\n[model]\nd_model = {size}\n')
        texts.append(f'[[system]]\nname = "{folder}"\nrecipe = "{folder}/my.toml"\n')
    table = read(tmp_path, "".join(texts) + TINY, space)
    with pytest.raises(NmtlabError, match=r"run 'tiny\.my\.s1': two different trainings have this name; change"):
        trainings(cells_of(table, GRID))


def test_a_stored_grid_is_read_where_its_files_are_gone(tmp_path, tiny_corpus, tiny_recipe, workspace):
    tiny_recipe.save(tmp_path / "my.toml")
    (tmp_path / "text").symlink_to(tiny_corpus.folder)
    text = '[[system]]\nname = "a"\nrecipe = "my.toml"\n[[text]]\ncorpus = "./text"\n'
    table = read(tmp_path, text, workspace)
    stored = tmp_path / "elsewhere" / "mine.grid.toml"
    stored.parent.mkdir()
    stored.write_text(portable(tmp_path / "mine.toml"), encoding="utf-8")
    assert stored_grid(stored, "mine", workspace) == table
    (tmp_path / "text").unlink()
    (tmp_path / "my.toml").unlink()
    without = stored_grid(stored, "mine", workspace)
    assert [row.name for row in without.rows] == [row.name for row in table.rows]
    assert "not found" in without.rows[0].at[GRID]
    assert [column.name for column in without.columns] == ["a"]


@pytest.mark.parametrize(
    ("old", "new", "where", "remedy"),
    [
        ('title = "', 'titel = "', "line 2: titel: no such field", "did you mean 'title'?"),
        ('recipe = "tied-small"  ', 'recipes = "tied-small"  ', "line 10: system.recipes: no such field", "'recipe'?"),
        ("artificial = ", "artifical = ", "line 18: text.artifical: no such field", "did you mean 'artificial'?"),
        ("[1, 2, 3]", "[]", "line 3: seeds: empty", "give at least one"),
        ("[1, 2, 3]", "[1, 2, 2]", "line 3: seeds: 2 twice", "give it once"),
        ("[1, 2, 3]", "[1, 2", "mine.toml: not TOML (", "correct that line"),
        ("[1, 2, 3]", '["1"]', "line 3: seeds: '1' is not allowed", "valid integer"),
        ('baseline = "tied"', 'baseline = "tide"', "line 5: baseline: no system 'tide'", "did you mean 'tied'?"),
        ('"test-chrf"', '"test-crhf"', "line 4: metrics: no metric 'test-crhf'", "did you mean 'test-chrf'?"),
        ("max_evaluations = 4", "most = 4", "line 6: changes: training.most: no such field", "did you mean"),
        ("max_evaluations = 4", "seed = 4", "line 6: changes: training.seed is set by the grid", "leave it out"),
        ("model.fixnorm = true", "model.fixnorm = 3", "line 15: system.changes: model.fixnorm = 3", "boolean"),
        ("model.fixnorm = true", "model.tied = true", "line 13: system.name: 'fixnorm' has the settings of 'tied'", ""),
        ('recipe = "tied-small"\n', 'recipe = "tied-smal"\n', "line 14: system.recipe: recipe 'tied-smal'", "-small'?"),
        ('name = "fixnorm"', 'name = "tied"', "line 13: system.name: 'tied' twice", "another name"),
        ('name = "fixnorm"', 'name = "x"\nparent = "y"', "line 14: system.parent: no parent 'y'", "[[parent]]"),
        ('name = "fixnorm"', 'name = "x"\nbase = "y"', "line 14: system.base: no system 'y'", "choose one of tied, x"),
        ('name = "fixnorm"', 'name = "x"\nbase = "x"', "line 14: system.base: a circle: 'x' starts from 'x'", "leave"),
        ('name = "fixnorm"', 'name = "x"\nbase = "tied"', "line 14: system.base: a second training on", "use a parent"),
        ('artificial = "qaa"', 'artificial = "qaz"', "line 18: text.artificial: no artificial language", "qaa, qab"),
        ('artificial = "qaa"', 'corpus = "gone"', "line 18: text.corpus: corpus 'gone': not found", "import"),
        ('artificial = "qaa"', 'corpus = "tiny"', "line 19: text.sizes: 1,000 pairs, but tiny has 300", "fewer, or"),
        ('artificial = "qaa"', 'dev = 0', "line 18: text.dev: 0 is not allowed", "greater than or equal to 1"),
        ('artificial = "qaa"', 'corpus = "tiny"\nartificial = "qaa"', "line 17: text: both corpus and artif", "give"),
        ('artificial = "qaa"', 'artificial = "qaa"\nsettings = { seed = -1 }', "line 19: text.settings:", "a number"),
        ('artificial = "qaa"', 'artificial = "qaa"\nsettings = { ambiguity = "x" }', "line 19: text.settings:", "0.0"),
        ('artificial = "qaa"', 'artificial = "qaa"\nsettings = { names = 1.5 }', "line 19: text.settings: names", "60"),
        ("[1000, 4000]", '[1000, "all"]', "line 19: text.sizes: an artificial language has no last pair", "[1000, 4"),
        ("[1000, 4000]", "[1000, 1000]", "line 19: text.sizes: 1000 twice", "give each size once"),
        ("[1000, 4000]", '[1000, "alle"]', "line 19: text.sizes: 'alle' is not allowed", "a number of pairs, or 'all'"),
        ("[[text]]", "[[texts]]", "line 17: texts: no such field", "did you mean 'text'?"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line_its_field_and_what_to_do(tmp_path, space, old, new, where, remedy):
    assert old in EXAMPLE
    with pytest.raises(NmtlabError) as told:
        read(tmp_path, EXAMPLE.replace(old, new, 1) if "recipe" not in old else _last(old, new), space)
    assert where in told.value.problem
    assert str(tmp_path / "mine.toml") in told.value.problem
    assert remedy in told.value.remedy


def _last(old: str, new: str) -> str:
    """Return the example with the last of something replaced."""
    before, _, after = EXAMPLE.rpartition(old)
    return before + new + after


def test_a_circle_of_several_systems_is_named(tmp_path, space):
    systems = "".join(
        f'[[system]]\nname = "{name}"\nrecipe = "transformer-tiny"\nbase = "{base}"\n'
        for name, base in ("ab", "bc", "ca")
    )
    with pytest.raises(
        NmtlabError, match=r"line 4: system\.base: a circle: 'a' starts from 'b' starts from 'c' starts from"
    ):
        read(tmp_path, systems + TINY, space)


def test_a_stored_grid_that_was_spoilt_is_refused_rather_than_followed(tmp_path, space):
    for base in ("plain", "gone"):
        text = TWO.replace("changes", f'base = "{base}"\nchanges') + TINY
        (tmp_path / "mine.grid.toml").write_text(text.replace('name = "plain"', f'name = "plain"\nbase = "{base}"'))
        with pytest.raises(NmtlabError, match=r"system\.base: (a circle|no system)"):
            stored_grid(tmp_path / "mine.grid.toml", "mine", space)


def test_a_file_that_is_missing_or_named_like_a_published_table_is_refused(tmp_path, workspace):
    with pytest.raises(NmtlabError, match=r"none\.toml: cannot be read .*'nmtlab grid --example' prints one"):
        read_grid(tmp_path / "none.toml", workspace)
    path = tmp_path / "table-3.6.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    with pytest.raises(NmtlabError, match="named like a published table; choose another name"):
        read_grid(path, workspace)


def test_a_field_is_found_on_its_line_however_it_is_written():
    text = 'a = 1\n[b]\n"c.d" = 2\n[[e]]\nf = 3\n[e.g]\nh = 4\n[[e]]\nf = { i = 5 }\nj.k = 6\n'
    places = {("a",): 1, ("b",): 2, ("b", "c.d"): 3, ("b", "c", "d"): 3, ("e", 0): 4, ("e", 0, "f"): 5,
              ("e", 0, "g.h"): 7, ("e", 1): 8, ("e", 1, "f", "i"): 9, ("e", 1, "j", "k"): 10, ("e", 1, "l"): 8,
              ("z",): 1}  # fmt: skip
    assert {place: line_of(text, place) for place in places} == places
    assert line_of(json.dumps("x"), ()) == 1


def test_the_file_that_the_guide_shows_can_be_read(tmp_path, space):
    guide = (Path(__file__).parents[2] / "docs/guide/grids.md").read_text(encoding="utf-8")
    shown, *_ = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    text = shown.replace('corpus = "ha-news"', 'corpus = "tiny"').replace("[500, 2000,", "[50, 200,")
    assert len(cells_of(read(tmp_path, text, space), GRID)) == 2 * 3 * 3
