"""What comes into each normalisation, against the same worked out without listening."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from nmtlab.analysis.dynamics.signals import ENOUGH, SIGNALS, STORED_SIGNALS, signals, signals_figure
from nmtlab.errors import CorpusError, RunError
from nmtlab.models.build import model_for
from nmtlab.models.interface import on_device
from nmtlab.recipe import find_recipe
from nmtlab.runs.run import Run
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import PAD
from nmtlab.training.losses import cross_entropy
from nmtlab.training.objective import training_objective

MEASURED = pd.DataFrame(
    [
        ("<b>deep</b>", update, side, kind, 1, place, size * place, size / place)
        for update, size in ((0, 10.0), (1200, 40.0))
        for side, kinds in (("encoder", ("attention", "feed-forward")), ("decoder", ("attention", "cross-attention")))
        for place, kind in enumerate(kinds, start=1)
    ],
    columns=["run", "update", "side", "kind", "depth", "place", "activation", "gradient"],
)


@pytest.fixture
def run(trained) -> Run:
    return trained[0]


def start(run: Run) -> torch.nn.Module:
    torch.manual_seed(run.recipe.training.seed)
    return model_for(run.recipe, run.pipeline).eval()


def pairs_of(run: Run, corpus, count: int) -> Batch:
    lines = draw_sample(corpus, "dev", count).pairs
    sides = (pad([run.pipeline.source_ids(s) for s, _ in lines]), pad([run.pipeline.target_ids(t) for _, t in lines]))
    return on_device(batch_of(*sides))


def test_a_row_for_each_normalisation_in_order(run, tiny_corpus):
    frame = signals(run, tiny_corpus, sample=ENOUGH)
    model = start(run)
    assert list(zip(frame["side"], frame["kind"], frame["depth"], strict=True)) == [
        (one.side, one.kind, one.depth) for one in model.sublayers()
    ]
    for _, own in frame.groupby("side"):
        assert own["place"].tolist() == list(range(1, len(own) + 1))
    assert (frame[["activation", "gradient"]] > 0).all(axis=None)
    assert set(frame["run"]) == {run.name}


def test_before_the_first_norm_are_the_embedded_words(run, tiny_corpus):
    pairs = pairs_of(run, tiny_corpus, 7)
    model = start(run)
    where = torch.arange(pairs.source.shape[1])
    embedded = model._placed(model.embed_source(pairs.source), None, model.encoder_positions, where)
    embedded = embedded[pairs.source != PAD]
    first = signals(run, tiny_corpus, sample=7).iloc[0]
    assert first["activation"] == pytest.approx(embedded.norm(dim=1).mean().item(), rel=1e-5)


def test_the_gradient_before_the_closing_norm_is_that_of_the_output_layer_alone(run, tiny_corpus):
    pairs, model = pairs_of(run, tiny_corpus, 7), start(run)
    kept = {}
    model.decoder_norm.register_forward_pre_hook(lambda _, inputs: kept.update(x=inputs[0]))
    model(pairs)
    x = kept["x"].detach().requires_grad_(True)
    gold = model.output_index(pairs.target[pairs.target != PAD])
    smoothing = run.recipe.training.label_smoothing
    loss, *_ = cross_entropy(model.output(model.decoder_norm(x)).float(), gold, smoothing)
    loss.backward()
    last = signals(run, tiny_corpus, sample=7).iloc[-1]
    assert (last["side"], last["kind"]) == ("decoder", "final")
    assert last["gradient"] == pytest.approx(x.grad.norm(dim=1).mean().item(), rel=1e-4)


def test_the_gradient_before_the_first_norm_has_every_way_the_words_take_in_it(run, tiny_corpus, monkeypatch):
    pairs, model = pairs_of(run, tiny_corpus, 7), start(run)
    place, leaves = model._placed, []

    def as_leaf(*asked, **named) -> torch.Tensor:
        leaves.append(place(*asked, **named).detach().requires_grad_(True))
        return leaves[-1]

    monkeypatch.setattr(model, "_placed", as_leaf)
    training_objective(model, run.recipe.training.label_smoothing)(pairs).total.backward()
    gradient = leaves[0].grad[pairs.source != PAD]
    first = signals(run, tiny_corpus, sample=7).iloc[0]
    assert first["gradient"] == pytest.approx(gradient.norm(dim=1).mean().item(), rel=1e-4)


def test_the_start_the_best_checkpoint_and_the_last_have_other_weights(run, tiny_corpus):
    assert 0 < run.checkpoints.best_step < run.checkpoints.last_step
    found = [
        signals(run, tiny_corpus, update=update, sample=ENOUGH)
        for update in (0, run.checkpoints.best_step, run.checkpoints.last_step)
    ]
    begun, best, last = (own["gradient"].to_numpy() for own in found)
    assert not np.allclose(begun, best, rtol=0.01)
    assert not np.allclose(best, last, rtol=0.001)
    assert [set(own["update"]) for own in found] == [{0}, {run.checkpoints.best_step}, {run.checkpoints.last_step}]


def test_weights_that_are_not_kept_are_named_with_those_that_are(run, tiny_corpus):
    with pytest.raises(RunError, match=f"update 7 are not stored.*choose update 0 or {run.checkpoints.best_step}"):
        signals(run, tiny_corpus, update=7, sample=ENOUGH)


def test_padding_does_not_count(run, tiny_corpus):
    together = signals(run, tiny_corpus, sample=5)
    pairs = pairs_of(run, tiny_corpus, 5)
    assert (pairs.source == PAD).any()
    tokens = (pairs.source != PAD).sum(1).numpy()
    each = [_only(tiny_corpus, pair) for pair in draw_sample(tiny_corpus, "dev", 5).pairs]
    alone = [signals(run, one, sample=1).iloc[0]["activation"] for one in each]
    assert together.iloc[0]["activation"] == pytest.approx(np.average(alone, weights=tokens), rel=1e-4)


def _only(corpus, pair: Pair):
    """Return a corpus whose dev is a pair."""

    class Alone:
        name, source, target, context = corpus.name, corpus.source, corpus.target, False

        def pairs(self, split: str):
            return iter([pair])

    return Alone()


def test_other_languages_are_named(run, make_corpus):
    from nmtlab.text.corpora.corpus import ParallelCorpus

    corpus = ParallelCorpus.open(make_corpus())
    with pytest.raises(CorpusError, match="translates"):
        signals(run, ParallelCorpus(corpus.folder, "xx", "yy"), sample=ENOUGH)


def test_a_recurrent_run_has_no_such_norms(tmp_path, run, tiny_corpus):
    folder = tmp_path / "rnn"
    shutil.copytree(run.folder, folder)
    corpus = run.recipe.corpus
    changes = {"corpus.name": corpus.name, "corpus.source": corpus.source, "corpus.target": corpus.target}
    find_recipe("tied").with_changes(changes).save(folder / "recipe.toml")
    with pytest.raises(RunError, match="not a Transformer"):
        SIGNALS.of(Run(folder), corpus=tiny_corpus, sample=ENOUGH)


def test_each_run_and_time_has_a_line_in_each_panel():
    figure = signals_figure(MEASURED)
    assert len(figure.data) == 2 * 2 * 2
    first, second, third, fourth = figure.data[:4]  # at the start: activations, then gradients; encoder, then decoder
    assert (list(first.x), list(first.y)) == ([1, 2], [10, 20])
    assert list(second.y) == [10, 20]
    assert list(third.y) == list(fourth.y) == [10, 5]
    assert [trace.line.dash for trace in figure.data] == ["dot"] * 4 + ["solid"] * 4
    assert {trace.line.color for trace in figure.data} == {first.line.color}
    assert [trace.showlegend for trace in figure.data] == [True, False, False, False] * 2
    assert first.name == "&lt;b&gt;deep&lt;/b&gt;, at the start"
    assert list(second.customdata[1]) == ["cross-attention", 1]


def test_signals_that_are_kept_from_the_first_norm_to_the_last(run, tiny_corpus, tmp_path):
    copy = Run(shutil.copytree(run.folder, tmp_path / run.name))
    with pytest.raises(RunError, match="no signals are stored"):
        STORED_SIGNALS.view(copy)
    found = SIGNALS.of(copy, corpus=tiny_corpus, sample=3)
    shown = STORED_SIGNALS.view(copy).frame.set_index("side")
    for side, own in found.groupby("side"):
        assert shown.loc[side, "first gradient"] == own["gradient"].iloc[0]
        assert shown.loc[side, "last activation"] == own["activation"].iloc[-1]
