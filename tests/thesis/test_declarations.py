"""The published tables: declared completely, and with the printed values."""

import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.declaration import SCALES, Scale, Setup
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus
from nmtlab.grids.results.collected import published
from nmtlab.grids.running.cells import Cell, cells_of, trainings
from nmtlab.recipe import find_recipe
from nmtlab.thesis.tables.listing import TABLES, find_table
from nmtlab.workspace import Workspace

SHARED = Path(__file__).parents[2].parent / "shared"
NAMES = [table.name for table in TABLES]
PRINTED = [table.name for table in TABLES if table.published]
OF_THESIS = [name for name in PRINTED if name.startswith("table-")]
PUBLISHED = pd.concat([published(name) for name in OF_THESIS])


@cache
def planned(name: str, scale: Scale) -> list[Cell]:
    """Return the cells of a table, which several tests read."""
    return cells_of(find_table(name), scale)


def printed_numbers(line: str) -> list[float]:
    """Return the numbers in a line of the thesis in order, except those in its first word and in parentheses."""
    without = re.sub(r"\([^)]*\)|^\S+", "", line)
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", without)]


_ASKED_HERE = {"copying": {"rarest-recall"}, "grammar": {"over-left-branching"}}


@pytest.mark.parametrize("name", PRINTED)
def test_every_published_cell_is_declared_at_the_scale_of_the_thesis_or_has_a_reason_why_not(name):
    table = find_table(name)
    declared = {(cell.row, cell.column) for cell in planned(name, "thesis")}
    not_run = {row.name: row.at["thesis"] for row in table.rows if isinstance(row.at["thesis"], str)}
    cells = {(line.row, line.column) for line in published(name).itertuples()}
    assert cells
    assert {(row, column) for row, column in cells - declared if not not_run.get(row)} == set()
    metrics = {line.metric for line in published(name).itertuples()}
    assert metrics == {*table.metrics} - _ASKED_HERE.get(name, set())


@pytest.mark.parametrize("name", PRINTED)
def test_every_declared_cell_of_the_thesis_is_published(name):
    declared = {(cell.row, cell.column) for cell in planned(name, "thesis")}
    assert declared <= {(line.row, line.column) for line in published(name).itertuples()}


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_each_scale_runs_something_and_says_why_it_leaves_rows_out(name):
    table = find_table(name)
    for scale in SCALES:
        assert planned(name, scale)
        assert all(row.at[scale] for row in table.rows)
        run = [row.name for row in table.rows if isinstance(row.at[scale], Setup)]
        wanted = {one.name for one in table.columns if any((row, one.name) not in table.left_out for row in run)}
        assert {cell.column for cell in planned(name, scale)} == wanted
    assert all(table.left_out.values())


@pytest.mark.parametrize("name", NAMES)
def test_rows_systems_and_baseline_of_exceptions_exist(name):
    table = find_table(name)
    rows, systems = {row.name for row in table.rows}, {system.name for system in table.columns}
    assert {row for row, _ in (*table.exceptions, *table.left_out)} <= rows
    assert {system for _, system in (*table.exceptions, *table.left_out)} <= systems
    assert not table.baseline or table.baseline in systems
    assert len(rows) == len(table.rows)
    assert len(systems) == len(table.columns)


@pytest.mark.full
def test_cells_of_the_same_name_are_the_same_training_in_every_table():
    found = {}
    for cell in (cell for table in TABLES for scale in SCALES for cell in planned(table.name, scale)):
        recipe, corpus = found.setdefault(cell.run, (cell.recipe, cell.corpus))
        assert (recipe, corpus) == (cell.recipe, cell.corpus), cell.run
    of = {name: {cell.run for cell in planned(name, "small")} for name in NAMES}
    assert "small-ha-en.tied.s1" in of["table-3.4"] & of["table-3.6"]
    assert "small-tr-en.fixnorm.s1" in of["table-3.4"] & of["table-3.8"]
    assert "small-tr-en.fixnorm.radius-3.s2" in of["table-3.8"]
    assert "small-tr-en.fixnorm-lex-bpe.s1" in of["table-3.10"]
    for table in TABLES:
        names = [(cell.row, cell.run) for cell in planned(table.name, "small")]
        assert len(names) == len(set(names))


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_every_training_has_a_name_that_is_allowed(name, tmp_path):
    workspace = Workspace(tmp_path)
    for cell in (cell for scale in SCALES for cell in trainings(planned(name, scale))):
        assert workspace.run_folder(cell.run).name == cell.run


def test_the_small_scale_has_three_real_pairs_into_english_or_more_and_two_artificial_languages():
    setups = [row.at["small"] for row in find_table("table-3.6").rows]
    corpora = [setup.corpus for setup in setups if isinstance(setup, Setup)]
    assert sum(isinstance(corpus, ConcatenatedCorpus) and corpus.target == "en" for corpus in corpora) >= 3
    assert [corpus.source for corpus in corpora if not isinstance(corpus, ConcatenatedCorpus)] == ["qaa", "qad"]
    assert all(corpus.dev <= 300 for corpus in corpora)


@pytest.mark.full  # near the limit of the quick tier on a slow machine
@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="no real corpora beside the checkout")
def test_the_parts_of_the_small_corpora_are_those_at_hand():
    for table in TABLES:
        for cell in planned(table.name, "small"):
            for part in getattr(cell.corpus, "parts", ()):
                assert (SHARED / "data" / part / f"train.{cell.corpus.source}").exists() or (
                    SHARED / "data" / part / f"train.{cell.corpus.source}.xz"
                ).exists()


def test_the_thesis_sizes_are_those_of_table_3_5():
    cells = {(cell.row, cell.column): cell.recipe for cell in planned("table-3.6", "thesis")}
    sizes = {row: (cells[row, "tied"].model.layers, cells[row, "tied"].model.d_model) for row, _ in cells}
    assert sizes == {
        "ta-en": (1, 512), "ur-en": (1, 512), "ha-en": (2, 512), "tu-en": (2, 512), "uz-en": (2, 512),
        "hu-en": (2, 512), "en-vi": (2, 512), "en-ja (BTEC)": (4, 768), "en-ja (KFTT)": (4, 768),
    }  # fmt: skip
    assert cells["en-ja (BTEC)", "fixnorm"].model.radius == 7
    assert {recipe.model.radius for (row, column), recipe in cells.items() if column == "fixnorm+lex"} == {3.5}
    assert {recipe.training.max_evaluations for (_, column), recipe in cells.items() if column == "tied"} == {50}
    pieces = {cell.row: cell.recipe for cell in planned("table-3.10", "thesis")}
    assert {row: recipe.text.vocabulary_size for row, recipe in pieces.items()} == {
        "ta-en": 3000, "ur-en": 3000, "ha-en": 12000, "tu-en": 12000, "uz-en": 12000, "hu-en": 12000, "en-vi": 12000,
        "en-de (newstest2014)": 32000,
    }  # fmt: skip
    assert {recipe.training.max_evaluations for recipe in pieces.values()} == {25}


@pytest.mark.parametrize(("pair", "recipe"), [("en-vi", "thesis-ted"), ("gl-en", "thesis-ted-gl")])
def test_the_thesis_sizes_are_those_of_table_3_11_as_its_recipes_have_them(pair, recipe):
    cells = [cell for cell in planned("table-3.13", "thesis") if cell.row == pair]
    own, named = cells[-1].recipe, find_recipe(recipe)
    assert cells[-1].column == "PreNorm + fixnorm + ScaleNorm"
    assert own.model == named.model
    assert own.training == named.training
    assert own.search == named.search
    assert own.text == named.text
    assert {cell.recipe.model.placement for cell in cells[:1]} == {"post"}


def test_warm_ups_and_depths_are_those_of_tables_3_12_and_3_15():
    for scale, shortest in (("thesis", 4000), ("small", 100), ("tiny", 10)):
        cells = [cell for cell in planned("table-3.12", scale) if cell.seed == 1]
        warmups = [cell.recipe.training.warmup_updates for cell in cells[:12]]
        assert warmups == [shortest, 2 * shortest, 4 * shortest] * 4
        assert [cell.recipe.model.init for cell in cells[:12]] == ["xavier"] * 6 + ["small"] * 6
        assert {cell.recipe.model.decoder_layers for cell in cells} == {6}
        deep = [cell for cell in planned("table-3.15", scale) if cell.seed == 1]
        assert [cell.recipe.model.encoder_layers for cell in deep[:6]] == [4, 5, 6] * 2
        assert {cell.recipe.training.schedule for cell in deep} == {"no-warmup"}


@pytest.mark.parametrize(
    ("name", "column", "scales"),
    [("table-3.14", "NoWarmup", SCALES), ("table-3.15", "PreNorm, 6 layers", ("small", "thesis"))],
)
def test_a_constant_rate_is_to_the_peak_of_the_warm_up_as_in_the_thesis(name, column, scales):
    for scale in scales:
        for cell in planned(name, scale):
            settings = cell.recipe.training
            peak = settings.lr_scale / (cell.recipe.model.d_model * settings.warmup_updates) ** 0.5
            if cell.column == column:
                assert settings.learning_rate / peak == pytest.approx(3e-4 * (512 * 8000) ** 0.5, rel=0.06)


def test_a_system_may_differ_otherwise_at_each_scale():
    rates = {
        scale: {cell.column: cell.recipe.training.lr_scale for cell in planned("table-3.14", scale)} for scale in SCALES
    }
    for scale in SCALES:
        assert rates[scale]["ValDecay + 2×LR"] == pytest.approx(2 * rates[scale]["ValDecay"])
    assert rates["thesis"]["ValDecay"] == 1


def test_what_has_no_seed_is_one_cell_for_all_seeds():
    cells = [cell for cell in planned("table-3.6", "small") if cell.row == "ha-en"]
    moses = [cell for cell in cells if cell.column == "Moses"]
    assert [(cell.run, cell.seed) for cell in moses] == [("small-ha-en.moses", None)]
    assert [cell.seed for cell in cells if cell.column == "tied"] == [1, 2, 3]


# The published values


def test_published_differences_are_those_to_tied_but_for_one_that_the_thesis_printed_wrongly():
    printed = PUBLISHED[PUBLISHED["difference"] != ""]
    tied = PUBLISHED[PUBLISHED["column"] == "tied"]
    values = {(line.table, line.row, "tied"): float(line.value) for line in tied.itertuples()}
    wrong = [
        (line.row, line.column)
        for line in printed.itertuples()
        if abs(float(line.value) - values[line.table, line.row, "tied"] - float(line.difference)) > 0.051
    ]
    assert wrong == [("en-ja (BTEC)", "fixnorm+lex")]


def test_only_the_differences_that_the_thesis_calls_insignificant_have_a_dagger():
    own = PUBLISHED[~PUBLISHED["table"].isin(["table-3.2", "table-3.13"])]  # which mark significant differences instead
    marked = [(line.row, line.column) for line in own.itertuples() if line.mark]
    assert marked == [("hu-en", "Arthur")] + [("en-ja (BTEC)", name) for name in ("fixnorm", "fixnorm+lex", "Arthur")]
    assert set(own["mark"]) == {"", "†"}


def test_what_two_tables_print_of_the_same_cell_agrees():
    values = PUBLISHED[PUBLISHED["metric"] == "dev-bleu"].set_index(["table", "column", "row"])["value"]
    assert values["table-3.4", "fixnorm", "tu-en"] == values["table-3.8", "fixnorm r=5", "tu-en"] == "16.1"


@pytest.mark.skipif(not (SHARED / "seeds").is_dir(), reason="the thesis is not beside the checkout")
def test_the_published_values_are_those_of_the_thesis():
    (thesis,) = (SHARED / "seeds").glob("000_*.txt")
    printed = [printed_numbers(line) for line in thesis.read_text(encoding="utf-8").splitlines()]
    lines = {  # what is on one line of the thesis
        "table-3.4": [group for _, group in published("table-3.4").groupby("column")],
        "table-3.6": [group for _, group in published("table-3.6").groupby("row")],
        "table-3.8": [group for _, group in published("table-3.8").groupby("column")],
        "table-3.10": [group for _, group in published("table-3.10").groupby("row")],
        "table-3.12": _in_lines("table-3.12", r" \S+$"),
        "table-3.13": _in_lines("table-3.13", "$"),
        "table-3.14": _in_lines("table-3.14", "$"),
        "table-3.15": _in_lines("table-3.15", ",.*$"),
        "table-3.16": _in_lines("table-3.16", "$"),
        "table-3.17": _in_lines("table-3.17", "$"),
    }
    assert ["table-3.2", "table-3.3", *lines] == OF_THESIS
    assert {name: len(groups) for name, groups in lines.items()} == {
        "table-3.4": 4, "table-3.6": 9, "table-3.8": 6, "table-3.10": 9,
        "table-3.12": 4, "table-3.13": 4, "table-3.14": 5, "table-3.15": 2, "table-3.16": 4, "table-3.17": 5,
    }  # fmt: skip
    for name, groups in lines.items():
        for group in groups:
            before = [float(group["column"].iloc[0].rpartition("=")[2])] if name == "table-3.8" else []
            before += [2.0] if group["column"].iloc[0].endswith("2×LR") else []
            values = before + [float(value) for value in group["value"] if not value.startswith("fail")]
            after = 1 if name == "table-3.13" else 0  # the average
            assert values in [line[: len(line) - after] for line in printed], group


@pytest.mark.skipif(not (SHARED / "seeds").is_dir(), reason="the thesis is not beside the checkout")
def test_the_published_values_of_table_3_2_are_printed_with_sizes_between_words_and_bpe_in_turn():
    (thesis,) = (SHARED / "seeds").glob("000_*.txt")
    printed = [printed_numbers(line) for line in thesis.read_text(encoding="utf-8").splitlines()]
    values = published("table-3.2").set_index(["row", "column"])["value"].astype(float)
    for pair, sizes in (("Tur-Eng", [30, 10, 30, 20, 30]), ("Uyg-Eng", [15, 10, 15, 8, 15])):
        words, transfer, freeze, bpe, bpe_transfer = values[pair]
        line = [words, bpe, *sizes[:2], transfer, bpe_transfer, *sizes[2:4], freeze, sizes[4]]
        assert line in printed


@pytest.mark.skipif(not (SHARED / "seeds").is_dir(), reason="the thesis is not beside the checkout")
def test_the_published_values_of_table_3_3_are_printed():
    (thesis,) = (SHARED / "seeds").glob("000_*.txt")
    printed = thesis.read_text(encoding="utf-8")
    for _, group in published("table-3.3").groupby(["row", "column"], sort=False):
        train, dev = group["value"]
        assert re.search(rf"{re.escape(train)}%\s+{re.escape(dev)}%", printed)


@pytest.mark.skipif(not (SHARED / "seeds").is_dir(), reason="the thesis is not beside the checkout")
@pytest.mark.parametrize("name", ["table-3.1", "table-3.5"])
def test_the_published_statistics_of_texts_and_models_are_printed_row_by_row(name):
    (thesis,) = (SHARED / "seeds").glob("000_*.txt")
    printed = [re.split(r"[\t/]", line) for line in thesis.read_text(encoding="utf-8").splitlines()]
    for row, values in published(name).groupby("row", sort=False)["value"]:
        begin = {"table-3.1": f"{row[-3:]} {'par' if 'parent' in row else 'chd'}"}.get(name, row)
        assert [begin, *values] in printed


@pytest.mark.skipif(not (SHARED / "seeds").is_dir(), reason="the thesis is not beside the checkout")
def test_the_published_words_and_lexicon_entries_are_printed():
    (thesis,) = (SHARED / "seeds").glob("000_*.txt")
    printed = thesis.read_text(encoding="utf-8")
    examples = re.findall(r"^input reference.*$", printed, re.MULTILINE)
    words = published("table-3.7").groupby("row", sort=False)["value"]
    assert len(examples) == len(words) == 3
    for example, (_, of_example) in zip(examples, words, strict=True):
        assert all(example.count(word) >= (of_example == word).sum() for word in of_example)
    entries = published("table-3.9").groupby(["row", "column"], sort=False)["value"]
    assert len(entries) == 9
    for (_, word), values in entries:
        texts, shares = list(values[::2]), list(values[1::2])
        assert word.startswith("(") or re.search(rf"\b{word}\b", printed)
        assert " ".join(f"{text} ({share})" for text, share in zip(texts, shares, strict=True)).strip() in printed


def _in_lines(name: str, end: str) -> list[pd.DataFrame]:
    """Return the values of each printed line of a table; a line is the columns with the same name up to a suffix."""
    values = published(name)
    return [group for _, group in values.groupby(values["column"].str.replace(end, "", regex=True), sort=False)]


def test_the_published_values_of_deep_recurrent_systems_are_those_of_edinburgh_which_fell_by_layer_norm_in_turkish():
    values = published("deep-recurrent").set_index(["row", "column"])["value"]
    assert [*values["tr-en"]] == ["19.7", "18.8", "20.6", "20.6"]
    assert [*values["de-en"]] == ["32.0", "32.1", "33.5", "33.5"]


def test_the_published_values_of_copying_are_those_of_pham_whose_reward_makes_systems_use_most_suggestions():
    values = published("copying")
    used = values[values["metric"] == "suggestions-used"].astype({"value": float}).set_index(["row", "column"])["value"]
    assert len(values) == 3 * (3 * 5 + 3 * 4)
    assert [*used["en-es (tst2010)"]] == [46.0, 74.2, 89.5, 85.5, 99.2]
    assert {of_row.idxmax()[1] for _, of_row in used.groupby(level=0)} == {"annotated, copy head, rewarded"}


def test_the_published_values_of_documents_are_those_of_kothur_whose_dictionary_doubles_the_new_words_that_are_right():
    values = published("documents").astype({"value": float}).pivot(index="row", columns="metric", values="value")
    assert values.shape == (2, 10)
    emea = values.loc["en-de (EMEA)"]
    assert [emea["new-words"], emea["new-words-dictionary"], emea["bleu-dictionary-online"]] == [39.9, 87.9, 53.8]
    assert (values["bleu-dictionary-online"] == values.filter(like="bleu").max(axis=1)).all()
    assert (values["bleu-constrained"] < values["test-bleu"]).all()


def test_the_published_values_of_heads_are_those_of_tran_and_bisk_whose_trees_translate_better_than_attention_alone():
    values = published("grammar").astype({"value": float})
    bleu, right = (
        values[values["metric"] == metric].pivot(index="row", columns="column", values="value")
        for metric in ("test-bleu", "directed-accuracy")
    )
    without = find_table("grammar").baseline
    assert bleu.loc["en-de (newstest2017)"].to_dict() == {without: 23.44, "flat": 24.03, "tree": 24.26, "hard": 23.84}
    assert (bleu["tree"] > bleu[without]).all()
    assert (bleu["tree"] > bleu["flat"]).all()
    assert right.loc["ru-ar"].to_dict() == {"flat": 22.2, "tree": 28.9, "hard": 30.3}
    assert len(values) == 7 * 4 + 5 * 3 * 2


def test_the_published_values_of_rounds_are_those_of_hoang_whose_first_round_brings_most():
    values = published("rounds").astype({"value": float}).pivot(index="row", columns="column", values="value")
    assert [*values.loc["en-fa"]] == [16.4, 16.7, 17.1, 17.2]
    assert len(values) == 4
    gains = values.diff(axis=1).iloc[:, 1:]
    assert (gains.loc[["fr-en (100K)", "en-fr (100K)"]].idxmax(axis=1) == "round 1").all()
    assert (values["round 2"] > values["round 1"]).all()


def test_the_published_values_of_both_ways_are_those_of_niu_whose_model_is_best_on_text_that_it_made_twice():
    values = published("both-ways").astype({"value": float}).pivot(index="row", columns="column", values="value")
    assert values.shape == (4, 8)
    assert [*values.loc["tl-en", ["U-1", "B-1", "B-6*"]]] == [31.99, 32.72, 34.50]
    assert (values.idxmax(axis=1) == "B-6*").all()
    assert (values["U-3"] < values["U-2"]).all()  # made targets are worse than made sources


def test_the_published_values_of_post_editing_are_those_of_jauregi_unanue_et_al():
    values = published("post-editing").astype({"value": float})
    joint = values[values["column"] == "joint"].pivot(index="metric", columns="row", values="value")
    assert sorted(zip(joint.loc["test-ter"], joint.loc["test-bleu"], strict=True)) == [
        (22.6, 66.21), (30.23, 57.14), (41.58, 43.05)
    ]  # fmt: skip
    assert (joint.loc["edits-saved"] + joint.loc["test-ter"]).tolist() == pytest.approx([24.48] * 3)
    assert joint.filter(like="from-", axis=0).max(axis=1).tolist() == [23, 45]
    assert len(values) == 12


def test_every_published_value_has_its_source():
    assert all(re.search(r"Nguyen.*\(2019\), Table 3\.\d+$", source) for source in PUBLISHED["source"])
    assert (PUBLISHED["table"].str.removeprefix("table-") == PUBLISHED["source"].str.extract(r"(3\.\d+)$")[0]).all()


def test_without_the_folder_there_is_nothing_published(tmp_path):
    assert published("table-3.6", tmp_path).empty
    assert list(published("table-3.6", tmp_path).columns) == list(PUBLISHED.columns)


def test_an_unknown_table_is_named_and_the_known_ones_listed():
    with pytest.raises(
        NmtlabError, match=r"table 'table-9': unknown; choose one of table-3\.2, table-3\.3, figure-3\.1"
    ):
        find_table("table-9")
