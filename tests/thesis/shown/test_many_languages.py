"""Many languages in one model: means over directions, and gains over separate models."""

import math

import pandas as pd
import pytest
from scipy import stats
from support.child_sizes import results_of
from support.packed import DATA, packed_folder

from nmtlab.analysis.languages.parameters import counted_parameters
from nmtlab.errors import NmtlabError
from nmtlab.grids.running.cells import cells_of
from nmtlab.models.build import model_for
from nmtlab.runs.run import Run
from nmtlab.thesis.measured import measured
from nmtlab.thesis.shown.many_languages import (
    ablation_figure,
    ablation_view,
    direction_means,
    gain_view,
    gains,
    pairs_of,
    parent_table,
    rivals_table,
    zero_shot_table,
)
from nmtlab.thesis.tables.listing import find_table
from nmtlab.thesis.tables.many_languages import IBERIAN_ROWS, MANY_LANGUAGES, TO_MANY, TO_ONE, WIDTHS
from nmtlab.thesis.tables.many_text import ARTIFICIAL, IBERIAN
from nmtlab.thesis.tables.related_text import GL_EN
from nmtlab.workspace import RESULTS

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

SHARED, HALF = f"shared, {TO_MANY}", f"half private, {TO_MANY}"


DIRECTIONS = ("pt-en", "es-en", "gl-en", "en-pt", "en-es", "en-gl")


def results(**left_out):
    """Return results in which each next direction has one point less, and half private one more than shared."""
    scores = {
        row: {
            "separate": [10.0 - place] * 3,
            SHARED: [11.0 - place, 12.0 - place, 13.0 - place],
            HALF: [12.0 - place, 13.0 - place, 14.0 - place],
        }
        for place, row in enumerate(DIRECTIONS)
    }
    scores["gl-en"][f"shared, {TO_ONE}"] = [20.0] * 3
    for row, system in left_out.items():
        scores[row.replace("_", "-")][system] = [None, None, None]
    return results_of("many-languages", scores)


def test_the_mean_is_over_directions_and_its_margin_over_seeds():
    means = direction_means(results(), IBERIAN_ROWS, TO_MANY, "small")
    assert means["system"].tolist() == ["separate", "shared", "half private"]
    assert means["mean"].tolist() == pytest.approx([7.5, 9.5, 10.5])
    assert means["margin"].tolist() == pytest.approx([math.nan, *[4.302653 / 3**0.5] * 2], nan_ok=True)


def test_a_system_that_was_not_measured_in_every_direction_has_no_mean():
    some = results(en_gl=SHARED)
    means = direction_means(some, IBERIAN_ROWS, TO_MANY, "small")
    assert means["system"].tolist() == ["separate", "half private"]
    none = some[some["row"] != "pt-en"]
    assert direction_means(none, IBERIAN_ROWS, TO_MANY, "small").empty


def test_the_mean_of_a_set_of_texts_is_over_its_directions_only():
    scores = {row: {"separate": [1.0, 2.0], f"shared, {TO_ONE}": [3.0, 4.0]} for row in DIRECTIONS[:3]}
    scores["en-gl"] = {"separate": [100.0, 100.0]}
    means = direction_means(results_of("many-languages", scores), IBERIAN_ROWS, TO_ONE, "small")
    assert means[["system", "mean"]].to_numpy().tolist() == [["separate", 1.5], ["shared", 3.5]]


def test_gains_are_over_the_separate_model_of_the_direction_and_smaller_texts_come_first():
    found = gains(results(), IBERIAN_ROWS, "small")
    (alone,) = found[found["texts"] == TO_ONE].to_dict("records")
    assert (alone["system"], alone["direction"], alone["pairs"]) == ("shared", "gl-en", 4000)
    assert alone["difference"] == pytest.approx(12)
    half = found[found["system"] == "half private"]
    assert half["direction"].tolist() == ["gl-en", "en-gl", "es-en", "en-es", "pt-en", "en-pt"]
    assert half["pairs"].tolist() == [4000, 4000, 10_000, 10_000, 20_000, 20_000]
    assert half["to_english"].tolist() == [True, False] * 3
    assert half["share"].sum() == pytest.approx(1)
    assert half["share"].iloc[4] / half["share"].iloc[0] == pytest.approx(5**0.7)  # five times the pairs
    assert half["difference"].tolist() == pytest.approx([3.0] * 6)


def test_the_pairs_of_a_text_are_those_of_both_directions():
    assert [pairs_of(corpus) for corpus in IBERIAN.both_ways] == [20_000, 10_000, 4000] * 2
    assert [pairs_of(corpus) for corpus in ARTIFICIAL.into_english] == [16_000, 8000, 4000, 2000]


def test_views_of_what_was_saved(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    results().to_csv(tmp_path / "results/many-languages.small.csv", index=False)
    assert ablation_view("iberian").frame["mean"].tolist() == pytest.approx([7.5, 9.5, 10.5])
    assert len(gain_view().frame) == 13
    assert [title.text for title in gain_view().figure.layout.annotations if "English" in title.text] == [
        "many-to-one: into English", "many-to-many: into English", "many-to-many: from English",
    ]  # fmt: skip
    for view in (ablation_view, gain_view, rivals_table):
        with pytest.raises(NmtlabError, match=r"artificial direction.*reproduce many-languages"):
            view("artificial")


@pytest.mark.parametrize("group", ["iberian", "artificial"])
def test_a_gain_has_the_interval_that_its_table_has(group, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(DATA))
    table = measured("many-languages", "small").summary().query("metric == 'detokenized-test-bleu'")
    intervals = table.set_index(["row", "column"])
    for line in gain_view(group).frame.itertuples():
        found = intervals.loc[(line.direction, f"{line.system}, {line.texts}")]
        margin = (found["high"] - found["low"]) / 2
        assert (line.difference, line.margin) == pytest.approx((found["difference"], margin))


@pytest.mark.parametrize("texts", [".".join(some) for some in WIDTHS])
def test_wider_models_and_adapters_have_as_many_trained_parameters_as_half_private_units(texts):
    cells = {
        cell.column.split(",")[0]: cell
        for cell in cells_of(MANY_LANGUAGES, "small")
        if cell.seed == 1 and cell.run.startswith(f"{texts}.")
    }
    pipeline = Run(packed_folder(cells["half private"].run)).pipeline
    names = [name for name in ("half private", "wider", "adapters", "adapters on a frozen model") if name in cells]
    models = [model_for(cells[name].recipe, pipeline) for name in names]
    trained = [counted_parameters(model, pipeline).set_index("count").loc["trained", "total"] for model in models]
    assert len(trained) > 1
    assert trained == pytest.approx([trained[0]] * len(trained), rel=0.02)


def test_half_private_units_are_set_beside_each_rival_as_their_claims_are(judged, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(DATA))
    shown = rivals_table("artificial").frame.set_index(["texts", "direction"])
    assert list(shown) == ["shared", "wider", "adapters"]
    found = judged.query("evidence == 'many-languages.small.csv' and pair == 'qad-en'")
    (line,) = found[found["direction"].str.startswith("half private, many-to-one − wider")].itertuples()
    margin, verdict = line.high - line.effect, line.verdict.removesuffix(" here")
    stranger = shown.loc[("many-to-one", "qad-en")]
    assert stranger["wider"] == f"{line.effect:+.2f} ± {margin:.2f}, {verdict}"
    assert stranger["adapters"] == ""


def test_a_parent_and_its_child_are_set_beside_models_of_the_same_text():
    with_others = next(row for row in MANY_LANGUAGES.rows if row.name == "gl-en").at["small"].corpus
    alone = GL_EN.at["small"].corpus
    assert (with_others.parts, with_others.train, with_others.test) == (alone.parts, alone.train, alone.test)

    shown = parent_table().frame.set_index("system")
    assert shown["test BLEU"].is_monotonic_decreasing
    for table, row, system, metric in (
        ("many-languages", "gl-en", f"half private, {TO_ONE}", "detokenized-test-bleu"),
        ("transfer-transformer", "gl-en (4,000)", "PreNorm + fixnorm + transfer", "test-bleu"),
    ):
        cells = pd.read_csv(RESULTS / f"{table}.small.csv.xz")
        made = cells[(cells["row"] == row) & (cells["column"] == system) & (cells["metric"] == metric)]["value"]
        low, high = stats.t.interval(0.95, len(made) - 1, made.mean(), stats.sem(made))
        assert shown.loc[system, ["test BLEU", "±"]].tolist() == pytest.approx([made.mean(), (high - low) / 2])
        assert shown.loc[system, "table"] == table


def test_directions_never_trained_have_a_line_for_each_system(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    scores = {"gl-pt": {SHARED: [1.0, 3.0], HALF: [4.0, None]}, "qaa-qac": {SHARED: [50.0]}, "tr-uz": {SHARED: [5.0]}}
    at_once = results_of("zero-shot", scores)
    metrics = find_table("zero-shot").metrics
    measured = pd.concat(
        at_once.assign(metric=metric, value=at_once["value"] + 10 * place) for place, metric in enumerate(metrics)
    )
    measured.to_csv(tmp_path / "results/zero-shot.small.csv", index=False)
    assert zero_shot_table().frame.to_numpy().tolist() == [
        ["shared", 2.0, 12.0, 22.0, 2], ["half private", 4.0, 14.0, 24.0, 1]
    ]  # fmt: skip
    assert zero_shot_table("artificial").frame["test BLEU"].tolist() == [50.0]
    assert zero_shot_table("turkic").frame["test BLEU"].tolist() == [5.0]
    measured[measured["row"] == "gl-pt"].to_csv(tmp_path / "results/zero-shot.small.csv", index=False)
    with pytest.raises(NmtlabError, match=r"no artificial direction was measured; run 'nmtlab reproduce zero-shot"):
        zero_shot_table("artificial")


HOSTILE = "<script>alert(1)</script>"


def test_an_ablation_has_a_bar_for_each_system_with_its_interval():
    lines = pd.DataFrame(
        {"system": ["shared", HOSTILE, "attention ½"], "mean": [20.0, 21.0, 22.0], "margin": [1.0, math.nan, 0.5]}
    )
    figure = ablation_figure(lines, "test BLEU", baseline="shared")
    (bars,) = figure.data
    assert list(bars.y) == ["shared", "&lt;script&gt;alert(1)&lt;/script&gt;", "attention ½"]
    assert list(bars.x) == [20, 21, 22]
    assert list(bars.error_x.array)[::2] == [1, 0.5]
    assert bars.marker.color[0] != bars.marker.color[1] == bars.marker.color[2]
    assert [shape.x0 for shape in figure.layout.shapes] == [20]
    assert figure.layout.xaxis.title.text == "test BLEU (%), mean and 95 % interval"
    assert figure.layout.xaxis.rangemode == "tozero"
