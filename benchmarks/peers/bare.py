"""A bare training loop around `torch.nn.Transformer`: what one gets without a toolkit."""

import math
import time
import warnings
from collections.abc import Iterable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .measurement import CLIP, LABEL_SMOOTHING, SIZE, Measurement, Size, median_rate, peak_memory_mib
from .weights import positions

PAD = 0
Batch = tuple[np.ndarray, np.ndarray]


class BareTransformer(nn.Module):
    """One table for source, target and output; returns logits at the unpadded positions only."""

    def __init__(self, vocabulary_size: int, size: Size, longest: int = 512) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, size.d_model)
        nn.init.normal_(self.embedding.weight, std=size.d_model**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.dropout = nn.Dropout(size.dropout)
        self.register_buffer("positions", torch.from_numpy(positions(longest, size.d_model)))
        with warnings.catch_warnings(action="ignore"):  # norm_first rules out nested tensors: nothing to be done
            self.transformer = nn.Transformer(
                size.d_model,
                size.heads,
                size.layers,
                size.layers,
                size.feed_forward,
                size.dropout,
                batch_first=True,
                norm_first=True,
            )

    def forward(self, source: Tensor, target_input: Tensor, wanted: Tensor) -> Tensor:
        length = target_input.shape[1]
        padding = source == PAD
        states = self.transformer(
            self._embed(source),
            self._embed(target_input),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(states[wanted], self.embedding.weight, self.bias)

    def _embed(self, ids: Tensor) -> Tensor:
        scaled = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(scaled + self.positions[: ids.shape[1]])


def train(batches: Iterable[Batch], vocabulary_size: int, updates: int, threads: int, size: Size = SIZE) -> Measurement:
    """Train for some updates and measure target tokens (EOS included) per second.

    Args:
        batches: pairs of int64 arrays (rows, length), padded with 0: source as the encoder reads it, and target from
            BOS to EOS. Taken as they come; at least `updates` of them.
        vocabulary_size: of source and target together.
        updates: how many batches to train on.
        threads: of torch, for this process from now on.
        size: of the model.

    Peak memory is the process's: measure in a process of its own.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = BareTransformer(vocabulary_size, size).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True)
    tokens, seconds = [], []
    start = time.perf_counter()
    for source, target in _first(batches, updates):
        tokens.append(_update(model, optimiser, torch.from_numpy(source), torch.from_numpy(target)))
        seconds.append(time.perf_counter() - start)
        start += seconds[-1]
    return Measurement(
        system="bare torch.nn.Transformer",
        train_tokens_per_second=median_rate(tokens, seconds),
        peak_memory_mib=peak_memory_mib(),
        note=f"{len(tokens)} updates, {sum(parameter.numel() for parameter in model.parameters()):,} parameters",
    )


def _first(batches: Iterable[Batch], updates: int) -> Iterable[Batch]:
    for _, batch in zip(range(updates), batches, strict=False):
        yield batch


def _update(model: BareTransformer, optimiser: torch.optim.Optimizer, source: Tensor, target: Tensor) -> int:
    gold = target[:, 1:]
    wanted = gold != PAD
    logits = model(source, target[:, :-1], wanted)
    loss = F.cross_entropy(logits, gold[wanted], label_smoothing=LABEL_SMOOTHING)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimiser.step()
    optimiser.zero_grad()
    return len(logits)
