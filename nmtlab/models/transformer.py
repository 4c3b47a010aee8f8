"""The Transformer (thesis 1.2) with the normalisations of thesis 3.3.

Shapes as in `interface`; H heads, d_k = D / H.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmtlab.models.interface import InnerProduct, Record, Step, Sublayer, TranslationModel
from nmtlab.nn.attention import MultiHeadAttention
from nmtlab.nn.dropout import Dropout
from nmtlab.nn.embeddings import WordEmbedding
from nmtlab.nn.feed_forward import FeedForward
from nmtlab.nn.output import OutputLayer
from nmtlab.nn.positions import sinusoids
from nmtlab.text.batch import Batch
from nmtlab.text.vocabulary import PAD

KeysValues = tuple[Tensor, Tensor]
Residual = Callable[[], nn.Module]
"""Makes the residual connection of one sublayer, with its own norm."""


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, attention: MultiHeadAttention, feed_forward: FeedForward, residual: Residual) -> None:
        super().__init__()
        self.attention = attention
        self.attention_residual = residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = residual()

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.attention_residual(x, lambda y: self.attention(y, *self.attention.keys_values(y), mask)[0])
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention to the words before, attention to the source, then feed-forward."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residual: Residual,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_residual = residual()
        self.cross_attention = cross_attention
        self.cross_attention_residual = residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = residual()

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None) -> Tensor:
        """Return the layer's output at every position, (B, T, D)."""
        keys, values = self.cross_attention.keys_values(memory)
        x = self.attention_residual(x, lambda y: self.attention(y, *self.attention.keys_values(y), causal=True)[0])
        x = self.cross_attention_residual(x, lambda y: self.cross_attention(y, keys, values, memory_mask)[0])
        return self.feed_forward_residual(x, self.feed_forward)

    def step(
        self,
        x: Tensor,
        past: KeysValues | None,
        memory: KeysValues,
        memory_mask: Tensor | None,
        record: bool,
        imposed: Tensor | None,
    ) -> tuple[Tensor, KeysValues, Tensor | None]:
        """Return the output at one more position, (B, K, D), the keys and values so far, and attention weights."""
        slots = x.shape[:2]
        seen: list = [past, None]  # the keys and values so far, the weights on the source

        def attend_to_past(y: Tensor) -> Tensor:
            y = y.flatten(0, 1).unsqueeze(1)  # (B*K, 1, D)
            new = self.attention.keys_values(y)
            seen[0] = new if past is None else tuple(torch.cat(both, dim=2) for both in zip(past, new, strict=True))
            return self.attention(y, *seen[0])[0].view(*slots, -1)

        def attend_to_source(y: Tensor) -> Tensor:
            mixed, seen[1] = self.cross_attention(y, *memory, memory_mask, record=record, imposed=imposed)
            return mixed

        x = self.attention_residual(x, attend_to_past)
        x = self.cross_attention_residual(x, attend_to_source)
        return self.feed_forward_residual(x, self.feed_forward), seen[0], seen[1]


@dataclass(frozen=True)
class Memory:
    """The encoder's output (B, S, D) and the mask of its padding, (B, 1, 1, S) or None where there is none."""

    states: Tensor
    mask: Tensor | None


@dataclass(frozen=True)
class TransformerState:
    """Keys and values of the source, (B, H, S, d_k), and of the words so far, (B*K, H, t, d_k), a pair a layer.

    The next word's position is (1,), or (B, 1) where it is not the same for all.
    """

    memory: list[KeysValues]
    memory_mask: Tensor | None
    past: list[KeysValues | None]
    position: Tensor
    slots: int

    def select(self, rows: Tensor) -> "TransformerState":
        """Return the state of other slots; see `interface.State`."""
        sentences = rows[:, 0] // self.slots
        if torch.equal(sentences, torch.arange(self.memory[0][0].shape[0], device=rows.device)):
            memory, mask = self.memory, self.memory_mask
        else:
            memory = [(keys[sentences], values[sentences]) for keys, values in self.memory]
            mask = None if self.memory_mask is None else self.memory_mask[sentences]
        flat = rows.flatten()
        past = [layer and (layer[0].index_select(0, flat), layer[1].index_select(0, flat)) for layer in self.past]
        position = self.position if self.position.dim() == 1 else self.position[sentences]
        return TransformerState(memory, mask, past, position, rows.shape[1])


class Transformer(TranslationModel):
    """Encoder and decoder over shared or separate word embeddings; put together in `build`.

    Args:
        source_embedding, target_embedding: tables of word vectors, the same object where shared.
        encoder, decoder: the layers.
        encoder_norm, decoder_norm: closing norms (PreNorm), or identities (PostNorm).
        output_layer: over the target embedding's rows.
        dropout: share of embedding units dropped in training, after positions are added.
        language_vectors: learn a vector of the source's and one of the target's language, added at every position.
    """

    direction = 1
    """In which positions are counted."""

    def __init__(
        self,
        source_embedding: WordEmbedding,
        target_embedding: WordEmbedding,
        encoder: nn.ModuleList,
        decoder: nn.ModuleList,
        encoder_norm: nn.Module,
        decoder_norm: nn.Module,
        output_layer: OutputLayer,
        dropout: float,
        language_vectors: bool,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.languages = nn.Parameter(torch.zeros(2, target_embedding.weight.shape[1])) if language_vectors else None
        self.dropout = Dropout(dropout)
        self.encoder = encoder
        self.decoder = decoder
        self.encoder_norm = encoder_norm
        self.decoder_norm = decoder_norm
        self.output_layer = output_layer

    @property
    def output_types(self) -> Tensor:  # type: ignore[override]
        return self.output_layer.types

    def encode(self, source: Tensor) -> Memory:
        padding = source == PAD
        mask = None
        if torch.compiler.is_compiling() or padding.any():  # a branch on data would break the compiled graph
            mask = torch.zeros(padding.shape, device=source.device, dtype=self.target_embedding.weight.dtype)
            mask = mask.masked_fill_(padding, -math.inf)[:, None, None, :]
        where = torch.arange(source.shape[1], device=source.device)
        x = self._embed(self.source_embedding, source, language=0, where=where)
        for layer in self.encoder:
            x = layer(x, mask)
        return Memory(self.encoder_norm(x), mask)

    def forward(self, batch: Batch[Tensor], memory: Memory | None = None) -> Tensor:
        memory = memory or self.encode(batch.source)
        x = self._embed(self.target_embedding, batch.target_input, language=1, where=self._positions(batch.target))
        for layer in self.decoder:
            x = layer(x, memory.states, memory.mask)
        return self.decoder_norm(x[self.predicted(batch.target)])

    def output(self, states: Tensor) -> Tensor:
        return self.output_layer(states, self._output_rows())

    def explain(self, states: Tensor) -> dict[str, Tensor]:
        return self.output_layer.parts(states, self._output_rows())

    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        return {"word": InnerProduct(self.output_layer.scaled(states), self._output_rows())}

    def start(self, memory: Memory, length: Tensor | None = None) -> TransformerState:
        keys_values = [layer.cross_attention.keys_values(memory.states) for layer in self.decoder]
        first = torch.zeros(1, dtype=torch.long, device=memory.states.device)
        return TransformerState(keys_values, memory.mask, [None] * len(self.decoder), position=first, slots=1)

    def step(
        self, state: TransformerState, token: Tensor, record: bool = False, attention: Tensor | None = None
    ) -> Step:
        imposed = _by_layer(attention, len(self.decoder))
        x = self._embed(self.target_embedding, token, language=1, where=state.position)
        past, seen = [], []
        for layer, layer_past, layer_memory, own in zip(self.decoder, state.past, state.memory, imposed, strict=True):
            x, layer_past, weights = layer.step(x, layer_past, layer_memory, state.memory_mask, record, own)
            past.append(layer_past)
            seen.append(weights)
        log_probs = self.output(self.decoder_norm(x)).log_softmax(-1)
        after = TransformerState(state.memory, state.memory_mask, past, state.position + self.direction, token.shape[1])
        return Step(log_probs, after, Record(torch.stack(seen).transpose(2, 3)) if record else None)

    def sublayers(self) -> list[Sublayer]:
        kinds = (("attention", "attention"), ("cross_attention", "cross-attention"), ("feed_forward", "feed-forward"))
        found = []
        for side, layers in (("encoder", self.encoder), ("decoder", self.decoder)):
            for depth, layer in enumerate(layers, start=1):
                for name, kind in kinds:
                    if hasattr(layer, name):
                        found.append(Sublayer(f"{side}.{depth - 1}.{name}_residual.norm", side, kind, depth))
            found.append(Sublayer(f"{side}_norm", side, "final", len(layers)))
        return [sublayer for sublayer in found if not isinstance(self.get_submodule(sublayer.name), nn.Identity)]

    def word_vectors(self) -> dict[str, Tensor]:
        target = self.target_embedding.weight
        return {"source": self.source_embedding.weight, "target": target, "output": target}

    def _positions(self, target: Tensor) -> Tensor:
        """Return the positions of what the decoder reads before it says each token of targets, (B, T): (T,)."""
        return torch.arange(target.shape[1], device=target.device)

    def _embed(self, embedding: WordEmbedding, ids: Tensor, language: int, where: Tensor) -> Tensor:
        """Embed ids, (B, L), at positions (L,) or (B, L), or all at one position, (1,) or (B, 1)."""
        x = embedding(ids)
        x = x + sinusoids(where, x.shape[-1]).to(x.dtype)
        if self.languages is not None:
            x = x + self.languages[language]
        return self.dropout(x)

    def _output_rows(self) -> Tensor:
        return self.output_layer.rows(self.target_embedding.table())


def _by_layer(attention: Tensor | None, layers: int) -> Sequence[Tensor | None]:
    """Return what is imposed on each layer, (B, H, K, S), of (layers, B, K, H, S)."""
    return [None] * layers if attention is None else list(attention.transpose(2, 3).expand(layers, -1, -1, -1, -1))
