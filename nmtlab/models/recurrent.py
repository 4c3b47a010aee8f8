"""Recurrent translation with attention, input feeding and lexical choice (thesis 1.1 and 3.2), or without.

Without attention, the decoder starts from the encoder's last states (Sutskever et al. 2014), and may read that of the
top layer, c, at every step (Cho et al. 2014), in the place of what attention reads.

Shapes as in `interface`; E is the width of the output layer's input: h~ (D), followed by h^l of the lexical module (D)
or by the attended rows of the translation table (C), if any; with a copy head, P_C (C) is the last.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.models.interface import (
    InnerProduct,
    LanguageCodes,
    OutputTable,
    Step,
    TranslationModel,
    output_index,
    with_mixture,
)
from nmtlab.models.recurrent_states import Attended, RecurrentMemory, RecurrentState
from nmtlab.models.several import Joint
from nmtlab.nn.copying import CopyHead, copied_probs
from nmtlab.nn.embeddings import WordEmbedding
from nmtlab.nn.global_attention import GlobalAttention
from nmtlab.nn.lexical import TABLE_EPSILON, LexicalModule, TranslationTable, at_length
from nmtlab.nn.linear import Linear, affine
from nmtlab.nn.matrix_tree import Heads, HeadSelection
from nmtlab.nn.output import OutputTypes
from nmtlab.nn.recurrent import Cell, CellState, SequenceDropout, Stack
from nmtlab.nn.several import FlatGlobalAttention, SeparateGlobalAttention
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import EOS, PAD


class Encoder(nn.Module):
    """Reads the source backwards, forwards, or in both directions, whose outputs are then added.

    Args:
        lexicon_reads_dropped: whether the lexicon reads the embeddings after dropout, or before it.
    """

    def __init__(
        self,
        embedding: WordEmbedding,
        backwards: Stack | None,
        forwards: Stack | None,
        dropout: SequenceDropout,
        lexicon_reads_dropped: bool,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.lexicon_reads_dropped = lexicon_reads_dropped
        self.backwards = backwards
        self.forwards = forwards
        self.dropout = dropout

    def embed(self, source: Tensor) -> Tensor:
        """Return the word vectors of source, (B, S) ids: (B, S, D)."""
        return self.embedding.table(_without_end(source))

    def forward(self, source: Tensor, embedded: Tensor | None = None) -> "RecurrentMemory":
        """Return the memory of source, (B, S) ids; with other word vectors, (B, S, D), if given."""
        words = _without_end(source)
        padding = words == PAD
        lengths = (~padding).sum(1)
        embedded = self.embed(source) if embedded is None else embedded
        x = self.dropout(embedded)
        readings = []
        if self.backwards is not None:
            readings.append(_read_backwards(self.backwards, x, lengths, padding))
        if self.forwards is not None:
            readings.append(self.forwards(x, lengths))
        outputs = reduce(torch.add, (outputs for outputs, _ in readings))
        states = [state for _, states in readings for state in states]
        bias = torch.zeros_like(padding, dtype=outputs.dtype).masked_fill_(padding, -math.inf).unsqueeze(1)
        read = x if self.lexicon_reads_dropped else embedded
        return RecurrentMemory(outputs, states, bias, ~padding, (source != PAD).sum(1) - 1, words, read)


def _read_backwards(stack: Stack, x: Tensor, lengths: Tensor, padding: Tensor) -> tuple[Tensor, list[CellState]]:
    """Return what a stack returns for sentences read from their ends, its outputs in the written order."""
    positions = torch.arange(x.shape[1], device=x.device).expand_as(padding)
    # the permutation is an involution: gathering by it twice restores the order
    mirrored = torch.where(padding, positions, lengths.unsqueeze(1) - 1 - positions).unsqueeze(2).expand_as(x)
    outputs, states = stack(x.gather(1, mirrored), lengths)
    return outputs.gather(1, mirrored), states


def _without_end(source: Tensor) -> Tensor:
    """Return source, (B, S) ids, with EOS replaced by padding."""
    words = source.masked_fill(source == EOS, PAD)
    words[:, 0] = source[:, 0]  # a blank sentence keeps its EOS: attention needs at least one position
    return words


class RecurrentModel(TranslationModel[RecurrentMemory, RecurrentState]):
    """An encoder, and a decoder with global attention and input feeding, or without; assembled in `build`.

    Args:
        encoder: with as many last states as the decoder has cells.
        target_embedding: of target words.
        cells: the decoder's layers, from below.
        attention: from the top layer to the source, or to several; None for no attention.
        every_step: without attention, whether every step reads c.
        dropout: of embeddings and of each layer's output; h~ is fed back without dropout.
        residual: add each layer's input to its output, from the second on.
        output_weight: the output layer's table, (types, D); None: the target embeddings are tied.
        output_types: which types may be produced in each target language.
        radius: norm of target embeddings, and of h~ in the output layer if `fix_hidden`; None: free.
        fix_hidden: whether h~ is scaled to that norm.
        lexical: the lexical module, a translation table, or None.
        language_codes: of the source and target languages.
        copy_head: mixes in copies of what is attended to; None for none, as with a translation table.
        more_encoders: of the other sources; the first one's again if they share it.
        grammar: annotates the words of a single source, for the attention to read; None for no annotations.
    """

    def __init__(
        self,
        encoder: Encoder,
        target_embedding: WordEmbedding,
        cells: list[Cell],
        attention: GlobalAttention | SeparateGlobalAttention | FlatGlobalAttention | None,
        every_step: bool,
        dropout: SequenceDropout,
        residual: bool,
        output_weight: nn.Parameter | None,
        output_types: OutputTypes,
        radius: float | None,
        fix_hidden: bool,
        lexical: LexicalModule | TranslationTable | None,
        language_codes: LanguageCodes = ((), ()),
        copy_head: CopyHead | None = None,
        more_encoders: Sequence[Encoder] = (),
        grammar: HeadSelection | None = None,
    ) -> None:
        super().__init__()
        types, width = target_embedding.stored().shape
        self.encoder = encoder
        self.target_embedding = target_embedding
        self.cells = cast(Sequence[Cell], nn.ModuleList(cells))
        reads = attention is not None or every_step
        # h~, or c, into the first cell's pre-activations
        self.feed = Linear(width, cells[0].input.out_features, bias=False) if reads else None
        self.attention = attention
        contexts = len(attention.parts) if isinstance(attention, SeparateGlobalAttention) else int(reads)
        contexts += grammar is not None
        self.grammar = grammar
        self.combine = Linear((contexts + 1) * width, width, bias=False)  # W_c
        self.dropout = dropout
        self.residual = residual
        self.output_weight = output_weight
        self.output_bias = nn.Parameter(torch.zeros(types))
        self.output_types = output_types
        self.radius = radius
        self.fix_hidden = fix_hidden
        self.lexical = lexical
        self.language_codes = language_codes
        self.copy_head = copy_head
        self.sources = 1 + len(more_encoders)
        self.more_encoders = cast(Sequence[Encoder], nn.ModuleList(more_encoders))
        # W_0 of each layer, from the last states of all sources to the decoder's first
        joins = range(len(cells) if more_encoders else 0)
        self.initial = nn.ModuleList(Linear(self.sources * width, width, bias=False) for _ in joins)

    @property
    def output_ids(self) -> Tensor:
        return self._output_ids()

    @property
    def last_attention(self) -> nn.Module | None:
        return self.attention

    def embed_source(self, source: Tensor, language: str | None = None) -> Tensor:
        return self.encoder.embed(source)

    def encode(
        self,
        source: Tensor,
        language: str | None = None,
        embedded: Tensor | None = None,
        *,
        more: Sequence[Tensor] = (),
    ) -> RecurrentMemory:
        self.check_languages(source=language)
        self.check_sources(more)
        first = self.encoder(source, embedded)
        others = [encoder(ids) for encoder, ids in zip(self.more_encoders, more, strict=True)]
        return self._joined([first, *others]) if others else first

    def start(
        self,
        memory: RecurrentMemory,
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> RecurrentState:
        table = self.output_table(language).subset(types)
        return self._start(memory, table.ids, table, self.attention_temperature)

    def step(self, state: RecurrentState, token: Tensor, record: bool = False, attention: Tensor | None = None) -> Step:
        nothing = [None] * len(self.cells)
        imposed = None if attention is None else attention[0, :, :, 0]
        state, weights = self._advance(state, self._project(token), nothing, nothing, imposed)
        read = self._read(state.h_tilde, _mixed(weights, state.attended))
        if state.attended.columns is not None:
            read = torch.cat((read, copied_probs(weights, state.attended.columns, len(state.output_ids))), dim=-1)
        log_probs = self.next_log_probs(read, state.output)
        if not record:
            return Step(log_probs, state, None)
        recorded = weights[None, :, :, None]
        return Step(log_probs, state, recorded[:0] if self.attention is None else recorded)

    def forward(self, batch: Batch[Tensor], memory: RecurrentMemory | None = None) -> Tensor:
        self.check_languages(target=batch.target_language)
        memory = memory or self.encode(batch.source, batch.source_language, more=batch.more_sources)
        state = self._start(memory, self._output_ids(batch.target_language), None)
        projected = self._project(batch.target_input).split(1, dim=1)
        dropped = zip(*(self.dropout.masks(state.h_tilde, len(projected)) for _ in self.cells), strict=True)
        recurrent = [self.dropout.recurrent_mask(state.h_tilde) for _ in self.cells]
        h_tilde, weights = [], []
        for sums, masks in zip(projected, dropped, strict=True):
            state, of_word = self._advance(state, sums, masks, recurrent)
            h_tilde.append(state.h_tilde)
            weights.append(of_word)
        kept = batch.target != PAD
        attended = _mixed(torch.cat(weights, dim=1), state.attended)
        read = self._read(torch.cat(h_tilde, dim=1)[kept], attended if attended is None else attended[kept])
        if state.attended.columns is None:
            return read
        types = len(self._output_ids(batch.target_language))
        return torch.cat((read, copied_probs(torch.cat(weights, dim=1), state.attended.columns, types)[kept]), dim=-1)

    def words(self, token: Tensor) -> Tensor:
        """Return the vectors of target words that the decoder reads, (B, L, D), given their ids, (B, L)."""
        return at_length(self.target_embedding.table(token), self.radius)

    def output_table(self, language: str | None = None) -> OutputTable:
        self.check_languages(target=language)
        ids = self._output_ids(language)
        bias = reduce(torch.add, self._biases(ids).values())
        return OutputTable(ids, torch.cat(list(self._rows(ids).values()), dim=-1), bias)

    def output(self, states: Tensor, table: OutputTable | None = None) -> Tensor:
        table = table or self.output_table()
        logits = affine(torch.cat(list(self._vectors(states).values()), dim=-1), table.rows, table.bias)
        if self.copy_head is not None:
            return self.copy_head(self._h_tilde(states), logits, states[..., -len(table.ids) :])
        return logits + self._table_term(states) if isinstance(self.lexical, TranslationTable) else logits

    def explain(self, states: Tensor) -> dict[str, Tensor]:
        terms = {name: F.linear(*product) for name, product in self.inner_products(states).items()}
        terms |= {name: bias.expand(*states.shape[:-1], -1) for name, bias in self._biases(self.output_ids).items()}
        if isinstance(self.lexical, TranslationTable):
            terms["table"] = self._table_term(states)
        return terms if self.copy_head is None else with_mixture(terms, self.output(states))

    def generated_share(self, states: Tensor) -> Tensor | None:
        return None if self.copy_head is None else self.copy_head.generated_share(self._h_tilde(states))

    def heads(self, memory: RecurrentMemory) -> Heads | None:
        return None if self.grammar is None else self.grammar.heads(memory.states, memory.mask)

    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        rows = self._rows(self.output_ids)
        return {name: InnerProduct(vectors, rows[name]) for name, vectors in self._vectors(states).items()}

    def lexicon(self, source_types: Tensor) -> Tensor | None:
        if isinstance(self.lexical, TranslationTable):
            return self.lexical(source_types, self.output_ids).log()
        if self.lexical is None:
            return None
        vectors = self.lexical(self.encoder.embedding.table(source_types))
        bias = self.lexical.bias.index_select(0, self.output_ids)
        return F.linear(vectors, self.lexical.rows(self.output_ids), bias).log_softmax(-1)

    def embeddings(self) -> dict[str, Tensor]:
        target = self.target_embedding.stored()
        output = target if self.output_weight is None else self.output_weight
        return {"source": self.encoder.embedding.stored(), "target": target, "output": output}

    def _output_ids(self, language: str | None = None) -> Tensor:
        """Return the type of each output column in a target language, the default if not given: (C,)."""
        return self.output_types.types(language or self.default_languages[1])

    def _start(
        self, memory: RecurrentMemory, output_ids: Tensor, output: OutputTable | None, temperature: float = 1.0
    ) -> RecurrentState:
        layers = [tuple(tensor.unsqueeze(1) for tensor in state) for state in memory.last]
        nothing = torch.zeros_like(layers[0][0])
        if self.attention is None:
            c = layers[-1][0]
            attended = Attended(c, c, torch.zeros_like(c[..., :1]), None)
        else:
            lexical = self._lexical_rows(memory, output_ids)
            columns = None if self.copy_head is None else output_index(output_ids, memory.source)
            attended = Attended(*self._keys_values(memory), memory.bias, lexical, temperature, columns)
        return RecurrentState(output, attended, layers, nothing)

    def _keys_values(self, memory: RecurrentMemory) -> tuple[Tensor, Tensor]:
        assert self.attention is not None
        if isinstance(self.attention, GlobalAttention):
            read = memory.states
            if self.grammar is not None:
                read = torch.cat((read, self.grammar(read, memory.mask)), dim=-1)
            return self.attention.keys(memory.states), read
        assert memory.joint is not None
        return self.attention.keys_values(memory.states, memory.joint.segments)

    def _joined(self, memories: Sequence[RecurrentMemory]) -> RecurrentMemory:
        """Return the memory of several sources: h_0 = tanh(W_0 [h_1; h_2 ...]), and c_0 = c_1 + c_2 + ..."""
        joint = Joint.of([memory.mask for memory in memories], [memory.lengths + 1 for memory in memories])
        first: list[CellState] = []
        for w_0, of_layer in zip(self.initial, zip(*(memory.last for memory in memories), strict=True), strict=True):
            h, *c = zip(*of_layer, strict=True)
            first.append((w_0(torch.cat(h, dim=-1)).tanh(), *(torch.stack(cells).sum(0) for cells in c)))
        states, source, embedded = (
            joint.join([getattr(memory, name) for memory in memories]) for name in ("states", "source", "embedded")
        )
        bias = joint.bias(isinstance(self.attention, SeparateGlobalAttention), states)
        return RecurrentMemory(states, first, bias, joint.mask, joint.lengths, source, embedded, joint)

    def _project(self, token: Tensor) -> Tensor:
        """Return the contribution of words, (B, L) ids, to the first cell's pre-activations: (B, L, gates)."""
        return self.cells[0].project(self.dropout(self.words(token)))

    def _advance(
        self,
        state: RecurrentState,
        sums: Tensor,
        masks: Sequence[Tensor | None],
        recurrent: Sequence[Tensor | None],
        imposed: Tensor | None = None,
    ) -> tuple[RecurrentState, Tensor]:
        """Read a word in every slot.

        Args:
            state: of K slots per sentence.
            sums: contribution of the words to the first cell's pre-activations, (B, K, gates).
            masks: dropout masks of each layer's output; None: nothing is dropped.
            recurrent: dropout masks of each layer's h on its way to the next step.
            imposed: weights on the source that replace the attention's, (B, K, S).

        Returns:
            The new state, and the weights on the source, (B, K, S).
        """
        source = state.attended
        if self.feed is not None:
            sums = sums + self.feed(source.values if self.attention is None else state.h_tilde)
        below = sums
        layers: list[CellState] = []
        for cell, before, mask, recurrent_mask in zip(self.cells, state.layers, masks, recurrent, strict=True):
            after = cell(cell.project(below) if layers else sums, before, recurrent_mask)
            output = after[0] + below if self.residual and layers else after[0]
            layers.append(after)
            below = output if mask is None else output * mask
        read, weights = self._read_source(below, source, imposed)
        return replace(state, layers=layers, h_tilde=self.combine(read).tanh()), weights

    def _read_source(self, h: Tensor, source: Attended, imposed: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the top layer's output, (B, K, D), behind the context if there is any, and the weights, (B, K, S)."""
        if self.attention is not None:
            context, weights = self.attention(h, source.keys, source.values, source.bias, imposed, source.temperature)
            if self.grammar is not None:
                content, annotations = context.chunk(2, dim=-1)
                context = torch.cat((content, self.grammar.gated(annotations, h)), dim=-1)
            return torch.cat((context, h), dim=-1), weights
        weights = torch.ones_like(h[..., :1])
        return (h if self.feed is None else torch.cat((source.values.expand_as(h), h), dim=-1)), weights

    def _lexical_rows(self, memory: RecurrentMemory, output_ids: Tensor) -> Tensor | None:
        """Return the lexicon's input at each source position, for some output columns."""
        if isinstance(self.lexical, TranslationTable):
            return self.lexical(memory.source, output_ids)
        return None if self.lexical is None else memory.embedded

    def _read(self, h_tilde: Tensor, attended: Tensor | None) -> Tensor:
        """Return the output layer's input, (..., E)."""
        if attended is None:
            return h_tilde
        return torch.cat((h_tilde, self.lexical(attended) if isinstance(self.lexical, LexicalModule) else attended), -1)

    def _vectors(self, states: Tensor) -> dict[str, Tensor]:
        """Return the vectors that the output rows are multiplied with, by the name of the term."""
        width = self.target_embedding.width
        vectors = {"word": at_length(self._h_tilde(states), self.radius if self.fix_hidden else None)}
        return vectors | (
            {"lexicon": states[..., width : 2 * width]} if isinstance(self.lexical, LexicalModule) else {}
        )

    def _h_tilde(self, states: Tensor) -> Tensor:
        return states[..., : self.target_embedding.width]

    def _rows(self, ids: Tensor) -> dict[str, Tensor]:
        """Return a row for each of the output columns of `ids`, (C,), by the name of the term."""
        weight = self.target_embedding.stored() if self.output_weight is None else self.output_weight
        rows = {"word": at_length(weight.index_select(0, ids), self.radius)}
        return rows | ({"lexicon": self.lexical.rows(ids)} if isinstance(self.lexical, LexicalModule) else {})

    def _biases(self, ids: Tensor) -> dict[str, Tensor]:
        biases = {"bias": self.output_bias.index_select(0, ids)}
        if isinstance(self.lexical, LexicalModule):
            biases["lexicon_bias"] = self.lexical.bias.index_select(0, ids)
        return biases

    def _table_term(self, states: Tensor) -> Tensor:
        return (states[..., self.target_embedding.width :] + TABLE_EPSILON).log()


def _mixed(weights: Tensor, attended: Attended) -> Tensor | None:
    """Return the lexicon's input averaged under weights, (B, L, S): (B, L, D), or (B, L, C) for a table."""
    return None if attended.lexical is None else weights @ attended.lexical
