"""The decoder's state decides what may be generated; a search knows the sources only through their memory."""

import numpy as np
import pytest
import torch
from support.scripted_model import ScriptedMemory, ScriptedModel
from torch import Tensor

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel
from nmtlab.recipe import ByteNetSettings, ConvSettings, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.recipe.family import Family
from nmtlab.search.beam import beam_search
from nmtlab.search.diverse import diverse_beam_search
from nmtlab.search.exact import exact_search
from nmtlab.search.forced import forced_decode
from nmtlab.search.planned import planned_search
from nmtlab.search.sampling import sample
from nmtlab.search.scores import length_limit
from nmtlab.text.segmentation.vocabulary import EOS, PAD, UNK

TYPES = 14
ALLOWED = np.array([i not in (0, 1) for i in range(TYPES)])
SOURCE = torch.tensor([[5, 7, 4, EOS], [6, 8, EOS, PAD]])
SETTINGS = SearchSettings(beam_size=3, score="log-prob", extra_length=4)
SMALL = {"d_model": 8, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "heads": 2, "dropout": 0.0}
WORDS_OF = {"xx": [EOS, UNK, 4, 5, 6], "yy": [EOS, UNK, 7, 8, 9, 10]}
TABLE = LexicalTable.of_rows([[(4 + n % 7, 0.5), (4 + (n + 3) % 7, 0.25)] for n in range(TYPES)])
MODELS = {
    "transformer": TransformerSettings(**SMALL),
    "average": TransformerSettings(**SMALL, decoder_history="average"),
    "conv": ConvSettings(d_model=6, decoder_layers=2),
    "bytenet": ByteNetSettings(d_model=6, encoder_layers=2, decoder_layers=3),
    "copying": TransformerSettings(**SMALL, copy_head=True),
    "copying rnn": RnnSettings(d_model=6, copy_head=True),
    "heads": RnnSettings(d_model=6, grammar="tree"),
    "untied": RnnSettings(d_model=6, tied=False),
    "tied": RnnSettings(d_model=6),
    "no attention": RnnSettings(d_model=6, attention="none"),
    "fixnorm": RnnSettings(d_model=6, fixnorm=True),
    "fixnorm+lex": RnnSettings(d_model=6, fixnorm=True, lexicon="module"),
    "arthur": RnnSettings(d_model=6, lexicon="table"),
}


def model_of(settings: Family, allowed=ALLOWED, targets=()) -> TranslationModel:
    torch.manual_seed(1)
    built = build_model(settings, ModelText(TYPES, allowed, joint=False, table=TABLE, languages=(("ss",), targets)))
    model = built.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    return model


@pytest.fixture(params=MODELS)
def multilingual(request) -> TranslationModel:
    """A model that may generate different words in each target language."""
    masks = {language: np.isin(np.arange(TYPES), words) for language, words in WORDS_OF.items()}
    return model_of(MODELS[request.param], masks, tuple(WORDS_OF))


@pytest.mark.parametrize("language", WORDS_OF)
def test_every_search_says_what_the_state_of_its_language_may_say(multilingual, language):
    model, memory = multilingual, multilingual.encode(SOURCE)
    first = model.encode(SOURCE[:1])
    found = [
        *beam_search(model, memory, SETTINGS, n_best=3, language=language),
        *diverse_beam_search(model, memory, SETTINGS, groups=2, language=language),
        *sample(model, memory, samples=20, language=language),
    ]
    said = {token for result in found for hypothesis in result.hypotheses for token in hypothesis.tokens}
    best = exact_search(model, first, SETTINGS, language=language)
    assert (said | set(best.best.tokens)) <= set(WORDS_OF[language])
    assert best.complete
    (forced,) = forced_decode(model, first, torch.tensor([[*best.best.tokens, EOS]]), language)
    assert forced.log_prob == pytest.approx(best.best.log_prob, abs=1e-9)


def test_a_word_of_another_language_is_scored_as_unknown(multilingual):
    memory = multilingual.encode(SOURCE[:1])
    other, unknown = (forced_decode(multilingual, memory, torch.tensor([[word, EOS]]), "xx")[0] for word in (8, UNK))
    assert other.log_probs[0] == unknown.log_probs[0]


def test_exact_search_with_a_mask_finds_the_best_of_all_translations_that_it_allows(multilingual):
    memory = multilingual.encode(SOURCE[1:, :3])
    settings = SETTINGS.model_copy(update={"extra_length": 1})
    words = [word for word in WORDS_OF["xx"] if word != EOS]
    every = [(), *((a,) for a in words), *((a, b) for a in words for b in words)]
    longest = max(len(y) for y in every) + 1
    target = torch.tensor([[*y, EOS, *[PAD] * (longest - len(y) - 1)] for y in every])
    scores = [
        one.log_prob for one in forced_decode(multilingual, memory.select(torch.zeros(len(every)).long()), target, "xx")
    ]
    found = exact_search(multilingual, memory, settings, language="xx")
    assert found.best.tokens == every[int(np.argmax(scores))]
    assert found.best.log_prob == pytest.approx(max(scores), abs=1e-9)


@pytest.mark.parametrize(
    "settings",
    [MODELS[name] for name in ("transformer", "fixnorm+lex", "tied", "conv")],
    ids=["fixnorm", "fixnorm+lex", "tied", "conv"],
)
def test_what_does_not_change_from_step_to_step_is_made_once(settings, monkeypatch):
    model, made = model_of(settings), []
    table = type(model).output_table
    monkeypatch.setattr(type(model), "output_table", lambda *asked: made.append(1) or table(*asked))
    beam_search(model, model.encode(SOURCE), SETTINGS)
    exact_search(model, model.encode(SOURCE[:1]), SETTINGS, budget=50)
    assert len(made) == 2


def test_a_language_that_a_model_does_not_know_is_an_error():
    model = model_of(TransformerSettings(**SMALL))
    model.language_codes = (["ss"], ["tt"])
    assert model.encode(SOURCE, "ss").lengths.tolist() == [3, 2]
    with pytest.raises(RunError, match="language 'uz': this model translates ss to tt; choose another run"):
        model.encode(SOURCE, "uz")
    with pytest.raises(RunError, match="language 'ss': this model translates ss to tt"):
        beam_search(model, model.encode(SOURCE), SETTINGS, language="ss")


# Several sources


class TwoSourcesModel(ScriptedModel):
    """Reads and attends to two sources; the second one's length limits the translation."""

    def encode(self, source: tuple[Tensor, Tensor], language: str | None = None) -> "TwoMemories":
        return TwoMemories(torch.cat(source, dim=1), source[1])


class TwoMemories(ScriptedMemory):
    def __init__(self, both: Tensor, second: Tensor) -> None:
        super().__init__(both)
        object.__setattr__(self, "second", second)

    @property
    def lengths(self) -> Tensor:
        return (self.second != PAD).sum(1) - 1

    def select(self, sentences: Tensor) -> "TwoMemories":
        return TwoMemories(self.source[sentences], self.second[sentences])


def test_a_memory_of_two_sources_is_searched_by_its_lengths_and_its_mask():
    model = TwoSourcesModel(types=9, seed=2)
    memory = model.encode(
        (torch.tensor([[4, 5, 6, 7, EOS], [4, EOS, PAD, PAD, PAD]]), torch.tensor([[4, EOS], [5, EOS]]))
    )
    assert length_limit(model, memory, 2).tolist() == [3, 3]
    covering = SETTINGS.model_copy(update={"coverage": 0.3, "extra_length": 2})
    found = beam_search(model, memory, covering, n_best=3, record=True)
    for result in found:
        assert result.hypotheses[0].attention.shape[-1] == 7
        assert max(len(h.tokens) + h.finished for h in result.hypotheses) <= 3
    drawn = sample(model, memory, samples=30, extra_length=2)
    assert {len(h.tokens) + h.finished for result in drawn for h in result.hypotheses} <= {1, 2, 3}
    alone = memory.select(torch.tensor([0]))
    exact = exact_search(model, alone, SETTINGS.model_copy(update={"extra_length": 2}))
    (forced,) = forced_decode(model, alone, torch.tensor([[*exact.best.tokens, EOS]]))
    assert exact.best.log_prob == pytest.approx(forced.log_prob)


@pytest.mark.parametrize("extra_length", [0, 1, 5])
def test_every_search_has_the_same_limit(extra_length):
    model, planned = ScriptedModel(types=40), model_of(TransformerSettings(**SMALL, plan_length=True))
    memory = model.encode(SOURCE)
    limit = length_limit(model, memory, extra_length)
    assert limit.tolist() == [3 + extra_length, 2 + extra_length]
    settings = SETTINGS.model_copy(update={"extra_length": extra_length, "length_candidates": 200})
    drawn = sample(model, memory, samples=300, extra_length=extra_length)
    searched = beam_search(model, memory, settings, n_best=3)
    counted = planned_search(planned, planned.encode(SOURCE), settings, n_best=10_000)
    for row, most in enumerate(limit.tolist()):
        for result in (drawn[row], searched[row]):
            assert max(len(h.tokens) + h.finished for h in result.hypotheses) <= most
        assert max(len(h.tokens) for h in counted[row].hypotheses) == max(1, most - 1)
    whole = exact_search(model, model.encode(SOURCE[:1]), replace_score(settings))
    assert len(whole.best.tokens) + 1 <= limit[0]


def replace_score(settings: SearchSettings) -> SearchSettings:
    return settings.model_copy(
        update={"score": "word-reward", "gamma": 3.0, "extra_length": min(settings.extra_length, 1)}
    )
