"""What a beam misses, sentence by sentence and summed up."""

import itertools
import math
import shutil
from dataclasses import replace

import pandas as pd
import pytest
import torch
from support.packed import packed_folder

from nmtlab.analysis.search.beams import (
    MISSED_BY_BEAMS,
    OUTCOME,
    decoded,
    missed_by_beams,
    outcome,
    sweep,
    text_of,
    varied,
)
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, by_reference_length, error_rates, search_errors
from nmtlab.errors import RunError
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.recipe import SearchSettings
from nmtlab.runs.answers import store_answer
from nmtlab.runs.pack import pack
from nmtlab.runs.run import Run
from nmtlab.search.beam import beam_search
from nmtlab.search.exact import exact_search
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import EOS

LOG_PROB = SearchSettings(score="log-prob", beam_size=2, extra_length=3)


@pytest.fixture
def run(trained, tmp_path) -> Run:
    """A run of its own, so that no answer is there yet."""
    return Run(shutil.copytree(trained[0].folder, tmp_path / "whole"))


def test_each_sentence_is_searched_by_beam_and_to_the_end(run, tiny_corpus):
    rows = list(itertools.chain.from_iterable(search_errors(run, tiny_corpus, "dev", LOG_PROB, 500, sample=4)))
    model, pipeline = (system := open_system(run, LOG_PROB)).model, system.pipeline
    drawn = draw_sample(tiny_corpus, "dev", 4)
    assert [row["line"] for row in rows] == drawn.lines
    assert drawn.lines != [1, 2, 3, 4]
    for row, (source, target) in zip(rows, drawn.pairs, strict=True):
        ids = torch.tensor([pipeline.source_ids(source)])
        beam = beam_search(model, model.encode(ids), LOG_PROB)[0].hypotheses[0]
        exact = exact_search(model, model.encode(ids), LOG_PROB, beam, 500)
        assert (row["beam_score"], row["beam_length"]) == (beam.score, len(beam.tokens))
        assert (row["exact_score"], row["exact_length"]) == (exact.best.score, len(exact.best.tokens))
        assert (row["complete"], row["expansions"]) == (exact.complete, exact.expansions)
        assert row["source_length"] == ids.shape[1] - 1
        for beam_size, inside in ((row["empty_rank"] - 1, False), (row["empty_rank"], True)):
            if beam_size:
                search = LOG_PROB.model_copy(update={"beam_size": beam_size})
                assert (
                    EOS in beam_search(model, model.encode(ids), search, record=True)[0].tree[0].token.tolist()
                ) == inside
        assert row["reference_length"] == len(pipeline.target_ids(target)) - 1
        if row["complete"]:
            assert row["exact_score"] >= row["empty_log_prob"] - 1e-5
            if not row["exact_length"]:
                assert row["exact_log_prob"] == pytest.approx(row["empty_log_prob"], abs=1e-5)


def test_other_beams_miss_what_scores_above_theirs(run, tiny_corpus):
    asked = {"corpus": tiny_corpus, "split": "dev", "search": LOG_PROB, "budget": 5000, "sample": 6}
    exact = SEARCH_ERRORS.of(run, **asked)
    missed = MISSED_BY_BEAMS.of(run, beams=[1, 2], **asked).set_index("beam_size")
    assert missed.loc[2, "errors"] == error_rates(exact)["errors"]
    assert missed.loc[1, "errors"] >= missed.loc[2, "errors"]
    assert list(missed["sentences"]) == [exact["complete"].sum()] * 2


def test_of_what_was_not_searched_to_the_end_it_is_not_said_whether_beams_miss_it(run, tiny_corpus):
    missed = missed_by_beams(run, tiny_corpus, [LOG_PROB.beam_size], "dev", LOG_PROB, budget=1, sample=3)
    assert list(missed["sentences"]) == [0]
    assert missed["errors"].isna().all()


def test_what_was_interrupted_goes_on_with_the_next_sentence(run, tiny_corpus):
    asked = {"corpus": tiny_corpus, "split": "dev", "search": LOG_PROB, "budget": 200, "sample": 3}

    def stop(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SEARCH_ERRORS.of(run, stop, **asked)
    assert SEARCH_ERRORS.answers(run) == []
    told = []
    found = SEARCH_ERRORS.of(run, told.append, **asked)
    assert told == [1, 1, 1]  # one was done before
    assert found["line"].tolist() == draw_sample(tiny_corpus, "dev", 3).lines


FOUND = pd.DataFrame(
    {
        "reference_length": [4, 5, 12, 14, 9], "exact_length": [4, 0, 0, 10, 9], "beam_length": [4, 5, 0, 14, 9],
        "exact_score": [-2.0, -5.0, -4.0, -7.0, -3.0], "beam_score": [-2.0, -6.0, -4.0, -7.5, -9.0],
        "complete": [True, True, True, True, False],
        "expansions": [10, 20, 30, 40, 1000],
        "empty_rank": [3, 5, 9, 11, 100],
    }
)  # fmt: skip


def test_rates_are_of_the_sentences_that_were_searched_to_the_end():
    rates = error_rates(FOUND)
    assert rates.to_dict() == pytest.approx(
        {
            "sentences": 5, "complete": 0.8, "errors": 0.5, "empty": 0.5, "beam_empty": 0.25,
            "length_ratio": 14 / 35, "beam_length_ratio": 23 / 35, "empty_rank": 9, "expansions": 30,
        }
    )  # fmt: skip


def test_the_best_translation_in_other_pieces_is_no_search_error(run, tiny_corpus):
    class OtherPieces:  # found by exact search: other tokens, the same score but for rounding
        def __init__(self, found):
            again = replace(found, tokens=(*found.tokens, 9), score=found.score + 1e-6)
            self.best, self.expansions, self.complete = again, 1, True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmtlab.analysis.search.search_errors.exact_search", lambda *asked: OtherPieces(asked[3]))
        asked = {"corpus": tiny_corpus, "split": "dev", "search": LOG_PROB, "budget": 5000, "sample": 4}
        exact = SEARCH_ERRORS.of(run, **asked)
        missed = MISSED_BY_BEAMS.of(run, beams=[LOG_PROB.beam_size], **asked)
    assert error_rates(exact)["errors"] == missed["errors"][0] == 0


def test_where_none_was_there_are_no_rates():
    rates = error_rates(FOUND.assign(complete=False))
    assert rates["complete"] == 0
    assert rates[["errors", "empty", "length_ratio", "beam_length_ratio"]].isna().all()
    assert by_reference_length(FOUND.assign(complete=False)).empty


def test_no_length_falls_out_of_the_bins():
    bins = by_reference_length(FOUND.assign(complete=True, reference_length=[0, 5, 6, 31, 4000]))
    assert bins[["from", "to", "sentences"]].to_numpy().tolist() == [[0, 5, 2], [6, 10, 1], [31, math.inf, 2]]


def test_lengths_go_by_that_of_the_reference():
    bins = by_reference_length(FOUND, edges=(1, 6, 11, 21))
    assert bins.to_dict("list") == {
        "from": [1, 11], "to": [5, 20], "sentences": [2, 2], "reference_length": [4.5, 13.0],
        "exact_length": [2.0, 5.0], "beam_length": [4.5, 7.0], "empty": [0.5, 0.5],
    }  # fmt: skip


def test_a_sweep_has_a_row_for_each_beam_and_keeps_what_it_found(run, tiny_corpus):
    told = []
    searches = varied(LOG_PROB, "beam_size", [1, 3])
    found = sweep(run, tiny_corpus, searches, "dev", 5, told.append)
    assert found["beam_size"].tolist() == [1, 3]
    assert sum(told) == 10
    references = [draw_sample(tiny_corpus, "dev", 5).targets]
    for row, search in zip(found.itertuples(), searches, strict=True):
        lines = decoded(run, tiny_corpus, "dev", search, 5)
        bleu = bleu_metric(default_tokenizer("en")).corpus_score(lines["text"].tolist(), references)
        assert row.bleu == pytest.approx(bleu.score)
        assert row.length_ratio == pytest.approx(bleu.sys_len / bleu.ref_len)
        assert row.empty == (lines["length"] == 0).mean()
        assert row.log_prob == pytest.approx(lines["log_prob"].mean())
        assert row.sentences == 5
    again = []
    pd.testing.assert_frame_equal(sweep(run, tiny_corpus, searches, "dev", 5, again.append), found)
    assert again == []


@pytest.fixture
def ragged(tmp_path, tiny_corpus) -> ParallelCorpus:
    """A corpus whose third test sentence is blank, and whose translations have a second reference."""
    lines = {code: list(tiny_corpus.lines("test", code))[:4] for code in ("de", "en")}
    lines["de"][2] = ""
    others = [f"look : {line}" for line in lines["en"]]
    for name, own in (("test.de", lines["de"]), ("test.en", lines["en"]), ("test.en.1", others)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    for split in ("train", "dev"):
        for code in ("de", "en"):
            shutil.copy(tiny_corpus.folder / f"{split}.{code}", tmp_path)
    return ParallelCorpus.open(tmp_path, "de", "en")


def test_a_blank_sentence_keeps_its_line_and_every_reference_counts(run, ragged):
    found = decoded(run, ragged, "test", LOG_PROB)
    assert found["line"].tolist() == [1, 2, 3, 4]
    assert (found.loc[2, "text"], found.loc[2, "length"], bool(found.loc[2, "finished"])) == ("", 0, True)
    assert found["log_prob"].isna().tolist() == [False, False, True, False]
    row = outcome(run, ragged, "test", LOG_PROB).iloc[0]
    bleu = bleu_metric(default_tokenizer("en")).corpus_score(found["text"].tolist(), ragged.references("test"))
    assert len(ragged.references("test")) == 2
    assert row["bleu"] == pytest.approx(bleu.score)
    assert (row["sentences"], row["empty"]) == (4, (found["length"] == 0).sum() / 3 - 1 / 3)


def test_an_answer_about_the_first_sentences_is_no_answer_about_a_sample(run, tiny_corpus):
    asked = {"corpus": tiny_corpus, "split": "dev", "search": LOG_PROB}
    found = OUTCOME.of(run, sample=3, **asked)
    (stored,) = OUTCOME.answers(run)
    question = run.notes.answers("beams.outcome")[0].question
    first = {**{name: value for name, value in question.arguments.items() if name != "sample"}, "limit": 3}
    stored.path.unlink()
    store_answer(run.folder, replace(question, arguments=first), found.assign(bleu=99.0))
    assert OUTCOME.of(run, sample=3, **asked)["bleu"][0] == found["bleu"][0]
    assert {text_of(answer) for answer in OUTCOME.answers(run)} == {
        "3 sampled sentences of tiny dev",
        "the first 3 of tiny dev",
    }


def test_a_stored_answer_with_other_columns_is_computed_again(run, tiny_corpus, tmp_path):
    asked = {"corpus": tiny_corpus, "split": "dev", "search": LOG_PROB, "budget": 50, "sample": 2}
    expected = SEARCH_ERRORS.of(run, **asked)
    (kept,) = run.notes.answers("search_errors.search_errors")
    store_answer(run.folder, kept.question, expected.rename(columns={"complete": "ended"}))
    assert SEARCH_ERRORS.answers(run) == []
    with pytest.raises(RunError, match="packed without its model"):
        SEARCH_ERRORS.of(Run(pack(run, tmp_path / "packed")), **asked)
    pd.testing.assert_frame_equal(SEARCH_ERRORS.of(run, **asked), expected)
    pd.testing.assert_frame_equal(kept.frame(), expected)


def test_a_phrase_based_system_has_nothing_to_search_through():
    moses = Run(packed_folder("small-qaa-en.moses"))
    with pytest.raises(RunError, match="phrase-based"):
        SEARCH_ERRORS.of(moses, corpus=moses.sentences, split="dev")
