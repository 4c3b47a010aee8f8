"""Languages compared layer by layer, where the answer is known: sentences that are copies of each other."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.layers import (
    LANGUAGE_BY_LAYER,
    SIMILARITY_BY_LAYER,
    encoder_layers,
    insides,
    language_by_layer,
    mean_states,
    probe_figure,
    similarity_by_layer,
    similarity_figure,
)
from nmtlab.analysis.languages.similarity import debiased_cka, retrieval
from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe import TransformerSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.sample import drawn
from nmtlab.training.setup import train

WIDTH = 16
SIMILARITY = pd.DataFrame(
    [(layer, "gl", other, 0.5 + layer / 10 + shift, -0.01 - shift, 0.02 + shift, 0.8, 0.6, 0.1)
     for other, shift in (("pt", 0.0), ("es", 0.1)) for layer in range(3)],
    columns=[
        "layer", "language", "other_language", "cka", "null_mean", "null_95", "precision", "precision_back", "chance",
    ],
).assign(sentences=10)  # fmt: skip


@pytest.mark.full
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


def test_each_pair_of_languages_has_a_line_above_what_chance_gives():
    figure = similarity_figure(SIMILARITY)
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [trace.name for trace in lines if trace.showlegend] == ["gl and pt", "gl and es"]
    assert list(lines[0].y) == pytest.approx([0.5, 0.6, 0.7])
    assert list(lines[1].y) == pytest.approx([0.7] * 3)  # mean of both ways
    band, chance = (trace for trace in figure.data if trace.fill == "toself")
    assert list(band.x) == [0, 1, 2, 2, 1, 0]
    assert list(band.y) == pytest.approx([-0.11] * 3 + [0.12] * 3)  # of all pairs
    assert set(chance.y) == {0.1}
    assert band.name == "shuffled sentences (mean to 95 %), or chance"
    assert [figure.layout[f"xaxis{n}"].title.text for n in ("", 2)] == ["encoder layer (0: embedding)"] * 2
    assert figure.layout.title.text == "How alike languages are, layer by layer: 10 sentences"


def test_the_probe_has_a_line_for_each_kind_of_units_and_chance():
    probes = pd.DataFrame(
        [(layer, units, 8, 0.5 + layer / 10) for layer in range(2) for units in ("all", "shared")],
        columns=["layer", "units", "width", "accuracy"],
    ).assign(chance=0.25)
    figure = probe_figure(probes)
    assert [trace.name for trace in figure.data] == ["all units", "shared units", "always the most frequent language"]
    assert list(figure.data[0].y) == pytest.approx([50, 60])
    assert list(figure.data[2].y) == [25, 25]
    assert figure.layout.yaxis.title.text == "accuracy on new sentences (%)"


def test_a_run_of_one_direction_or_without_self_attention_is_refused(copies, trained, monkeypatch):
    analyses = SIMILARITY_BY_LAYER, LANGUAGE_BY_LAYER, GRADIENT_COSINES
    for analysis in analyses:
        assert analysis.fits(copies.shared)
        with pytest.raises(RunError, match="it was trained in a single direction"):
            analysis.of(trained[0], corpora=copies.corpora)
    monkeypatch.setattr(TransformerSettings, "self_attention", False)
    for analysis in analyses:
        with pytest.raises(RunError, match="not a Transformer; choose a run"):
            analysis.of(trained[0], corpora=copies.corpora)


@pytest.fixture
def asked(monkeypatch):
    """Return `insides` of a run with some answers."""

    def found(*answers: pd.DataFrame) -> pd.DataFrame:
        of = dict(zip((SIMILARITY_BY_LAYER, LANGUAGE_BY_LAYER, GRADIENT_COSINES), answers, strict=True))
        monkeypatch.setattr(Analysis, "among", lambda analysis, runs: of[analysis])
        return insides(None)

    return found


def test_a_line_holds_the_last_layer_and_the_cosines_by_what_two_directions_share(asked):
    alike = pd.DataFrame({"layer": [0, 0, 1, 1], "cka": [0.1, 0.2, 0.6, 0.8]})
    read = pd.DataFrame(
        {"layer": [0, 1, 1, 1], "units": ["all", "all", "shared", "private"], "accuracy": [0.5, 0.9, 0.6, 1.0]}
    )
    cosines = pd.DataFrame(
        [("de-en", "nl-en", 0.4), ("de-en", "nl-en", 0.2), ("en-de", "en-nl", 0.5), ("de-en", "en-nl", -0.1),
         ("de-en", "en-de", 0.3), ("de-en", "de-en", 0.8)],
        columns=["direction", "other_direction", "cosine"],
    )  # fmt: skip
    (found,) = asked(alike, read, cosines).to_dict("records")
    assert found["similarity"] == pytest.approx(0.7)
    assert found["language read (%)"] == pytest.approx(90)
    assert found["same target"] == pytest.approx(0.3)
    assert found["same source"] == pytest.approx(0.5)
    assert found["neither"] == pytest.approx(0.1)
    assert found["two halves"] == pytest.approx(0.8)


def test_a_relation_that_no_two_directions_have_is_unknown(asked):
    alike = pd.DataFrame({"layer": [1], "cka": [0.6]})
    read = pd.DataFrame({"layer": [1], "units": ["all"], "accuracy": [0.5]})
    cosines = pd.DataFrame({"direction": ["de-en"], "other_direction": ["nl-en"], "cosine": [0.4]})
    assert math.isnan(asked(alike, read, cosines)["same source"].item())


def _lines(copies, language: str, count: int) -> list[str]:
    whole = copies.corpora[0]
    places = drawn(list(whole.lines("test", "en")), count)
    lines = list(whole.lines("test", language))
    return [lines[place] for place in places]
