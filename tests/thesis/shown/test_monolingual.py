"""What made text gains over the pairs alone, and what share that is of the gain of real pairs."""

import json
import math

import pytest
import sacrebleu
from support.child_sizes import results_of

from nmtlab.grids.declared.corpora import TranslatedCorpus
from nmtlab.grids.declared.declaration import Setup
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.grids.results.schemas import SENTENCES, TEXT
from nmtlab.grids.running.cells import cells_of
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.thesis.measured import measured
from nmtlab.thesis.shown.made import PAIRS_SHOWN, QUALITIES, made_beside_real, made_pairs, made_qualities
from nmtlab.thesis.shown.monolingual import (
    COLUMNS,
    QUALITY,
    gains,
    gains_figure,
    gains_finding,
    quality,
    quality_figure,
)
from nmtlab.thesis.tables.monolingual import BACK, BACK_EQUAL, COPIED, MONOLINGUAL, RATIO, REAL, REVERSES
from nmtlab.workspace import Workspace

ALONE = "pairs alone"
NO_SENTENCES = SENTENCES.empty
SCORES = {
    "qaa-en (500)": {ALONE: [19.0, 20.0, 21.0], BACK: [23.0, 24.0, 25.0], COPIED: [18.0, 19.0, 20.0], REAL: [28.0] * 3},
    "en-qaa (500)": {ALONE: [8.0, 9.0, 10.0]},
    "gl-en (2,000)": {ALONE: [10.0], BACK_EQUAL: [11.0]},
}


def test_gains_are_over_the_pairs_alone_with_their_share_of_what_real_pairs_gain():
    found = gains(results_of("monolingual", SCORES), NO_SENTENCES, "small")
    assert list(found.columns) == COLUMNS
    lines = found.set_index(["text", "pairs", "system"])
    qaa = found[found["row"] == "qaa-en (500)"].set_index("system")
    assert qaa["score"].to_dict() == {ALONE: 20.0, BACK: 24.0, COPIED: 19.0, REAL: 28.0}
    assert qaa["share"].dropna().to_dict() == {BACK: 50.0, COPIED: -12.5, REAL: 100.0}
    assert qaa.loc[BACK, "margin"] == pytest.approx(4.302653 / math.sqrt(3))
    assert qaa.loc[BACK, "high"] - 4 == pytest.approx(2.776445 * math.sqrt(2 / 3))
    assert math.isnan(lines.loc[("gl-en, LibreOffice", 2000, BACK_EQUAL), "share"])  # no upper bound
    assert math.isnan(lines.loc[("gl-en, LibreOffice", 2000, BACK_EQUAL), "low"])  # one seed


def test_the_interval_of_a_gain_is_that_of_the_table():
    results = measured("monolingual")
    found = gains(results.of_metric("test-bleu").dropna(subset="value"), results.sentences, "small")
    (copied,) = found[found["system"] == COPIED].itertuples()
    assert (round(copied.gain, 1), round(copied.low, 1), round(copied.high, 1)) == (7.7, 5.5, 9.9)
    printed = results.path(TEXT).read_text(encoding="utf-8")
    assert f"{copied.gain:+.2f} ± {copied.high - copied.gain:.2f}" in printed


def test_the_finding_names_the_best_made_text_and_what_too_few_seeds_leave_open():
    said = gains_finding(gains(results_of("monolingual", SCORES), NO_SENTENCES, "small"), "test BLEU")
    qaa, gl = "qaa-en, artificial, 500 pairs: ", "gl-en, LibreOffice, 2,000 pairs: "
    assert said == (
        f"{qaa}{BACK} changes test BLEU by +4.0 (95 %: +1.7 to +6.3), 50 % of what as many real pairs gain. "
        f"{gl}{BACK_EQUAL} changes test BLEU by +1.0; too few seeds to decide."
    )


def test_a_share_is_of_as_many_real_pairs_and_only_of_a_gain_that_the_seeds_show():
    equal, real = {ALONE: [19.0, 20.0, 21.0], BACK_EQUAL: [23.0, 24.0, 25.0]}, {REAL: [28.0] * 3}
    found = gains(results_of("monolingual", {"qaa-en (500)": {**equal, **real}}), NO_SENTENCES, "small")
    assert "%" not in gains_finding(found, "test BLEU").replace("95 %", "")  # four times as many real pairs
    nothing = {ALONE: [19.0, 20.0, 21.0], BACK: [18.0, 19.0, 20.0], REAL: [19.5, 20.0, 20.6]}
    found = gains(results_of("monolingual", {"qaa-en (500)": nothing}), NO_SENTENCES, "small")
    assert found["share"].isna().all()
    said = "no made text gains; at best, back-translated, 4:1 changes test BLEU by −1.0 (95 %: −3.3 to +1.3)."
    assert gains_finding(found, "test BLEU").endswith(said)


def test_a_figure_has_a_panel_for_each_text_and_size_with_the_upper_bound_as_a_line():
    figure = gains_figure(gains(results_of("monolingual", SCORES), NO_SENTENCES, "small"), "test BLEU")
    assert [list(trace.y) for trace in figure.data if trace.mode == "markers"] == [[20.0, 24.0, 19.0], [10.0, 11.0]]
    assert [shape.y0 for shape in figure.layout.shapes if shape.type == "line"] == [28.0]
    assert 28 < figure.layout.yaxis.range[1] < 30  # the upper bound is in it
    assert {note.text for note in figure.layout.annotations} >= {
        "qaa-en, artificial, 500 pairs", "gl-en, LibreOffice, 2,000 pairs"
    }  # fmt: skip


def test_gains_are_set_against_the_score_of_the_runs_in_the_other_direction():
    cells = results_of("monolingual", SCORES)
    found = quality(cells, gains(cells, NO_SENTENCES, "small"), "small")
    assert list(found.columns) == QUALITY
    assert found[["text", "system", "back_score", "gain"]].to_numpy().tolist() == [
        ["qaa-en (500), artificial", BACK, 9.0, 4.0]
    ]
    (points,) = quality_figure(found, "test BLEU").data
    assert (list(points.x), list(points.y)) == ([9.0], [4.0])


def test_made_pairs_are_shown_beside_the_real_ones_of_the_same_line(tmp_path):
    workspace = Workspace(tmp_path / "data")
    assert made_pairs(workspace, "tiny").columns.tolist() == PAIRS_SHOWN
    text = TranslatedCorpus(ExternalCorpus("rest", "de", "en"), "back", side="source")
    for name, source in (("rest", ["eins", "zwei", "ein"]), (text.name, ["einz", "zvei", "aine"])):
        folder = workspace.data / "corpora" / name
        folder.mkdir(parents=True)
        write_lines(folder / "train.de", source)
        write_lines(folder / "train.en", ["one", "two", "one"])
    assert made_beside_real(text, workspace, 1) == []  # it does not say who made it
    origin = {"run": "back", "checksum": MonolingualCorpus(workspace.data / "corpora/rest", "en").checksum()}
    (folder / "import.json").write_text(json.dumps({"kind": "translated", "origin": origin}))
    assert made_beside_real(text, workspace, 1) == [("einz", "eins", "one", "one")]
    assert made_beside_real(text, workspace, 9)[-1] == ("aine", "ein", "one", "one")


def test_neighbours_with_the_same_kept_side_are_beside_the_real_ones_of_their_own_lines(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / "data")
    real = [("datei", "file"), ("akte", "file"), ("haus", "house"), ("haus", "house")]
    for samples in (0, 2):
        text = TranslatedCorpus(ExternalCorpus("rest", "de", "en"), "back", side="source", samples=samples)
        drawn = range(max(1, samples))
        made = [(f"{source}{number}", target) for source, target in real for number in drawn]
        for name, pairs in (("rest", real), (text.name, made)):
            folder = workspace.data / "corpora" / name
            folder.mkdir(parents=True, exist_ok=True)
            for code, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
                write_lines(folder / f"train.{code}", side)
        origin = {"run": "back", "checksum": MonolingualCorpus(workspace.data / "corpora/rest", "en").checksum()}
        (folder / "import.json").write_text(json.dumps({"kind": "translated", "origin": origin}))
        assert made_beside_real(text, workspace, 9) == [
            (f"{source}{number}", source, target, target) for source, target in real for number in drawn
        ]
        monkeypatch.setattr("nmtlab.thesis.shown.made._made_texts", lambda scale, text=text: [("de-en", "back", text)])
        (line,) = made_qualities(workspace).itertuples()
        assert line.pairs == len(made)
        assert math.isnan(line.among) == (samples == 0)


def test_several_sources_of_a_line_are_beside_the_same_real_one_and_as_diverse_as_they_differ(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / "data")
    assert made_qualities(workspace, "tiny").columns.tolist() == QUALITIES
    text = TranslatedCorpus(ExternalCorpus("rest", "de", "en"), "back", side="source", samples=2)
    assert text.name == "rest.by-back.sampled-2"
    real, made = ("eins", "zwei", "drei"), (("eins", "one"), ("eins", "one"), ("drei", "three"), ("dreh", "three"))
    for name, pairs in (("rest", tuple(zip(real, ("one", "two", "three"), strict=True))), (text.name, made)):
        folder = workspace.data / "corpora" / name
        folder.mkdir(parents=True)
        for code, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
            write_lines(folder / f"train.{code}", side)
    origin = {"run": "back", "checksum": MonolingualCorpus(workspace.data / "corpora/rest", "en").checksum()}
    (folder / "import.json").write_text(json.dumps({"kind": "translated", "origin": origin}))
    assert [line[1] for line in made_beside_real(text, workspace, 9)] == ["eins", "eins", "drei", "drei"]
    monkeypatch.setattr("nmtlab.thesis.shown.made._made_texts", lambda scale: [("de-en", "2 samples", text)])
    (line,) = made_qualities(workspace).itertuples()
    chrf = sacrebleu.CHRF()
    assert line.chrf == pytest.approx(
        chrf.corpus_score([one for one, _ in made], [["eins", "eins", "drei", "drei"]]).score
    )
    assert (line.pairs, line.words) == (4, 150.0)
    assert line.among == pytest.approx((100 + chrf.sentence_score("drei", ["dreh"]).score) / 2)


def test_monolingual_text_is_after_the_pairs_four_lines_to_each():
    cells = {(cell.row, cell.column): cell for cell in cells_of(MONOLINGUAL, "small") if cell.seed == 1}
    assert len(cells) == 6 * (7 + 1)
    for row, reverse in list(REVERSES.items())[:6]:
        (rest,), pairs = cells[row, REAL].more, cells[row, ALONE].corpus
        assert rest.train == RATIO * pairs.train
        assert getattr(rest, "skip", pairs.train) == pairs.train
        assert cells[row, BACK].more[0].whole == rest
        assert cells[row, BACK].needs[0].cell.run == cells[reverse, ALONE].run
        updates = {cells[row, column.name].recipe.training.validate_every for column in MONOLINGUAL.columns}
        assert len(updates) == 1
    setups = [row.at["small"] for row in MONOLINGUAL.rows]
    assert sum(isinstance(setup, Setup) for setup in setups) == 12
