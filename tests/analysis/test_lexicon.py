"""Translations of single words, and how right they are."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.hand_made_model import (
    TABLE,
    HandMadeModel,
    Vectors,
    along_the_first_axis,
    hand_made_pipeline,
    random_system,
    translator,
)

from nmtlab.alignment.table import LexicalTable
from nmtlab.analysis.lexical.lexicon import (
    agreement,
    agreement_by_frequency,
    agreement_finding,
    gold_translations,
    lexicon_figure,
    lexicon_finding,
    precision,
    precision_finding,
    system_translations,
    table_translations,
    telling_word,
)
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.figures.theme import plain
from nmtlab.text.corpora.corpus import ParallelCorpus

COLUMNS = ["source", "count", "rank", "target", "probability"]
LOGITS = {"Fauchi": [0.0, 1.0, 9.0, 3.0, 5.0], "olim": [0.0, 1.0, 2.0, 4.0, 3.0]}
HOSTILE = "<img src=x onerror=alert(1)>"
DRAWN = pd.DataFrame(
    [("learned", "dog", 0.75), ("learned", "cat", 0.125), ("gold", "dog", 1.0)], columns=["by", "target", "probability"]
)


def lexical_system():
    """A lexicon whose logits are written down: rows are unit vectors, states the logits themselves."""
    pipeline = hand_made_pipeline({"Fauchi": 8, "olim": 20}, {"Fauci": 8, "Chan": 40, "scientist": 20})
    states = torch.zeros(6, 5, dtype=torch.float64)
    states[4], states[5] = (torch.tensor(LOGITS[word], dtype=torch.float64) for word in ("Fauchi", "olim"))
    lexicon = Vectors(torch.eye(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64), states)
    word = Vectors(torch.ones(5, 2).double(), torch.zeros(5).double(), along_the_first_axis(7, 1.0))
    return translator(HandMadeModel(word, lexicon), pipeline)


def table(rows: list[tuple[str, int, int, str, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


def test_the_best_translations_of_a_word_come_with_their_probabilities():
    frame = system_translations(lexical_system(), ["Fauchi"], k=3)
    assert frame.columns.tolist() == COLUMNS
    assert frame["target"].tolist() == ["Fauci", "scientist", "Chan"]
    assert frame["rank"].tolist() == [1, 2, 3]
    weights = np.exp(LOGITS["Fauchi"])
    assert frame["probability"].to_numpy() == pytest.approx((weights / weights.sum())[[2, 4, 3]])


def test_all_words_come_by_falling_count():
    frame = system_translations(lexical_system(), k=1)
    assert frame[["source", "count", "target"]].to_numpy().tolist() == [["olim", 20, "Chan"], ["Fauchi", 8, "Fauci"]]


def test_more_translations_than_words_are_all_words():
    assert len(system_translations(lexical_system(), ["olim"], k=100)) == 5


def test_the_lexicon_of_a_lexical_module_is_a_softmax_over_its_words():
    system = random_system("fixnorm+lex")
    frame = system_translations(system, k=8)
    assert frame.groupby("source")["probability"].sum().to_numpy() == pytest.approx(np.ones(4))
    with torch.inference_mode():
        log_probs = system.model.lexicon(torch.tensor([system.pipeline.source_ids("Entoni")[0]]))[0]
    expected = sorted(log_probs.exp().tolist(), reverse=True)
    assert frame.loc[frame["source"] == "Entoni", "probability"].to_numpy() == pytest.approx(expected)


def test_a_system_with_a_table_has_that_table_as_its_lexicon():
    system = random_system("arthur")
    pd.testing.assert_frame_equal(
        system_translations(system, k=5), table_translations(system.pipeline, TABLE, k=5), check_exact=False
    )


def test_a_table_gives_its_entries_best_first_and_equal_ones_by_id():
    pipeline = lexical_system().pipeline
    aligned = LexicalTable(
        offsets=np.array([0, 0, 0, 0, 0, 3, 5]),
        targets=np.array([6, 4, 5, 5, 4]),
        probabilities=np.array([0.25, 0.5, 0.25, 0.75, 0.0], dtype=np.float32),
    )
    frame = table_translations(pipeline, aligned)
    assert frame.to_numpy().tolist() == [
        ["olim", 20, 1, "Chan", 0.75], ["Fauchi", 8, 1, "Fauci", 0.5], ["Fauchi", 8, 2, "Chan", 0.25],
        ["Fauchi", 8, 3, "scientist", 0.25],
    ]  # fmt: skip
    assert table_translations(pipeline, aligned, ["Fauchi"], k=1)["target"].tolist() == ["Fauci"]


@pytest.mark.parametrize("name", ["untied", "fixnorm", "scale"])
def test_a_system_without_a_lexicon_is_refused(name):
    with pytest.raises(NmtlabError, match=r"the system has no lexicon; choose a run with model.lexicon = 'module'"):
        system_translations(random_system(name))


def test_a_source_word_that_is_no_type_is_refused():
    with pytest.raises(NmtlabError, match="word 'kitob': not in the xx vocabulary; choose a word"):
        system_translations(lexical_system(), ["kitob"])


def test_precision_counts_types_and_tokens_by_frequency():
    translations = table(
        [
            ("a", 100, 1, "A", 0.9), ("a", 100, 2, "X", 0.1),  # right at 1
            ("b", 3, 1, "X", 0.6), ("b", 3, 2, "B2", 0.4),  # right at 2
            ("c", 2, 1, "X", 0.6), ("c", 2, 2, "Y", 0.4),  # wrong
            ("d", 50, 1, "D", 1.0),  # without gold
        ]
    )  # fmt: skip
    gold = pd.DataFrame({"source": ["a", "b", "b", "c", "e"], "target": ["A", "B", "B2", "C", "E"]})
    rows = precision(translations, gold).set_index("frequency")
    assert rows.loc["all"].to_dict() == {
        "types": 3, "tokens": 105, "precision_at_1": 1 / 3, "precision_at_k": 2 / 3,
        "weighted_at_1": 100 / 105, "weighted_at_k": 103 / 105,
    }  # fmt: skip
    assert rows.loc["2-4"].to_dict() == {
        "types": 2, "tokens": 5, "precision_at_1": 0.0, "precision_at_k": 0.5, "weighted_at_1": 0.0,
        "weighted_at_k": 0.6,
    }  # fmt: skip
    assert rows.loc["100+", "precision_at_1"] == 1.0
    assert rows.loc["10-99", "types"] == 0
    assert np.isnan(rows.loc["10-99", "precision_at_1"])


def test_agreement_compares_the_types_that_both_have():
    first = table([("a", 9, 1, "A", 0.9), ("a", 9, 2, "X", 0.1), ("b", 3, 1, "B", 1.0), ("c", 1, 1, "C", 1.0)])
    second = table([("b", 3, 1, "Y", 0.5), ("b", 3, 2, "B", 0.5), ("a", 9, 1, "A", 0.7), ("a", 9, 2, "Z", 0.3)])
    assert agreement(first, second).to_dict("records") == [
        {"source": "a", "count": 9, "first": "A", "second": "A", "agree": True, "shared": 0.5},
        {"source": "b", "count": 3, "first": "B", "second": "Y", "agree": False, "shared": 1.0},
    ]


def test_agreement_is_summed_up_by_frequency():
    first = table([("a", 9, 1, "A", 0.9), ("b", 7, 1, "B", 1.0), ("c", 1, 1, "C", 1.0), ("d", 1, 1, "D", 1.0)])
    second = table([("a", 9, 1, "A", 0.7), ("b", 7, 1, "Y", 0.5), ("b", 7, 2, "B", 0.5), ("c", 1, 1, "Z", 1.0)])
    found = agreement_by_frequency(agreement(first, second))
    assert [*found.columns] == ["frequency", "words", "same best translation", "overlap of the lists"]
    assert [*found.itertuples(index=False, name=None)] == [
        ("1", 1, 0.0, 0.0),
        ("5-9", 2, 0.5, 1.0),
        ("all", 3, pytest.approx(1 / 3), pytest.approx(2 / 3)),
    ]


def test_the_telling_word_is_a_content_word_that_both_judge_most_differently():
    frequent = [(f"w{place}", 100, 1, "W", 1.0) for place in range(50)]  # not of letters alone, too
    words = [
        ("near", 9, 1, "A", 0.9), ("near", 9, 2, "B", 0.1), ("far", 8, 1, "A", 0.8), ("farther", 7, 1, "A", 0.9),
        ("like", 7, 1, "A", 0.9), ("x1", 6, 1, "A", 1.0), ("rare", 4, 1, "A", 1.0), ("mine", 6, 1, "A", 1.0),
    ]  # fmt: skip
    learned = table([("very", 200, 1, "V", 1.0), *frequent[1:], *words])
    others = [("farther", 7), ("like", 7), ("x1", 6), ("rare", 4)]
    aligned = table(
        [
            ("very", 200, 1, "Z", 1.0), ("near", 9, 1, "B", 1.0), ("far", 8, 1, "B", 0.5),
            *((word, count, 1, "B", 0.9) for word, count in others),
        ]
    )  # fmt: skip
    assert telling_word(learned, aligned) == "near"
    assert telling_word(learned, aligned[aligned["source"] != "near"]) == "farther"
    assert telling_word(learned) == "near"
    assert telling_word(learned.head(3), aligned) == "very"
    assert telling_word(learned[:0]) is None


def test_findings_say_how_often_a_lexicon_agrees_and_is_right():
    first = table([("a", 9, 1, "A", 0.9), ("b", 7, 1, "B", 1.0), ("c", 1, 1, "C", 1.0), ("d", 1, 1, "D", 1.0)])
    second = table([("a", 9, 1, "A", 0.7), ("b", 7, 1, "Y", 0.5), ("b", 7, 2, "B", 0.5), ("c", 1, 1, "Z", 1.0)])
    assert agreement_finding(agreement(first, second)) == (
        "Lexicon and aligner have the same best translation for 33 % of 3 words, and 67 % of their lists in common."
    )
    gold = pd.DataFrame({"source": ["a", "b", "c"], "target": ["A", "Y", "C"]})
    assert precision_finding(precision(first, gold)) == (
        "The best translation is right for 67 % of 3 words, and for 100 % of those seen 1 times."
    )
    assert agreement_finding(agreement(first, second[:0])) == precision_finding(precision(first, gold[:0])) == ""


def test_a_finding_on_a_word_has_each_origin_and_what_is_right():
    rows = [
        ("learned", "A", 0.41),
        ("learned", "B", 0.2),
        ("aligner", "B", 0.38),
        ("gold", "B", 0.5),
        ("gold", "C", 0.5),
    ]
    shown = pd.DataFrame(rows, columns=["by", "target", "probability"])
    assert lexicon_finding("x", shown) == (
        "Learned and aligner disagree on “x”: learned “A” (0.41), aligner “B” (0.38); gold: “B”, “C”."
    )
    assert (
        lexicon_finding("x", shown[1:3]) == "Learned and aligner agree on “x”: learned “B” (0.20), aligner “B” (0.38)."
    )
    assert lexicon_finding("▁x", shown[:1]) == "“x”: learned “A” (0.41)."
    assert lexicon_finding("x", shown[:0]) == ""


def gold_corpus(folder, forms: str) -> ParallelCorpus:
    for language in ("xx", "en"):
        (folder / f"test.{language}").write_text("a\n", encoding="utf-8")
    (folder / "gold").mkdir()
    (folder / "gold/forms.xx-en.tsv").write_text("source\ttarget\tcount\tprobability\n" + forms, encoding="utf-8")
    return ParallelCorpus.open(folder, "xx", "en")


def test_gold_words_are_read_as_they_are_written(tmp_path):
    corpus = gold_corpus(tmp_path, 'null\tNA\t3\t1.0\n"\t"\t2\t1.0\n12\t12\t1\t1.0\n')
    gold = gold_translations(corpus, lexical_system().pipeline)
    assert gold.to_numpy().tolist() == [["null", "NA"], ['"', '"'], ["12", "12"]]


def test_a_lexicon_is_judged_by_the_gold_of_its_corpus(tmp_path):
    system = lexical_system()
    corpus = gold_corpus(tmp_path, "Fauchi\tFauci\t8\t1.0\nolim\tscientist\t20\t1.0\n")
    rows = precision(system_translations(system, k=2), gold_translations(corpus, system.pipeline))
    assert rows.iloc[-1].to_dict() == {
        "frequency": "all", "types": 2, "tokens": 28, "precision_at_1": 0.5, "precision_at_k": 1.0,
        "weighted_at_1": 8 / 28, "weighted_at_k": 1.0,
    }  # fmt: skip


def test_a_corpus_without_gold_is_refused(tiny_corpus):
    with pytest.raises(CorpusError, match=r"corpus 'tiny': no gold/forms.de-en.tsv; choose a corpus of artificial"):
        gold_translations(tiny_corpus, lexical_system().pipeline)


def test_who_says_what_with_which_probability():
    learned, gold = lexicon_figure("hund", DRAWN).data
    assert (learned.name, list(learned.x), list(learned.y)) == ("learned", ["dog", "cat"], [0.75, 0.125])
    assert (gold.name, list(gold.x), list(gold.y)) == ("gold", ["dog"], [1.0])
    assert learned.marker.color != gold.marker.color


def test_one_voice_alone_is_named_too():
    figure = lexicon_figure("hund", DRAWN[:2])
    assert figure.layout.showlegend
    assert figure.layout.title.text == "Translations of hund"


def test_numbers_are_names_of_translations_and_not_places_on_an_axis():
    figure = lexicon_figure("7", DRAWN.assign(target=["7", "11", "7"]))
    assert figure.layout.xaxis.type == "category"


def test_words_are_drawn_as_text_and_not_as_tags():
    figure = lexicon_figure(HOSTILE, DRAWN.assign(by=HOSTILE, target=HOSTILE))
    figure.update_layout(meta=None)  # which is not drawn
    assert "<img" not in str(figure.to_dict())
    assert plain(HOSTILE) in figure.layout.title.text
    assert {trace.name for trace in figure.data} == {plain(HOSTILE)}


def test_a_word_without_translations_is_an_empty_figure():
    assert not lexicon_figure("hund", DRAWN[:0]).data
