"""Languages compared layer by layer, where the answer is known: sentences that are copies of each other."""

import numpy as np
import pytest
import torch

from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.languages.layers import SIMILARITY_BY_LAYER, similarity_by_layer
from nmtlab.analysis.languages.probes import language_by_layer
from nmtlab.analysis.languages.similarity import debiased_cka, retrieval
from nmtlab.analysis.languages.states import encoder_layers, mean_states
from nmtlab.errors import CorpusError, RunError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.sample import drawn
from nmtlab.training.setup import train

WIDTH = 16


def test_copies_are_alike_in_every_layer_of_a_shared_model(copies):
    table = similarity_by_layer(copies.shared, copies.corpora)
    assert table[["layer", "language", "other_language"]].to_numpy().tolist() == [
        [layer, "de", "nl"] for layer in range(3)
    ]
    assert table["cka"].to_numpy() == pytest.approx(1)
    assert (table["p"] < 0.01).all()
    assert (table["null_95"] < 0.5).all()
    lines = list(copies.corpora[0].lines("test", "de"))
    assert set(table["sentences"]) == {len(lines)}
    assert table["precision"].iloc[-1] == table["precision_back"].iloc[-1]
    assert table["precision"].iloc[-1] == pytest.approx(len(set(lines)) / len(lines))  # of equal ones, the first counts
    assert set(table["chance"]) == {1 / len(lines)}


def test_private_units_set_copies_apart(copies):
    found = similarity_by_layer(copies.halves, copies.corpora, sample=20)
    assert (found["cka"] < 0.999).all()
    states = [
        mean_states(opened(copies.halves).directed(code, "en"), _lines(copies, code, 20)) for code in ("de", "nl")
    ]
    for row in found.itertuples():
        x, y = (side[row.layer] for side in states)
        assert row.cka == pytest.approx(debiased_cka(x, y))
        assert (row.precision, row.precision_back) == retrieval(x, y)


def test_the_probe_knows_private_units_of_the_embedding_and_cannot_know_shared_ones(copies):
    table = language_by_layer(copies.halves, copies.corpora).set_index(["layer", "units"])
    assert table.index.tolist() == [(layer, units) for layer in range(3) for units in ("all", "shared", "private")]
    assert (table["chance"] == 0.5).all()
    assert table.loc[(0, "private"), "accuracy"] > 0.7
    assert table.loc[(0, "shared"), "accuracy"] == 0.5
    assert table["width"].tolist() == [WIDTH, WIDTH // 2, WIDTH // 2] * 3


def test_the_probe_cannot_tell_copies_apart_in_a_shared_model(copies):
    table = language_by_layer(copies.shared, copies.corpora)
    assert table["units"].tolist() == ["all"] * 3
    assert table["accuracy"].tolist() == [0.5] * 3


def test_states_are_means_over_the_sentence_without_padding(copies):
    system = opened(copies.halves).directed("nl", "en")
    lines = _lines(copies, "nl", 6)
    means = mean_states(system, lines)
    assert means.shape == (3, 6, WIDTH)
    for number, line in enumerate(lines):
        ids = torch.tensor([system.pipeline.source_ids(line)])
        with torch.inference_mode(), encoder_layers(system.model) as layers:
            memory = system.model.encode(ids)
            closed = system.model.encoder_norm(layers[-1])
        assert np.allclose(means[:, number], [layer[0].mean(0) for layer in layers], atol=1e-5)
        assert torch.equal(closed, memory.states)


def test_a_tag_before_the_sentence_is_left_out(copies, tiny_recipe):
    changes = {
        "text.segmentation": "bpe", "text.vocabulary_size": 90, "training.validate_every": 5,
        "training.max_evaluations": 1,
        "more_corpora": [{"name": "copies", "source": "en", "target": "de"}],
    }  # fmt: skip
    run = train("tagged", tiny_recipe.with_changes(changes), copies.corpora[0], copies.workspace)
    system = opened(run)
    line = _lines(copies, "de", 1)[0]
    ids = torch.tensor([system.pipeline.source_ids(line)])
    assert ids[0, 0] < system.pipeline.source.vocabulary.reserved
    with torch.inference_mode(), encoder_layers(system.model) as layers:
        system.model.encode(ids)
    assert np.allclose(mean_states(system, [line])[:, 0], [layer[0, 1:].mean(0) for layer in layers], atol=1e-5)


def test_the_answer_is_stored(copies):
    corpora = list(copies.corpora)
    first = SIMILARITY_BY_LAYER.of(copies.shared, corpora=corpora, split="dev", sample=10, permutations=5)
    assert SIMILARITY_BY_LAYER.of(copies.shared, corpora=corpora, split="dev", sample=10, permutations=5).equals(first)


def test_texts_that_are_not_parallel_are_refused(copies, tmp_path, trained):
    de, nl = copies.corpora
    with pytest.raises(CorpusError, match="source languages de; give"):
        similarity_by_layer(copies.shared, [de])
    write_lines(tmp_path / "test.nl", ["hond"] * 3)
    write_lines(tmp_path / "test.en", ["dog"] * 3)
    with pytest.raises(CorpusError, match="not the same sentences"):
        similarity_by_layer(copies.shared, [de, ParallelCorpus.open(tmp_path, "nl", "en")])
    with pytest.raises(RunError, match="'nl'"):
        similarity_by_layer(trained[0], [de, nl])


def _lines(copies, language: str, count: int) -> list[str]:
    whole = copies.corpora[0]
    places = drawn(list(whole.lines("test", "en")), count)
    lines = list(whole.lines("test", language))
    return [lines[place] for place in places]
