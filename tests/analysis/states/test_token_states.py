"""States of tokens, and the nearest of them."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from support.packed import packed_folder

from nmtlab.analysis.states.neighbours import STATE_NEIGHBOURS, nearest_states
from nmtlab.analysis.states.token_states import TokenStates, token_states
from nmtlab.errors import NmtlabError
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_system
from nmtlab.text.corpora.sample import draw_sample

TOKENS = pd.DataFrame(
    {"sentence": [0, 0, 1, 1, 1], "position": [0, 1, 0, 1, 2], "piece": list("abcde"), "count": [1, 2, 3, 4, 5]}
)
STATES = TokenStates(np.array([[1, 0], [0, 2], [-3, 0], [3, 3], [0, -1]], dtype=np.float32), TOKENS)
PAIRS = [("one", "eins"), ("two", "zwei")]


def asked(*vector: float) -> TokenStates:
    return TokenStates(np.array([[9, 9], vector], dtype=np.float32), TOKENS[:2])


def test_the_nearest_states_are_those_of_the_smallest_angle_whatever_their_length():
    found = nearest_states(STATES, PAIRS, asked(0.1, 0.0), 1, k=3)
    assert found["piece"].tolist() == ["a", "d", "b"]
    assert found["cos"].tolist() == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-6)
    assert found["sentence"].tolist() == [0, 1, 0]
    assert found["context"].tolist() == ["⟦a⟧ b", "c ⟦d⟧ e", "a ⟦b⟧"]
    assert found["target"].tolist() == ["eins", "zwei", "eins"]


def test_a_long_sentence_is_shown_around_its_token():
    tokens = pd.DataFrame({"sentence": 0, "position": range(20), "piece": [str(n) for n in range(20)], "count": 1})
    states = TokenStates(np.array([[1, abs(10 - n)] for n in range(20)], dtype=np.float32), tokens)
    found = nearest_states(states, PAIRS, asked(1, 0), 1, k=1)
    assert found["context"].tolist() == ["… 4 5 6 7 8 9 ⟦10⟧ 11 12 13 14 15 16 …"]


def test_a_sentence_is_not_its_own_neighbour():
    found = nearest_states(STATES, PAIRS, asked(1, 0), 1, k=9, left_out=("one", "eins"))
    assert found["piece"].tolist() == ["d", "e", "c"]


def test_a_position_that_is_not_there_is_refused():
    with pytest.raises(NmtlabError, match="position 2: the sentence has 2 states; choose a number from 0 to 1"):
        nearest_states(STATES, PAIRS, asked(1, 0), 2)


def test_neighbours_in_the_training_text_are_those_of_brute_force(trained, tiny_corpus, tmp_path):
    run, corpus = Run(shutil.copytree(trained[0].folder, tmp_path / "copy")), tiny_corpus
    source, target = next(iter(corpus.pairs("dev")))
    question = {"source": source, "target": target, "position": 1, "where": "encoder", "k": 4, "sample": 20}
    found = STATE_NEIGHBOURS.of(run, corpus=corpus, **question)
    drawn = draw_sample(corpus, "train", 20)
    wanted = token_states(run, [(source, target)], "encoder").vectors[1].astype(float)
    brute = []
    for line, pair in zip(drawn.lines, drawn.pairs, strict=True):
        if tuple(pair) == (source, target):
            continue
        states = token_states(run, [pair], "encoder")
        for position, vector in enumerate(states.vectors.astype(float)):
            cos = vector @ wanted / np.linalg.norm(vector) / np.linalg.norm(wanted)
            brute.append((cos, line, position))
    brute.sort(reverse=True)
    assert found["cos"].tolist() == pytest.approx([cos for cos, _, _ in brute[:4]], abs=1e-4)
    places = {(line, position): cos for cos, line, position in brute}  # ties may come in another order
    assert [places[row.line, row.position] for row in found.itertuples()] == pytest.approx(
        found["cos"].tolist(), abs=1e-4
    )
    assert STATE_NEIGHBOURS.stored(run, corpus=corpus, **question) is not None


@pytest.mark.parametrize("where", ["encoder", "decoder"])
def test_a_state_does_not_depend_on_the_other_sentences(trained, tiny_corpus, where):
    run, corpus = trained[0], tiny_corpus
    pairs = list(corpus.pairs("dev"))[:8]
    system = open_system(run)
    together = token_states(system, pairs, where)
    for index, pair in enumerate(pairs):
        alone = token_states(system, [pair], where)
        rows = (together.tokens["sentence"] == index).to_numpy()
        assert together.vectors[rows] == pytest.approx(alone.vectors, abs=1e-4)
        assert together.tokens.loc[rows, "piece"].tolist() == alone.tokens["piece"].tolist()


def test_decoder_states_are_those_that_tokens_are_generated_from(trained, tiny_corpus):
    system = open_system(trained[0])
    source, target = next(iter(tiny_corpus.pairs("dev")))
    states = token_states(system, [(source, target)])
    ids = system.pipeline.target_ids(target)
    assert states.tokens["piece"].tolist() == [system.pipeline.target.vocabulary.types[one] for one in ids]
    memory = system.model.encode(torch.tensor([system.pipeline.source_ids(source)]))
    (forced,) = forced_decode(system.model, memory, torch.tensor([ids]))
    with torch.inference_mode():
        log_probs = system.model.output(torch.from_numpy(states.vectors)).log_softmax(-1)
    columns = system.model.output_index(torch.tensor(ids))
    assert log_probs.gather(1, columns[:, None])[:, 0].tolist() == pytest.approx(forced.log_probs.tolist(), abs=1e-4)


def test_a_recurrent_encoder_has_a_state_for_each_source_token():
    system = open_system(Run(packed_folder("small-tr-en.tied.s1")))
    states = token_states(system, [("Tom öldü .", "Tom died .")], "encoder")
    assert states.tokens["piece"].tolist()[0] == "Tom"
    assert len(states.vectors) == len(system.pipeline.source_ids("Tom öldü .")) - 1
    assert np.isfinite(states.vectors).all()
