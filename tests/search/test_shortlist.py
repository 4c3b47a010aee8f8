"""With a shortlist a batch is translated into frequent types and translations of its source types alone."""

import numpy as np
import pytest
import torch
from support.hand_made_model import hand_made_pipeline

from nmtlab.alignment.table import LexicalTable
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel
from nmtlab.recipe import ByteNetSettings, ConvSettings, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.exact import exact_search
from nmtlab.search.planned import planned_search
from nmtlab.search.shortlist import Shortlist, Shortlisted
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK

TYPES = 14
SOURCE = torch.tensor([[5, 7, 4, EOS], [6, 8, EOS, PAD]])
SETTINGS = SearchSettings(beam_size=3, score="log-prob", extra_length=4)
SMALL = {"d_model": 8, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "heads": 2, "dropout": 0.0}
MODELS = {
    "transformer": TransformerSettings(**SMALL),
    "conv": ConvSettings(d_model=6, decoder_layers=2),
    "bytenet": ByteNetSettings(d_model=6, encoder_layers=2, decoder_layers=3),
    "untied": RnnSettings(d_model=6, tied=False),
    "fixnorm+lex": RnnSettings(d_model=6, fixnorm=True, lexicon="module"),
    "arthur": RnnSettings(d_model=6, lexicon="table"),
}
LEXICON = LexicalTable.of_rows([[(4 + n % 7, 0.5), (4 + (n + 1) % 7, 0.25)] if n > 3 else [] for n in range(TYPES)])
LIST = Shortlist(np.array([EOS, UNK, 12]), LEXICON.by_type())
EVERYTHING = Shortlist(np.arange(TYPES), LEXICON.by_type())
ALLOWED = np.arange(TYPES) > BOS
LISTED = np.isin(np.arange(TYPES), LIST.types(SOURCE.numpy()))


def model_of(settings, allowed=ALLOWED) -> TranslationModel:
    """Return a model with the same weights whatever it may generate."""
    torch.manual_seed(1)
    model = build_model(settings, ModelText(TYPES, allowed, joint=False, table=LEXICON)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    return model


@pytest.fixture(params=MODELS)
def settings(request):
    return MODELS[request.param]


def test_a_list_has_what_is_always_in_it_and_the_translations_of_the_whole_batch():
    found = LIST.types(np.array([[5, EOS, PAD], [6, 7, EOS]]))
    assert found.tolist() == [EOS, UNK, *(4, 5, 9, 10), 12]  # 5 -> 9, 10; 6 -> 10, 4; 7 -> 4, 5
    assert LIST.types(np.array([[EOS]])).tolist() == [EOS, UNK, 12]


def test_phrases_are_of_tokens_in_a_row_of_one_sentence():
    phrases = {(5,): [4], (5, 7): [9], (7, 6): [10], (4, EOS): [13]}
    listed = Shortlist(np.array([EOS]), {ngram: np.array(types) for ngram, types in phrases.items()})
    assert listed.types(np.array([[5, 7, EOS], [6, 5, EOS]])).tolist() == [EOS, 4, 9]
    assert listed.types(np.array([[7, 6, EOS, PAD], [5, 8, 4, EOS]])).tolist() == [EOS, 4, 10, 13]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_list_of_all_types_changes_nothing(settings, beam_size):
    model, search = model_of(settings), SETTINGS.model_copy(update={"beam_size": beam_size})
    listed = Shortlisted(model, EVERYTHING)
    found = beam_search(listed, listed.encode(SOURCE), search, n_best=beam_size)
    assert found == beam_search(model, model.encode(SOURCE), search, n_best=beam_size)


def test_probabilities_are_among_the_types_of_the_list(settings):
    model = model_of(settings)
    listed = Shortlisted(model, LIST)
    states = [one.start(one.encode(SOURCE)) for one in (model, listed)]
    assert states[1].output_ids.tolist() == np.flatnonzero(LISTED).tolist()
    for token in ([[BOS], [BOS]], [[5], [8]]):
        whole, found = (
            one.step(state, torch.tensor(token)) for one, state in zip((model, listed), states, strict=True)
        )
        assert found.log_probs.exp().sum(-1).flatten().tolist() == pytest.approx([1, 1])
        columns = torch.isin(states[0].output_ids, states[1].output_ids)
        assert torch.allclose(found.log_probs, whole.log_probs[..., columns].log_softmax(-1), atol=1e-9)
        states = [whole.state, found.state]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_beam_finds_what_it_finds_with_a_model_that_has_no_other_types(settings, beam_size):
    """Exact search among the listed types is never beaten."""
    listed, less = Shortlisted(model_of(settings), LIST), model_of(settings, LISTED)
    search = SETTINGS.model_copy(update={"beam_size": beam_size})
    found = beam_search(listed, listed.encode(SOURCE), search, n_best=beam_size)
    wanted = beam_search(less, less.encode(SOURCE), search, n_best=beam_size)
    for ours, theirs in zip(found, wanted, strict=True):
        assert [one.tokens for one in ours.hypotheses] == [one.tokens for one in theirs.hypotheses]
        assert [one.log_prob for one in ours.hypotheses] == pytest.approx([one.log_prob for one in theirs.hypotheses])
    alone = SETTINGS.model_copy(update={"extra_length": 0})
    exact = exact_search(listed, listed.encode(SOURCE[:1]), alone).best
    best = beam_search(listed, listed.encode(SOURCE[:1]), alone.model_copy(update={"beam_size": 200}))[0].hypotheses[0]
    assert exact.log_prob == pytest.approx(best.log_prob, abs=1e-9)


def test_an_ensemble_has_one_list_and_a_planned_length_is_no_type_of_it():
    members = [model_of(MODELS["transformer"]), model_of(MODELS["untied"])]
    listed = Shortlisted(Ensemble(members), LIST)
    ensemble = Ensemble([model_of(MODELS["transformer"], LISTED), model_of(MODELS["untied"], LISTED)])
    found, wanted = (beam_search(one, one.encode(SOURCE), SETTINGS) for one in (listed, ensemble))
    assert [one.hypotheses[0].tokens for one in found] == [one.hypotheses[0].tokens for one in wanted]
    planning = TransformerSettings(**SMALL, plan_length=True)
    planned, less_planned = Shortlisted(model_of(planning), LIST), model_of(planning, LISTED)
    found, wanted = (planned_search(one, one.encode(SOURCE), SETTINGS, 2) for one in (planned, less_planned))
    assert [[h.tokens for h in one.hypotheses] for one in found] == [
        [h.tokens for h in one.hypotheses] for one in wanted
    ]


def test_coverage_counts_the_target_tokens_in_the_list_of_each_sentence_alone():
    size, share = LIST.coverage([([5, EOS], [9, 10, 6, EOS]), ([6, EOS], [4, 9, 10, 12, EOS])])
    assert size == 5  # EOS, UNK, 12, and two translations
    assert share == pytest.approx((3 + 4) / 9)


def test_the_size_of_a_batch_decides_with_a_list_for_each_batch_alone():
    lists = {"shortlist": 2, "shortlist_translations": 1}
    sizes = [SearchSettings(batch_tokens=size, **lists).decisive() for size in (100, 200)]
    assert sizes == [{"batch_tokens": 100, **lists}, {"batch_tokens": 200, **lists}]
    assert SearchSettings(batch_tokens=100, shortlist=2).decisive() == {"shortlist": 2}


def test_types_that_may_not_be_generated_take_no_place_among_the_translations():
    pipeline = hand_made_pipeline({"hund": 2}, {"a": 3, "dog": 2, "hond": 0})
    lexicon = LexicalTable.of_rows([[]] * 4 + [[(4, 0.1), (5, 0.3), (6, 0.6)]])
    assert Shortlist.of(pipeline, lexicon, 1, 1).types(np.array([[4, EOS]])).tolist() == [EOS, UNK, 4, 5]
