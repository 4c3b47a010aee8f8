"""N-best lists with features from runs: what is stored, what is read again, and what the features are."""

import json
import math
import shutil
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from sacrebleu.metrics import CHRF

from nmtlab.alignment.table import LexicalTable
from nmtlab.analysis.search.n_best import N_BEST, SCORED_BY, LanguageModel, n_best_lists
from nmtlab.errors import CorpusError, NmtlabError, RunError
from nmtlab.evaluation import chrf
from nmtlab.evaluation.expected_utility import expected_chrf
from nmtlab.language_model import NgramModel
from nmtlab.recipe import SearchSettings
from nmtlab.runs.origin import PACKED
from nmtlab.runs.pack import pack
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

SEARCH = SearchSettings(beam_size=3, score="log-prob", extra_length=4)
ASKED = {"split": "dev", "size": 4, "search": SEARCH}


@pytest.fixture
def run(learned, tmp_path) -> Run:
    """A run of its own, so that no answer is there yet."""
    return Run(shutil.copytree(learned.folder, tmp_path / "whole"))


@pytest.fixture(scope="module")
def listed(learned, tmp_path_factory) -> Run:
    """A run whose lists are computed once for several tests."""
    return Run(shutil.copytree(learned.folder, tmp_path_factory.mktemp("listed") / "whole"))


@pytest.fixture(scope="module")
def learned(zoo) -> Run:
    return zoo("learned")


@pytest.fixture(scope="module")
def back(tiny_corpus, tiny_recipe, tmp_path_factory) -> Run:
    """A run from English into German."""
    corpus = ParallelCorpus.open(tiny_corpus.folder, "en", "de")
    return train("back", tiny_recipe, corpus, Workspace(tmp_path_factory.mktemp("back")))


@pytest.fixture(scope="module")
def families(listed, tiny_corpus, tiny_recipe, tmp_path_factory) -> Callable[[str], Run]:
    """Return what makes a run of a family, of which the recurrent one attends to no EOS."""
    changes = {"model.family": "rnn", "model.d_model": 8, "training.max_evaluations": 1}

    @cache
    def made(family: str) -> Run:
        if family == "transformer":
            return listed
        workspace = Workspace(tmp_path_factory.mktemp(family))
        return train(family, tiny_recipe.with_changes(changes), tiny_corpus, workspace)

    return made


def test_a_list_has_what_the_beam_finds_with_its_probabilities(run, tiny_corpus):
    found = N_BEST.of(run, corpus=tiny_corpus, **ASKED)
    sources = list(tiny_corpus.lines("dev", "de"))
    wide = SEARCH.model_copy(update={"beam_size": 4})
    translations = open_model(run, wide).translate(sources, 4)
    for line, (translation, listed) in enumerate(
        zip(translations, (rows for _, rows in found.groupby("line")), strict=True), start=1
    ):
        assert set(listed["line"]) == {line}
        assert listed["text"].tolist() == translation.texts
        assert listed["log-prob"].to_numpy() == pytest.approx([h.log_prob for h in translation.hypotheses])
        assert listed["length"].tolist() == [len(h.tokens) + h.finished for h in translation.hypotheses]
        assert listed["chrf"].to_numpy() == pytest.approx(expected_chrf(translation.texts))


def test_by_log_p_alone_the_best_of_a_search_by_log_p_stays(run, tiny_corpus):
    lists = n_best_lists(run, tiny_corpus, **ASKED)
    assert lists.reranked({"log-prob": 1.0}).tolist() == lists.first().tolist()
    assert lists.found["score"].to_numpy() == pytest.approx(lists.found["log-prob"].to_numpy())


def test_the_run_itself_as_a_second_one_gives_its_probabilities_again(run, tiny_corpus):
    lists = n_best_lists(run, tiny_corpus, **ASKED, second=run)
    assert lists.features == ("log-prob", "length", "chrf", "second")
    same = lists.found["length"] == [len(ids) for ids in run.pipeline.encode_target(lists.found["text"].tolist())]
    assert same.mean() > 0.5  # others have UNK, or pieces that their text is not split into
    differences = (lists.found["second"] - lists.found["log-prob"])[same].abs()
    assert differences.median() < 1e-4


def test_packs_that_record_no_weights_are_different_second_runs(run, zoo, tiny_corpus, tmp_path):
    packs = [Run(pack(zoo(kind), tmp_path / kind, weights=True)) for kind in ("learned", "scale")]
    for one in packs:
        path = one.folder / PACKED
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "weights": None}), encoding="utf-8")
    asked = {**ASKED, "sample": 2}
    one, other = (n_best_lists(run, tiny_corpus, **asked, second=second).found["second"] for second in packs)
    assert not np.allclose(one, other)


def test_a_second_call_decodes_nothing_and_other_weights_of_the_run_decode_again(run, tiny_corpus, monkeypatch):
    first = n_best_lists(run, tiny_corpus, **ASKED, second=run).found
    monkeypatch.setattr("nmtlab.analysis.search.n_best.open_system", None)
    monkeypatch.setattr("nmtlab.analysis.search.n_best.open_model", None)
    assert n_best_lists(run, tiny_corpus, **ASKED, second=run).found.equals(first)
    with pytest.raises(TypeError):
        n_best_lists(run, tiny_corpus, split="dev", size=3, search=SEARCH)


@pytest.mark.full
def test_the_channel_scores_the_source_given_the_candidate(run, back, tiny_corpus):
    found = n_best_lists(run, tiny_corpus, **ASKED, channel=back).found
    sources = np.array(list(tiny_corpus.lines("dev", "de")), dtype=object)[found["line"] - 1].tolist()
    system = open_model(back)
    ids = system.pipeline.encode_source(found["text"].tolist()), system.pipeline.encode_target(sources)
    wanted = dict(forced_decode_all(system.model, *ids))
    assert found["channel"].to_numpy() == pytest.approx([wanted[n].log_prob for n in range(len(wanted))], abs=1e-3)


def test_the_language_model_gives_each_line_what_an_n_gram_model_of_its_pieces_does(listed, tiny_corpus):
    lines = list(tiny_corpus.lines("train", "en"))
    lists = n_best_lists(listed, tiny_corpus, **ASKED, language_model=LanguageModel(listed, [*lines, " "]))
    split = listed.pipeline.target.tokenizer.split
    model = NgramModel.learn([split(line) for line in lines])
    assert lists.features == ("log-prob", "length", "chrf", "language-model")
    assert lists.found["language-model"].tolist() == [model.log_prob(split(text)) for text in lists.found["text"]]


def test_the_lexicon_of_the_run_scores_the_pieces_of_source_and_candidate(run, tiny_corpus):
    table = LexicalTable.of_rows([[(n % 9 + 4, 0.5)] for n in range(run.pipeline.source.size)])
    RunWriter(run).save_translation_table(table)
    lists = n_best_lists(run, tiny_corpus, **ASKED, lexicon=True)
    assert lists.features == ("log-prob", "length", "chrf", "lexicon")
    sources = list(tiny_corpus.lines("dev", "de"))
    for row in lists.found.to_dict("records")[::7]:
        ids = run.pipeline.source_ids(sources[row["line"] - 1])[:-1], run.pipeline.target_ids(row["text"])[:-1]
        assert [row["lexicon"]] == table.log_probs(ids[0], [ids[1]])


@pytest.mark.parametrize("form", ["wu", "li"])
@pytest.mark.parametrize("family", ["transformer", "rnn"])
def test_coverage_of_candidates_is_what_a_search_that_scores_it_adds(families, tiny_corpus, form, family):
    run = families(family)
    search = SEARCH.model_copy(update={"coverage": 0.3, "coverage_form": form, "coverage_floor": 0.05})
    lists = n_best_lists(run, tiny_corpus, **{**ASKED, "search": search}, coverage=True)
    assert lists.features == ("log-prob", "length", "chrf", "coverage-wu", "coverage-li", "covered")
    same = lists.found["length"] == [len(ids) for ids in run.pipeline.encode_target(lists.found["text"].tolist())]
    added = (lists.found["score"] - lists.found["log-prob"]) / 0.3
    assert same.mean() > 0.5
    assert (lists.found[f"coverage-{form}"] - added)[same].abs().median() < 1e-3


def test_covered_are_the_source_tokens_to_which_a_target_token_attends_most(listed, tiny_corpus):
    lists = n_best_lists(listed, tiny_corpus, **ASKED, coverage=True)
    sources, model = list(tiny_corpus.lines("dev", "de")), open_model(listed)
    for row in lists.found.to_dict("records")[::5]:
        source, target = model.pipeline.source_ids(sources[row["line"] - 1]), model.pipeline.target_ids(row["text"])
        ((_, forced),) = forced_decode_all(model.model, [source], [target])
        attention = forced.attention[-1].mean(0)
        most = {max(range(len(source)), key=lambda s, one=one: one[s]) for one in attention[:-1]}
        assert row["covered"] == sum(place < len(source) - 1 for place in most)
        sums = [sum(one[place] for one in attention) for place in range(len(source))]
        assert row["coverage-li"] == pytest.approx(sum(math.log(max(one, 1e-3)) for one in sums), abs=1e-5)
        assert row["coverage-wu"] == pytest.approx(sum(math.log(max(min(one, 1), 1e-3)) for one in sums), abs=1e-5)


def test_a_run_without_attention_cannot_say_what_it_covers(tiny_corpus, tiny_recipe, tmp_path):
    blind = {"model.family": "rnn", "model.attention": "none", "model.d_model": 8, "training.max_evaluations": 1}
    run = train("blind", tiny_recipe.with_changes(blind), tiny_corpus, Workspace(tmp_path))
    with pytest.raises(RunError, match="run 'blind': it has no attention"):
        n_best_lists(run, tiny_corpus, **ASKED, coverage=True)


def test_a_language_model_of_no_line_is_refused(listed):
    with pytest.raises(CorpusError, match="no sentence; give more text"):
        LanguageModel(listed, ["", " "])


def test_a_sample_has_the_lists_of_its_lines(listed, tiny_corpus):
    every = n_best_lists(listed, tiny_corpus, **ASKED, second=listed)
    some = n_best_lists(listed, tiny_corpus, **ASKED, second=listed, sample=2)
    lines = draw_sample(tiny_corpus, "dev", 2).lines
    same = every.found[every.found["line"].isin(lines)].reset_index(drop=True)
    assert some.found[["line", "text"]].equals(same[["line", "text"]])
    assert some.found["second"].to_numpy() == pytest.approx(same["second"].to_numpy(), abs=1e-3)
    places = np.flatnonzero(every.found["line"].isin(lines))
    assert (some.statistics("bleu") == every.statistics("bleu")[places]).all()


def test_lists_that_were_cut_off_go_on_where_they_stopped(run, tiny_corpus, monkeypatch):
    asked = {"corpus": tiny_corpus, **ASKED}
    steps = N_BEST.steps(run, **asked)
    assert [next(steps) for _ in range(3)] == [0, 1, 1]
    steps.close()
    resumed = []
    found = N_BEST.of(run, resumed.append, **asked)
    assert resumed[0] == 2
    assert found["line"].unique().tolist() == list(range(1, tiny_corpus.count("dev") + 1))


def test_an_order_by_weights_is_that_of_a_loop_over_each_list(listed, tiny_corpus):
    lists = n_best_lists(listed, tiny_corpus, **ASKED, second=listed)
    weights = {"log-prob": 1.0, "length": 0.7, "chrf": -0.05, "second": 0.4}
    chosen = []
    for _, rows in lists.found.groupby("line"):
        sums = [sum(weight * row[name] for name, weight in weights.items()) for row in rows.to_dict("records")]
        chosen.append(rows["text"].tolist()[sums.index(max(sums))])
    assert lists.texts(lists.reranked(weights)) == chosen


def test_no_order_has_a_sentence_better_than_the_oracle_or_worse_than_the_worst(listed, tiny_corpus):
    lists = n_best_lists(listed, tiny_corpus, **ASKED)
    reference = np.array(tiny_corpus.references("dev")[0], dtype=object)[lists.lines - 1]
    pairs = zip(lists.found["text"], reference, strict=True)
    by_sacrebleu = [CHRF().sentence_score(text, [wanted]).score for text, wanted in pairs]
    assert lists.sentence_chrf == pytest.approx(by_sacrebleu)
    generator = np.random.default_rng(1)
    for _ in range(20):
        places = lists.reranked(dict(zip(lists.features, generator.normal(size=3), strict=True)))
        assert (lists.sentence_chrf[lists.oracle()] >= lists.sentence_chrf[places]).all()
        assert (lists.sentence_chrf[lists.worst()] <= lists.sentence_chrf[places]).all()


def test_a_run_of_another_direction_is_refused(run, tiny_corpus):
    with pytest.raises(NmtlabError, match="'whole': translates de to en, but the candidates need en to de; choose"):
        n_best_lists(run, tiny_corpus, **ASKED, channel=run)


def test_a_blank_line_has_one_blank_candidate_that_stays(run, tiny_corpus, tmp_path):
    for language in ("de", "en"):
        lines = list(tiny_corpus.lines("dev", language))[:2]
        write_lines(tmp_path / "blank" / f"dev.{language}", [lines[0], "", lines[1]])
    corpus = ParallelCorpus.open(tmp_path / "blank", "de", "en")
    lists = n_best_lists(run, corpus, **ASKED, second=run)
    (blank,) = lists.found[lists.found["line"] == 2].to_dict("records")
    assert blank == {
        "line": 2, "text": "", "score": 0.0, "log-prob": 0.0, "length": 0, "chrf": 100.0, "second": 0.0,
    }  # fmt: skip
    assert lists.texts(lists.oracle())[1] == ""


def test_tuned_weights_are_never_worse_than_log_p_on_their_text_nor_better_than_the_oracle_by_chrf(run, tiny_corpus):
    lists = n_best_lists(run, tiny_corpus, **ASKED)

    def reached(places):
        return chrf(lists.texts(places), tiny_corpus.references("dev")).value

    tuned = reached(lists.reranked(lists.tuned("chrf")))
    assert tuned >= reached(lists.reranked({"log-prob": 1.0}))
    assert reached(lists.oracle()) >= reached(lists.first())


def test_lists_and_scores_are_stored_under_their_names():
    assert (N_BEST.key, SCORED_BY.key) == ("n_best.n_best", "n_best.scored_by")
