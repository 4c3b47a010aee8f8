"""Seeds added to the rows of a table until its lines are decided, and how often that errs."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.little_table import little_table

from nmtlab.errors import NmtlabError
from nmtlab.experiments.claims import until_decided
from nmtlab.experiments.claims.until_decided import run_until_decided
from nmtlab.experiments.measures.quality import CONVERGED, DEV_BLEU
from nmtlab.experiments.results.judgement import Question, answered
from nmtlab.experiments.results.looks import read_looks, save_looks
from nmtlab.experiments.results.sentences import COLUMNS as SENTENCES
from nmtlab.experiments.results.sequential import LOOKS, boundaries, sequential_estimate, sequential_p
from nmtlab.experiments.results.statistics import LEVEL, adjusted_ps, difference, seed_variance
from nmtlab.experiments.results.stored import saved_table
from nmtlab.experiments.results.summary import summary
from nmtlab.experiments.tables.declaration import Row
from nmtlab.workspace import Workspace

SYSTEMS = ("tied", "fixnorm")


def cells_with(scores: dict[str, np.ndarray], row: str = "ha-en", metric: str = "dev BLEU") -> pd.DataFrame:
    """Return the lines of one row in `results`, of systems with scores by seed."""
    lines = [
        {"row": row, "column": name, "metric": metric, "seed": seed, "value": value, "run": f"{row}.{name}.s{seed}"}
        for name, values in scores.items()
        for seed, value in enumerate(values, start=1)
    ]
    nothing = dict.fromkeys(("published", "published_difference", "published_mark"), "")
    return pd.DataFrame(lines).assign(status="finished", **nothing)


@pytest.fixture
def stand_in(tmp_path, tiny_recipe, monkeypatch):
    """A grid of trainings whose scores are drawn: call it with the scores of rows, {row: {system: (seeds,)}}."""

    def make(scores: dict[str, dict[str, np.ndarray]]) -> SimpleNamespace:
        table = little_table(tmp_path, tiny_recipe)
        setup = table.rows[0].at
        table = replace(table, rows=tuple(Row(name, setup) for name in scores))
        made: list[list[tuple[str, int]]] = []

        def run_grid(cells, *_):
            made.append(sorted({(cell.row, cell.seed) for cell in cells}))
            return []

        def results(table, scale, workspace):
            lines = [
                cells_with({name: values[: len(row.seeds)] for name, values in scores[row.name].items()}, row.name)
                for row in table.rows
            ]
            return pd.concat(lines, ignore_index=True)

        monkeypatch.setattr(until_decided, "run_grid", run_grid)
        monkeypatch.setattr(until_decided, "results", results)
        monkeypatch.setattr(until_decided, "hypotheses", lambda *_: None)
        monkeypatch.setattr(until_decided, "sentence_spreads", lambda *_: pd.DataFrame(columns=SENTENCES))
        return SimpleNamespace(table=table, made=made, workspace=Workspace(tmp_path / "data"), results=results)

    return make


def drawn(effect: float, seed: int) -> dict[str, np.ndarray]:
    scores = np.random.default_rng(seed).standard_normal((2, LOOKS[-1])) + 20
    return {"tied": scores[0], "fixnorm": scores[1] + effect}


def test_seeds_are_added_to_all_systems_of_the_rows_that_are_undecided(stand_in):
    grid = stand_in({"clear": drawn(12.0, 1), "none": drawn(0.0, 2)})
    looked = []
    table, problems = run_until_decided(grid.table, "tiny", grid.workspace, LOOKS, on_look=looked.append)
    assert problems == []
    assert grid.made == [
        [(row, seed) for row in ("clear", "none") for seed in (1, 2, 3)],
        [("none", seed) for seed in range(1, 6)],
        [("none", seed) for seed in range(1, 11)],
    ]
    assert [(look.seeds, look.undecided) for look in looked] == [
        (seeds, {"clear": (0, 1), "none": (1, 1)}) for seeds in LOOKS
    ]
    assert [row.seeds for row in table.rows] == [(1, 2, 3), tuple(range(1, 11))]


def test_that_rows_were_looked_at_is_stored_though_their_cells_are_not(stand_in):
    grid = stand_in({"clear": drawn(12.0, 1)})
    run_until_decided(grid.table, "tiny", grid.workspace, LOOKS)
    assert grid.made == [[("clear", 1), ("clear", 2), ("clear", 3)]]
    stored = saved_table(grid.table, "tiny", grid.workspace)
    assert read_looks(stored.looks) == {"clear": (3, 5, 10)}
    assert not stored.path.exists()


def test_a_training_that_failed_or_a_stop_ends_it_without_a_look(stand_in, monkeypatch):
    grid = stand_in({"none": drawn(0.0, 2)})
    stopped = run_until_decided(grid.table, "tiny", grid.workspace, LOOKS, should_stop=lambda: True)
    assert stopped[1] == []
    monkeypatch.setattr(until_decided, "run_grid", lambda *_: ["failed"])
    assert run_until_decided(grid.table, "tiny", grid.workspace, LOOKS)[1] == ["failed"]
    assert not saved_table(grid.table, "tiny", grid.workspace).looks.exists()


def test_where_nothing_is_compared_seeds_are_not_added(stand_in):
    grid = stand_in({"none": drawn(0.0, 2)})
    with pytest.raises(NmtlabError, match=r"table-3\.4: nothing is compared in it"):
        run_until_decided(replace(grid.table, baseline=""), "tiny", grid.workspace, LOOKS)


def test_of_the_lines_that_are_decided_at_any_look_few_are_by_chance():
    generator, tables, null, real = np.random.default_rng(6), 20, 45, 15
    shares = []
    for _ in range(tables):
        scores = generator.standard_normal((2, null + real, LOOKS[-1]))
        scores[1, null:] += 4
        decided = np.zeros(null + real, dtype=bool)
        ps = np.ones(null + real)
        for look in LOOKS:
            now = stats.ttest_ind(scores[0, ~decided, :look], scores[1, ~decided, :look], axis=1).pvalue
            ps[~decided] = [sequential_p(p, 2) for p in now]
            decided = adjusted_ps(ps, range(len(ps))) <= LEVEL
        assert decided[null:].all()
        shares.append(decided[:null].sum() / decided.sum())
    assert np.mean(shares) <= LEVEL + 2 * np.std(shares) / math.sqrt(tables)


@pytest.mark.parametrize("systems", [2, 4])
def test_a_single_line_is_decided_by_chance_as_often_as_the_level_says(systems):
    generator, draws = np.random.default_rng(systems), 600
    adjusted = plain = 0
    for _ in range(draws):
        scores = generator.standard_normal((systems, LOOKS[-1]))
        at = [difference(some[0], some[1], seed_variance(some)) for some in (scores[:, :look] for look in LOOKS)]
        found = [sequential_estimate(one, 0.0, LOOKS) for one in at]
        adjusted += any(line.p <= LEVEL and not line.low <= 0 <= line.high for line in found)
        plain += any(one.estimate().p <= LEVEL for one in at)
    error = math.sqrt(LEVEL * (1 - LEVEL) / draws)
    assert adjusted / draws == pytest.approx(LEVEL, abs=2.5 * error)
    assert plain / draws > LEVEL + 3 * error  # as it would be without the adjustment


def test_a_line_is_significant_where_t_is_beyond_the_boundary_and_the_interval_leaves_out_zero():
    asked = Question(DEV_BLEU, "fixnorm", "tied", "higher")
    bound = boundaries(2)[0]
    for factor in (0.98, 1.02):
        # Both have deviation 1, so that t is the difference divided by sqrt(2 / 3).
        difference = factor * bound * math.sqrt(2 / 3)
        cells = cells_with({"tied": np.array([19.0, 20, 21]), "fixnorm": np.array([19.0, 20, 21]) + difference})
        line = answered(asked, cells, SYSTEMS, looks=LOOKS).estimate
        assert (line.p <= LEVEL) == (line.low > 0) == (factor > 1)
        single = answered(asked, cells, SYSTEMS).estimate
        assert single.p < line.p
        assert single.low > line.low
        assert single.detectable < line.detectable


def test_shares_of_runs_are_tested_with_bonferronis_bound():
    asked = Question(CONVERGED, "fixnorm", "tied", "higher")
    cells = cells_with({"tied": np.zeros(5), "fixnorm": np.ones(5)}, metric="converged")
    once, often = (answered(asked, cells, SYSTEMS, looks=looks).estimate.p for looks in ((), (3, 5)))
    assert often == pytest.approx(2 * once)


def test_a_summary_adjusts_the_rows_with_looks_alone(tmp_path, tiny_recipe):
    cells = pd.concat([cells_with(drawn(3.0, 5), row) for row in ("ha-en", "hu-en")], ignore_index=True)
    lines = summary(cells, little_table(tmp_path, tiny_recipe), looks={"hu-en": (3, 5, 10)})
    p, low = (lines.set_index("row").loc[lambda one: one["column"] == "fixnorm", name] for name in ("p", "low"))
    assert p["ha-en"] < p["hu-en"] <= 3 * p["ha-en"]
    assert low["ha-en"] > low["hu-en"]


def test_of_two_plans_of_a_row_the_longer_one_counts(tmp_path):
    path = tmp_path / "table-3.4.tiny.looks.csv"
    assert read_looks(path) == {}
    assert save_looks(path, {"gl-en (4,000)": (3, 5, 10), "de-en": (3,)}) == read_looks(path)
    assert save_looks(path, {"gl-en (4,000)": (3, 5), "de-en": (3, 5), "tr-en": (3,)}) == {
        "gl-en (4,000)": (3, 5, 10), "de-en": (3, 5), "tr-en": (3,),
    }  # fmt: skip
    assert path.read_text(encoding="utf-8").startswith('row,looks\n"gl-en (4,000)",3 5 10\n')


@pytest.mark.parametrize("text", ["", "row\nde-en\n", "row,looks\nde-en,three\n", "row,looks\nde-en,\n"])
def test_damaged_looks_are_named_and_not_taken_for_none(tmp_path, text):
    path = tmp_path / "table-3.4.tiny.looks.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NmtlabError, match=r"table-3\.4\.tiny\.looks\.csv: not a list of looks .*restore it"):
        read_looks(path)
