"""Lengths of word vectors and output biases by frequency."""

import shutil

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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
    spearman,
    word_norms,
)
from nmtlab.errors import RunError
from nmtlab.figures.theme import plain
from nmtlab.models.build import build_model
from nmtlab.recipe import RnnSettings, find_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_system, train
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
    model = build_model(settings, pipeline.source.size, pipeline.target_allowed, joint=False)
    frame = word_norms(translator(model, pipeline))
    assert frame[["id", "rank"]].to_numpy().tolist() == [[4, 1], [6, 2]]
    assert frame["used_norm"].to_numpy() == pytest.approx(frame["norm"].to_numpy())


def test_median_and_range_of_each_bin_are_those_of_its_words():
    generator = np.random.default_rng(0)
    words = pd.DataFrame({"rank": np.arange(1, 601), "count": np.arange(600, 0, -1)})
    words["norm"], words["used_norm"], words["bias"] = generator.random(600), np.nan, generator.random(600)
    table = norm_bins(words.sample(frac=1, random_state=0))
    assert table["quantity"].tolist() == ["norm"] * 3 + ["bias"] * 3
    for row in table.to_dict("records"):
        values = sorted(words.loc[words["rank"].between(row["first_rank"], row["last_rank"]), row["quantity"]])
        assert row["words"] == len(values)
        assert (row["lowest"], row["highest"]) == (values[0], values[-1])
        assert row["median"] == pytest.approx((values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2)
    assert table[["first_rank", "last_rank"]].to_numpy().tolist()[:3] == [[1, 256], [257, 512], [513, 600]]
    assert table["median_count"].tolist()[:3] == [472.5, 216.5, 44.5]
    assert norm_bins(words, size=600)["words"].tolist() == [600, 600]


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
    assert norm_bins(frame)["quantity"].tolist() == ["norm"]
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
    view = NORMS_BY_FREQUENCY.view([run], bin_size=5)
    words = word_norms(run)
    assert list(view.frame["spearman"].dropna()) == list(norm_correlations(words)["spearman"].dropna())
    assert [len(points.y) for points in traces(view.figure, "markers")] == [len(words)] * 2
    assert run.notes.answers(NORMS_BY_FREQUENCY.key) == stored


def test_words_are_drawn_only_if_asked_for(trained):
    assert not traces(NORMS_BY_FREQUENCY.view(trained[0], points=False).figure, "markers")


@pytest.fixture(scope="module")
def words(trained) -> pd.DataFrame:
    return word_norms(trained[0]).assign(run=HOSTILE)


def traces(figure: go.Figure, mode: str) -> list:
    return [trace for trace in figure.data if trace.mode == mode]


def test_norms_are_drawn_by_bin_and_by_word(words):
    bins, figure = norm_bins(words, 5), norm_figure(words, 5)
    for quantity, line in zip(("used_norm", "bias"), traces(figure, "lines+markers"), strict=True):
        assert list(line.y) == list(bins.loc[bins["quantity"] == quantity, "median"])
    points = traces(figure, "markers")
    assert [list(trace.y) for trace in points] == [list(words["used_norm"]), list(words["bias"])]
    assert list(points[0].customdata[:, 0]) == list(words["word"])
    assert {trace.meta for trace in points} == {HOSTILE}
    assert [axis.title.text for axis in figure.select_xaxes()] == ["frequency rank of the word"] * 2
    assert figure.layout.title.text


def test_norms_that_are_equal_up_to_rounding_are_drawn_as_equal(words):
    def drawn_range(low: float, high: float) -> tuple[float, float] | None:
        return norm_figure(words.assign(used_norm=np.linspace(low, high, len(words)))).layout.yaxis.range

    for middle, low, high in ((3.5, 3.4999996, 3.5000004), (-2.0, -2.0, -2.0)):
        assert drawn_range(low, high) == pytest.approx((middle - abs(middle) / 10, middle + abs(middle) / 10), abs=1e-6)
    assert drawn_range(3.4, 3.5) is None
    assert drawn_range(0.0, 0.0) is None


def test_names_and_words_are_shown_as_text_and_not_as_tags(words):
    figure = norm_figure(words.assign(word=HOSTILE))
    figure.update_traces(customdata=None, meta=None)  # nothing of them is shown but counts
    assert "<script" not in str(figure.to_dict())
    assert plain(HOSTILE) in [trace.name for trace in figure.data]


def test_of_many_words_every_nth_is_drawn(words):
    many = words.loc[words.index.repeat(5000 // len(words) + 1)].assign(rank=lambda frame: range(1, len(frame) + 1))
    points = traces(norm_figure(many, 5), "markers")
    step = -(-len(many) // 1000)
    assert step > 1
    assert all(list(trace.x) == list(range(1, len(many) + 1, step)) for trace in points)
