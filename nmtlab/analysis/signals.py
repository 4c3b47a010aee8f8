"""How large are activations and gradients before each normalisation? Why PostNorm fails with depth (thesis 3.3.2.1)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Literal

import pandas as pd
import torch
from torch import Tensor

from nmtlab.analysis.checks import check_languages
from nmtlab.analysis.measure import answers
from nmtlab.errors import RunError
from nmtlab.models.build import load_weights
from nmtlab.models.interface import Pairs, TranslationModel
from nmtlab.runs.run import Run
from nmtlab.text.batches import pad
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.vocabulary import PAD
from nmtlab.training.losses import Objective
from nmtlab.training.prepare import model_for

When = Literal["start", "best"]

_COLUMNS = ["run", "at", "side", "kind", "depth", "place", "activation", "gradient"]


def signals(
    run: Run, corpus: ParallelCorpus, split: str = "dev", at: When = "best", sentences: int = 64
) -> pd.DataFrame:
    """Return the size of what comes into each normalisation, forwards and backwards, without dropout.

    Args:
        run: a Transformer's.
        corpus: of the run's languages.
        split: train, dev or test.
        at: `start`, with the weights that the training began with, or `best`, with those of the best checkpoint.
        sentences: of the split that are looked at, the first, at least 1.

    Returns:
        A row for each normalisation, in the order of the data: `run`, `at`; `side`, encoder or decoder; `kind`:
        attention, cross-attention, feed-forward or final; `depth`, the layer from 1; `place`, from 1 on a side;
        `activation`, the mean length of the vectors that come in; `gradient`, the mean length of the loss's gradient by
        them, along the residual path as well, the loss being summed over the target's tokens.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: the run is no Transformer's; its weights are asked for and are not here.
    """
    check_languages(run, corpus)
    model = _model(run, at)
    pairs = _pairs(run, list(islice(corpus.pairs(split), sentences)))
    inside = {"encoder": pairs.source != PAD, "decoder": pairs.target != PAD}
    rows, places = [], {"encoder": 0, "decoder": 0}
    with _listening(model) as heard:
        loss, _ = Objective(model, run.recipe.training.label_smoothing)(pairs)
        loss.backward()
    for sublayer in model.sublayers():
        came_in = heard[sublayer.name]
        places[sublayer.side] += 1
        activation, gradient = (_mean_length(x, inside[sublayer.side]) for x in (came_in, came_in.grad))
        place = (sublayer.side, sublayer.kind, sublayer.depth, places[sublayer.side])
        rows.append((run.name, at, *place, activation, gradient))
    return pd.DataFrame(rows, columns=_COLUMNS)


def stored_signals(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the rows of `signals` that are kept with some runs, whatever the text, those of the start first."""
    found = [answer.frame() for run in runs for answer in answers(run, signals)]
    if not found:
        return pd.DataFrame(columns=_COLUMNS)
    return pd.concat(found, ignore_index=True).sort_values("at", ascending=False, kind="stable", ignore_index=True)


def _model(run: Run, at: When) -> TranslationModel:
    if run.recipe.model.family != "transformer":
        raise RunError(f"run {run.name!r}: not a Transformer, which alone has these norms", "choose one that is")
    torch.manual_seed(run.recipe.training.seed)
    model = model_for(run.recipe, run.pipeline)
    if at == "best":
        weights, _ = run.weights("best")
        load_weights(model, weights)
    return model.eval()


def _pairs(run: Run, lines: list[tuple[str, str]]) -> Pairs:
    pipeline = run.pipeline
    source = pad([pipeline.source_ids(source) for source, _ in lines])
    return Pairs.from_arrays(source, pad([pipeline.target_ids(target) for _, target in lines]))


@contextmanager
def _listening(model: TranslationModel) -> Iterator[dict[str, Tensor]]:
    """Keep what comes into each normalisation within the block, and its gradient, by the norm's name."""
    heard: dict[str, Tensor] = {}

    def listen(name: str) -> Callable[[object, tuple[Tensor, ...]], None]:
        def keep(_: object, inputs: tuple[Tensor, ...]) -> None:
            inputs[0].retain_grad()
            heard[name] = inputs[0]

        return keep

    names = [sublayer.name for sublayer in model.sublayers()]
    hooks = [model.get_submodule(name).register_forward_pre_hook(listen(name)) for name in names]
    try:
        yield heard
    finally:
        for hook in hooks:
            hook.remove()


def _mean_length(vectors: Tensor, inside: Tensor) -> float:
    """Return the mean length of vectors, those of padding left out.

    Args:
        vectors: (B, L, D), or (tokens, D) without padding.
        inside: (B, L) bool.
    """
    own = vectors[inside] if vectors.dim() == 3 else vectors
    return own.detach().norm(dim=-1).mean().item()
