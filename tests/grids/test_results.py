"""Measured values beside published ones."""

import dataclasses
import json
import math
import shutil

import pandas as pd
import pytest
import sacrebleu

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.grids.results.collected import collected_cells, with_kept
from nmtlab.grids.results.results import Results
from nmtlab.grids.results.schemas import CELLS
from nmtlab.grids.results.summary import summary
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.estimate import estimate_grid, expected_seconds, seconds_left
from nmtlab.grids.running.grid import run_grid
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

TEST_BLEU = find_metric("test-bleu")
TRAIN_PERPLEXITY = find_metric("train-perplexity")


def test_a_line_for_each_cell_and_measure_with_where_it_comes_from(grid):
    found = collected_cells(grid.table, "tiny", grid.workspace)
    assert tuple(found.columns) == CELLS.columns
    assert [*found["column"]] == ["tied", "tied", "fixnorm", "fixnorm"]
    assert [*found["seed"]] == [1, 2, 1, 2]
    for line in found.itertuples():
        run = Run(grid.workspace.run_folder(line.run))
        assert line.updates == run.log.metrics("end")["step"].iloc[-1]
        assert line.minutes == pytest.approx(run.log.metrics("end")["seconds"].iloc[-1] / 60)
        assert line.commit.rstrip("+") == run.environment["code"].get("commit", "")[:12]
        assert line.machine.startswith(run.environment["machine"].get("gpu", run.environment["machine"]["processor"]))
    assert (found["recipe"] == ["little", "little", "little.norm-layer", "little.norm-layer"]).all()


def test_what_was_measured_elsewhere_is_kept_beside_what_is_here(grid):
    there = collected_cells(grid.table, "tiny", grid.workspace)
    nowhere = there.assign(status="not run", value=float("nan"), run="", commit="")
    other = there.assign(row="hu-en", value=7.0)
    kept = pd.concat([nowhere.assign(status="finished", value=1.0), other, there.assign(column="gone")])
    pd.testing.assert_frame_equal(with_kept(there, kept, grid.table).query("row == 'ha-en'"), there)
    mixed = with_kept(nowhere, pd.concat([there[:2], other]), grid.table)
    assert mixed[["row", "column", "seed"]].to_numpy().tolist() == [
        [row, column, seed] for row in ("ha-en", "hu-en") for column in ("tied", "fixnorm") for seed in (1, 2)
    ]
    assert mixed["status"].tolist() == ["finished"] * 2 + ["not run"] * 2 + ["finished"] * 4
    assert mixed["value"][:2].tolist() == there["value"][:2].tolist()


def test_a_value_from_another_machine_stands_beside_the_one_from_here(grid):
    there = collected_cells(grid.table, "tiny", grid.workspace)
    earlier = there.assign(machine="abacus", value=1.0)
    unfinished = there.assign(machine="slide rule", value=float("nan"), status="stopped")
    joined = with_kept(there, pd.concat([earlier, unfinished]), grid.table)
    assert joined["machine"].tolist() == [name for here in there["machine"] for name in (here, "abacus")]
    assert joined["value"].tolist() == [value for here in there["value"] for value in (here, 1.0)]


def test_what_was_published_stands_beside_it(grid):
    found = collected_cells(grid.table, "tiny", grid.workspace)
    assert dict(found[["column", "published"]].to_numpy()) == {"tied": "17.4", "fixnorm": "20.5"}
    lines = summary(found, grid.table).set_index("column")
    assert lines["published"].to_dict() == {"tied": "17.4", "fixnorm": "20.5"}


def test_the_values_are_those_of_sacrebleu(grid):
    corpus = cells_of(grid.table, "tiny")[0].corpus.open(grid.workspace)
    words = Words("en")
    tokenized = [" ".join(words.split(line)) for line in corpus.lines("dev", "en")]
    values = set()
    for line in collected_cells(grid.table, "tiny", grid.workspace).itertuples():
        run = Run(grid.workspace.run_folder(line.run))
        hypotheses = [" ".join(words.split(text)) for text in translations(run, corpus, "dev")]
        wanted = sacrebleu.corpus_bleu(hypotheses, [tokenized], tokenize="none", smooth_method="none", force=True).score
        assert line.value == pytest.approx(wanted)
        values.add(round(wanted, 3))
    assert 0 not in values
    assert len(values) > 1


def test_test_bleu_is_detokenized_into_english_and_tokenized_into_other_languages(grid):
    run = Run(grid.workspace.run_folder(cells_of(grid.table, "tiny")[0].run))
    corpus = cells_of(grid.table, "tiny")[0].corpus.open(grid.workspace)
    hypotheses = translations(run, corpus, "test")
    wanted = sacrebleu.corpus_bleu(hypotheses, [list(corpus.lines("test", "en"))]).score
    assert value_of(TEST_BLEU, run, corpus) == pytest.approx(wanted)
    unsmoothed = value_of(find_metric("tokenized-test-bleu"), run, corpus)
    references = [list(corpus.lines("test", "en"))]  # words and nothing else: the Moses tokenizer changes nothing
    wanted = sacrebleu.corpus_bleu(hypotheses, references, tokenize="none", smooth_method="none", force=True).score
    assert unsmoothed == pytest.approx(wanted)


def test_train_perplexity_is_that_of_the_last_pass(grid, tmp_path):
    name = cells_of(grid.table, "tiny")[0].run
    shutil.copytree(grid.workspace.run_folder(name), tmp_path / "run")
    more = {"loss": 1.0, "seconds": 1.0}
    lines = [
        {"kind": "train", "step": 10, "perplexity": 99.0, **more},
        {"kind": "validation", "step": 12, "bleu": 1.0, "seconds": 1.0},
        {"kind": "train", "step": 20, "perplexity": 8.0, **more},  # ten updates after the line before
        {"kind": "train", "step": 25, "perplexity": 2.0, **more},  # five
        {"kind": "validation", "step": 25, "bleu": 2.0, "seconds": 1.0},
        {"kind": "end", "step": 25, "status": "finished", "seconds": 1.0},
    ]
    (tmp_path / "run/metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    corpus = ParallelCorpus(tmp_path, "de", "en")  # is not read
    assert value_of(TRAIN_PERPLEXITY, Run(tmp_path / "run"), corpus) == pytest.approx(8 ** (2 / 3) * 2 ** (1 / 3))


def test_what_is_not_there_yet_is_a_line_without_a_value(grid, space):
    found = collected_cells(grid.table, "tiny", space)
    assert set(found["status"]) == {"not run"}
    assert found["value"].isna().all()
    assert summary(found, grid.table)["missing"].tolist() == [2, 2]


def test_a_training_that_was_interrupted_has_no_value_and_no_curve_yet(grid, space):
    cell = cells_of(grid.table, "tiny")[0]
    best = space.run_folder(cell.run) / "checkpoints/best.safetensors"
    run_grid([cell], space, should_stop=best.exists)
    run = Run(space.run_folder(cell.run))
    assert (run.status, len(run.log.metrics("validation"))) == ("stopped", 1)
    found = collected_cells(grid.table, "tiny", space)
    assert set(found["status"]) == {"not run"}
    assert found["value"].isna().all()
    assert Results.collect(grid.table, "tiny", space).curves.empty


# What it will take


def test_a_plan_counts_what_is_left_and_writes_nothing(grid, space):
    cells = cells_of(grid.table, "tiny")
    fresh = estimate_grid(cells, space)
    assert [*fresh["status"]] == ["not run"] * 4
    assert (fresh[["minutes", "disk_mib"]] > 0).all(axis=None)
    assert not space.data.exists()

    shutil.copytree(grid.workspace.run_folder(cells[0].run), space.run_folder(cells[0].run))
    begun = estimate_grid(cells, space)
    assert [*begun["status"]] == ["finished", "not run", "not run", "not run"]
    assert begun["minutes"].iloc[0] == begun["disk_mib"].iloc[0] == 0
    took = Run(space.run_folder(cells[0].run)).log.metrics("end")["seconds"].iloc[-1]
    assert begun["minutes"].iloc[1] == pytest.approx(took / 60)  # as the same system took with the other seed
    done = estimate_grid(cells, grid.workspace)
    assert done["minutes"].sum() == done["disk_mib"].sum() == 0


def test_a_plan_says_whose_text_cannot_be_had(grid, tmp_path):
    found = estimate_grid(cells_of(grid.table, "tiny"), Workspace(tmp_path))
    assert found["minutes"].isna().all()
    assert all("corpus 'tiny': not found" in problem for problem in found["problem"])


def test_a_grid_that_was_interrupted_is_planned_whole_again(grid, space):
    cells = cells_of(grid.table, "tiny")[:1]
    asked = iter(range(1000))
    run_grid(cells, space, should_stop=lambda: next(asked) >= 10)
    assert [*estimate_grid(cells, space)["status"]] == ["stopped"]
    assert (estimate_grid(cells, space)["minutes"] > 0).all()


def test_time_is_expected_as_what_is_most_alike_took(grid):
    one, two, three, _ = cells_of(grid.table, "tiny")
    elsewhere = dataclasses.replace(one, corpus=dataclasses.replace(one.corpus, name="other"))
    assert expected_seconds(two, []) is None
    assert expected_seconds(two, [(elsewhere, 100.0)]) == 100
    assert expected_seconds(two, [(elsewhere, 100.0), (three, 30.0)]) == 30
    assert expected_seconds(two, [(elsewhere, 100.0), (three, 30.0), (one, 10.0), (one, 20.0)]) == 15
    assert seconds_left([one, three], {"running": 6.0}, [(one, 10.0), (three, 30.0)], 2) == 23
    assert seconds_left([one], {"running": 6.0}, [], 1) is None
    assert seconds_left([], {"running": 6.0}, [], 2) == 3
    assert math.isclose(seconds_left([], {}, [], 1), 0)
