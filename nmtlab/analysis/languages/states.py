"""The encoder states of a multi-parallel text in several languages, layer by layer, a vector for each sentence."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nmtlab.analysis.access.opened import opened
from nmtlab.errors import CorpusError
from nmtlab.models.transformer import Transformer
from nmtlab.runs.run import Run
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import drawn
from nmtlab.text.segmentation.vocabulary import PAD, SPECIALS
from nmtlab.translation import Translator

States = NDArray[np.float64]
"""(layers + 1, sentences, D), the embedded words before the first layer."""

_BATCH_TOKENS = 4000  # padded


def states_by_language(run: Run, corpora: Sequence[ParallelCorpus], split: str, sample: int) -> dict[str, States]:
    """Return the mean encoder states of the sentences of a multi-parallel text, by source language.

    The model translates into the target language of the run's direction. A vector is the mean over the positions of a
    sentence and EOS, without padding and tags; the last layer's are those before the encoder's closing norm.

    Args:
        run: of a Transformer.
        corpora: line n of all means the same; their source languages are the languages compared.
        split: train, dev or test.
        sample: number of sentences to draw, by their translations into the first corpus' target language
            (`nmtlab.text.corpora.sample`).

    Raises:
        CorpusError: no such split, fewer than two languages, or texts that are not parallel to each other.
        RunError: the run has no weights or does not translate from one of the languages.
    """
    lines = _parallel_lines(corpora, split, sample)
    translator = opened(run)
    target = run.direction[1]
    return {language: mean_states(translator.directed(language, target), lines[language]) for language in lines}


@torch.inference_mode()
def mean_states(translator: Translator, lines: Sequence[str]) -> States:
    """Return the mean encoder states of some source sentences (see `states_by_language`).

    Args:
        translator: of a Transformer, in the direction of the sentences.
        lines: plain text.
    """
    model, pipeline = translator.model, translator.pipeline
    ids = pipeline.encode_source(lines)
    means: list[States] = []
    order: list[int] = []
    for batch in sorted_batches([len(one) for one in ids], _BATCH_TOKENS):
        source = torch.from_numpy(pad([ids[number] for number in batch])).to(model.device)
        is_tag = (source >= len(SPECIALS)) & (source < pipeline.source.vocabulary.reserved)
        with encoder_layers(model) as layers:
            model.encode(source)
        means.append(_means(torch.stack(layers).double(), (source != PAD) & ~is_tag))
        order += [int(number) for number in batch]
    return np.concatenate(means, axis=1)[:, np.argsort(order)]


@contextmanager
def encoder_layers(model: Transformer) -> Iterator[list[Tensor]]:
    """Record the input of the first encoder layer and the output of every one within the block: each (B, S, D)."""
    recorded: list[Tensor] = []

    def before(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        recorded.append(inputs[0])

    def after(_: nn.Module, __: object, output: Tensor) -> None:
        recorded.append(output)

    hooks = [model.encoder[0].register_forward_pre_hook(before)]
    hooks += [layer.register_forward_hook(after) for layer in model.encoder]
    try:
        yield recorded
    finally:
        for hook in hooks:
            hook.remove()


def _means(states: Tensor, kept: Tensor) -> States:
    """Return the mean states, (layers, B, D), of states (layers, B, S, D) over the positions kept, (B, S) bool."""
    weights = kept.double().unsqueeze(-1)
    return ((states * weights).sum(2) / weights.sum(1)).cpu().numpy()


def _parallel_lines(corpora: Sequence[ParallelCorpus], split: str, sample: int) -> dict[str, list[str]]:
    """Return the lines of each source language."""
    if len({corpus.source for corpus in corpora}) < max(2, len(corpora)):
        known = ", ".join(corpus.source for corpus in corpora) or "none"
        raise CorpusError(f"source languages {known}", "give corpora of two or more different source languages")
    pairs = {corpus.source: list(corpus.pairs(split)) for corpus in corpora}
    first, *others = corpora
    for corpus in others:
        ours, theirs = ([target for _, target in pairs[one.source]] for one in (first, corpus))
        if len(ours) != len(theirs) or (first.target == corpus.target and ours != theirs):
            raise CorpusError(
                f"{first.name!r} ({first.source}) and {corpus.name!r} ({corpus.source}): not the same sentences",
                "join them with 'nmtlab corpus join'",
            )
    places = drawn([target for _, target in pairs[first.source]], sample)
    return {language: [of_it[place][0] for place in places] for language, of_it in pairs.items()}
