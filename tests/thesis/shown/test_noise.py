"""What bad pairs cost: measured effects beside the published ones."""

import math

import pytest
from support.child_sizes import results_of

from nmtlab.errors import NmtlabError
from nmtlab.grids.running.cells import cells_of
from nmtlab.text.noise.kinds import NOISES as GENERATORS
from nmtlab.thesis.shown.noise import (
    COLUMNS,
    copies,
    copies_figure,
    copies_view,
    noise_effects,
    noise_figure,
    noise_finding,
    noise_view,
    published_effects,
)
from nmtlab.thesis.tables.noise import NOISE, NOISE_PHRASES

SCORES = {
    "2,000 pairs": {"clean": [20.0, 21.0, 22.0], "misaligned, 20 %": [19.0, 20.0, 21.0]},
    "qaa-en": {"clean": [40.0], "copied-target, 100 %": [4.0], "copied-source, 100 %": [39.5]},
    "10,000 pairs": {"short, 5 %": [3.0]},
}
TEXTS = ("de-en (2,000), Multi30k", "qaa-en, artificial")


def test_an_effect_is_the_distance_to_the_clean_text_with_an_interval_over_seeds():
    found = noise_effects(results_of("noise", SCORES), "neural", "small")
    assert list(found.columns) == COLUMNS
    rows = found.set_index(["text", "kind", "share"])
    assert rows["effect"].to_dict() == {
        (TEXTS[0], "misaligned", 20): -1.0, (TEXTS[1], "copied-target", 100): -36.0,
        (TEXTS[1], "copied-source", 100): -0.5,
    }  # fmt: skip
    of_seeds = rows.loc[(TEXTS[0], "misaligned", 20)]
    assert of_seeds["seeds"] == 3
    assert of_seeds["high"] - of_seeds["effect"] == pytest.approx(2.776445 * math.sqrt(2 / 3))
    assert math.isnan(rows.loc[(TEXTS[1], "copied-target", 100), "low"])


def test_the_published_effects_are_those_of_table_3():
    found = published_effects().set_index(["system", "kind", "share"])["effect"].round(1).sort_index()
    assert found["neural", "copied-target"].to_dict() == {5: -9.6, 20: -21.6, 100: -24.0}
    assert found["phrase-based", "copied-target"].to_dict() == {5: -0.2, 20: -0.2, 100: -2.9}
    assert found["neural", "copied-source"].min() == -0.5
    assert set(found.index.get_level_values("kind")) == set(GENERATORS)


def test_a_figure_has_a_panel_for_each_text_and_system_and_a_bar_for_each_kind_and_share():
    lines = noise_effects(results_of("noise", SCORES), "neural", "small")
    figure = noise_figure(lines)
    assert [note.text for note in figure.layout.annotations[:2]] == [f"{text}, neural" for text in TEXTS]
    bars = {(trace.name, kind): y for trace in figure.data for kind, y in zip(trace.x, trace.y, strict=True)}
    assert bars == {
        ("20 %", "misaligned"): -1.0, ("100 %", "copied-target"): -36.0, ("100 %", "copied-source"): -0.5
    }  # fmt: skip
    assert [trace.name for trace in figure.data if trace.showlegend] == ["20 %", "100 %"]
    assert figure.layout.yaxis2.range[0] < -36 < 0 < figure.layout.yaxis2.range[1]
    worst = "qaa-en, artificial, neural, 100 %: copied-target is worst of 2 kinds (−36.0 BLEU), "
    worst += "copied-source best (−0.5 BLEU); too few seeds to decide."
    assert noise_finding(lines).endswith(worst)


def test_copies_are_drawn_over_the_share_of_copies_in_the_training_text():
    scores = {"qaa-en": {"clean": [0.0, 1.0], "copied-target, 100 %": [50.0, 60.0], "misaligned, 100 %": [3.0]}}
    found = copies(results_of("noise", scores, "source-copies"), "neural", "small")
    assert found.to_dict("list") == {
        "text": [TEXTS[1]] * 2, "system": ["neural"] * 2, "share": [0, 100], "seeds": [2, 2], "copies": [0.5, 55.0],
    }  # fmt: skip
    (line,) = copies_figure(found).data
    assert (line.name, list(line.y)) == (f"{TEXTS[1]}, neural", [0.5, 55.0])


def test_without_results_the_published_values_are_shown(monkeypatch):
    monkeypatch.setattr("nmtlab.thesis.shown.noise.measured_cells", not_measured)
    view = noise_view()
    assert "neural, phrase-based: published values alone" in view.figure.layout.title.text
    assert set(view.frame["text"]) == {"published (de-en)"}
    with pytest.raises(NmtlabError, match="noise: not measured at the scale small; run 'nmtlab reproduce noise'"):
        copies_view()


def not_measured(*_):
    raise NmtlabError("not measured", "measure it")


def test_every_system_is_trained_on_its_noise_and_tested_on_the_clean_text():
    for table, seeds in ((NOISE, 3), (NOISE_PHRASES, 1)):
        cells = cells_of(table.only(["qaa-en"]), "small")
        assert len(cells) == seeds * (1 + 3 * len(GENERATORS))
        assert {text.name for cell in cells for text in cell.texts} == {"noise-qaa-en.1000"}
        trained = {cell.column: cell.corpus.name for cell in cells}
        assert trained["clean"] == "noise-qaa-en.1000"
        assert trained["wrong-language-target, 5 %"] == "noise-qaa-en.1000.wrong-language-target-5"
        assert len(set(trained.values())) == len(trained)
