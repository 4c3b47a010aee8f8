"""Runs that learn a language from blank sources: what they learn, and how they rank translations."""

import math
import shutil
from itertools import product

import numpy as np
import pytest
import torch

from nmtlab.analysis.search.n_best import n_best_lists
from nmtlab.errors import CorpusError, NmtlabError, RecipeError, RunError
from nmtlab.models.interface import on_device
from nmtlab.recipe import Recipe, SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import BOS, EOS
from nmtlab.training.corpora import open_corpora
from nmtlab.training.objective import sentence_log_probs
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

ASKED = {"split": "dev", "size": 4, "search": SearchSettings(beam_size=3, score="log-prob", extra_length=4)}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("blank") / "data")


@pytest.fixture(scope="module")
def recipe(tiny_recipe) -> Recipe:
    return tiny_recipe.with_changes({"corpus.blank_source": True})


@pytest.fixture(scope="module")
def model(recipe, tiny_corpus, workspace) -> Run:
    return train("english", recipe, tiny_corpus, workspace)


@pytest.fixture(scope="module")
def run(zoo, tmp_path_factory) -> Run:
    return Run(shutil.copytree(zoo("learned").folder, tmp_path_factory.mktemp("listed") / "whole"))


def test_every_source_that_is_learned_from_is_the_end_alone_and_targets_stay(model, tiny_corpus, workspace, tmp_path):
    (text,) = open_corpora(model.recipe, tiny_corpus, workspace)
    encoded, plain = (EncodedCorpus.open(tmp_path, model.pipeline, one) for one in (text, tiny_corpus))
    assert len(encoded) == len(plain) == 300
    assert all(encoded.source(n).tolist() == [EOS] for n in range(len(encoded)))
    targets = [sorted(one.target(n).tolist() for n in range(300)) for one in (encoded, plain)]
    assert targets[0] == targets[1]
    perplexities = model.log.metrics("validation")["perplexity"]
    assert 1 < perplexities.iloc[-1] < perplexities.iloc[0] < 20


def test_the_probabilities_of_all_sentences_and_beginnings_of_a_length_add_up_to_1(model):
    system = open_model(model)
    produced = system.model.output_ids.tolist()
    types = [token for token in produced if token != EOS]
    sentences = [[*tokens, EOS] for length in (0, 1) for tokens in product(types, repeat=length)]
    with torch.inference_mode():
        batch = batch_of(pad([[EOS]] * len(sentences)), pad(sentences))
        ended = sentence_log_probs(system.model, on_device(batch, system.model.device)).exp().sum().item()
        memory = system.model.encode(torch.tensor([[EOS]] * len(types)))
        state = system.model.start(memory)
        first = system.model.step(state, torch.full((len(types), 1), BOS))
        second = system.model.step(first.state, torch.tensor(types)[:, None])
        ends, (words,) = produced.index(EOS), np.nonzero(np.array(produced) != EOS)
        begun = first.log_probs[:, 0, words].diagonal() + torch.log1p(-second.log_probs[:, 0, ends].exp())
    assert ended + begun.exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_candidates_get_what_forced_decoding_gives_them_after_a_blank_source(run, model, tiny_corpus):
    lists = n_best_lists(run, tiny_corpus, **ASKED, blank=model)
    assert lists.features == ("log-prob", "length", "chrf", "blank")
    targets = open_model(model).pipeline.encode_target(lists.found["text"].tolist())
    forced = dict(forced_decode_all(open_model(model).model, [[EOS]] * len(targets), targets))
    assert lists.found["blank"].to_numpy() == pytest.approx([forced[n].log_prob for n in range(len(forced))], abs=1e-3)
    first = lists.found.groupby("text")["blank"]
    assert (first.max() - first.min() < 1e-3).all()  # whatever the source


def test_text_in_one_language_is_enough_beside_pairs(tiny_recipe, tiny_corpus, workspace):
    lines = [f"{line} {line}" for line in tiny_corpus.lines("train", "en")]
    write_lines(workspace.data / "corpora/news/train.en", lines)
    more = {"more_corpora": [{"name": "news", "blank_source": True}], "training.max_evaluations": 1}
    both = train("both", tiny_recipe.with_changes(more), tiny_corpus, workspace)
    assert both.directions == [("de", "en")]
    assert both.recipe.more_corpora[0].source == "de"
    assert both.log.metrics("validation")["perplexity"].iloc[-1] < math.inf


def test_text_with_sentences_of_dev_is_refused(tiny_recipe, tiny_corpus, workspace):
    write_lines(workspace.data / "corpora/leak/train.en", tiny_corpus.lines("dev", "en"))
    more = tiny_recipe.with_changes({"more_corpora": [{"name": "leak", "blank_source": True}]})
    with pytest.raises(CorpusError, match="sentences of dev are in the training text of another corpus"):
        train("leaky", more, tiny_corpus, workspace)


def test_a_run_that_is_no_language_model_of_the_candidates_is_refused(run, zoo, recipe, tiny_corpus, workspace):
    with pytest.raises(NmtlabError, match="is no language model; train one with corpus"):
        n_best_lists(run, tiny_corpus, **ASKED, blank=zoo("learned"))
    german = ParallelCorpus.open(tiny_corpus.folder, "en", "de")
    other = train("german", recipe.with_changes({"training.max_evaluations": 1}), german, workspace)
    with pytest.raises(NmtlabError, match="is a language model of de, but the candidates are in en"):
        n_best_lists(run, tiny_corpus, **ASKED, blank=other)


def test_a_run_that_knows_other_letters_is_refused(run, recipe, tiny_corpus, workspace):
    folder = workspace.data / "corpora/greek"
    greek = str.maketrans("abcdefghijklmnopqrstuvwxyz", "αβγδεζηθικλμνξοπρστυφχψωϊϋ")
    for split in ("train", "dev"):
        for language in ("de", "en"):
            write_lines(
                folder / f"{split}.{language}", [line.translate(greek) for line in tiny_corpus.lines(split, language)]
            )
    text = ParallelCorpus.open(folder, "de", "en")
    other = train("greek", recipe.with_changes({"training.max_evaluations": 1}), text, workspace)
    with pytest.raises(RunError, match="'greek': most tokens of the candidates are unknown to it; choose"):
        n_best_lists(run, tiny_corpus, **ASKED, blank=other)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model.family": "phrase"}, "corpus.blank_source is for neural models alone"),
        ({"text.joint": False}, "corpus.blank_source leaves no text to learn source types from; set text.joint"),
        ({"corpus.origin": "mono"}, "blank_source: a blank sentence has no origin"),
        ({"corpus.also_sources": ["nl"]}, "blank_source: a blank sentence has no also_sources"),
        ({"training.guided_attention": 0.1}, "corpus.blank_source: training.guided_attention reads source words"),
        (
            {"corpus.target": "en", "more_corpora": [{"name": "x", "source": "de", "target": "nl"}]},
            "corpus.blank_source: a blank sentence cannot name one of several target languages",
        ),
    ],
)
def test_what_needs_source_words_is_refused(changes, said):
    with pytest.raises(RecipeError, match=said):
        Recipe().with_changes({"corpus.blank_source": True, **changes})


def test_a_plain_corpus_has_the_cache_that_it_had(tiny_recipe, tiny_corpus, tmp_path):
    pipeline = Pipeline.learn(tiny_recipe.text, tiny_corpus)
    EncodedCorpus.open(tmp_path, pipeline, tiny_corpus)
    EncodedCorpus.open(tmp_path, pipeline, open_corpora(tiny_recipe, tiny_corpus, Workspace(tmp_path))[0])
    assert len(list(tmp_path.iterdir())) == 1
