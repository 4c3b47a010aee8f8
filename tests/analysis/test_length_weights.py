"""Fewer lengths and other weights of p(length), chosen from one translation, against a search with each."""

import math

import pandas as pd
import pytest
import sacrebleu

from nmtlab.analysis.search.beams import decoded, described
from nmtlab.analysis.search.planned_lengths import (
    TRANSLATIONS_BY_LENGTH,
    chosen_texts,
    length_plan,
    length_sweep,
    translations_by_length,
)
from nmtlab.errors import RunError
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.workspace import Workspace

SEARCH = SearchSettings(score="log-prob", beam_size=2, length_candidates=5)


@pytest.fixture(scope="module")
def planned(zoo, tmp_path_factory) -> Run:
    return zoo.copy("planned", Workspace(tmp_path_factory.mktemp("planned")), "planned")


def test_each_length_has_its_best_translation_the_most_probable_length_first(planned, tiny_corpus):
    found = translations_by_length(planned, tiny_corpus, search=SEARCH, sample=4)
    system = open_system(planned, SEARCH)
    drawn = draw_sample(tiny_corpus, "dev", 4)
    assert found["line"].unique().tolist() == drawn.lines
    for number, line in zip(drawn.lines, drawn.sources, strict=True):
        rows = found[found["line"] == number]
        plan = length_plan(system, line).sort_values("probability", ascending=False, kind="stable")
        tried = plan[plan["tried"]]
        assert rows["rank"].tolist() == [1, 2, 3, 4, 5]
        assert rows["length"].tolist() == tried["length"].tolist()
        assert rows["length_log_prob"].tolist() == pytest.approx([math.log(p) for p in tried["probability"]], abs=1e-4)
        assert (rows["log_prob"] <= rows["length_log_prob"]).all()


@pytest.mark.parametrize("weight", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("lengths", [1, 2, 5])
def test_what_is_chosen_is_what_a_search_with_these_lengths_and_this_weight_finds(
    planned, tiny_corpus, lengths, weight
):
    found = TRANSLATIONS_BY_LENGTH.of(planned, corpus=tiny_corpus, search=SEARCH)
    search = SEARCH.model_copy(update={"length_candidates": lengths, "length_weight": weight})
    direct = decoded(planned, tiny_corpus, "dev", search)["text"].tolist()
    assert chosen_texts(found, lengths, weight, tiny_corpus.count("dev")) == direct
    text = f"planned, {lengths} lengths" + ("" if weight == 1 else f", w {weight:g}")
    assert described(planned, search) == text


FOUND = pd.DataFrame(
    [
        (1, 1, 3, -0.5, -4.0, "a"), (1, 2, 4, -1.0, -3.0, "b"), (1, 3, 2, -3.0, -3.5, "c"),
        (3, 1, 1, -0.1, -9.0, "d"), (3, 2, 0, -5.0, -5.0, ""),
    ],
    columns=["line", "rank", "length", "length_log_prob", "log_prob", "text"],
)  # fmt: skip


def test_a_choice_worked_out_by_hand():
    assert chosen_texts(FOUND, 1, 1.0, 3) == ["a", "", "d"]
    assert chosen_texts(FOUND, 2, 1.0, 3) == ["b", "", ""]
    assert chosen_texts(FOUND, 3, 0.0, 3) == ["c", "", ""]  # -3.5, -2, -0.5; -8.9, 0
    assert chosen_texts(FOUND, 3, 4.0, 3) == ["a", "", "d"]  # -5.5, -6, -12.5; -9.3, -20


def test_the_text_is_translated_once_for_all_lengths_and_weights(planned, tiny_corpus, monkeypatch):
    TRANSLATIONS_BY_LENGTH.of(planned, corpus=tiny_corpus, search=SEARCH)
    monkeypatch.setattr("nmtlab.analysis.search.planned_lengths.open_model", None)
    found = length_sweep(planned, tiny_corpus, SEARCH.model_copy(update={"length_candidates": 1}), (1, 5), (0.5, 1.0))
    assert found[["length_candidates", "length_weight"]].to_numpy().tolist() == [[1, 0.5], [1, 1], [5, 0.5], [5, 1]]
    stored = TRANSLATIONS_BY_LENGTH.of(planned, corpus=tiny_corpus, search=SEARCH)
    texts = chosen_texts(stored, 5, 0.5, tiny_corpus.count("dev"))
    bleu = sacrebleu.corpus_bleu(texts, tiny_corpus.references("dev"))
    assert found["bleu"][2] == pytest.approx(bleu.score)
    assert found["length_ratio"][2] == pytest.approx(bleu.sys_len / bleu.ref_len)


def test_a_run_that_plans_none_is_refused(trained, tiny_corpus):
    with pytest.raises(RunError, match="does not plan lengths"):
        TRANSLATIONS_BY_LENGTH.of(trained[0], corpus=tiny_corpus)
