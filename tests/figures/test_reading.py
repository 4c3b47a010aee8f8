"""Text of right-to-left scripts, in lines of its own and beside other text."""

import pandas as pd
import pytest

from nmtlab.analysis.attention.weights import attention_figure
from nmtlab.analysis.lexical.lexicon import lexicon_figure
from nmtlab.figures.marks import Token, token_at
from nmtlab.figures.theme import is_right_to_left, isolated, readable

HEBREW, UYGHUR = "▁הספר", "▁كىتاب"


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [([HEBREW, "▁35.50", "</s>"], True), ([UYGHUR], True), (["<2he>", "▁לא", "</s>"], True), (["▁dog", "</s>"], False),
     (["IBM", HEBREW], True), (["▁the", "▁word", HEBREW], False), (["</s>"], False),
     (["12", "(", "▁"], False), ([], False)],
)  # fmt: skip
def test_a_sentence_is_right_to_left_if_most_of_its_letters_are(tokens, expected):
    assert is_right_to_left(tokens) is expected


def test_only_text_with_letters_of_such_a_script_is_isolated():
    assert isolated("▁dog (12)") == "▁dog (12)"
    assert isolated(HEBREW) == f"\u2067{HEBREW}\u2069"
    assert isolated("the word לא") == "\u2066the word לא\u2069"


def test_labels_of_a_heatmap_keep_their_direction_and_its_tokens_are_as_they_were():
    rows = [
        {"run": "r", "layer": 1, "head": 1, "weight": 0.5, "source_position": s, "target_position": t,
         "source_piece": source, "target_piece": target, "source_count": 1, "target_count": 1,
         "source_unknown": False, "target_unknown": False}
        for s, source in enumerate(["▁dog"]) for t, target in enumerate([HEBREW, "</s>"])
    ]  # fmt: skip
    figure = attention_figure(pd.DataFrame(rows))
    assert list(figure.layout.yaxis.ticktext) == [f"\u2067{HEBREW[1:]}\u2069", "⟨end⟩"]
    assert list(figure.layout.xaxis.ticktext) == ["dog"]
    assert token_at(figure, {"axis": "y", "value": 0}) == Token("target", 1, HEBREW)


@pytest.mark.parametrize(
    ("pieces", "read"),
    [
        (["▁ev", "i", "▁", "a", "<unk>", ".", "</s>"], ["ev", "·i", "␣", "·a", "⟨unknown⟩", "·.", "⟨end⟩"]),
        (["evi", "<unk>", ".", "</s>"], ["evi", "⟨unknown⟩", ".", "⟨end⟩"]),
        (["<s>", "<2he>", HEBREW, "ים"], ["⟨start⟩", "<2he>", HEBREW[1:], "·ים"]),
        (["▁a", "a", "▁▁"], ["a", "·a", "␣␣"]),
        ([], []),
    ],
)
def test_pieces_are_read_as_words_and_their_continuations_and_different_ones_stay_different(pieces, read):
    assert readable(pieces) == read


@pytest.mark.parametrize("word", [HEBREW, "<unk>", "dog"])
def test_a_bar_is_clicked_by_its_label(word):
    translations = pd.DataFrame({"by": ["r"], "target": [word], "probability": [0.5]})
    figure = lexicon_figure("hund", translations)
    label = figure.data[0].x[0]
    assert token_at(figure, {"xaxis": "x", "x": label}) == Token("target", None, word)
