"""The part of the sentences in a table's differences, from the translations of its runs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sacrebleu
from support.metrics import declare

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.metrics import find_metric, sums_of
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS
from nmtlab.analysis.search.searched import SEARCHED, Way, searched_bleu, searched_empty
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.resampling import drawn_test_sets
from nmtlab.grids.results.collected import collected_cells, made_rows
from nmtlab.grids.results.hypotheses import COLUMNS as HYPOTHESES
from nmtlab.grids.results.hypotheses import hypotheses
from nmtlab.grids.results.schemas import SENTENCES
from nmtlab.grids.results.sentences import (
    ALONE,
    sentence_spreads,
    spread_of,
    with_kept_sentences,
)
from nmtlab.grids.results.summary import summary
from nmtlab.grids.running.cells import cells_of
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.thesis.claims.declared import Claim
from nmtlab.thesis.claims.verdicts import judged_claims

DEV_BLEU = find_metric("dev-bleu")


@pytest.fixture(scope="module")
def translated(grid) -> pd.DataFrame:
    return hypotheses(grid.table, "tiny", grid.workspace)


@pytest.fixture(scope="module")
def found(grid, translated) -> pd.DataFrame:
    return sentence_spreads(grid.table, "tiny", grid.workspace, translated, [])


TOKENIZED = {"tokenize": "none", "smooth_method": "none", "force": True}


def resampled(lines: list[str], references: list[str], **how: object) -> np.ndarray:
    """Score some resampled test sets with sacrebleu, sentence by sentence as they were drawn."""
    scores = []
    for times in drawn_test_sets(len(lines)):
        drawn, known = (np.repeat(np.array(text, dtype=object), times).tolist() for text in (lines, references))
        scores.append(sacrebleu.corpus_bleu(drawn, [known], **how).score)
    return np.array(scores)


def shared_variance(scores: dict[tuple[str, int], np.ndarray]) -> float:
    """Return the variance of the difference of two systems with two seeds each that their seeds share."""
    covariance = np.cov([scores["fixnorm", 1], scores["fixnorm", 2], scores["tied", 1], scores["tied", 2]])
    return max(covariance[0, 1] + covariance[2, 3] - covariance[:2, 2:].sum() / 2, 0)


@pytest.mark.full
def test_the_variance_is_that_of_sacrebleus_scores_of_drawn_test_sets(found, translated, tiny_corpus):
    (line,) = found.to_dict("records")
    assert tuple(found) == SENTENCES.columns
    assert (line["row"], line["metric"], line["system"], line["than"]) == ("ha-en", "dev-bleu", "fixnorm", "tied")
    words = Words("en")
    references = [" ".join(words.split(text)) for text in tiny_corpus.lines("dev", "en")]
    scores = {
        key: resampled([" ".join(words.split(text)) for text in some["translation"]], references, **TOKENIZED)
        for key, some in translated.groupby(["column", "seed"])
    }
    assert line["variance"] == pytest.approx(shared_variance(scores))
    assert (line["freedom"], line["sentences"]) == (len(references) - 1, len(references))
    assert line["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:none|smooth:none")


@pytest.mark.full
def test_a_pair_that_the_baseline_and_a_claim_compare_is_there_once(grid, translated, found):
    claim = Claim("tied is better.", "s", grid.table, DEV_BLEU, "tied", "higher", "fixnorm", scale="tiny")
    number = Claim("tied is good.", "s", grid.table, DEV_BLEU, "tied", "higher", 5.0, scale="tiny")
    again = sentence_spreads(grid.table, "tiny", grid.workspace, translated, [claim.question, number.question])
    pd.testing.assert_frame_equal(again, found)
    spread = spread_of(found, "ha-en", DEV_BLEU, "tied", "fixnorm")
    assert spread == spread_of(found, "ha-en", DEV_BLEU, "fixnorm", "tied")
    assert spread is not None
    assert spread_of(found, "hu-en", DEV_BLEU, "tied", "fixnorm") is None
    assert spread_of(found, "ha-en", DEV_BLEU, "tied", 5.0) is None


@pytest.fixture
def wide(monkeypatch) -> Metric:
    """A score of a sample."""
    way = Way(SearchSettings(score="log-prob", beam_size=2), sample=12)
    metric = searched_bleu("sample-bleu", "BLEU of a sample", way)
    declare(monkeypatch, SEARCHED, metric)
    return metric


@pytest.mark.full
def test_scores_of_other_searches_have_sentences_too(grid, wide):
    table = replace(grid.table, metrics=("dev-bleu", wide.key))
    assert wide.label not in set(hypotheses(table, "tiny", grid.workspace)["measure"])  # nothing is computed
    measured = collected_cells(table, "tiny", grid.workspace)
    kept = hypotheses(table, "tiny", grid.workspace)
    assert kept.groupby("measure").size().to_dict() == {"": 4 * grid_sentences(grid), wide.label: 4 * 12}
    found = sentence_spreads(table, "tiny", grid.workspace, kept, []).set_index("metric")
    assert list(found.index) == ["dev-bleu", wide.key]
    cell = cells_of(table, "tiny")[0]
    references = draw_sample(cell.corpus.open(grid.workspace), "test", 12).targets
    scores = {
        key: resampled(some["translation"].tolist(), references)
        for key, some in kept[kept["measure"] == wide.label].groupby(["column", "seed"])
    }
    assert found.loc[wide.key, "variance"] == pytest.approx(shared_variance(scores))
    assert found.loc[wide.key, "sentences"] == 12
    assert "tok:13a" in found.loc[wide.key, "signature"]
    judged = summary(measured, table, found.reset_index()).set_index(["metric", "column"])
    assert judged.loc[(wide.key, "fixnorm"), "interval"] == "seeds and sentences"


@pytest.mark.full
def test_a_share_has_sentences_too_alone_and_beside_another(grid, translated, monkeypatch):
    share = replace(find_metric("search-errors"), label="% missed", given={"sample": 20})
    declare(monkeypatch, SEARCH_ERRORS, share)
    table = replace(grid.table, metrics=("dev-bleu", share.key))
    corpus = cells_of(table, "tiny")[0].corpus.open(grid.workspace)
    assert set(sentence_spreads(table, "tiny", grid.workspace, translated, [])["metric"]) == {"dev-bleu"}  # no answers
    measured = collected_cells(table, "tiny", grid.workspace)
    found = sentence_spreads(table, "tiny", grid.workspace, translated, []).set_index(["metric", "system", "than"])
    ((_, _, runs),) = made_rows(table, "tiny", grid.workspace)
    hits = {
        (cell.column, cell.seed): sums_of(share, runs[cell.run], corpus)[:, 0] / 100 for cell in cells_of(table, "tiny")
    }
    assert not np.isnan(list(hits.values())).any()
    drawn = drawn_test_sets(20)
    assert found.loc[(share.key, "fixnorm", "tied"), "variance"] == pytest.approx(
        shared_variance({key: drawn @ some * 5 for key, some in hits.items()})
    )
    alone = found.loc[(share.key, "tied", "")]
    covariance = np.cov(hits["tied", 1], hits["tied", 2], ddof=0)[0, 1]
    assert alone["variance"] == pytest.approx(max(1e4 * covariance / 20, 0), rel=0.15, abs=3)
    assert (alone["freedom"], alone["sentences"], alone["signature"]) == (19, 20, "ratio of sums")
    judged = summary(measured, table, found.reset_index()).set_index(["metric", "column"])
    assert judged.loc[(share.key, "fixnorm"), "interval"] == "seeds and sentences"
    assert judged["mean_high"].loc[share.key].notna().all()
    assert judged["margin"].loc[share.key].isna().all()


def skewed(run: Run, corpus: ParallelCorpus) -> pd.DataFrame:
    """Return what sentences add to a ratio that is above 0 for one system, and below for the other."""
    sentences = corpus.count("dev")
    hard, luck = np.random.default_rng(0), np.random.default_rng(run.recipe.training.seed)
    amounts, of = hard.integers(5, 90, sentences), hard.integers(0, 5, sentences)
    sign = -1 if run.recipe.model.norm == "layer" else 1
    amounts = sign * (amounts + luck.integers(0, 9, sentences)) // (3 - sign)
    return pd.DataFrame({"line": range(1, sentences + 1), "amount": amounts, "of": of})


@pytest.mark.full
def test_a_ratio_varies_with_the_sentences_and_so_does_its_size(grid, monkeypatch):
    skew = Metric("skew", "skew", "ratio", better="lower", split="dev", stored=skewed, amount="amount", of="of")
    declare(monkeypatch, Analysis("Is it skew?", skewed), skew)
    table = replace(grid.table, metrics=(skew.key,))
    claim = Claim("It is less skew.", "s", table, skew, "fixnorm", "lower", "tied", absolute=True, scale="tiny")
    lines = sentence_spreads(table, "tiny", grid.workspace, pd.DataFrame(columns=HYPOTHESES), [claim.question])
    found = lines.set_index(["metric", "system", "than"])["variance"]
    ((_, corpus, runs),) = made_rows(table, "tiny", grid.workspace)
    drawn, scores = drawn_test_sets(corpus.count("dev")), {}
    for cell in cells_of(table, "tiny"):
        amount, of = (drawn @ sums_of(skew, runs[cell.run], corpus)).T
        scores[cell.column, cell.seed] = amount / of
    sizes = {key: abs(some) for key, some in scores.items()}
    assert found["skew", "fixnorm", "tied"] == pytest.approx(shared_variance(scores))
    assert found["|skew|", "fixnorm", "tied"] == pytest.approx(shared_variance(sizes))
    assert found["|skew|", "fixnorm", "tied"] != pytest.approx(found["skew", "fixnorm", "tied"])
    assert found["skew", "tied", ALONE] == pytest.approx(np.cov(scores["tied", 1], scores["tied", 2])[0, 1])
    asked = (lines, "ha-en", skew, "fixnorm", "tied")
    assert spread_of(*asked).variance == found["skew", "fixnorm", "tied"]
    assert spread_of(*asked, absolute=True).variance == found["|skew|", "fixnorm", "tied"]
    measured = collected_cells(table, "tiny", grid.workspace)
    assert judged_claims([claim], measured, lines)["interval"].tolist() == ["seeds and sentences"]


def test_empty_translations_are_counted_among_those_that_are_stored(grid, wide, monkeypatch):
    empty = searched_empty("empty", "% empty", wide)
    declare(monkeypatch, SEARCHED, empty)
    table = replace(grid.table, metrics=(wide.key, empty.key))
    collected_cells(table, "tiny", grid.workspace)
    kept = hypotheses(table, "tiny", grid.workspace)
    lost = (kept["column"] == "tied") & (kept["line"] < 3)
    kept["translation"] = kept["translation"].where(kept["translation"] != "", "word").mask(lost, "")
    found = sentence_spreads(table, "tiny", grid.workspace, kept, []).set_index(["metric", "system", "than"])
    expected = np.var(drawn_test_sets(12)[:, :3].sum(axis=1) * 100 / 12, ddof=1)
    assert found.loc[("empty", "tied", ""), "variance"] == pytest.approx(expected)
    assert found.loc[("empty", "fixnorm", "tied"), "variance"] == pytest.approx(expected)
    assert found.loc[("empty", "fixnorm", ""), "variance"] == 0


def test_a_share_with_a_single_system_needs_no_other_to_vary(tmp_path):
    lines = pd.DataFrame(
        [["ha-en", "empty-global-best", "tied", "", 0.0, 199, 200, "ratio of sums"]], columns=SENTENCES.columns
    )
    lines.to_csv(tmp_path / "it.csv", index=False)
    share = find_metric("empty-global-best")
    assert spread_of(SENTENCES.read(tmp_path / "it.csv"), "ha-en", share, "tied", 50.0) == (0.0, 199.0)
    assert spread_of(lines, "ha-en", share, "tied", "fixnorm") is None


def grid_sentences(grid) -> int:
    return cells_of(grid.table, "tiny")[0].corpus.open(grid.workspace).count("dev")


def test_translations_of_other_text_or_of_one_system_alone_say_nothing(grid, translated):
    for some in (translated.assign(text="other"), translated[translated["column"] == "tied"], translated[:0]):
        assert sentence_spreads(grid.table, "tiny", grid.workspace, some, []).empty


def test_lines_are_read_as_they_were_written_and_kept_where_there_are_no_new_ones(found, tmp_path):
    path = tmp_path / "table-3.4.tiny.sentences.csv"
    found.to_csv(path, index=False)
    pd.testing.assert_frame_equal(SENTENCES.read(path), found, check_dtype=False)
    kept = pd.concat([found.assign(variance=9.0), found.assign(row="hu-en")])
    both = with_kept_sentences(found, kept)
    assert both["row"].tolist() == ["ha-en", "hu-en"]
    assert both["variance"].tolist() == found["variance"].tolist() * 2
    path.write_text("row\nha-en\n")
    with pytest.raises(NmtlabError, match=r"sentences\.csv: not a table of variances"):
        SENTENCES.read(path)
