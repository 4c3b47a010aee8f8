"""Asking for single words."""

import pytest
from support.hand_made_model import hand_made_pipeline, immunologists

from nmtlab.analysis.access.opened import forced_states, opened, type_of
from nmtlab.errors import NmtlabError, RunError
from nmtlab.runs.run import Run
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.tokenizers import Subwords
from nmtlab.text.segmentation.vocabulary import EOS, UNK, Vocabulary


@pytest.fixture(scope="session")
def subword_side() -> Side:
    lines = ["the old wolf sees the old fox", "an older wolf"] * 5
    subwords = Subwords.learn(lines, "bpe", 30)
    return Side("en", subwords, Vocabulary(subwords.types, [1] * len(subwords.types)))


def test_a_word_is_found_by_its_type():
    side = hand_made_pipeline({"Fauchi": 8}, {"Chan": 40, "Fauci": 8}).target
    assert [type_of(side, word) for word in ("Fauci", "Chan", "</s>", "<unk>")] == [5, 4, EOS, UNK]


def test_of_a_subword_system_a_whole_word_is_the_piece_that_begins_it(subword_side):
    types = subword_side.vocabulary.types
    assert types[type_of(subword_side, "the")] == "▁the"
    assert types[type_of(subword_side, "▁the")] == "▁the"
    assert types[type_of(subword_side, "x")] == "x"  # no word begins with it


def test_a_word_of_several_pieces_is_refused_with_its_pieces(subword_side):
    pieces = " ".join(subword_side.tokenizer.split("thefox"))
    assert " " in pieces
    with pytest.raises(NmtlabError, match=f"'thefox': not in the en vocabulary; choose one .*: {pieces}$"):
        type_of(subword_side, "thefox")


def test_the_states_of_all_tokens_stand_one_behind_the_other():
    system = immunologists()
    system.model.word.states[:, 1] = 0.25 * system.model.word.states[:, 1].new_tensor(range(7))  # tells them apart
    states = forced_states(system.model, [[4, EOS], [EOS]], [[4, 6, EOS], [5, EOS]])
    assert states[:, 1].tolist() == [0.25, 1.0, 1.5, 0.25, 1.25]  # after BOS, 4, 6; BOS, 5


def test_a_system_that_is_open_stays_the_same_object(trained):
    system = immunologists()
    assert opened(system) is system
    run, _ = trained
    assert not opened(run).model.training


def test_a_phrase_based_run_and_one_without_weights_are_refused(trained, tmp_path):
    run, _ = trained
    moses = Run.create(tmp_path / "moses", run.recipe.with_changes({"model.family": "phrase"}), {}, run.pipeline)
    with pytest.raises(RunError, match="run 'moses': a phrase-based system"):
        opened(moses)
    with pytest.raises(RunError, match="no such checkpoint; train it"):
        opened(Run.create(tmp_path / "untrained", run.recipe, {}, run.pipeline))
