import math

import pandas as pd
import pytest

from nmtlab.analysis.access.scoring import compare_texts, has_words, score_texts, text_metrics, who_wins

SENTENCE = "他有一只黑色的猫，很好。"


@pytest.mark.parametrize(("language", "tokenizer"), [("zho_Hans", "zh"), ("zh", "zh"), ("jpn_Jpan", "char")])
def test_text_without_spaces_has_no_tokenized_bleu_under_any_code(language, tokenizer):
    scores = score_texts([SENTENCE] * 4, [[SENTENCE] * 4], language)
    assert scores["bleu"] == pytest.approx(100)
    assert f"tok:{tokenizer}|" in scores["bleu_signature"]
    assert math.isnan(scores["tokenized_bleu"])
    compared = compare_texts({"a": [SENTENCE] * 4, "b": [SENTENCE] * 4}, [[SENTENCE] * 4], language, samples=10)
    assert compared["metric"].unique().tolist() == ["BLEU", "chrF", "chrF++"]


@pytest.mark.full
def test_text_of_a_language_without_spaces_that_was_tokenized_has_tokenized_bleu():
    line = "彼 は 英語 を 話 し ま す 。"
    assert score_texts([line], [[line]], "ja")["tokenized_bleu"] == pytest.approx(100)


def test_other_text_has_tokenized_bleu_however_long_its_words_are():
    assert has_words(["Donaudampfschifffahrtsgesellschaft"], "de")
    assert has_words(["Donaudampfschifffahrtsgesellschaft"], "qaa")
    assert not has_words([], "th")
    scores = score_texts(["l'eau d'ici est bonne"], [["l'eau d'ici est bonne"]], "fra_Latn")
    assert scores["tokenized_bleu"] == pytest.approx(100)


def test_who_wins_is_told_by_metric_whichever_way_it_counts():
    rows = [
        ("BLEU", "a", 0.0, math.nan, "higher"), ("BLEU", "b", 2.0, 0.01, "higher"), ("BLEU", "c", -1.0, 0.3, "higher"),
        ("TER", "a", 0.0, math.nan, "lower"), ("TER", "b", 3.0, 0.01, "lower"), ("TER", "c", -3.0, 0.01, "lower"),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["metric", "system", "difference", "p", "better"])
    assert who_wins(table) == [
        "b against a: better in BLEU; worse in TER",
        "c against a: better in TER; no clear difference in BLEU",
    ]


def test_metrics_that_are_not_computed_have_their_reasons():
    assert list(text_metrics([["a b c"]], "en").of) == ["BLEU", "chrF", "chrF++", "tokenized BLEU"]
    assert set(text_metrics([["a b c"]], "en").missing) == {"TER", "spBLEU"}
    assert set(text_metrics([["ขอบคุณมากนะครับ"]], "th", ter=True).missing) == {"TER", "spBLEU", "tokenized BLEU"}
