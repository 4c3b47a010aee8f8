"""Results of other search settings than those of a run's recipe."""

import math
from dataclasses import replace

import numpy as np
import pytest

from nmtlab.analysis.comparison.outputs import repetition
from nmtlab.analysis.search.beams import decoded, outcome, sweep, varied
from nmtlab.analysis.search.length_baselines import baseline_lengths
from nmtlab.analysis.search.planned_lengths import length_errors, length_sweep, oracle_lengths, planned_lengths
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, error_rates
from nmtlab.analysis.search.unseen_lengths import losses_by_rest, losses_by_seen, reference_losses
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.experiments import cells_of
from nmtlab.experiments.measures.lengths import BaselineLength, LengthLoss, OracleLength, PlannedLength, RestLoss
from nmtlab.experiments.measures.search import (
    FEW,
    LENGTH_WEIGHTS,
    LENGTHS_TRIED,
    Empty,
    GlobalBest,
    LengthRatio,
    Missed,
    Repeated,
    SearchedBleu,
    Way,
)
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.workspace import Workspace

REWARD = SearchSettings(score="word-reward", beam_size=2, extra_length=4)


@pytest.fixture(scope="module")
def pair(grid):
    """Two runs of one seed, and their corpus."""
    tied, _, fixnorm, _ = cells_of(grid.table, "tiny")
    runs = [Run(grid.workspace.run_folder(cell.run)) for cell in (tied, fixnorm)]
    return runs, tied.corpus.open(grid.workspace)


def test_the_number_is_that_of_the_way_of_searching(pair):
    (run, _), corpus = pair
    found = outcome(run, corpus, "test", REWARD).iloc[0]
    assert SearchedBleu("BLEU", Way(REWARD)).value(run, corpus) == found["bleu"]
    assert LengthRatio("length", Way(REWARD)).value(run, corpus) == found["length_ratio"]
    few = outcome(run, corpus, "test", REWARD, 3).iloc[0]
    assert SearchedBleu("BLEU", Way(REWARD, sample=3)).value(run, corpus) == few["bleu"]
    empty = Empty("% empty", SearchedBleu("BLEU", Way(REWARD)))
    assert empty.value(run, corpus) == 100 * found["empty"] == 100 * empty.hits(run, corpus).mean()
    words = [line.split() for line in decoded(run, corpus, "test", REWARD)["text"]]
    assert Repeated("% repeated", Way(REWARD)).value(run, corpus) == pytest.approx(100 * repetition(words))


def test_translations_are_known_once_they_and_what_tunes_them_are_measured(pair):
    (_, run), corpus = pair
    tuned = SearchedBleu("BLEU", Way(REWARD.model_copy(update={"extra_length": 5}), (0.0, 0.5), sample=4))
    assert tuned.stored(run, corpus) is None
    tuned.value(run, corpus)
    lines = tuned.stored(run, corpus)
    text = tuned.text(corpus, None)
    assert len(lines) == len(text.sources) == len(text.references[0]) == 4
    assert text.sources == draw_sample(corpus, "test", 4).sources
    assert tuned.metric("en").corpus_score(lines, text.references).score == pytest.approx(tuned.value(run, corpus))


def test_the_reward_is_the_one_that_is_best_on_dev(pair):
    (run, _), corpus = pair
    gammas = (-2.0, 0.0, 1.0)
    best = int(sweep(run, corpus, varied(REWARD, "gamma", gammas), "dev")["bleu"].argmax())
    expected = outcome(run, corpus, "test", REWARD.model_copy(update={"gamma": gammas[best]})).iloc[0]["bleu"]
    assert SearchedBleu("BLEU", Way(REWARD, gammas)).value(run, corpus) == expected


@pytest.mark.full
def test_a_run_that_plans_lengths_is_searched_by_its_own_score(zoo, tiny_corpus, tmp_path):
    run = zoo.copy("planned", Workspace(tmp_path))
    own = SearchSettings(score="log-prob", beam_size=2, length_candidates=3)
    usual = outcome(run, tiny_corpus, "test", own).iloc[0]["bleu"]
    assert SearchedBleu("BLEU", Way(REWARD)).value(run, tiny_corpus) == usual
    tried = length_sweep(run, tiny_corpus, own, LENGTHS_TRIED, LENGTH_WEIGHTS)
    best = tried.iloc[int(tried["bleu"].argmax())]
    plan = {"length_candidates": int(best["length_candidates"]), "length_weight": float(best["length_weight"])}
    expected = outcome(run, tiny_corpus, "test", own.model_copy(update=plan)).iloc[0]["bleu"]
    assert expected != usual
    assert SearchedBleu("BLEU", Way(REWARD, (0.0, 1.0))).value(run, tiny_corpus) == expected
    alone = outcome(run, tiny_corpus, "test", own.model_copy(update={"length_candidates": 1})).iloc[0]["bleu"]
    assert SearchedBleu("BLEU", Way(REWARD, (0.0, 1.0), lengths=1)).value(run, tiny_corpus) == alone
    errors = length_errors(planned_lengths(run, tiny_corpus))
    assert PlannedLength("off", "error").value(run, tiny_corpus) == errors["error"]
    line = length_errors(baseline_lengths(run, tiny_corpus, "linear"))
    assert BaselineLength("line", "linear", "nll").value(run, tiny_corpus) == line["nll"]
    texts = oracle_lengths(run, tiny_corpus, "test", 3)["text"].tolist()
    score = bleu_metric(default_tokenizer(tiny_corpus.target)).corpus_score(texts, tiny_corpus.references("test")).score
    assert OracleLength("oracle", 3).value(run, tiny_corpus) == score


def test_an_ordinary_run_has_no_length_model_and_a_loss_of_its_references(pair):
    (run, _), corpus = pair
    assert math.isnan(PlannedLength("off", "error").value(run, corpus))
    assert math.isnan(OracleLength("oracle", 3).value(run, corpus))
    assert math.isnan(BaselineLength("line", "linear", "error").value(run, corpus))
    losses = losses_by_seen(reference_losses(run, corpus))
    assert LengthLoss("seen", "seen").value(run, corpus) == losses["seen"]
    rise = LengthLoss("rise", "rise").value(run, corpus)
    assert rise == pytest.approx(losses["unseen"] - losses["seen"], nan_ok=True)
    rests = losses_by_rest(run, corpus)
    assert RestLoss("last", 0, 0).value(run, corpus) == rests["loss"][0] / rests["tokens"][0]


def test_what_exact_search_finds_is_a_number_of_a_table(pair):
    (run, _), corpus = pair
    measure = Missed("% missed", "errors", sample=3)
    rates = error_rates(SEARCH_ERRORS.of(run, corpus=corpus, split="test", sample=3))
    assert measure.value(run, corpus) == pytest.approx(100 * rates["errors"], nan_ok=True)


def test_a_share_is_known_sentence_by_sentence_once_it_is_measured(pair):
    (run, _), corpus = pair
    for name in ("complete", "errors", "empty"):
        measure = Missed(f"% {name}", name, sample=4)
        value, hits = measure.value(run, corpus), measure.hits(run, corpus)
        assert hits.shape == (4,)
        assert value == pytest.approx(100 * np.nanmean(hits), nan_ok=True)
        assert replace(measure, sample=2).hits(run, corpus) is None


def test_other_results_of_exact_search_are_numbers_of_a_table_too(pair):
    (run, _), corpus = pair
    rates = error_rates(SEARCH_ERRORS.of(run, corpus=corpus, split="test", sample=FEW))
    assert GlobalBest("rank", "empty_rank").value(run, corpus) == rates["empty_rank"]
