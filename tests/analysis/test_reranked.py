"""Translations that tuned weights choose from n-best lists, with a language model and without one."""

import pytest

from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.analysis.search.n_best import n_best_lists
from nmtlab.analysis.search.reranked import RERANKED, reranked
from nmtlab.errors import RunError
from nmtlab.evaluation import bleu
from nmtlab.recipe import named_recipe
from nmtlab.runs.run import Run
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

BLANK = {"corpus.blank_source": True, "training.select_by": "perplexity"}


@pytest.fixture(scope="module")
def translator(zoo, tmp_path_factory) -> Run:
    return zoo.copy("learned", Workspace(tmp_path_factory.mktemp("reranked")))


@pytest.fixture(scope="module")
def model(translator, tiny_corpus) -> Run:
    """A language model that goes on from the run that translates."""
    changes = {**BLANK, "transfer.continued": True, "transfer.parent": translator.name}
    workspace = Workspace(translator.folder.parents[1])
    return train("english", translator.recipe.with_changes(changes), tiny_corpus, workspace)


def chosen(run: Run, corpus, **more) -> list[str]:
    """What a loop chooses by the weights that are tuned on dev."""
    weights = n_best_lists(run, corpus, "dev", 4, **more).tuned("bleu")
    lists = n_best_lists(run, corpus, "test", 4, **more)
    assert set(weights) == {"log-prob", "length", "chrf", *more}
    found = []
    for _, rows in lists.found.groupby("line"):
        sums = [sum(weight * row[name] for name, weight in weights.items()) for row in rows.to_dict("records")]
        found.append(rows["text"].tolist()[sums.index(max(sums))])
    return found


def test_a_run_that_translates_reranks_its_own_lists(translator, tiny_corpus):
    found = reranked(translator, tiny_corpus, size=4)
    assert found["text"].tolist() == chosen(translator, tiny_corpus)
    assert found["line"].tolist() == list(range(1, tiny_corpus.count("test") + 1))


def test_a_language_model_reranks_the_lists_of_the_run_that_it_went_on_from(translator, model, tiny_corpus):
    found = RERANKED.of(model, corpus=tiny_corpus, size=4)
    assert found["text"].tolist() == chosen(translator, tiny_corpus, blank=model)


def test_the_metric_is_the_bleu_of_what_is_chosen_among_twenty(model, tiny_corpus):
    score = value_of(find_metric("reranked-bleu"), model, tiny_corpus)
    found = RERANKED.of(model, corpus=tiny_corpus, size=20)["text"].tolist()
    assert score == pytest.approx(bleu(found, tiny_corpus.references("test")).value)


def test_a_language_model_that_started_from_nothing_has_no_lists_to_rerank(tiny_corpus, tiny_recipe, tmp_path):
    alone = train("alone", tiny_recipe.with_changes(BLANK), tiny_corpus, Workspace(tmp_path))
    with pytest.raises(RunError, match="run 'alone': has no parent"):
        reranked(alone, tiny_corpus, size=2)


def test_blank_sources_need_no_joint_vocabulary_if_the_types_are_those_of_a_parent():
    changes = {**BLANK, "transfer.continued": True}
    assert not named_recipe("fixnorm-small").with_changes(changes).text.joint
