"""Attention side by side, its shift and its alignment error: by hand, and against plain loops over the model."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.pointing_model import PointingModel

from nmtlab.analysis.access.reference_links import reference_links
from nmtlab.analysis.access.word_pairs import WordPair, forced_attention, pair_of_words, piece_links, word_pairs
from nmtlab.analysis.attention.shift import (
    SHIFT,
    attention_error,
    attention_shift,
    error_by_line,
    peak_counts,
    peak_shifts,
    shift_distribution,
    shift_figure,
    shift_summary,
    sink_summary,
)
from nmtlab.analysis.attention.weights import ATTENTION, attention
from nmtlab.analysis.metrics import find_metric, sums_of, value_of
from nmtlab.errors import CorpusError, RunError
from nmtlab.evaluation.alignment_error import alignment_error
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.vocabulary import BOS, UNK
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace

FIRST_EXCESS = find_metric("first-excess")
MOVED_GAIN = find_metric("moved-gain")
PEAKS_LINKED = find_metric("peaks-linked")


@pytest.fixture(scope="module")
def links(tiny_corpus) -> list[frozenset]:
    """The gold links of the tiny corpus' test text, which is translated word for word."""
    return [frozenset((i, i) for i in range(len(s.split()))) for s, _ in tiny_corpus.pairs("test")]


@pytest.fixture(scope="module")
def runs(zoo, tmp_path_factory) -> dict[str, Run]:
    """A word system that knows ten words of each language, and a subword system."""
    workspace = Workspace(tmp_path_factory.mktemp("runs"))
    return {name: zoo.copy(name, workspace, name) for name in ("words", "pieces")}


def pair_of(source: str, target: str, links: set, unknown: str = "", line: int = 1) -> WordPair:
    source_words, target_words = source.split(), target.split()
    return WordPair(
        line=line,
        source=source,
        source_words=source_words,
        target_words=target_words,
        source_places=list(range(len(source_words))),
        target_places=list(range(len(target_words))),
        source_ids=[],
        target_ids=[],
        unknown=np.array([word in unknown.split() for word in target_words]),
        links=links,
    )


def looking_at(pair: WordPair, *peaks: int) -> np.ndarray:
    """Return weights of 0.6 at a peak for each target word."""
    weights = np.full((len(pair.target_words), len(pair.source_words)), 0.05)
    weights[range(len(peaks)), peaks] = 0.6
    return weights


# Figure 3.3: "But Deutsche" instead of "Deutsche Telekom"
STRAIGHT = {(i, i) for i in range(5)}
NEWS = pair_of("But Deutsche Telekom said no", "tuy Deutsche Telekom nói không", STRAIGHT, "Deutsche Telekom")


def test_attention_one_word_to_the_left_is_shifted_by_one():
    frame = peak_shifts("tied", [NEWS], [looking_at(NEWS, 0, 0, 1, 2, 3)])
    assert frame["shift"].tolist() == [0, 1, 1, 1, 1]
    assert frame["source_word"].tolist() == ["But", "But", "Deutsche", "Telekom", "said"]
    assert frame["weight"].tolist() == [0.6] * 5
    assert frame["unknown"].tolist() == [False, True, True, False, False]
    assert frame["run"].tolist() == ["tied"] * 5
    assert frame["line"].tolist() == [1] * 5


def test_attention_to_the_right_is_shifted_by_minus():
    frame = peak_shifts("x", [NEWS], [looking_at(NEWS, 3, 4, 2, 3, 4)])
    assert frame["shift"].tolist() == [-3, -3, 0, 0, 0]


@pytest.mark.parametrize(
    ("peak", "linked", "shift"), [(0, 1, 1), (1, 1, 0), (2, 1, -1), (3, 4, 1), (4, 4, 0)]
)  # between two links, the left one
def test_of_several_links_the_nearest_one_counts(peak, linked, shift):
    pair = pair_of("a b c d e", "x", {(1, 0), (4, 0)})
    (row,) = peak_shifts("x", [pair], [looking_at(pair, peak)]).to_dict("records")
    assert (row["source_position"], row["linked_position"], row["shift"]) == (peak, linked, shift)


def test_of_two_equally_near_links_the_left_one_counts():
    pair = pair_of("a b c", "x", {(0, 0), (2, 0)})
    assert peak_shifts("x", [pair], [looking_at(pair, 1)])["linked_position"].tolist() == [0]


def test_a_word_without_a_link_has_no_shift():
    pair = pair_of("a b", "x y", {(1, 1)})
    frame = peak_shifts("x", [pair], [looking_at(pair, 0, 0)])
    assert frame["shift"].isna().tolist() == [True, False]
    assert frame["shift"][1] == 1
    summary = shift_summary(frame, by=["run"])
    assert summary["words"].tolist() == [1]


def test_no_pairs_make_an_empty_table():
    frame = peak_shifts("x", [], [])
    assert frame.empty
    assert list(frame.columns) == list(peak_shifts("x", [NEWS], [looking_at(NEWS, 0, 0, 0, 0, 0)]).columns)
    assert shift_summary(frame).empty


def test_the_summary_is_what_one_would_count():
    a = peak_shifts("tied", [NEWS], [looking_at(NEWS, 0, 0, 1, 2, 4)])
    b = peak_shifts("lex", [NEWS], [looking_at(NEWS, 0, 1, 4, 3, 4)])
    both = pd.concat([a, b])
    summary = shift_summary(both, by=["run", "unknown"]).set_index(["run", "unknown"])
    assert summary.loc[("tied", True)].to_dict() == {
        "words": 2, "mean": 1.0, "median": 1.0, "left": 1.0, "on": 0.0, "right": 0.0,
    }  # fmt: skip
    assert summary.loc[("tied", False), "mean"] == pytest.approx(1 / 3)
    assert summary.loc[("tied", False), ["left", "on"]].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert summary.loc[("lex", True)].to_dict() == {
        "words": 2, "mean": -1.0, "median": -1.0, "left": 0.0, "on": 0.5, "right": 0.5,
    }  # fmt: skip


def test_the_distribution_counts_each_shift():
    frame = peak_shifts("tied", [NEWS], [looking_at(NEWS, 0, 0, 1, 2, 4)])
    distribution = shift_distribution(frame, by=["run"])
    assert distribution.to_dict("list") == {
        "run": ["tied", "tied"], "shift": [0, 1], "words": [2, 3], "share": [0.4, 0.6],
    }  # fmt: skip
    assert shift_distribution(frame)["share"].tolist() == pytest.approx([2 / 3, 1 / 3, 1.0])


def test_a_sink_on_the_first_word_is_not_a_shift_by_one():
    words = pair_of("a b c d", "w x y z", {(0, 0), (1, 1), (2, 2), (3, 3)})
    sunk, shifted = looking_at(words, 0, 0, 0, 3), looking_at(words, 0, 0, 1, 2)
    both = pd.concat([peak_shifts("sunk", [words], [sunk]), peak_shifts("shifted", [words], [shifted])])
    summary = sink_summary(both).set_index("run")
    assert summary.loc["sunk"].to_dict() == {
        "words": 4, "first": 0.75, "first_linked": 0.25, "last": 0.25, "last_linked": 0.25, "on": 0.5,
        "on_if_moved": 0.25, "most_frequent": 0,
    }  # fmt: skip
    assert summary.loc["shifted"].to_dict() == {
        "words": 4, "first": 0.5, "first_linked": 0.25, "last": 0.0, "last_linked": 0.25, "on": 0.25,
        "on_if_moved": 0.75, "most_frequent": 1,
    }  # fmt: skip


def test_many_links_of_a_word_do_not_change_the_distribution_nor_the_sink():
    """The nearest link of several makes a shift smaller: an aligner's links and gold ones would not compare."""
    gold = pair_of("a b c d", "w x y", {(0, 0), (1, 1), (3, 2)})
    aligned = pair_of("a b c d", "w x y", {(0, 0), (1, 1), (3, 2), (1, 2), (2, 2)})
    frames = [peak_shifts("x", [pair], [looking_at(pair, 0, 0, 1)]) for pair in (gold, aligned)]
    assert [frame["shift"].abs().mean() for frame in frames] == [1, pytest.approx(1 / 3)]
    assert [frame["links"].tolist() for frame in frames] == [[1, 1, 1], [1, 1, 3]]
    single = [frame[frame["target_word"] != "y"] for frame in frames]
    for summarise in (sink_summary, lambda some: shift_distribution(some, by=["run"])):
        assert summarise(frames[1]).equals(summarise(single[0]))
        assert not summarise(frames[1]).equals(summarise(frames[0]))


@pytest.mark.full
def test_the_peaks_of_a_test_text_are_those_of_the_links_of_its_aligner(runs, tiny_corpus):
    run = runs["words"]
    found = attention_shift(run, tiny_corpus, "test", reference_links(run.pipeline, tiny_corpus, "test"))
    counts, summary = peak_counts(run, tiny_corpus).set_index("line"), sink_summary(found).iloc[0]
    for name in set(counts) - {"words"}:
        assert counts[name].sum() / counts["words"].sum() == pytest.approx(summary[name])
    single = found[found["links"] == 1]
    last = single[single["line"] == counts.index[-1]]
    assert counts["words"].iloc[-1] == len(last)
    assert counts["on"].iloc[-1] == (last["shift"] == 0).sum()
    measures = {
        one.amount + one.less: value_of(one, run, tiny_corpus) for one in (PEAKS_LINKED, FIRST_EXCESS, MOVED_GAIN)
    }
    assert measures["on"] == pytest.approx(100 * (single["shift"] == 0).mean())
    first = (single["source_position"] == 0).mean() - (single["linked_position"] == 0).mean()
    assert measures["firstfirst_linked"] == pytest.approx(100 * first)
    assert measures["on_if_movedon"] == pytest.approx(100 * ((single["shift"] == 1).mean() - measures["on"] / 100))


@pytest.mark.full
@pytest.mark.parametrize("share", [PEAKS_LINKED, FIRST_EXCESS, MOVED_GAIN])
def test_what_each_sentence_adds_to_a_share_of_the_peaks_makes_the_share(runs, tiny_corpus, share):
    value = value_of(share, runs["words"], tiny_corpus)
    sums = sums_of(share, runs["words"], tiny_corpus)
    assert sums.shape == (tiny_corpus.count("test"), 2)
    assert sums[:, 0].sum() / sums[:, 1].sum() == pytest.approx(value)


def test_alignment_error_is_that_of_the_peaks_of_all_target_words():
    first = pair_of("a b c", "x y z", {(0, 0), (1, 1)})
    second = pair_of("a b", "x", {(0, 0), (1, 0)}, line=3)
    weights = [looking_at(first, 0, 0, 2), looking_at(second, 1)]
    tied = peak_shifts("tied", [first, second], weights)
    good = peak_shifts("lex", [first], [looking_at(first, 0, 1, 2)])
    links = [first.links, {(9, 9)}, second.links]
    errors = attention_error(pd.concat([tied, good]), links).set_index("run")
    # tied: 4 peaks, 2 of them right, of 4 links; lex, on the first line alone: 3 peaks, 2 right, of 2 links.
    assert errors.loc["tied"].to_dict() == pytest.approx({"error_rate": 0.5, "precision": 0.5, "recall": 0.5})
    assert errors.loc["lex"].to_dict() == pytest.approx({"error_rate": 1 - 4 / 5, "precision": 2 / 3, "recall": 1.0})
    # On the first line one of three peaks is one of two links; on the third, the one peak is one of two.
    by_line = error_by_line(tied, links)
    assert by_line["of"].to_dict() == {1: 5, 3: 3}
    assert by_line["amount"].to_dict() == {1: 3, 3: 1}


# From a decoder to words


def test_a_target_word_has_the_mean_of_its_pieces_and_a_source_word_the_sum(runs, tmp_path):
    pipeline = runs["pieces"].pipeline
    source, target = "hund xq berg", "mountain zz"
    (tmp_path / "test.de").write_text(source + "\n\n", encoding="utf-8")
    (tmp_path / "test.en").write_text(target + "\n\n", encoding="utf-8")
    (pair,) = word_pairs(runs["pieces"], ParallelCorpus.open(tmp_path), "test", [{(2, 0)}, set()])
    assert pair.source_words == source.split()
    assert pair.target_words == target.split()
    assert pair.unknown.tolist() == [False, True]
    random = np.random.default_rng(1)
    rows = random.dirichlet(np.ones(len(pair.source_ids)), len(pair.target_ids)).tolist()
    model = PointingModel(pipeline.target.size, {}, {tuple(pair.source_ids[:-1]): rows})
    model.said = {tuple(pair.source_ids[:-1]): []}
    (found,) = forced_attention(Translator(model, pipeline, SearchSettings()), [pair])
    expected = np.zeros((2, 3))
    for j in range(2):
        own = [t for t, place in enumerate(pair.target_places) if place == j]
        for i in range(3):
            pieces = [s for s, place in enumerate(pair.source_places) if place == i]
            expected[j, i] = sum(rows[t][s] for t in own for s in pieces) / len(own)
    assert len(pair.target_places) > 2
    assert len(pair.source_places) > 3
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@torch.no_grad()
def plain_attention(system: Translator, source_ids: list[int], target_ids: list[int]) -> np.ndarray:
    """Return (layers, heads, |y|, S), decoded one token after the other."""
    state, token, rows = system.model.start(system.model.encode(torch.tensor([source_ids]))), BOS, []
    for following in target_ids:
        step = system.model.step(state, torch.tensor([[token]]), record=True)
        rows.append(step.attention[:, 0, 0])
        state, token = step.state, following
    return torch.stack(rows, dim=2).numpy()


def test_the_shift_on_a_corpus_is_that_of_a_plain_loop(runs, tiny_corpus, links):
    run = runs["words"]
    frame = attention_shift(run, tiny_corpus, "test", links)
    system, pipeline = open_system(run), run.pipeline
    expected, peaks = [], []
    for line, (source, target) in enumerate(tiny_corpus.pairs("test"), start=1):
        source_ids, target_ids = pipeline.source_ids(source), pipeline.target_ids(target)
        weights = plain_attention(system, source_ids, target_ids)[-1].mean(0)[:-1, :-1]
        peaks.append({(int(row.argmax()), j) for j, row in enumerate(weights)})
        for j, word in enumerate(target.split()):
            peak = int(weights[j].argmax())
            expected.append((line, j, word, target_ids[j] == UNK, peak, j - peak))
    columns = ["line", "target_position", "target_word", "unknown", "source_position", "shift"]
    assert list(frame[columns].itertuples(index=False, name=None)) == expected
    assert 0 < frame["unknown"].mean() < 1
    assert frame["shift"].nunique() > 1
    error = attention_error(frame, links).iloc[0]
    assert error["error_rate"] == pytest.approx(alignment_error(peaks, links).error_rate)


def test_a_limit_takes_the_first_lines(runs, tiny_corpus, links):
    done = []
    frame = attention_shift(runs["pieces"], tiny_corpus, "test", links, limit=5, on_progress=done.append)
    whole = attention_shift(runs["pieces"], tiny_corpus, "test", links)
    assert frame["line"].max() == 5
    pd.testing.assert_frame_equal(frame, whole[whole["line"] <= 5], rtol=1e-5)
    assert sum(done) == 5


def test_links_may_be_lists(runs, tiny_corpus, links):
    lists = [sorted(own) for own in links]
    frame = attention_shift(runs["words"], tiny_corpus, "test", lists)
    pd.testing.assert_frame_equal(frame, attention_shift(runs["words"], tiny_corpus, "test", links))
    assert attention_error(frame, lists).equals(attention_error(frame, links))


def test_attention_is_summed_up_for_each_run_in_the_order_given(runs, tiny_corpus, links):
    both = [runs["words"], runs["pieces"]]
    view = SHIFT.view(both, corpus=tiny_corpus, split="test", links=links)
    assert view.frame["run"].tolist() == ["words", "pieces"] == [trace.name for trace in view.figure.data]
    expected = sink_summary(pd.concat([attention_shift(run, tiny_corpus, "test", links) for run in both]))
    assert view.frame["first"].tolist() == expected["first"].tolist()


def test_far_shifts_stand_together_and_left_is_on_the_left():
    shifts = pd.DataFrame({"run": ["tied"] * 10 + ["lex"] * 10, "shift": [7, 5, *[0] * 7, -1, *[0] * 10], "links": 1})
    figure = shift_figure(shifts)
    tied, lex = figure.data
    assert (tied.x[0], tied.x[5], tied.x[-1]) == ("5 or more left", "on it", "5 or more right")
    shares = dict(zip(tied.x, tied.y, strict=True))
    expected = {"5 or more left": 20, "on it": 70, "1 right": 10}
    assert {name: share for name, share in shares.items() if share} == pytest.approx(expected)
    assert dict(zip(lex.x, lex.y, strict=True))["on it"] == pytest.approx(100)
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == (
        "most attended word, counted from the linked one", "linked words (%)",
    )  # fmt: skip


# Side by side


def test_every_weight_of_a_given_target_is_there(runs):
    source, target = "ein hund sieht ein qqq", "one dog sees one qqq"
    frame = ATTENTION.among(list(runs.values()), source=source, target=target)
    assert frame["run"].unique().tolist() == ["words", "pieces"]
    for name, run in runs.items():
        own = frame[frame["run"] == name]
        source_ids, target_ids = run.pipeline.source_ids(source), run.pipeline.target_ids(target)
        expected = plain_attention(open_system(run), source_ids, target_ids)
        assert (own["layer"].max(), own["head"].max()) == expected.shape[:2]
        for row in own.itertuples():
            where = (row.layer - 1, row.head - 1, row.target_position, row.source_position)
            assert row.weight == pytest.approx(expected[where], abs=1e-5)
            assert row.target_unknown == (target_ids[row.target_position] == UNK)
            assert row.source_unknown == (source_ids[row.source_position] == UNK)
        assert len(own) == expected.size
        pieces = own.drop_duplicates("target_position")["target_piece"].tolist()
        assert pieces[-1] == "</s>"
        assert "".join(pieces[:-1]).replace("▁", "") == target.replace(" ", "")
        assert own.drop_duplicates("source_position")["source_piece"].tolist()[:-1] == run.pipeline.source_pieces(
            source
        )
    words = frame[frame["run"] == "words"].drop_duplicates("target_position")
    assert words["target_unknown"].tolist()[-2:] == [True, False]


def test_without_a_target_each_system_has_its_own_translation(runs):
    source = "ein hund sieht ein haus"
    for run in runs.values():
        own = attention(run, source)
        tokens = open_system(run).translate([source])[0].hypotheses[0].tokens
        pieces = own.drop_duplicates("target_position")["target_piece"].tolist()
        assert pieces == [*run.pipeline.target.pieces(tokens), "</s>"]
        sums = own.groupby(["layer", "head", "target_position"])["weight"].sum()
        assert sums.tolist() == pytest.approx([1.0] * len(sums), abs=1e-5)


# Errors


def test_a_blank_sentence_has_no_attention(runs):
    with pytest.raises(CorpusError, match="source sentence: blank; give a sentence"):
        attention(runs["words"], " \t")


@pytest.fixture
def phrase_run(runs, tmp_path) -> Run:
    recipe = runs["words"].recipe.with_changes({"model.family": "phrase"})
    return Run.create(tmp_path / "moses", recipe, {}, runs["words"].pipeline)


def test_a_phrase_based_system_has_nothing_to_look_at(phrase_run, tiny_corpus, links):
    with pytest.raises(RunError, match=r"run 'moses': a phrase-based system .*; choose a transformer"):
        ATTENTION.of(phrase_run, source="ein hund")
    with pytest.raises(RunError, match="run 'moses'"):
        SHIFT.of(phrase_run, corpus=tiny_corpus, split="test", links=links)


def test_links_must_be_as_many_as_pairs(runs, tiny_corpus, links):
    with pytest.raises(CorpusError, match=r"links of 1 pairs, but test of corpus 'tiny' has \d+; give a set of links"):
        attention_shift(runs["words"], tiny_corpus, "test", links[:1])


def test_links_must_be_of_the_words_that_are_there(runs, tiny_corpus, links):
    wrong = [*links[:2], links[2] | {(0, 99)}, *links[3:]]
    with pytest.raises(CorpusError, match=r"links of test, line 3: link 0-99, but the pair has .*; number the aligned"):
        attention_shift(runs["words"], tiny_corpus, "test", wrong)


def test_a_corpus_of_other_languages_is_refused(runs, tiny_corpus, links):
    swapped = ParallelCorpus.open(tiny_corpus.folder, "en", "de")
    with pytest.raises(CorpusError, match="corpus 'tiny' is en to de, run 'words' translates de to en; choose"):
        attention_shift(runs["words"], swapped, "test", links)


def test_links_of_words_are_links_of_all_their_pieces(runs):
    pipeline = runs["pieces"].pipeline
    pair = pair_of_words(pipeline, "hund katze", "dog cat", {(0, 0), (1, 1)})
    source, target = pipeline.source_pieces("hund katze"), pipeline.target.tokenizer.split("dog cat")
    assert len(source) > 2
    begins = [place for place, piece in enumerate(source) if piece.startswith("▁")]
    ends = [place for place, piece in enumerate(target) if piece.startswith("▁")]
    assert piece_links(pair) == {(s, t) for s in range(begins[1]) for t in range(ends[1])} | {
        (s, t) for s in range(begins[1], len(source)) for t in range(ends[1], len(target))
    }


def test_pieces_of_a_word_system_are_its_words(runs):
    pair = pair_of_words(runs["words"].pipeline, "hund katze", "dog cat", {(0, 1)})
    assert piece_links(pair) == {(0, 1)}
