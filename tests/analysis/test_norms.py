"""Lengths of word vectors and output biases by frequency."""

import shutil

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.hand_made_model import (
    HandMadeModel,
    Vectors,
    along_the_first_axis,
    hand_made_pipeline,
    immunologists_with_lexicon,
    random_system,
    translator,
)

from nmtlab.analysis.lexical.embedding_norms import (
    NORMS_BY_FREQUENCY,
    norm_bins,
    norm_correlations,
    norm_figure,
    norm_finding,
    spearman,
    word_norms,
)
from nmtlab.analysis.states.projection import WORD_PROJECTION
from nmtlab.errors import RunError
from nmtlab.figures.marks import Token, outlines, shows_word, token_at
from nmtlab.figures.theme import plain
from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import RnnSettings, find_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

HOSTILE = "<script>alert(1)</script>"


def test_words_come_by_falling_count_with_their_length_and_bias():
    pipeline = hand_made_pipeline({"Fauchi": 8}, {"Fauci": 8, "Chan": 40, "Jenner": 8})
    rows = torch.tensor([[9.0, 9.0], [9.0, 9.0], [3.0, 4.0], [6.0, 8.0], [0.0, 1.0]], dtype=torch.float64)
    bias = torch.tensor([9.0, 9.0, -1.0, -2.0, -3.0], dtype=torch.float64)
    system = translator(HandMadeModel(Vectors(rows, bias, along_the_first_axis(7, 1.0))), pipeline)
    assert word_norms(system).to_dict("records") == [
        {"id": 5, "word": "Chan", "count": 40, "rank": 1, "norm": 10.0, "used_norm": 10.0, "bias": -2.0},
        {"id": 4, "word": "Fauci", "count": 8, "rank": 2, "norm": 5.0, "used_norm": 5.0, "bias": -1.0},
        {"id": 6, "word": "Jenner", "count": 8, "rank": 3, "norm": 1.0, "used_norm": 1.0, "bias": -3.0},
    ]


def test_the_bias_of_a_lexical_system_is_both_biases_together():
    frame = word_norms(immunologists_with_lexicon()).set_index("word")
    assert frame["bias"].to_dict() == pytest.approx(
        {"Chan": -8.73, "Anthony": -8.70, "Fauci": -8.71, "Ahmedova": -8.66}
    )


@pytest.mark.parametrize(("name", "length"), [("fixnorm", 3.0), ("fixnorm+lex", 2.0), ("scale", 1.0)])
def test_with_fixnorm_the_used_length_is_the_same_for_all_words(name, length):
    system = random_system(name)
    frame = word_norms(system)
    assert frame["used_norm"].to_numpy() == pytest.approx(np.full(len(frame), length))
    stored = system.model.embeddings()["output"].norm(dim=1).detach().numpy()
    assert frame["norm"].to_numpy() == pytest.approx(stored[frame["id"]])


def test_an_untied_system_is_measured_at_its_output_layer():
    system = random_system("untied")
    vectors = system.model.embeddings()
    frame = word_norms(system)
    assert frame["norm"].to_numpy() == pytest.approx(vectors["output"].norm(dim=1).detach().numpy()[frame["id"]])
    assert not np.allclose(frame["norm"], vectors["target"].norm(dim=1).detach().numpy()[frame["id"]])
    assert frame["used_norm"].to_numpy() == pytest.approx(frame["norm"].to_numpy())


def test_types_that_may_not_be_produced_are_left_out():
    pipeline = hand_made_pipeline({"Fauchi": 8}, {"Chan": 40, "Fauci": 0, "Jenner": 8})
    settings = RnnSettings(d_model=4)
    model = build_model(settings, ModelText(pipeline.source.size, pipeline.target_allowed, joint=False))
    frame = word_norms(translator(model, pipeline))
    assert frame[["id", "rank"]].to_numpy().tolist() == [[4, 1], [6, 2]]
    assert frame["used_norm"].to_numpy() == pytest.approx(frame["norm"].to_numpy())


def test_median_and_quartiles_of_each_bin_are_those_of_its_words():
    generator = np.random.default_rng(0)
    words = pd.DataFrame({"count": np.sort(generator.zipf(1.5, 600).clip(max=3000) - 1)[::-1], "used_norm": np.nan})
    words["norm"], words["bias"] = generator.random((2, 600))
    table = norm_bins(words.sample(frac=1, random_state=0))
    for quantity, bins in table.groupby("quantity", sort=False):
        assert bins["words"].sum() == 600
        for row in bins.to_dict("records"):
            of_bin = words[words["count"].between(row["first_count"], row["last_count"])]
            assert row["words"] == len(of_bin)
            assert row["median_count"] == np.median(of_bin["count"])
            quartiles = np.quantile(of_bin[quantity], [0.25, 0.5, 0.75])
            assert [row["low"], row["median"], row["high"]] == pytest.approx(quartiles)
    assert table["quantity"].unique().tolist() == ["norm", "bias"]
    first, last = (table.loc[table["quantity"] == "norm", name].tolist() for name in ("first_count", "last_count"))
    assert (first[:3], last[:3]) == ([0, 1, 2], [0, 1, 3])
    assert table["words"].iloc[-1] >= 10
    assert all(high < 2 * low for low, high in zip(first[1:-1], last[1:-1], strict=True))


def plain_spearman(x: list[float], y: list[float]) -> float:
    """Rank by counting, then correlate as the definition says."""
    ranks = [[sum(b < a for b in z) + (sum(b == a for b in z) + 1) / 2 for a in z] for z in (x, y)]
    centred = [np.array(r) - np.mean(r) for r in ranks]
    return float(centred[0] @ centred[1] / np.sqrt((centred[0] @ centred[0]) * (centred[1] @ centred[1])))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-5, 5)), min_size=2, max_size=30))
def test_spearman_is_the_correlation_of_ranks(pairs):
    x, y = map(list, zip(*pairs, strict=True))
    found = spearman(pd.Series(x, dtype=float), pd.Series(y, dtype=float))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(plain_spearman(x, y))
        assert found == pytest.approx(stats.spearmanr(x, y).statistic)


def test_a_length_that_differs_by_rounding_alone_has_no_correlation():
    frame = word_norms(random_system("fixnorm", torch.float32))
    table = norm_correlations(frame).set_index("quantity")
    assert np.isnan(table.loc["used_norm", "spearman"])
    assert table.loc["norm", "spearman"] == pytest.approx(plain_spearman([*frame["count"]], [*frame["norm"]]))
    assert table["words"].tolist() == [6, 6, 6]


def test_a_run_without_weights_has_the_lengths_logged_at_its_best_evaluation(trained, tmp_path):
    run, _ = trained
    whole = word_norms(run)
    packed = Run(shutil.copytree(run.folder, tmp_path / "packed", ignore=shutil.ignore_patterns("checkpoints")))
    (packed.folder / "packed.json").write_text(f'{{"best_step": {run.checkpoints.best_step}}}', encoding="utf-8")
    frame = word_norms(packed)
    pd.testing.assert_frame_equal(frame[["id", "word", "count", "rank"]], whole[["id", "word", "count", "rank"]])
    assert frame["norm"].to_numpy() == pytest.approx(whole["norm"].to_numpy(), rel=1e-6)
    assert run.recipe.model.fixnorm
    assert frame[["used_norm", "bias"]].isna().all(axis=None)
    assert norm_bins(frame)["quantity"].unique().tolist() == ["norm"]
    assert norm_correlations(frame)["quantity"].tolist() == ["norm"]


@pytest.mark.parametrize("name", ["tied", "fixnorm"])
def test_without_its_weights_the_recipe_of_an_rnn_says_which_length_is_used(name, tiny_corpus, tmp_path):
    small = {"model.d_model": 8, "training.max_evaluations": 1, "machine.threads": 1, "text.min_frequency": 1}
    run = train("whole", find_recipe(name).with_changes(small), tiny_corpus, Workspace(tmp_path))
    whole = word_norms(run)
    packed = Run(shutil.copytree(run.folder, tmp_path / "packed", ignore=shutil.ignore_patterns("checkpoints")))
    (packed.folder / "packed.json").write_text(f'{{"best_step": {run.checkpoints.best_step}}}', encoding="utf-8")
    assert word_norms(packed)["used_norm"].to_numpy() == pytest.approx(whole["used_norm"].to_numpy(), rel=1e-5)


def test_the_norms_of_a_run_are_those_of_its_model(trained, tiny_corpus):
    run, _ = trained
    model = open_system(run).model
    frame = word_norms(run)
    # Of the joint vocabulary, those of the target side.
    assert set(frame["word"]) == {word for line in tiny_corpus.lines("train", "en") for word in line.split()}
    rows = model.embeddings()["output"][torch.tensor(frame["id"].to_numpy())]
    assert frame["norm"].to_numpy() == pytest.approx(rows.norm(dim=1).detach().numpy())


def test_the_norms_of_a_run_of_several_sources_are_those_of_its_model(editor):
    frame, model = word_norms(editor.run), open_system(editor.run).model
    rows = model.embeddings()["output"][torch.tensor(frame["id"].to_numpy())]
    assert frame["norm"].to_numpy() == pytest.approx(rows.norm(dim=1).detach().numpy())
    assert frame["used_norm"].to_numpy() == pytest.approx(frame["norm"].to_numpy())
    assert frame["bias"].notna().all()
    assert len(WORD_PROJECTION.of(editor.run)) == len(frame)


def test_a_run_with_neither_weights_nor_lengths_is_refused(trained, tmp_path):
    run, _ = trained
    bare = Run.create(tmp_path / "bare", run.recipe, {}, run.pipeline)
    with pytest.raises(RunError, match="run 'bare': neither weights nor logged norms of word vectors; train it"):
        NORMS_BY_FREQUENCY.of(bare)


def test_a_phrase_based_run_is_refused(trained, tmp_path):
    run, _ = trained
    moses = Run.create(tmp_path / "moses", run.recipe.with_changes({"model.family": "phrase"}), {}, run.pipeline)
    with pytest.raises(RunError, match="run 'moses': a phrase-based system"):
        NORMS_BY_FREQUENCY.of(moses)


def test_a_view_has_the_rank_correlations_and_stores_nothing(trained):
    run, _ = trained
    stored = run.notes.answers(NORMS_BY_FREQUENCY.key)
    view = NORMS_BY_FREQUENCY.view([run])
    words = word_norms(run)
    assert list(view.frame["ρ"].dropna()) == list(norm_correlations(words)["spearman"].dropna())
    assert view.finding.startswith(f"{run.label}: constant by construction. Output biases: {run.label} ρ ")
    assert [len(points.y) for points in traces(view.figure, "markers")] == [len(words)]  # the norm is fixed
    assert run.notes.answers(NORMS_BY_FREQUENCY.key) == stored


def test_words_are_drawn_only_if_asked_for(trained):
    assert not traces(NORMS_BY_FREQUENCY.view(trained[0], points=False).figure, "markers")


@pytest.fixture(scope="module")
def words(trained) -> pd.DataFrame:
    return word_norms(trained[0]).assign(run=HOSTILE)


def traces(figure: go.Figure, mode: str) -> list:
    return [trace for trace in figure.data if trace.mode == mode]


def learned(words: pd.DataFrame) -> pd.DataFrame:
    return words.assign(used_norm=words["norm"])


def test_norms_are_drawn_by_bin_and_by_word(words):
    words = learned(words)
    bins, figure = norm_bins(words), norm_figure(words)
    for quantity, line in zip(("used_norm", "bias"), traces(figure, "lines+markers"), strict=True):
        assert list(line.y) == list(bins.loc[bins["quantity"] == quantity, "median"])
    points = traces(figure, "markers")
    assert [list(trace.y) for trace in points] == [list(words["used_norm"]), list(words["bias"])]
    assert [list(trace.x) for trace in points] == [list(words["count"])] * 2
    assert list(points[0].customdata[:, 0]) == list(words["word"])
    assert {trace.meta for trace in points} == {HOSTILE}
    assert [axis.title.text for axis in figure.select_xaxes()] == ["times in training"] * 2
    assert figure.layout.title.text


def test_a_word_that_is_clicked_is_found_and_marked(words):
    words = learned(words)
    figure, word = norm_figure(words), words["word"].iloc[3]
    assert token_at(figure, {"customdata": [word, 2]}) == Token("target", None, word)
    assert shows_word(figure, word)
    assert not shows_word(figure, "no such word")
    assert len(outlines(figure, Token("target", None, word))) == 2


def test_the_legend_has_the_rank_correlations_of_scipy(words):
    words = learned(words).assign(run="tied")
    found = [stats.spearmanr(words["count"], words[name]).statistic for name in ("used_norm", "bias")]
    shown = [f"{value:.2f}".replace("-", "−") for value in found]
    figure = norm_figure(words)
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == [
        f"tied<br>ρ {shown[0]}, bias ρ {shown[1]}"
    ]
    assert NORMS_BY_FREQUENCY.finding(words).endswith(f"(ρ {shown[0]}). Output biases: tied ρ {shown[1]}.")


def test_a_norm_that_all_words_have_is_a_dashed_line_that_leaves_the_scale_alone(words):
    tied = learned(words).assign(run="tied")
    alone = norm_figure(tied).layout.yaxis.range
    for value in (1000.0, 0.0, tied["used_norm"].median()):
        fixed = words.assign(run="fixnorm", used_norm=value)
        figure = norm_figure(pd.concat([tied, fixed]))
        (line,) = (trace for trace in figure.data if trace.line.dash == "dash")
        low, high = figure.layout.yaxis.range
        assert (low, high) == alone
        assert low < line.y[0] == line.y[1] < high
        (note,) = (annotation.text for annotation in figure.layout.annotations)
        assert ("off the scale" in note) == (value not in line.y)
        assert f"{value:,.2f}" in note
        assert "fixnorm<br>constant, bias ρ" in str([trace.name for trace in figure.data])


def test_norms_that_are_equal_up_to_rounding_are_drawn_as_equal(words):
    def drawn_range(low: float, high: float) -> tuple[float, float]:
        return norm_figure(words.assign(used_norm=np.linspace(low, high, len(words)))).layout.yaxis.range

    for middle, low, high in ((3.5, 3.4999996, 3.5000004), (-2.0, -2.0, -2.0)):
        assert drawn_range(low, high) == pytest.approx((middle - abs(middle) / 10, middle + abs(middle) / 10), abs=1e-6)
    assert drawn_range(3.4, 3.5) == pytest.approx((3.395, 3.505))
    assert drawn_range(0.0, 0.0) == (-1, 1)


def test_words_that_were_never_seen_have_a_place_on_the_axis(words):
    figure = norm_figure(learned(words).assign(count=np.arange(len(words))))
    assert list(traces(figure, "markers")[0].x)[:2] == [0.5, 1]
    assert "0" in figure.layout.xaxis.ticktext


def test_findings_name_four_runs_and_say_how_norms_go(words):
    tied = learned(words)
    for norm, said in ((tied["count"], "grows with"), (-tied["count"], "falls with")):
        assert f"a: the norm {said} frequency (ρ " in norm_finding(tied.assign(used_norm=norm, run="a"))
    many = pd.concat([words.assign(run=name) for name in "abcdef"])
    assert "d: constant by construction and 2 more." in norm_finding(many)
    assert norm_finding(words[:0]) == ""


def test_names_and_words_are_shown_as_text_and_not_as_tags(words):
    figure = norm_figure(words.assign(word=HOSTILE))
    figure.update_traces(customdata=None, meta=None)  # nothing of them is shown but counts
    assert "<script" not in str(figure.to_dict())
    assert any(str(trace.name).startswith(plain(HOSTILE)) for trace in figure.data)


def test_of_many_words_every_nth_is_drawn(words):
    many = words.loc[words.index.repeat(5000 // len(words) + 1)].assign(rank=lambda frame: range(1, len(frame) + 1))
    many["count"] = many["rank"]
    points = traces(norm_figure(learned(many)), "markers")
    step = -(-len(many) // 1000)
    assert step > 1
    assert all(list(trace.x) == list(range(1, len(many) + 1, step)) for trace in points)
