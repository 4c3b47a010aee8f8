"""What analyses say that they found, from answers made by hand."""

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.languages.cognates import COGNATE_NEIGHBOURS
from nmtlab.analysis.languages.directions import DIRECTION_SCORES
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.layers import LANGUAGE_BY_LAYER, SIMILARITY_BY_LAYER
from nmtlab.analysis.languages.movement import MOVEMENT
from nmtlab.analysis.languages.shared_words import TYPES_OF_PARENT, WORDS_OF_PARENT
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY
from nmtlab.analysis.lexical.lexical_choice import LEXICAL_CHOICE
from nmtlab.analysis.states.projection import STATE_PROJECTION, WORD_PROJECTION
from nmtlab.figures.words import listed, number, quoted


def frame(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=columns.split())


FOUND = {
    MOVEMENT: (
        frame("kind angle", ("shared", 10.0), ("shared", 30.0), ("shared", 21.4), ("new", 80.6)),
        "Vectors turn, in the median: a: inherited types 21°, new types 81°.",
    ),
    COGNATE_NEIGHBOURS: (
        frame(
            "kind vectors precision", ("cognate", "spelling alone", 0.19), ("cognate", "parent", 0.2),
            ("cognate", "child", 0.304), ("no cognate", "child", 0.01),
        ),
        "A cognate is the nearest word of the parent's language: a: 19 % by spelling alone, 20 % by the parent's "
        "vectors, 30 % by the child's.",
    ),
    DIRECTION_SCORES: (
        frame("trained bleu", (True, 20.0), (True, 21.1), (False, 3.0)),
        "Mean of all directions: 2 trained directions 20.6 BLEU, 1 zero-shot direction 3.0 BLEU.",
    ),
    SIMILARITY_BY_LAYER: (
        frame("layer cka null_95 precision precision_back", (0, 0.1, 0.1, 0, 0), (2, 0.8, 0.02, 0.5, 0.7),
              (2, 0.9, 0.02, 0.9, 0.7)),
        "After the last encoder layer two languages have a similarity of 0.85 (CKA; chance 0.02), and 70 % of "
        "sentences are nearest to their translation.",
    ),
    LANGUAGE_BY_LAYER: (
        frame("layer units accuracy chance", (0, "all", 0.4, 0.33), (3, "all", 0.98, 0.33), (3, "shared", 0.87, 0.33)),
        "After the last encoder layer a probe tells the source language: 98 % from all units, 87 % from shared units "
        "(by chance 33 %).",
    ),
    GRADIENT_COSINES: (
        frame("direction other_direction cosine", ("a-b", "c-b", -0.1), ("a-b", "c-b", 0.2), ("a-b", "c-b", np.nan),
              ("a-b", "a-b", 0.16)),
        "Gradients of two directions have a mean cosine of 0.05, where full agreement gives 0.16; they oppose each "
        "other in 1 of 2 parts and pairs.",
    ),
    WORDS_OF_PARENT: (
        frame("kind in_target count", *[("shared", False, 2)] * 3, ("lookalike", False, 1),
              *[("only here", False, 1)] * 4, ("shared", True, 9)),
        "Of the words that are not also target words, 38 % mean the same in the parent's text, 12 % are lookalikes, "
        "and 50 % are not in it.",
    ),
    TYPES_OF_PARENT: (
        frame("split token_share", ("train", 0.9), ("dev", 0.666)),
        "Tokens of the dev text whose type the parent has: a 67 %.",
    ),
    LEXICAL_CHOICE: (
        frame("quantity value", ("rare recall", 0.13), ("frequent recall", 0.8), ("left shift", 1.4)),
        "Translated right: a 13 % of rare words and 80 % of others.",
    ),
    WORD_PROJECTION: (
        frame("count x y x_share y_share", (1, 3, 1, 0.05, 0.04), (2, 2, 3, 0.05, 0.04), (3, 1, 2, 0.05, 0.04)),
        "In the plane, a: 9 % of the variance, axis 1 follows frequency with |ρ| 1.00.",
    ),
    STATE_PROJECTION: (
        frame("count x y x_share y_share", (1, 3, 1, np.nan, np.nan), (1, 2, 3, np.nan, np.nan)),
        "In the plane, a: axis 1 follows frequency with |ρ| 0.00.",
    ),
    NORMS_BY_FREQUENCY: (
        frame("count norm used_norm bias", (1, 1, 1, np.nan), (2, 2, 2, np.nan), (3, 3, 3, np.nan)),
        "a: the norm grows with frequency (ρ 1.00).",
    ),
}  # fmt: skip


@pytest.mark.parametrize("analysis", FOUND, ids=lambda analysis: analysis.key)
def test_an_analysis_says_what_it_found(analysis):
    found, said = FOUND[analysis]
    assert analysis.finding(found.assign(run="a")) == said
    assert analysis.finding(found.assign(run="a")[:0]) == ""
    if said.count("a: ") == 1 and found.columns[0] != "kind":
        many = pd.concat([found.assign(run=name) for name in "abcdef"])
        assert analysis.finding(many).endswith("and 2 more.")


def test_numbers_words_and_names_are_written_in_one_way():
    assert [number(value) for value in (1234.5, -0.123, -0.001)] == ["1,234.50", "−0.12", "0.00"]
    assert [number(value, 1, sign=True) for value in (0.25, -0.04, -3)] == ["+0.2", "+0.0", "−3.0"]
    assert [quoted(word) for word in ("▁evi", "<unk>", "▁")] == ["“evi”", "the unknown word", "“▁”"]
    assert listed("abcd") == "a, b, c, d"
    assert listed("abcdef", "; ") == "a; b; c; d and 2 more"
