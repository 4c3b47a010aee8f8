"""The Transformer (thesis 1.2) with the normalisations of thesis 3.3.

Shapes as in `interface`; H heads, d_k = D / H.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.models.interface import LanguageCodes, OutputTable, Step, Sublayer, output_index
from nmtlab.models.layers import DecoderLayer, EncoderLayer, KeysValues, Slots
from nmtlab.models.past import History
from nmtlab.models.replacing import overwritten
from nmtlab.models.several import Joint
from nmtlab.models.tied import TiedModel
from nmtlab.nn.copying import CopyHead, copied_probs
from nmtlab.nn.dropout import Dropout
from nmtlab.nn.embeddings import WordEmbedding
from nmtlab.nn.output import OutputLayer
from nmtlab.nn.positions import LearnedPositions, Sinusoids
from nmtlab.nn.precision import in_autocast_precision, widened
from nmtlab.nn.several import SeparateAttention
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import BOS, PAD


@dataclass(frozen=True)
class TransformerMemory:
    """The encoder's output.

    Args:
        states: (B, S, D).
        bias: (B, 1, 1, S), added to the attention scores: -inf at padding, else 0; None if there is no padding.
        mask: (B, S) bool, which positions are not padding.
        source: (B, S) ids, for a copy head.
        joint: of several sources, where the positions come from; `bias` is (B, M, 1, S) with an attention to each.
    """

    states: Tensor
    bias: Tensor | None
    mask: Tensor
    source: Tensor
    joint: Joint | None = None

    @property
    def lengths(self) -> Tensor:
        return self.mask.sum(1) - 1 if self.joint is None else self.joint.lengths

    def select(self, sentences: Tensor) -> "TransformerMemory":
        """Return the memory of some sentences."""
        bias = None if self.bias is None else self.bias[sentences]
        joint = None if self.joint is None else self.joint.select(sentences)
        return TransformerMemory(self.states[sentences], bias, self.mask[sentences], self.source[sentences], joint)


@dataclass(frozen=True)
class TransformerState:
    """The decoder's state.

    Args:
        output: table that scores the next token.
        language: code of the target language.
        memory: keys and values of the source, (B, H, S, d_k), one pair per layer.
        memory_bias: as of `TransformerMemory`.
        past: of each layer, in the computed slots.
        position: of the next word, (1,), or (B, 1) if it differs between sentences.
        slots: those of the search.
        missing: (B,) how many positions of the past precede a sentence's first word; None if none do.
        columns: (B, S) output column of each source type, for a copy head; None without.
    """

    output: OutputTable
    language: str
    memory: list[KeysValues]
    memory_bias: Tensor | None
    past: list[History]
    position: Tensor
    slots: Slots
    missing: Tensor | None = None
    columns: Tensor | None = None

    @property
    def output_ids(self) -> Tensor:
        return self.output.ids

    def select(self, rows: Tensor) -> "TransformerState":
        """Return the state of other slots; see `interface.State`."""
        sentences = rows.amax(1) // self.slots.shape[1]
        if torch.equal(sentences, torch.arange(self.memory[0][0].shape[0], device=rows.device)):
            memory, bias, columns = self.memory, self.memory_bias, self.columns
        else:
            memory = [
                (keys.index_select(0, sentences), values.index_select(0, sentences)) for keys, values in self.memory
            ]
            bias = None if self.memory_bias is None else self.memory_bias[sentences]
            columns = None if self.columns is None else self.columns[sentences]
        slots = Slots.going_on(rows)
        chosen = self.slots.select(slots.rows(rows))
        past = [layer.select(chosen) for layer in self.past]
        position = self.position if self.position.dim() == 1 else self.position[sentences]
        missing = None if self.missing is None else self.missing[sentences]
        return TransformerState(self.output, self.language, memory, bias, past, position, slots, missing, columns)

    def replace(self, sentences: Tensor, other: "TransformerState", others: Tensor) -> "TransformerState":
        """Return the state with other sentences in place of some; see `interface.State`."""
        bias = overwritten(self._bias(), sentences, other._bias()[others], 3, -math.inf)
        longest = int((bias == 0).any(1).sum(-1).max())

        def longer(mine: Tensor, theirs: Tensor) -> Tensor:
            return overwritten(mine, sentences, theirs[others], 2)[:, :, :longest]

        pairs = zip(self.memory, other.memory, strict=True)
        memory = [(longer(mine[0], theirs[0]), longer(mine[1], theirs[1])) for mine, theirs in pairs]
        columns = self.columns
        if columns is not None and other.columns is not None:
            columns = overwritten(columns, sentences, other.columns[others])[:, :longest]
        position, missing = self._by_sentence(self.position), self.missing
        position[sentences] = other._by_sentence(other.position)[others]
        missing = torch.zeros_like(position[:, 0]) if missing is None else missing
        missing[sentences] = len(self.past[0]) - len(other.past[0])
        unneeded = int(missing.min())
        past = [
            mine.replace(sentences, theirs, others, unneeded)
            for mine, theirs in zip(self.past, other.past, strict=True)
        ]
        return replace(
            self,
            memory=memory,
            memory_bias=bias[..., :longest],
            past=past,
            position=position,
            missing=missing - unneeded,
            columns=columns,
        )

    def past_mask(self) -> Tensor | None:
        """Return what is added to the scores of the past and of the next word, (N, 1, 1, t + 1), if anything."""
        if self.missing is None:
            return None
        missing = self.slots.rows(self.missing[:, None].expand(self.slots.shape))
        positions = torch.arange(len(self.past[0]) + 1, device=missing.device)
        mask = self.memory[0][0].new_zeros(len(missing), len(positions))
        return mask.masked_fill_(positions < missing[:, None], -math.inf)[:, None, None]

    def _bias(self) -> Tensor:
        keys = self.memory[0][0]
        return keys.new_zeros(len(keys), 1, 1, keys.shape[2]) if self.memory_bias is None else self.memory_bias

    def _by_sentence(self, position: Tensor) -> Tensor:
        return position.repeat(self.slots.shape[0], 1) if position.dim() == 1 else position


class Transformer(TiedModel[TransformerMemory, TransformerState]):
    """Encoder and decoder over shared or separate word embeddings; assembled in `build`.

    Args:
        source_embedding, target_embedding: tables of word vectors, the same object if shared.
        encoder, decoder: the layers.
        encoder_norm, decoder_norm: closing norms (PreNorm), or identities (PostNorm).
        output_layer: over the target embedding's rows.
        dropout: share of embedding units dropped in training, after positions are added.
        language_vectors: learn a vector for each source language and for each target language, added at every position.
        language_codes: of the source and target languages.
        first_tokens: target language -> type that the decoder reads in place of BOS; empty for BOS.
        reads_start: whether the decoder reads BOS before its first token too, as M2M-100 does.
        encoder_positions, decoder_positions: make the vectors that are added to words at positions; None: none are.
        copy_head: mixes in copies of what the last layer attends to, in the mean of its heads; None for none.
        more_encoders: the layers that read each of the other sources; none: those of the first.
        more_encoder_norms: their closing norms.
        sources: number of sources.
    """

    direction = 1
    """1 or -1: how the position changes from step to step."""

    def __init__(
        self,
        source_embedding: WordEmbedding,
        target_embedding: WordEmbedding,
        encoder: Sequence[EncoderLayer],
        decoder: Sequence[DecoderLayer],
        encoder_norm: nn.Module,
        decoder_norm: nn.Module,
        output_layer: OutputLayer,
        dropout: float,
        language_vectors: bool,
        language_codes: LanguageCodes = ((), ()),
        first_tokens: Mapping[str, int] | None = None,
        reads_start: bool = False,
        encoder_positions: Sinusoids | LearnedPositions | None = None,
        decoder_positions: Sinusoids | LearnedPositions | None = None,
        copy_head: CopyHead | None = None,
        more_encoders: Sequence[Sequence[EncoderLayer]] = (),
        more_encoder_norms: Sequence[nn.Module] = (),
        sources: int = 1,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.language_codes = language_codes
        self.first_tokens = dict(first_tokens or {})
        self.reads_start = reads_start
        vectors = sum(max(1, len(codes)) for codes in language_codes)
        self.languages = nn.Parameter(torch.zeros(vectors, target_embedding.width)) if language_vectors else None
        self.dropout = Dropout(dropout)
        self.encoder = cast(Sequence[EncoderLayer], nn.ModuleList(encoder))
        self.decoder = cast(Sequence[DecoderLayer], nn.ModuleList(decoder))
        self.encoder_norm = encoder_norm
        self.decoder_norm = decoder_norm
        self.output_layer = output_layer
        self.copy_head = copy_head
        self.encoder_positions = encoder_positions
        self.decoder_positions = decoder_positions
        stacks = nn.ModuleList(nn.ModuleList(layers) for layers in more_encoders)
        self.more_encoders = cast(Sequence[Sequence[EncoderLayer]], stacks)
        self.more_encoder_norms = nn.ModuleList(more_encoder_norms)
        self.sources = sources
        if isinstance(decoder_positions, LearnedPositions):
            # A translation without EOS, cut off there, can be scored with it.
            taken = int(reads_start) + (not self.plans_length)
            self.longest = max(1, len(decoder_positions.weight) - taken)

    @property
    def last_attention(self) -> nn.Module | None:
        return self.decoder[-1].cross_attention

    def embed_source(self, source: Tensor, language: str | None = None) -> Tensor:
        return self.source_embedding(source, language or self.default_languages[0])

    def encode(
        self,
        source: Tensor,
        language: str | None = None,
        embedded: Tensor | None = None,
        *,
        more: Sequence[Tensor] = (),
    ) -> TransformerMemory:
        self.check_languages(source=language)
        self.check_sources(more)
        language = language or self.default_languages[0]
        first = self._encoded(source, language, embedded, self.encoder, self.encoder_norm)
        if not more:
            return first
        own = list(zip(self.more_encoders, self.more_encoder_norms, strict=True))
        readers = own or [(self.encoder, self.encoder_norm)] * len(more)
        languages = self.language_codes[0][1 : self.sources] or [language] * len(more)
        memories = [first]
        for other, code, (layers, norm) in zip(more, languages, readers, strict=True):
            memories.append(self._encoded(other, code, None, layers, norm))
        joint = Joint.of([memory.mask for memory in memories], [memory.lengths + 1 for memory in memories])
        states, ids = (joint.join([getattr(memory, name) for memory in memories]) for name in ("states", "source"))
        separate = isinstance(self.decoder[0].cross_attention, SeparateAttention)
        return TransformerMemory(states, joint.bias(separate, states).unsqueeze(2), joint.mask, ids, joint)

    def _encoded(
        self,
        source: Tensor,
        language: str,
        embedded: Tensor | None,
        layers: Sequence[EncoderLayer],
        norm: nn.Module,
    ) -> TransformerMemory:
        """Return what an encoder's layers and closing norm read of one source."""
        self._check_positions("a source", source.shape[1])
        padding = source == PAD
        bias = None
        if torch.compiler.is_compiling() or padding.any():  # a branch on data would break the compiled graph
            bias = torch.zeros(padding.shape, device=source.device, dtype=self.output_layer.bias.dtype)
            bias = bias.masked_fill_(padding, -math.inf)[:, None, None, :]
        where = torch.arange(source.shape[1], device=source.device)
        embedded = self.embed_source(source, language) if embedded is None else embedded
        x = self._placed(embedded, self._language_vector(0, language), self.encoder_positions, where)
        for layer in layers:
            x = layer(x, bias, language)
        return TransformerMemory(in_autocast_precision(norm(x)), bias, ~padding, source)

    def forward(self, batch: Batch[Tensor], memory: TransformerMemory | None = None) -> Tensor:
        self.check_languages(target=batch.target_language)
        self._check_positions("a given target", batch.target.shape[1] + self.reads_start)
        memory = memory or self.encode(batch.source, batch.source_language, more=batch.more_sources)
        language = batch.target_language or self.default_languages[1]
        x = self._embed_target(batch.target_input, language, self._positions(batch.target) + self.reads_start)
        if self.reads_start:
            x = torch.cat((self._embed_start(batch.target_input[:, :1], language), x), dim=1)
        seen: list[Tensor] = []
        for layer in self.decoder:
            x = layer(x, memory.states, memory.bias, language, seen if self._copies(layer) else None)
        read = slice(int(self.reads_start), None)
        kept = self.target_mask(batch.target)
        states = self.decoder_norm(x[:, read][kept])
        if self.copy_head is None:
            return states
        ids = self.output_layer.types(language)
        weights = seen[0].mean(1)[:, read]
        return torch.cat((states, copied_probs(weights, output_index(ids, memory.source), len(ids))[kept]), dim=-1)

    def start(
        self,
        memory: TransformerMemory,
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> TransformerState:
        table = self.output_table(language).subset(types)
        language = language or self.default_languages[1]
        projected = (layer.keys_values(memory.states, memory.bias, language) for layer in self.decoder)
        state = TransformerState(
            output=table,
            language=language,
            memory=[(self._tempered(keys).contiguous(), values.contiguous()) for keys, values in projected],
            memory_bias=memory.bias,
            past=[layer.no_words(memory.states[:, 0]) for layer in self.decoder],
            position=torch.zeros(1, dtype=torch.long, device=memory.states.device),
            slots=Slots((len(memory.states), 1)),
            columns=None if self.copy_head is None else output_index(table.ids, memory.source),
        )
        if not self.reads_start:
            return state
        start = torch.full((len(memory.states), 1), BOS, device=memory.states.device)
        return self._read(state, self._embed_start(start, language))[1]

    def _tempered(self, keys: Tensor) -> Tensor:
        """Return keys whose scores, linear in them, are divided by the temperature."""
        return keys if self.attention_temperature == 1 else keys / self.attention_temperature

    def step(
        self, state: TransformerState, token: Tensor, record: bool = False, attention: Tensor | None = None
    ) -> Step:
        x, after, seen = self._read(state, self._embed_target(token, state.language, state.position), record, attention)
        if state.columns is not None:
            copied = copied_probs(seen[-1].mean(1), state.columns, len(state.output_ids))
            x = torch.cat((x, state.slots.rows(copied)), dim=-1)
        log_probs = state.slots.spread(self.next_log_probs(x, state.output))
        return Step(log_probs, after, widened(torch.stack(seen)).transpose(2, 3) if record else None)

    def _read(
        self, state: TransformerState, x: Tensor, record: bool = False, attention: Tensor | None = None
    ) -> tuple[Tensor, TransformerState, list[Tensor]]:
        """Return the decoder's output for embedded tokens, (B, K, D), the state after them, and recorded weights.

        The output has rows for the computed slots only, (N, D).
        """
        if state.missing is None:  # else of a greedy search, where sentences that have ended read on
            self._check_positions("a given target", len(state.past[0]) + 1)
        x = state.slots.rows(x)
        imposed = _by_layer(attention, len(self.decoder))
        past_mask = state.past_mask()
        past: list[History] = []
        seen: list[Tensor] = []
        layers = zip(self.decoder, state.past, state.memory, imposed, strict=True)
        for layer, layer_past, layer_memory, layer_imposed in layers:
            x, layer_past, weights = layer.step(
                x,
                state.slots,
                layer_past,
                past_mask,
                layer_memory,
                state.memory_bias,
                record or self._copies(layer),
                layer_imposed,
                state.language,
            )
            past.append(layer_past)
            seen += [] if weights is None else [weights]
        after = replace(state, past=past, position=state.position + self.direction)
        return self.decoder_norm(x), after, seen

    def _copies(self, layer: DecoderLayer) -> bool:
        """Return whether what is copied is what a layer attends to."""
        return self.copy_head is not None and layer is self.decoder[-1]

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

    def _positions(self, target: Tensor) -> Tensor:
        """Return the positions, (T,), at which the decoder generates the tokens of targets, (B, T)."""
        return torch.arange(target.shape[1], device=target.device)

    def _language_vector(self, side: int, language: str) -> Tensor | None:
        if self.languages is None:
            return None
        sources, targets = self.language_codes
        codes, first = (targets, max(1, len(sources))) if side else (sources, 0)
        return self.languages[first + (list(codes).index(language) if language in codes else 0)]

    def _embed_target(self, ids: Tensor, language: str, where: Tensor) -> Tensor:
        """Embed the decoder's input, (B, L), in a language, at positions as of `_placed`."""
        if language in self.first_tokens:
            ids = ids.masked_fill(ids == BOS, self.first_tokens[language])
        vector = self._language_vector(1, language)
        return self._placed(self.target_embedding(ids, language), vector, self.decoder_positions, where)

    def _embed_start(self, bos: Tensor, language: str) -> Tensor:
        """Embed BOS, (B, 1), before the decoder's first token."""
        where = torch.zeros(1, dtype=torch.long, device=bos.device)
        vector = self._language_vector(1, language)
        return self._placed(self.target_embedding(bos, language), vector, self.decoder_positions, where)

    def _check_positions(self, side: str, tokens: int) -> None:
        """Check that a side of so many tokens, EOS included, has no position without a learned vector.

        Raises:
            RunError: it has; a translation that a search finds never has.
        """
        learned = self.encoder_positions
        if isinstance(learned, LearnedPositions) and tokens > len(learned.weight):
            raise RunError(
                f"{side} of {tokens:,} tokens: the model has learned {len(learned.weight):,} positions",
                "split the sentence, or train with a larger model.max_positions",
            )

    def _placed(
        self, x: Tensor, vector: Tensor | None, positions: Sinusoids | LearnedPositions | None, where: Tensor
    ) -> Tensor:
        """Place word vectors, (B, L, D), at positions (L,) or (B, L), or all at one position, (1,) or (B, 1).

        Args:
            x: word vectors.
            vector: of the language, (D,), if any.
            positions: makes the vectors of positions, if any.
            where: positions.
        """
        x = x if positions is None else x + positions(where).to(x.dtype)
        return self.dropout(x if vector is None else x + vector)


def _by_layer(attention: Tensor | None, layers: int) -> Sequence[Tensor | None]:
    """Return the attention imposed on each layer, (B, H, K, S), given (layers, B, K, H, S)."""
    return [None] * layers if attention is None else list(attention.transpose(2, 3).expand(layers, -1, -1, -1, -1))
