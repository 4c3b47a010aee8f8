"""The layers of the Transformer (thesis 1.2, 3.3).

Shapes: B sentences, S source length, T target length, K slots of a search, D width, H heads, d_k = D / H.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from nmtlab.models.past import History, Mean, Past
from nmtlab.nn.adapters import Adapters
from nmtlab.nn.attention import MultiHeadAttention
from nmtlab.nn.average import AverageAttention, running_means
from nmtlab.nn.feed_forward import FeedForward
from nmtlab.nn.several import SeparateAttention

KeysValues = tuple[Tensor, Tensor]
Residual = Callable[[], nn.Module]
"""Makes the residual connection of one sublayer, with a new norm."""


_MULTIPLE = 16
"""If slots are left out, a multiple of this is computed, since oneDNN compiles a kernel for each new number of rows."""


@dataclass(frozen=True)
class Slots:
    """The slots of a search, K for each of B sentences, and which of them the decoder computes.

    Args:
        shape: B and K.
        computed: (N,) ascending indices into the B * K slots; all if not given.
        place: (B * K,) the place of each slot among the computed ones; arbitrary for the others.
    """

    shape: tuple[int, ...]
    computed: Tensor | None = None
    place: Tensor | None = None

    @classmethod
    def going_on(cls, rows: Tensor) -> "Slots":
        """Return the slots that `rows`, (B, K), select as of `interface.State`; those that have ended are left out."""
        needed = rows.flatten() >= 0
        if needed.all():
            return cls(tuple(rows.shape))
        filling = (~needed).cumsum(0) <= -needed.sum() % _MULTIPLE
        computed = needed | filling
        return cls(tuple(rows.shape), computed.nonzero().squeeze(1), (computed.cumsum(0) - 1).clamp_min(0))

    def select(self, rows: Tensor) -> Tensor:
        """Return indices into the computed slots, given indices into all slots, (N',); arbitrary for negative ones."""
        rows = rows.clamp_min(0)
        return rows if self.place is None else self.place[rows]

    def rows(self, x: Tensor) -> Tensor:
        """Return the rows of the computed slots, (N, ...), given those of all, (B, K, ...)."""
        x = x.flatten(0, 1)
        return x if self.computed is None else x.index_select(0, self.computed)

    def spread(self, rows: Tensor) -> Tensor:
        """Return rows for all slots, (B, K, ...), given those of the computed ones; arbitrary for the others."""
        rows = rows if self.place is None else rows.index_select(0, self.place)
        return rows.unflatten(0, self.shape)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, then adapters if there are any."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residual: Residual,
        adapters: Adapters | None = None,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_residual = residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = residual()
        self.adapters = adapters

    def forward(self, x: Tensor, mask: Tensor | None, language: str = "") -> Tensor:
        """Return the layer's output for a source language, (B, S, D)."""

        def attend(y: Tensor) -> Tensor:
            return self.attention(y, *self.attention.keys_values(y, language), mask, language=language)[0]

        x = self.attention_residual(x, attend)
        x = self.feed_forward_residual(x, lambda y: self.feed_forward(y, language))
        return x if self.adapters is None else self.adapters(x, language)


class DecoderLayer(nn.Module):
    """Causal self-attention or an average, attention to the source, feed-forward, then adapters if there are any."""

    def __init__(
        self,
        attention: MultiHeadAttention | AverageAttention,
        cross_attention: MultiHeadAttention | SeparateAttention,
        feed_forward: FeedForward,
        residual: Residual,
        adapters: Adapters | None = None,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_residual = residual()
        self.cross_attention = cross_attention
        self.cross_attention_residual = residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = residual()
        self.adapters = adapters

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None,
        language: str = "",
        seen: list[Tensor] | None = None,
    ) -> Tensor:
        """Return the layer's output at every position for a target language, (B, T, D).

        Its weights on the source, (B, H, T, S), are appended to `seen`, if given.
        """
        keys, values = self.keys_values(memory, memory_mask, language)

        def attend_to_past(y: Tensor) -> Tensor:
            if isinstance(self.attention, AverageAttention):
                return self.attention(y, running_means(y), language)
            return self.attention(y, *self.attention.keys_values(y, language), causal=True, language=language)[0]

        def attend_to_source(y: Tensor) -> Tensor:
            mixed, weights = self.cross_attention(
                y, keys, values, memory_mask, record=seen is not None, language=language
            )
            if seen is not None and weights is not None:
                seen.append(weights)
            return mixed

        x = self.attention_residual(x, attend_to_past)
        x = self.cross_attention_residual(x, attend_to_source)
        return self._fed_forward(x, language)

    def keys_values(self, memory: Tensor, memory_mask: Tensor | None, language: str = "") -> KeysValues:
        """Return the keys and values of the source, (B, S, D), given its mask; each (B, H, S, d_k)."""
        if isinstance(self.cross_attention, MultiHeadAttention):
            return self.cross_attention.keys_values(memory, language)
        assert memory_mask is not None
        return self.cross_attention.keys_values(memory, memory_mask, language)

    def no_words(self, slots: Tensor) -> History:
        """Return what the layer keeps before the first word, for as many slots as there are vectors, (N, D)."""
        return Mean.empty(slots) if isinstance(self.attention, AverageAttention) else Past.empty(slots)

    def step(
        self,
        x: Tensor,
        slots: Slots,
        past: History,
        past_mask: Tensor | None,
        memory: KeysValues,
        memory_mask: Tensor | None,
        record: bool,
        imposed: Tensor | None,
        language: str = "",
    ) -> tuple[Tensor, History, Tensor | None]:
        """Return the output at one more position, the words so far, and attention weights, (B, H, K, S).

        Args:
            x: (N, D) input of the computed slots, as the output.
            slots: of the search.
            past: words so far of the computed slots; at first `no_words`.
            past_mask: added to the scores of these words and of the new one: broadcastable to (N, H, 1, t + 1).
            memory, memory_mask: keys and values of the source, and where they are padding.
            record: whether to return attention weights.
            imposed: weights that replace the computed ones.
            language: code of the target language.
        """
        weights: Tensor | None = None

        def attend_to_past(y: Tensor) -> Tensor:
            nonlocal past
            if isinstance(self.attention, AverageAttention):
                assert isinstance(past, Mean)
                past = past.longer(y)
                return self.attention(y, past.value, language)
            assert isinstance(past, Past)
            past = past.longer(self.attention.key(y, language), self.attention.value(y, language))
            keys, values = (self.attention.split(seen.transpose(0, 1)) for seen in past.words)
            return self.attention(y.unsqueeze(1), keys, values, past_mask, language=language)[0].squeeze(1)

        def attend_to_source(y: Tensor) -> Tensor:
            nonlocal weights
            mixed, weights = self.cross_attention(
                slots.spread(y), *memory, memory_mask, record=record, imposed=imposed, language=language
            )
            return slots.rows(mixed)

        x = self.attention_residual(x, attend_to_past)
        x = self.cross_attention_residual(x, attend_to_source)
        return self._fed_forward(x, language), past, weights

    def _fed_forward(self, x: Tensor, language: str) -> Tensor:
        x = self.feed_forward_residual(x, lambda y: self.feed_forward(y, language))
        return x if self.adapters is None else self.adapters(x, language)
