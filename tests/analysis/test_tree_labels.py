"""Which nodes of a search tree have their token written, and where."""

import itertools

import pandas as pd
import pytest

from nmtlab.analysis.search.tree_figure import APART, Scale, labelled_nodes, placed_labels

COLUMNS = ["step", "slot", "parent", "piece", "log_prob", "ended", "dropped", "best", "reference"]
TREE = pd.DataFrame(
    [
        (1, 1, 0, "a", -1.0, False, False, True, True),
        (1, 2, 0, "z", -2.0, False, False, False, False),
        (1, 3, 0, "</s>", -3.0, True, False, False, False),
        (2, 1, 1, "b", -2.0, False, False, True, False),
        (2, 2, 1, "c", -2.5, False, False, False, False),
        (2, 3, 3, "", -3.0, True, True, False, False),
        (2, 4, 2, "y", -4.0, False, True, False, False),
        (3, 1, 1, "</s>", -2.5, True, False, True, False),
        (3, 2, 2, "d", -3.5, False, False, False, False),
    ],
    columns=COLUMNS,
)
REFERENCE = pd.DataFrame(
    {"step": [1, 2], "slot": [1, 0], "piece": ["a", "x"], "log_prob": [-1.0, -8.0]},
)


def long_tree(steps: int, beam: int = 6, drop: float = 0.05) -> pd.DataFrame:
    """Return a tree whose tokens are long and whose hypotheses are close together."""
    rows = []
    for step, slot in itertools.product(range(1, steps + 1), range(1, beam + 1)):
        parent = min(slot, 2) * (step > 1)
        log_prob = -drop * step - 0.1 * slot
        rows.append((step, slot, parent, f"token{step}x{slot}", log_prob, False, False, slot == 1, slot == 3))
    return pd.DataFrame(rows, columns=COLUMNS)


def gaps(labels: pd.DataFrame, scale: Scale) -> list[float]:
    """Return the distance of any two labels, across or down, whichever is larger."""
    x = labels["step"] * scale.step + labels["right"]
    y = -labels["log_prob"] * scale.log_prob + labels["down"]
    half = [3.3 * len(label) + 2 for label in labels["label"]]
    boxes = list(zip(x, y, half, strict=True))
    return [
        max(abs(one[0] - other[0]) - one[2] - other[2], abs(one[1] - other[1]) - 16)
        for one, other in itertools.combinations(boxes, 2)
    ]


def test_the_returned_the_references_and_parting_hypotheses_are_labelled():
    nodes = labelled_nodes(TREE, REFERENCE)
    kinds = {(row.step, row.slot): (row.piece, row.kind) for row in nodes.itertuples()}
    assert kinds == {
        (1, 1): ("a", "best"),
        (2, 1): ("b", "best"),
        (3, 1): ("</s>", "best"),
        (2, 0): ("x", "reference"),
        (1, 2): ("z", "branch"),
        (1, 3): ("</s>", "branch"),
        (2, 2): ("c", "branch"),
    }


def test_a_single_or_dropped_continuation_and_a_kept_slot_are_not_labelled():
    nodes = labelled_nodes(TREE)
    assert not {(2, 3), (2, 4), (3, 2)} & set(zip(nodes["step"], nodes["slot"], strict=True))


def test_longer_lived_branches_come_first():
    branches = labelled_nodes(TREE).query("kind == 'branch'")
    assert branches["piece"].tolist() == ["c", "z", "</s>"]


def test_the_marked_path_comes_before_all_others():
    marked = TREE.iloc[[0, 4]]
    nodes = labelled_nodes(TREE, REFERENCE, marked)
    assert nodes["piece"].tolist()[:2] == ["a", "c"]
    assert nodes["kind"].tolist()[:2] == ["marked", "marked"]
    assert not nodes.duplicated(["step", "slot"]).any()


@pytest.mark.parametrize("steps", [3, 12, 30, 60])
@pytest.mark.parametrize("width", [1000, 1640])
def test_no_two_labels_are_nearer_than_stated_on_a_page_of_1280_or_1920_pixels(steps, width):
    tree = long_tree(steps)
    low = 1.08 * tree["log_prob"].min()
    narrow = Scale(1000 / (steps + 1.5), 500 / -low, low)
    labels = placed_labels(labelled_nodes(tree), narrow)
    assert len(labels) > steps
    assert min(gaps(labels, narrow._replace(step=width / (steps + 1.5)))) >= APART - 1e-9


def test_every_token_of_the_returned_translation_has_room_in_a_sentence_of_30():
    tree = long_tree(30, drop=0.3)
    low = 1.08 * tree["log_prob"].min()
    labels = placed_labels(labelled_nodes(tree), Scale(1000 / 31.5, 500 / -low, low))
    assert (labels["kind"] == "best").sum() == 30


def test_labels_stay_inside_the_axes():
    scale = Scale(100, 10, -4)
    labels = placed_labels(labelled_nodes(TREE, REFERENCE), scale)
    down = -labels["log_prob"] * scale.log_prob + labels["down"]
    assert (down >= 8).all()
    assert (down <= 32).all()
    assert "x" not in labels["piece"].tolist()  # the reference there is below the axis


def test_a_long_token_is_cut():
    tree = TREE.assign(piece=TREE["piece"].where(TREE["piece"] != "b", "Donaudampfschifffahrt"))
    labels = placed_labels(labelled_nodes(tree), Scale(200, 100, -5))
    assert "Donaudampfs…" in labels["label"].tolist()


def test_a_tree_without_room_has_no_labels_but_its_columns():
    labels = placed_labels(labelled_nodes(TREE), Scale(100, 1, -5))
    assert labels.empty
    assert {"label", "right", "down"} <= set(labels.columns)
