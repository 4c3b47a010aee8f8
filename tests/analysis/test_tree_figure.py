"""The search tree, drawn."""

import pandas as pd

from nmtlab.analysis.search.tree_figure import tree_figure

TREE = pd.DataFrame(
    [
        (1, 1, 0, "a", -1.0, 1, False, False, True, True),
        (1, 2, 0, "", -3.0, 1, True, False, False, False),
        (2, 1, 1, "a <b>", -2.0, 2, False, False, True, False),
        (2, 2, 2, "", -3.0, 1, True, False, False, False),
        (2, 3, 1, "a c", -4.0, 2, False, True, False, True),
        (3, 1, 1, "a <b>", -2.5, 3, True, False, True, False),
        (3, 2, 2, "", -3.0, 1, True, False, False, False),
    ],
    columns=["step", "slot", "parent", "text", "log_prob", "scored_length", "ended", "dropped", "best", "reference"],
).assign(score=lambda tree: tree["log_prob"], piece=["a", "</s>", "<b>", "", "c", "</s>", ""])  # fmt: skip


def lines(figure, name: str) -> list[tuple]:
    (trace,) = [trace for trace in figure.data if trace.name == name]
    return list(zip(trace.x, trace.y, strict=True))


def test_every_hypothesis_is_drawn_from_the_one_that_it_continues():
    figure = tree_figure(TREE)
    gap = (None, None)
    assert lines(figure, "the translation returned") == [
        (0, 0.0),
        (1, -1.0),
        gap,
        (1, -1.0),
        (2, -2.0),
        gap,
        (2, -2.0),
        (3, -2.5),
        gap,
    ]
    assert lines(figure, "the empty translation") == [
        (0, 0.0),
        (1, -3.0),
        gap,
        (1, -3.0),
        (2, -3.0),
        gap,
        (2, -3.0),
        (3, -3.0),
        gap,
    ]
    assert lines(figure, "the reference") == [(1, -1.0), (2, -4.0), gap]
    assert lines(figure, "dropped here") == [(2, -4.0)]


def test_the_first_steps_alone_can_be_drawn():
    figure = tree_figure(TREE, until=1)
    named = [trace.name for trace in figure.data if trace.name]
    assert named == ["the translation returned", "the empty translation"]
    assert max(x for trace in figure.data for x in trace.x if x is not None) == 1


def test_text_is_drawn_letter_by_letter():
    told = [text for trace in tree_figure(TREE).data for text in trace.text or ()]
    assert any("a &lt;b&gt; ■" in text for text in told)
    assert not any("<b>" in text for text in told)


REFERENCE = pd.DataFrame(
    {
        "step": [1, 2, 3, 4], "slot": [1, 3, 0, 0], "piece": ["a", "c", "d", "</s>"],
        "text": ["a", "a c", "a c d", "a c d"], "log_prob": [-1.0, -4.0, -5.0, -6.0],
        "score": [-1.0, -4.0, -5.0, -6.0], "ended": [False, False, False, True],
    }
)  # fmt: skip


def written(figure) -> dict[tuple, str]:
    return {(note.x, note.y): note.text for note in figure.layout.annotations}


def test_tokens_are_written_at_their_nodes():
    tokens = written(tree_figure(TREE, beyond=REFERENCE))
    assert tokens[1, -1.0] == "a"
    assert tokens[2, -2.0] == "&lt;b&gt;"
    assert tokens[3, -2.5] == tokens[4, -6.0] == "⟨end⟩"
    assert tokens[3, -5.0] == "d"


def test_tokens_of_later_steps_are_not_written_yet_and_the_others_stay_in_place():
    whole, begun = (tree_figure(TREE, until, beyond=REFERENCE) for until in (None, 1))
    assert set(written(begun)) == {place for place in written(whole) if place[0] == 1}
    for one in begun.layout.annotations:
        assert (one.ax, one.ay) in [(other.ax, other.ay) for other in whole.layout.annotations if other.x == one.x]
    assert begun.layout.xaxis.range == whole.layout.xaxis.range
    assert begun.layout.yaxis.range == whole.layout.yaxis.range


def test_the_reference_is_drawn_on_where_the_beam_does_not_hold_it():
    figure = tree_figure(TREE, beyond=REFERENCE)
    gap = (None, None)
    assert lines(figure, "the reference, outside the beam") == [(2, -4.0), (3, -5.0), gap, (3, -5.0), (4, -6.0), gap]
    nodes = [node for trace in figure.data for node in trace.customdata or ()]
    assert [3, 0] in nodes
    assert [4, 0] in nodes
    inside = REFERENCE.assign(slot=1)
    assert "the reference, outside the beam" not in [trace.name for trace in tree_figure(TREE, beyond=inside).data]


def test_a_far_less_probable_reference_does_not_flatten_the_beam():
    figure = tree_figure(TREE, beyond=REFERENCE.assign(log_prob=[-1.0, -4.0, -50.0, -99.0]))
    low, _ = figure.layout.yaxis.range
    assert -12 < low < -4
    assert figure.layout.xaxis.range[1] == 4


def test_a_reference_that_is_unlikely_from_its_first_token_is_left_below_the_axis():
    figure = tree_figure(TREE, beyond=REFERENCE.assign(log_prob=[-90.0, -91.0, -92.0, -93.0], slot=0))
    assert figure.layout.xaxis.range[1] == 4
    assert figure.layout.yaxis.range[0] > -12


def test_every_node_names_its_step_and_slot():
    figure = tree_figure(TREE)
    nodes = sorted(tuple(node) for trace in figure.data for node in trace.customdata or ())
    assert nodes == sorted(zip(TREE["step"], TREE["slot"], strict=True))


def test_the_marked_path_is_drawn_from_the_root():
    figure = tree_figure(TREE, marked=TREE.iloc[[0, 4]])
    assert lines(figure, "the selected prefix") == [(0, 0.0), (1, -1.0), (2, -4.0)]
