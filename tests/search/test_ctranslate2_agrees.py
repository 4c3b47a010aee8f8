"""CTranslate2 is an independent implementation: with the same weights it must find the same translations."""

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from nmtlab.alignment.table import LexicalTable
from nmtlab.interchange.ctranslate import write_model
from nmtlab.interchange.vocabulary_map import write_vocabulary_map
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.models.transformer import Transformer
from nmtlab.recipe import SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.shortlist import Shortlist, Shortlisted
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, SPECIALS, UNK
from nmtlab.training.objective import training_objective

pytest.importorskip("ctranslate2")

import ctranslate2

from benchmarks.peers.ctranslate import decode

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

VOCABULARY = [*SPECIALS, *(f"w{number}" for number in range(len(SPECIALS), 30))]
NEVER_A_TARGET = slice(20, 24)

NORMS = {
    "PreNorm + LayerNorm": {"norm": "layer", "fixnorm": False},
    "PreNorm + FixNorm + LayerNorm": {"norm": "layer", "fixnorm": True},
    "PreNorm + FixNorm + ScaleNorm": {"norm": "scale", "fixnorm": True},
    "PreNorm + FixNorm + RMSNorm": {"norm": "rms", "fixnorm": True},
    "PostNorm + LayerNorm + Swish": {"placement": "post", "norm": "layer", "fixnorm": False, "activation": "swish"},
    "PostNorm + FixNorm + LayerNorm": {"placement": "post", "norm": "layer", "fixnorm": True, "positions": "halves"},
    "PostNorm + FixNorm + ScaleNorm": {"placement": "post", "norm": "scale", "fixnorm": True},
}


@pytest.fixture(scope="module", params=NORMS)
def systems(request, tmp_path_factory) -> tuple[Transformer, Path]:
    """A model, and what CTranslate2 loads with its weights."""
    settings = TransformerSettings(
        d_model=16, d_ff=32, heads=2, encoder_layers=2, decoder_layers=1, dropout=0.0, **NORMS[request.param]
    )
    model = learner(settings)
    folder = tmp_path_factory.mktemp("ctranslate2")
    write_model(model, settings, (VOCABULARY, VOCABULARY), folder)
    return model, folder


def learner(settings: TransformerSettings) -> Transformer:
    """Return a model that has begun to learn a word-by-word translation: its outputs vary, err and mostly end."""
    allowed = np.ones(len(VOCABULARY), dtype=bool)
    allowed[[PAD, BOS]] = False
    allowed[NEVER_A_TARGET] = False
    torch.manual_seed(1)
    model = build_model(settings, ModelText(len(VOCABULARY), allowed, joint=True))
    objective = training_objective(model, smoothing=0.1)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    meanings = np.flatnonzero(allowed)[2:].tolist()  # without EOS and UNK
    for seed in range(80):
        sources = sentences(32, longest=8, seed=seed)
        targets = [[*(meanings[word % len(meanings)] for word in source[:-1]), EOS] for source in sources]
        loss = objective(on_device(batch_of(pad(sources), pad(targets)))).total
        (loss / sum(map(len, targets))).backward()
        optimiser.step()
        optimiser.zero_grad()
    return model.eval()


def sentences(count: int, longest: int, seed: int) -> list[list[int]]:
    """Return sentences of 1 to `longest` words of the whole vocabulary, and EOS."""
    generator = random.Random(seed)
    words = range(len(SPECIALS), len(VOCABULARY))
    return [[*generator.choices(words, k=generator.randint(1, longest)), EOS] for _ in range(count)]


def translations(systems: tuple[Transformer, Path], beam_size: int) -> list[tuple[Hypothesis, list[str]]]:
    """Return both systems' translations of the same sentences: ours, and the words of CTranslate2's."""
    model, folder = systems
    sources = sentences(80, longest=20, seed=1000)
    settings = SearchSettings(beam_size=beam_size, score="log-prob", extra_length=50)
    ours = beam_search(model, model.encode(torch.from_numpy(pad(sources))), settings)
    theirs, _ = decode(folder, [words(source[:-1]) for source in sources], beam_size)
    return [(result.hypotheses[0], found) for result, found in zip(ours, theirs, strict=True)]


def words(ids: list[int] | tuple[int, ...]) -> list[str]:
    return [VOCABULARY[number] for number in ids]


def test_greedy_translations_are_those_of_ctranslate2(systems):
    pairs = translations(systems, beam_size=1)
    for ours, theirs in pairs:
        cut = None if ours.finished else len(ours.tokens)  # CTranslate2 has a different limit
        assert words(ours.tokens) == theirs[:cut]
    finished = {ours.tokens for ours, _ in pairs if ours.finished}
    assert len(finished) > 20, "too few different translations to say anything"
    assert len(set(map(len, finished))) > 5


def test_a_beam_scored_by_log_p_nearly_always_finds_what_ctranslate2_finds(systems):
    """Not always: a finished hypothesis keeps a slot in our beam, but not in CTranslate2's."""
    pairs = [(ours, theirs) for ours, theirs in translations(systems, beam_size=4) if ours.finished]
    same = [ours.tokens for ours, theirs in pairs if words(ours.tokens) == theirs]
    assert len(pairs) >= 60
    assert len(same) >= 0.9 * len(pairs)
    assert len(set(same)) > 20


@pytest.mark.parametrize("longest", [1, 3])
def test_with_a_vocabulary_map_a_batch_is_translated_into_its_shortlist(systems, longest):
    model, folder = systems
    rows = [[(4 + 7 * word % 26, 0.5), (4 + word % 5, 0.2)] for word in range(len(SPECIALS), len(VOCABULARY))]
    lexicon = LexicalTable.of_rows([[] for _ in SPECIALS] + rows)
    words_in_a_row = list(product(range(len(SPECIALS), len(VOCABULARY)), repeat=longest))
    listed = lexicon.by_type() if longest == 1 else {ngram: np.array([4 + sum(ngram) % 26]) for ngram in words_in_a_row}
    shortlist = Shortlist(np.array([EOS, UNK, 9, 10, 11]), listed)
    write_vocabulary_map(shortlist, (VOCABULARY, VOCABULARY), folder)
    theirs = ctranslate2.Translator(str(folder), device="cpu", compute_type="float32", intra_threads=1)
    listed, settings = Shortlisted(model, shortlist), SearchSettings(beam_size=1, score="log-prob", extra_length=50)
    differing = 0
    for seed in range(10):
        sources = sentences(4, longest=3, seed=seed)
        padded = torch.from_numpy(pad(sources))
        whole, ours = (beam_search(one, one.encode(padded), settings) for one in (model, listed))
        found = theirs.translate_batch(
            [words(source[:-1]) for source in sources], beam_size=1, use_vmap=True, min_decoding_length=0,
            length_penalty=0, return_scores=True,
        )  # fmt: skip
        for best, result in zip((one.hypotheses[0] for one in ours), found, strict=True):
            assert words(best.tokens) == result.hypotheses[0][: None if best.finished else len(best.tokens)]
            if best.finished:
                assert best.log_prob == pytest.approx(result.scores[0], abs=1e-3)
        differing += sum(a.hypotheses[0].tokens != b.hypotheses[0].tokens for a, b in zip(whole, ours, strict=True))
    assert differing > 5, "the lists leave something out"
