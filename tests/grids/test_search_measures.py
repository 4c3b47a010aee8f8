"""Results of other search settings than those of a run's recipe."""

import math
from dataclasses import replace

import pytest
from support.metrics import declare

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.comparison.outputs import REPEATED, repetition
from nmtlab.analysis.metrics import find_metric, scored_text, scorer_of, stored_lines, sums_among, sums_of, value_of
from nmtlab.analysis.search.beams import decoded, outcome, sweep, varied
from nmtlab.analysis.search.length_baselines import baseline_lengths
from nmtlab.analysis.search.planned_lengths import (
    ORACLE_LENGTHS,
    length_errors,
    length_sweep,
    oracle_lengths,
    planned_lengths,
)
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, error_rates
from nmtlab.analysis.search.searched import (
    FEW,
    LENGTH_WEIGHTS,
    LENGTHS_TRIED,
    SEARCHED,
    Way,
    searched_bleu,
    searched_empty,
    searched_length,
)
from nmtlab.analysis.search.unseen_lengths import losses_by_rest, losses_by_seen, reference_losses
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.grids.running.cells import cells_of
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


@pytest.fixture
def number(monkeypatch):
    """Return the number of a run by a metric that is not declared elsewhere."""

    def found(analysis: Analysis, metric: Metric, *about: object) -> float:
        declare(monkeypatch, analysis, metric)
        return value_of(metric, *about)

    return found


def bleu(way: Way) -> Metric:
    return searched_bleu("bleu", "BLEU", way)


def test_the_number_is_that_of_the_way_of_searching(pair, number):
    (run, _), corpus = pair
    found = outcome(run, corpus, "test", REWARD).iloc[0]
    assert number(SEARCHED, bleu(Way(REWARD)), run, corpus) == found["bleu"]
    assert number(SEARCHED, searched_length("length", "length", Way(REWARD)), run, corpus) == found["length_ratio"]
    few = outcome(run, corpus, "test", REWARD, 3).iloc[0]
    assert number(SEARCHED, bleu(Way(REWARD, sample=3)), run, corpus) == few["bleu"]
    score = bleu(Way(REWARD))
    empty = searched_empty("empty", "% empty", score)
    amounts = sums_among(empty, stored_lines(score, run, corpus), run, corpus)
    assert number(SEARCHED, empty, run, corpus) == 100 * found["empty"] == amounts[:, 0].sum() / amounts[:, 1].sum()
    words = [line.split() for line in decoded(run, corpus, "test", REWARD)["text"]]
    repeated = replace(find_metric("repeated-log-prob-4"), given={"way": Way(REWARD)})
    assert number(REPEATED, repeated, run, corpus) == pytest.approx(100 * repetition(words))


def test_translations_are_known_once_they_and_what_tunes_them_are_measured(pair, number):
    (_, run), corpus = pair
    tuned = bleu(Way(REWARD.model_copy(update={"extra_length": 5}), (0.0, 0.5), sample=4))
    assert stored_lines(tuned, run, corpus) is None
    value = number(SEARCHED, tuned, run, corpus)
    lines = stored_lines(tuned, run, corpus)
    text = scored_text(tuned, corpus, None)
    assert len(lines) == len(text.sources) == len(text.references[0]) == 4
    assert text.sources == draw_sample(corpus, "test", 4).sources
    assert scorer_of(tuned, "en").corpus_score(lines, text.references).score == pytest.approx(value)


def test_the_reward_is_the_one_that_is_best_on_dev(pair, number):
    (run, _), corpus = pair
    gammas = (-2.0, 0.0, 1.0)
    best = int(sweep(run, corpus, varied(REWARD, "gamma", gammas), "dev")["bleu"].argmax())
    expected = outcome(run, corpus, "test", REWARD.model_copy(update={"gamma": gammas[best]})).iloc[0]["bleu"]
    assert number(SEARCHED, bleu(Way(REWARD, gammas)), run, corpus) == expected


@pytest.mark.full
def test_a_run_that_plans_lengths_is_searched_by_its_own_score(zoo, tiny_corpus, tmp_path, number):
    run = zoo.copy("planned", Workspace(tmp_path))
    own = SearchSettings(score="log-prob", beam_size=2, length_candidates=3)
    usual = outcome(run, tiny_corpus, "test", own).iloc[0]["bleu"]
    assert number(SEARCHED, bleu(Way(REWARD)), run, tiny_corpus) == usual
    tried = length_sweep(run, tiny_corpus, own, LENGTHS_TRIED, LENGTH_WEIGHTS)
    best = tried.iloc[int(tried["bleu"].argmax())]
    plan = {"length_candidates": int(best["length_candidates"]), "length_weight": float(best["length_weight"])}
    expected = outcome(run, tiny_corpus, "test", own.model_copy(update=plan)).iloc[0]["bleu"]
    assert expected != usual
    assert number(SEARCHED, bleu(Way(REWARD, (0.0, 1.0))), run, tiny_corpus) == expected
    alone = outcome(run, tiny_corpus, "test", own.model_copy(update={"length_candidates": 1})).iloc[0]["bleu"]
    assert number(SEARCHED, bleu(Way(REWARD, (0.0, 1.0), lengths=1)), run, tiny_corpus) == alone
    errors = length_errors(planned_lengths(run, tiny_corpus))
    assert value_of(find_metric("length-model-mae"), run, tiny_corpus) == errors["error"]
    line = length_errors(baseline_lengths(run, tiny_corpus, "linear"))
    assert value_of(find_metric("linear-length-mae"), run, tiny_corpus) == line["error"]
    texts = oracle_lengths(run, tiny_corpus, "test", 3)["text"].tolist()
    score = bleu_metric(default_tokenizer(tiny_corpus.target)).corpus_score(texts, tiny_corpus.references("test")).score
    oracle = replace(find_metric("oracle-length-bleu"), given={"beam_size": 3})
    assert number(ORACLE_LENGTHS, oracle, run, tiny_corpus) == score


def test_an_ordinary_run_has_no_length_model_and_a_loss_of_its_references(pair):
    (run, _), corpus = pair
    assert math.isnan(value_of(find_metric("length-model-mae"), run, corpus))
    assert math.isnan(value_of(find_metric("oracle-length-bleu"), run, corpus))
    assert math.isnan(value_of(find_metric("linear-length-mae"), run, corpus))
    losses = losses_by_seen(reference_losses(run, corpus))
    assert value_of(find_metric("loss-seen-lengths"), run, corpus) == losses["seen"]
    rise = value_of(find_metric("loss-rise"), run, corpus)
    assert rise == pytest.approx(losses["unseen"] - losses["seen"], nan_ok=True)
    rests = losses_by_rest(run, corpus)
    assert value_of(find_metric("loss-last-token"), run, corpus) == rests["loss"][0] / rests["tokens"][0]


def test_what_exact_search_finds_is_a_number_of_a_table(pair, number):
    (run, _), corpus = pair
    metric = replace(find_metric("search-errors"), given={"sample": 3})
    rates = error_rates(SEARCH_ERRORS.of(run, corpus=corpus, split="test", sample=3))
    assert number(SEARCH_ERRORS, metric, run, corpus) == pytest.approx(100 * rates["errors"], nan_ok=True)


def test_a_share_is_known_sentence_by_sentence_once_it_is_measured(pair, number):
    (run, _), corpus = pair
    for key in ("searched-exactly", "search-errors", "empty-global-best"):
        metric = replace(find_metric(key), given={"sample": 4})
        value, sums = number(SEARCH_ERRORS, metric, run, corpus), sums_of(metric, run, corpus)
        assert sums.shape == (4, 2)
        assert value == pytest.approx(sums[:, 0].sum() / sums[:, 1].sum(), nan_ok=True)
        assert sums_of(replace(metric, given={"sample": 2}), run, corpus) is None


@pytest.mark.full
def test_other_results_of_exact_search_are_numbers_of_a_table_too(pair):
    (run, _), corpus = pair
    rates = error_rates(SEARCH_ERRORS.of(run, corpus=corpus, split="test", sample=FEW))
    assert value_of(find_metric("empty-rank"), run, corpus) == rates["empty_rank"]
