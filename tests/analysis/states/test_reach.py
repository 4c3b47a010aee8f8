"""What the states of encoders have read: against loops, and closed forms of each family's reach."""

import numpy as np
import pytest
import torch

from nmtlab.analysis.states.reach import REACH, impulses
from nmtlab.errors import CorpusError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel
from nmtlab.recipe import ByteNetSettings, ConvSettings, RnnSettings, TransformerSettings
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD

TYPES = 9
ALLOWED = np.array([number not in (PAD, BOS) for number in range(TYPES)])
SOURCE = [5, 7, 6, 8, 4, 5, 5, 8, 7, 6, EOS]


def drawn(settings) -> TranslationModel:
    """Return a float64 model with parameters far from their initial values."""
    torch.manual_seed(3)
    model = build_model(settings, ModelText(TYPES, ALLOWED, True)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, dtype=torch.float64), alpha=0.3)
    return model


def offsets(changes: np.ndarray) -> tuple[int, int]:
    """Return how far before and after a state there are tokens that change it."""
    state, read = changes.nonzero()
    return (state - read).max(), (read - state).max()


@pytest.mark.parametrize(("layers", "kernel"), [(1, 3), (3, 3), (2, 5)])
def test_a_convolution_has_read_half_a_kernel_to_either_side_for_each_layer(layers, kernel):
    settings = ConvSettings(d_model=6, encoder_layers=layers, encoder_kernel=kernel, decoder_layers=1)
    assert offsets(impulses(drawn(settings), SOURCE)) == (layers * (kernel - 1) / 2,) * 2


def test_a_dilated_convolution_has_read_twice_as_far_with_each_layer():
    settings = ByteNetSettings(d_model=6, encoder_layers=2, decoder_layers=1)
    assert offsets(impulses(drawn(settings), SOURCE)) == (1 + 2, 1 + 2)


def test_a_recurrent_encoder_has_read_what_came_before_and_a_bidirectional_one_everything():
    last = len(SOURCE) - 2  # it does not read EOS
    assert offsets(impulses(drawn(RnnSettings(d_model=6, reversed_source=False)), SOURCE)) == (last, 0)
    assert offsets(impulses(drawn(RnnSettings(d_model=6)), SOURCE)) == (0, last)
    assert offsets(impulses(drawn(RnnSettings(d_model=6, layers=2, bidirectional=True)), SOURCE)) == (last, last)


def test_the_change_is_that_of_a_vector_which_is_set_to_zero():
    model = drawn(TransformerSettings(d_model=8, d_ff=8, heads=2, encoder_layers=1, decoder_layers=1))
    ids = torch.tensor([SOURCE])
    found = impulses(model, SOURCE)
    with torch.no_grad():
        whole = model.encode(ids).states[0]
        for place in range(len(SOURCE)):
            embedded = model.embed_source(ids).clone()
            embedded[0, place] = 0
            changed = model.encode(ids, embedded=embedded).states[0]
            for state in range(len(SOURCE)):
                expected = (changed[state] - whole[state]).norm() / whole[state].norm()
                assert found[state, place] == pytest.approx(expected.item(), rel=1e-9)


def test_the_shares_of_a_state_add_up_to_one_and_what_is_farthest_is_said(zoo):
    run = zoo("learned")
    view = REACH.view(run, source="ein hund sieht")
    shares = REACH.of(run, source="ein hund sieht").groupby("target_position")["weight"].sum()
    assert shares.tolist() == pytest.approx([1, 1, 1])
    assert view.finding == "In whole, a state depends on tokens up to 2 before and 2 after its position (of 3)."
    assert np.array(view.figure.data[0].z).shape == (3, 3)
    with pytest.raises(CorpusError, match="source sentence: blank; give a sentence"):
        REACH.of(run, source=" ")
