"""N-best lists in another order: scores, sentences and lists, of candidates written by hand."""

import pandas as pd
import pytest
from support.figures import assert_dressed

from nmtlab.analysis.search.n_best import Lists
from nmtlab.analysis.search.reranking import (
    orders_figure,
    reranked_list,
    reranked_sentences,
    reranking_finding,
    scores_of_orders,
    sum_in_words,
)
from nmtlab.evaluation import bleu, chrf

BY_LOG_P, BY_LENGTH = {"log-prob": 1.0}, {"log-prob": 1.0, "length": 2.0}


@pytest.fixture(scope="module")
def lists(tiny_corpus) -> Lists:
    """Of each sentence its reference, the most improbable one, without its last word, and a word that is wrong."""
    rows = []
    for line, reference in enumerate(tiny_corpus.references("dev")[0], start=1):
        words = reference.split()
        texts = [" ".join(words[:-1] or words), reference, "xyz"]
        rows += [(line, text, -1.0 - place, len(text.split()) + 1, 0.0) for place, text in enumerate(texts)]
    return Lists(
        tiny_corpus,
        "dev",
        pd.DataFrame(rows, columns=["line", "text", "log-prob", "length", "chrf"]),
        ("log-prob", "length", "chrf"),
    )


def test_the_scores_of_an_order_are_sacrebleus_of_its_first_translations(lists, tiny_corpus):
    references = tiny_corpus.references("dev")
    found = scores_of_orders(lists, BY_LENGTH).set_index("order")
    chosen = {"search": lists.first(), "reranked": lists.reranked(BY_LENGTH), "oracle": lists.oracle()}
    for order, places in chosen.items():
        texts = lists.texts(places)
        assert found.loc[order, "bleu"] == pytest.approx(bleu(texts, references).value)
        assert found.loc[order, "chrf"] == pytest.approx(chrf(texts, references).value)
    assert lists.texts(chosen["oracle"]) == references[0]
    assert found.loc["worst", "chrf"] < found.loc["search", "chrf"] < found.loc["oracle", "chrf"]
    assert found["bleu_margin"].notna().tolist() == [False, True, True, False]
    assert 0 < found.loc["reranked", "bleu_p"] < 0.05


def test_an_order_that_changes_nothing_has_the_search_s_scores_and_a_p_of_1(lists):
    found = scores_of_orders(lists, BY_LOG_P).set_index("order")
    assert found.loc["reranked", "changed"] == 0
    assert found.loc["reranked", ["bleu", "chrf"]].tolist() == found.loc["search", ["bleu", "chrf"]].tolist()
    assert found.loc["reranked", ["bleu_p", "chrf_p"]].tolist() == [1.0, 1.0]


def test_the_finding_begins_with_the_weights_and_the_gain(lists):
    found = scores_of_orders(lists, BY_LENGTH)
    by = found.set_index("order")["bleu"].map("{:.2f}".format)
    said = reranking_finding(found, BY_LENGTH)
    start = f"Reranked by log p(y|x) + 2 length: BLEU {by['reranked']} instead of {by['search']} (p 0.0"
    assert said.startswith(start)
    assert said.endswith(f"The best candidate of each list would give BLEU {by['oracle']}, the worst {by['worst']}.")


def test_the_figure_has_each_order_in_both_metrics(lists):
    figure = orders_figure(scores_of_orders(lists, BY_LENGTH))
    assert_dressed(figure)
    assert [len(trace.x) for trace in figure.data] == [4, 4]


def test_sentences_that_change_come_first_with_what_they_gain(lists):
    found = reranked_sentences(lists, BY_LENGTH)
    changed = (found["search"] != found["reranked"]).tolist()
    assert changed == sorted(changed, reverse=True)
    assert any(changed)
    assert (found.loc[changed, "gain"] > 0).all()
    assert set(found["line"]) == set(lists.lines)


def test_a_list_is_in_the_order_of_its_sums_of_which_features_and_weights_give_each(lists):
    found = reranked_list(lists, BY_LENGTH, 2)
    assert found["sum"].is_monotonic_decreasing
    assert found["sum"].tolist() == (found["log-prob"] + 2 * found["length"]).tolist()
    assert sorted(found["rank"]) == [1, 2, 3]
    assert found["text"].tolist()[0] == lists.texts(lists.reranked(BY_LENGTH))[1]


def test_a_sum_is_written_without_what_counts_nothing():
    weights = {"log-prob": 1.0, "length": -0.5, "chrf": 0.0, "channel": 2.0, "language-model": -1.0}
    assert sum_in_words(weights) == "log p(y|x) − 0.5 length + 2 log p(x|y) − log p(y)"
    assert sum_in_words({"log-prob": 0.0}) == "nothing"
