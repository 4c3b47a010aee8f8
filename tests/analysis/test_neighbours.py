"""Nearest words: against a plain sort of cosines."""

import numpy as np
import pytest
import torch
from support.hand_made_model import (
    SYSTEMS,
    HandMadeModel,
    Vectors,
    along_the_first_axis,
    hand_made_pipeline,
    random_system,
)
from support.hand_made_model import translator as translator_of

from nmtlab.analysis.states.neighbours import neighbours
from nmtlab.errors import NmtlabError

COUNTS = {"Chan": 40, "Fauci": 8, "Jenner": 20}


def expected_neighbours(system, word: str) -> list[tuple[str, float, int, float]]:
    """Return all other words that may be produced, nearest first: word, cosine, count, length; by numpy alone."""
    types = system.model.output_ids.tolist()
    vectors = system.model.embeddings()["output"].detach().double().numpy()[types]
    words = system.pipeline.target.vocabulary.tokens(types)
    counts = system.pipeline.target.counts[types].tolist()
    asked = vectors[words.index(word)]
    lengths = np.linalg.norm(vectors, axis=1)
    cosines = vectors @ asked / (lengths * np.linalg.norm(asked))
    rows = sorted(zip(words, cosines, counts, lengths, strict=True), key=lambda row: -row[1])
    return [row for row in rows if row[0] != word]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_nearest_words_are_those_of_a_sort_of_all_cosines(name):
    system = random_system(name)
    frame = neighbours(system, "Fauci", k=5)
    words, cosines, counts, lengths = zip(*expected_neighbours(system, "Fauci")[:5], strict=True)
    assert tuple(frame["word"]) == words
    assert frame["cos"].to_numpy() == pytest.approx(cosines)
    assert tuple(frame["count"]) == counts
    assert frame["norm"].to_numpy() == pytest.approx(lengths)


def test_a_trained_run_is_asked_by_its_own_words(trained):
    run, _ = trained
    frame = neighbours(run, "dog", k=3)
    assert "dog" not in frame["word"].tolist()
    assert frame["cos"].is_monotonic_decreasing
    assert frame["cos"].between(-1, 1).all()


def test_more_neighbours_than_words_are_all_other_words():
    assert set(neighbours(random_system("untied"), "Fauci", k=100)["word"]) == {
        "says", "scientist", "Anthony", "Chan", "the", "</s>", "<unk>",
    }  # fmt: skip


def test_a_word_of_length_0_is_beside_nothing():
    rows = torch.tensor([[1.0, 0], [0, 1], [0, 0], [2, 0], [-1, 0]], dtype=torch.float64)
    model = HandMadeModel(Vectors(rows, torch.zeros(5).double(), along_the_first_axis(7, 1.0)))
    system = translator_of(model, hand_made_pipeline({"Fauchi": 8}, COUNTS))
    nothing, *others = system.pipeline.target.vocabulary.tokens([4, 5, 6])
    assert neighbours(system, nothing, k=4)["cos"].tolist() == [0.0] * 4
    assert neighbours(system, others[0], k=1).to_dict("records") == [
        {"word": "</s>", "cos": 1.0, "count": system.pipeline.target.counts[2], "norm": 1.0}
    ]


def test_a_word_that_is_no_type_is_refused():
    with pytest.raises(NmtlabError, match="word 'Salk': not in the en vocabulary; choose a word"):
        neighbours(random_system("untied"), "Salk")
