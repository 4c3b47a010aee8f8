"""The loss without attention to one source word, against weights imposed step by step."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.packed import packed_folder

from nmtlab.analysis.access.reference_links import kept_links
from nmtlab.analysis.attention.masking import MASKING, masking_figure, masking_summary
from nmtlab.analysis.attention.shift import attention_shift
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.segmentation.vocabulary import BOS, UNK

TIED = packed_folder("small-tr-en.tied.s1")

needs_gallery = pytest.mark.skipif(not TIED.is_dir(), reason="needs the packed runs of the checkout")


@pytest.fixture(scope="module")
def tied() -> tuple[Run, list[frozenset]]:
    run = Run(TIED)
    return run, kept_links(run.sentences, "dev")[0]


@pytest.fixture(scope="module")
def losses(tied) -> dict[str, pd.DataFrame]:
    run, links = tied
    asked = {"corpus": run.sentences, "split": "dev", "links": links}
    return {place: MASKING.among([run], **asked, place=place) for place in ("first", "last")}


def by_hand(run: Run, source: str, target: str, hidden: int | None) -> list[float]:
    """Return the loss of each word, with the weight of a position taken away and the others rescaled at each step."""
    system = open_model(run)
    ids = torch.tensor([system.pipeline.source_ids(source)])
    state, token, found = system.model.start(system.model.encode(ids)), torch.tensor([[BOS]]), []
    for following in system.pipeline.target_ids(target)[:-1]:
        step = system.model.step(state, token, record=True)
        if hidden is not None:
            weights = step.attention.clone()
            weights[..., hidden] = 0
            step = system.model.step(state, token, attention=weights / weights.sum(-1, keepdim=True))
        column = (step.state.output_ids == following).nonzero()
        allowed = column.item() if len(column) else (step.state.output_ids == UNK).nonzero().item()
        found.append(-step.log_probs[0, 0, allowed].item())
        state, token = step.state, torch.tensor([[following]])
    return found


@pytest.mark.full
@needs_gallery
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_hidden_word_has_no_weight_at_any_step_and_the_others_share_it(tied, losses, place):
    run, _ = tied
    pairs = list(run.sentences.pairs("dev"))
    lines = losses[place]["line"].unique()[:3]
    with torch.inference_mode():
        for line in lines:
            source, target = pairs[line - 1]
            own = losses[place][losses[place]["line"] == line]
            last = len(run.pipeline.source_words(source)[0]) - 1
            np.testing.assert_allclose(own["loss"], by_hand(run, source, target, None), atol=1e-4)
            expected = by_hand(run, source, target, 0 if place == "first" else last)
            np.testing.assert_allclose(own["masked_loss"], expected, atol=1e-4)


@needs_gallery
def test_peaks_and_links_are_those_of_the_shift(tied, losses):
    run, links = tied
    shifts = attention_shift(run, run.sentences, "dev", links)
    some = shifts[shifts["source_length"] > 1].reset_index(drop=True)
    found = losses["first"]
    assert found["target_word"].tolist() == some["target_word"].tolist()
    assert found["peak"].tolist() == (some["source_position"] == 0).tolist()
    assert (found["linked"] == "none").tolist() == (some["links"] == 0).tolist()
    single = some["links"] == 1
    assert (found.loc[single, "linked"] == "it").tolist() == (some.loc[single, "linked_position"] == 0).tolist()


@needs_gallery
def test_the_first_word_of_a_sink_is_missed_only_by_the_words_that_are_linked_to_it(losses):
    costs = masking_summary(losses["first"]).set_index(["linked", "peak"])["cost"]
    assert costs["it", True] > 0.5
    assert abs(costs["others", True]) < 0.1


def test_the_summary_is_a_mean_by_group_and_the_figure_has_those_whose_peak_was_on_the_word():
    losses = pd.DataFrame(
        [("x", "it", True, 1.0, 3.0), ("x", "it", True, 1.0, 2.0), ("x", "others", False, 1.0, 1.5)],
        columns=["run", "linked", "peak", "loss", "masked_loss"],
    )
    summary = masking_summary(losses)
    assert summary.to_dict("list") == {
        "run": ["x", "x"], "linked": ["it", "others"], "peak": [True, False], "words": [2, 1], "cost": [1.5, 0.5],
    }  # fmt: skip
    (bars,) = masking_figure(losses).data
    assert bars.x.tolist() == ["linked to it", "linked to other words", "not linked"]
    np.testing.assert_array_equal(bars.y, [1.5, np.nan, np.nan])


@needs_gallery
def test_a_transformer_is_refused():
    run = Run(packed_folder("multi30k-de-en.small"))
    with pytest.raises(RunError, match="not recurrent; choose a run whose"):
        MASKING.of(run, corpus=run.sentences, split="dev", links=[])
