"""An attention weight moved by hand, and what is said then."""

import numpy as np
import pytest
import torch

from nmtlab.analysis.attention.intervention import _moved, redecode
from nmtlab.errors import NmtlabError
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_system
from nmtlab.translation import Translator

SOURCE = "ein Hund singt"


@pytest.fixture(scope="module")
def system(zoo) -> Translator:
    return open_system(zoo("learned"))


def test_the_others_share_what_is_left_as_they_did():
    moved = _moved(np.array([[[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]]]), place=1, weight=0.4)
    np.testing.assert_allclose(moved, [[[0.6 * 5 / 7, 0.4, 0.6 * 2 / 7], [0.0, 1.0, 0.0]]])


def test_what_stands_before_the_position_is_kept(system):
    own = system.translate([SOURCE])[0]
    tokens = own.hypotheses[0].tokens
    for position in range(len(tokens) + 1):
        result = redecode(system, SOURCE, own.text, position, source_position=0)
        ids = system.pipeline.target_ids(own.text)
        assert result.hypothesis.tokens[:position] == tuple(ids[:position])
        assert 0 <= result.after <= 1


def test_with_the_weight_that_it_has_anyway_little_changes_and_with_all_of_it_more(system):
    text = system.translate([SOURCE])[0].text
    source, target = (
        torch.tensor([ids]) for ids in (system.pipeline.source_ids(SOURCE), system.pipeline.target_ids(text))
    )
    (forced,) = forced_decode(system.model, system.model.encode(source), target)
    for place in range(3):
        result = redecode(system, SOURCE, text, 0, place)
        assert result.before == pytest.approx(float(np.exp(forced.log_probs[0])))
    changes = [abs(redecode(system, SOURCE, text, 0, place).after - result.before) for place in range(3)]
    assert max(changes) > 1e-4


@pytest.mark.parametrize(
    ("position", "source_position", "said"),
    [(99, 0, "position 99: there are"), (-1, 0, "position -1"), (0, 99, "source position 99")],
)
def test_a_position_that_is_not_there_is_refused(system, position, source_position, said):
    with pytest.raises(NmtlabError, match=said):
        redecode(system, SOURCE, "a dog", position, source_position)
