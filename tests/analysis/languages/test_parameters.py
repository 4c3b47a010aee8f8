"""Parameters counted three ways, against counts by hand."""

import numpy as np
import pytest
import torch

from nmtlab.analysis.languages.parameters import PARAMETER_COUNTS, counted_parameters, parameter_counts
from nmtlab.models.build import build_model
from nmtlab.recipe import TransformerSettings
from nmtlab.recipe.text import TextSettings
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.text.segmentation.vocabulary import SPECIALS, Vocabulary
from nmtlab.training.prepare import model_for

D, F, TYPES = 8, 16, 10
SOURCE_COUNTS = {"gl": [0, 0, 3, 0, 5, 2, 0, 0, 0, 0], "pt": [0, 0, 4, 1, 6, 0, 2, 0, 0, 0]}  # 3 and 4, 5 together
TARGET_COUNTS = {"en": [0, 0, 7, 0, 0, 0, 0, 9, 2, 1]}  # 4
LAYER_NORMS = 2 * D
EMBEDDINGS, BODY, TOTAL = "embeddings", "body", "total"


def pipeline(source: dict[str, list[int]] = SOURCE_COUNTS) -> Pipeline:
    def side(by_language: dict[str, list[int]]) -> Side:
        counts = {language: np.array(counted) for language, counted in by_language.items()}
        vocabulary = Vocabulary((*SPECIALS, *"abcdef"), sum(counts.values()))
        first = next(iter(counts))
        return Side(first, Words(first), vocabulary, tuple(counts), counts if len(counts) > 1 else {})

    return Pipeline(TextSettings(), side(source), side(TARGET_COUNTS))


def counted(source=SOURCE_COUNTS, **more) -> dict[str, dict[str, int]]:
    sizes = {"d_model": D, "d_ff": F, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "norm": "layer"}
    made = TransformerSettings(**{**sizes, "fixnorm": False, "shared_embeddings": False, **more})
    learned = pipeline(source)
    allowed = {"en": np.ones(TYPES, dtype=bool)}
    model = build_model(made, TYPES, allowed, joint=True, languages=(learned.source.languages, ("en",)))
    return counted_parameters(model, learned).set_index("count").to_dict("index")


def linear(inputs: int, outputs: int) -> int:
    return (inputs + 1) * outputs


ATTENTION, FEED_FORWARD = 4 * linear(D, D), linear(D, F) + linear(F, D)
NORMS = (3 + 4) * LAYER_NORMS  # each sublayer and each closing norm, PreNorm
SHARED_BODY = 3 * ATTENTION + 2 * FEED_FORWARD + NORMS


def test_a_shared_model_uses_all_it_stores():
    found = counted()
    assert found["stored"] == {
        EMBEDDINGS: 2 * TYPES * D + TYPES,
        BODY: SHARED_BODY,
        TOTAL: 2 * TYPES * D + TYPES + SHARED_BODY,
    }
    assert found["used"] == found["stored"]
    # Types that occur: 5 in either source language, 4 in the target, each of these with a bias.
    assert found["trained"][EMBEDDINGS] == 5 * D + 4 * D + 4
    assert found["trained"][BODY] == SHARED_BODY


def test_one_table_for_both_sides_is_trained_on_the_types_of_either():
    found = counted(shared_embeddings=True)
    assert found["stored"][EMBEDDINGS] == TYPES * D + TYPES
    assert found["trained"][EMBEDDINGS] == (5 + 4 - 1) * D + 4  # EOS is on both sides


def test_private_tables_are_trained_on_the_types_of_their_language_and_used_by_its_directions():
    found = counted(embedding_share=0.5)
    half = D // 2
    assert found["stored"][EMBEDDINGS] == TYPES * half * (1 + 2) + TYPES * half * (1 + 1) + TYPES
    assert found["used"][EMBEDDINGS] == TYPES * half * 2 + TYPES * half * 2 + TYPES
    assert found["trained"][EMBEDDINGS] == half * (5 + 3 + 4) + half * (4 + 4) + 4


def test_a_private_table_of_both_sides_is_used_by_the_languages_of_both():
    found = counted(embedding_share=0.5, shared_embeddings=True)
    half = D // 2
    assert found["stored"][EMBEDDINGS] == TYPES * half * (1 + 3) + TYPES
    assert found["used"][EMBEDDINGS] == TYPES * half * (1 + 2) + TYPES
    assert found["trained"][EMBEDDINGS] == half * (8 + 3 + 4 + 4) + 4


def test_the_encoder_is_private_to_source_languages_and_the_decoder_to_target_languages():
    found = counted(attention_share=0.0, feed_forward_share=0.5)
    half = FEED_FORWARD // 2
    assert found["used"][BODY] == SHARED_BODY
    assert found["stored"][BODY] == SHARED_BODY + ATTENTION + half  # of the second source language
    assert found["trained"][BODY] == found["stored"][BODY]


def test_adapters_and_language_vectors_of_other_languages_are_not_used():
    found, width = counted(adapter_width=3, language_vectors=True), 3
    adapter = LAYER_NORMS + linear(D, width) + linear(width, D)
    assert found["stored"][BODY] == SHARED_BODY + 3 * adapter + 3 * D
    assert found["used"][BODY] == SHARED_BODY + 2 * adapter + 2 * D


def test_a_model_of_one_language_pair_uses_all_it_stores():
    found = counted({"gl": SOURCE_COUNTS["gl"]}, embedding_share=0.5, attention_share=0.0)
    assert found["used"] == found["stored"]
    assert found["trained"][EMBEDDINGS] == 3 * D + 4 * D + 4


def test_the_answer_of_a_run_is_stored_and_leaves_torchs_random_stream_alone(copies):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    table = PARAMETER_COUNTS.of(copies.halves)
    assert torch.equal(torch.rand(1), expected)
    assert table.equals(
        counted_parameters(model_for(copies.halves.recipe, copies.halves.pipeline), copies.halves.pipeline)
    )
    stored, used, trained = table["total"]
    assert used < stored > trained
    assert PARAMETER_COUNTS.of(copies.halves).equals(table)


@pytest.mark.parametrize("of", ["shared", "halves"])
def test_the_total_is_that_of_the_weights(copies, of):
    run = getattr(copies, of)
    assert parameter_counts(run)["total"][0] == sum(
        weights.numel() for weights in run.checkpoints.weights()[0].values()
    )
