"""What models have in common whose output layer multiplies with the target embeddings."""

from typing import Generic, TypeVar

from torch import Tensor, nn

from nmtlab.models.interface import (
    InnerProduct,
    LanguageCodes,
    MemoryT,
    OutputTable,
    StateT,
    TranslationModel,
    with_mixture,
)
from nmtlab.nn.copying import CopyHead
from nmtlab.nn.embeddings import WordEmbedding
from nmtlab.nn.output import OutputLayer
from nmtlab.nn.precision import computable, widened

EncoderT = TypeVar("EncoderT", bound=nn.Module)
DecoderT = TypeVar("DecoderT", bound=nn.Module)


class TiedModel(TranslationModel[MemoryT, StateT]):
    """A model with an output layer over the rows of its target embedding.

    Args:
        source_embedding, target_embedding: tables of word vectors, the same object if shared.
        output_layer: over the target embedding's rows.
        copy_head: mixes in copies of what is attended to, whose P_C is behind the state, (..., D + C); None for none.
    """

    source_embedding: WordEmbedding
    target_embedding: WordEmbedding
    output_layer: OutputLayer
    copy_head: CopyHead | None

    @property
    def output_ids(self) -> Tensor:
        return self.output_layer.types(self.default_languages[1])

    def output_table(self, language: str | None = None) -> OutputTable:
        self.check_languages(target=language)
        language, layer = language or self.default_languages[1], self.output_layer
        rows = layer.allowed(layer.clip(self.target_embedding.table(language=language)), language)
        bias = layer.allowed(layer.bias, language)
        return OutputTable(layer.types(language), computable(rows, bias), bias)

    def output(self, states: Tensor, table: OutputTable | None = None) -> Tensor:
        table = table or self.output_table()
        logits = self.output_layer(self._own(states), table.rows, table.bias)
        if self.copy_head is None:
            return logits
        return self.copy_head(self._own(states), logits, states[..., -len(table.ids) :])

    def explain(self, states: Tensor) -> dict[str, Tensor]:
        _, rows, bias = self.output_table()
        parts = self.output_layer.parts(self._own(states), rows, bias, self.target_embedding.units)
        terms = {name: widened(part) for name, part in parts.items()}
        return terms if self.copy_head is None else with_mixture(terms, self.output(states))

    def generated_share(self, states: Tensor) -> Tensor | None:
        return None if self.copy_head is None else self.copy_head.generated_share(self._own(states))

    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        vectors, rows = self.output_layer.scaled(self._own(states)), self.output_table().rows
        units = self.target_embedding.units.items()
        return {name: InnerProduct(widened(vectors[..., some]), widened(rows[:, some])) for name, some in units}

    def embeddings(self) -> dict[str, Tensor]:
        source, target = self.default_languages
        vectors = widened(self.target_embedding.stored(target))
        return {"source": widened(self.source_embedding.stored(source)), "target": vectors, "output": vectors}

    def _own(self, states: Tensor) -> Tensor:
        """Return states, (..., D), without what is copied."""
        return states if self.copy_head is None else states[..., : self.target_embedding.width]


class EncoderDecoder(TiedModel[MemoryT, StateT], Generic[EncoderT, DecoderT, MemoryT, StateT]):
    """One encoder and one decoder, each a module, over shared or separate word embeddings, without a copy head.

    Args:
        source_embedding, target_embedding: tables of word vectors, the same object if shared.
        encoder, decoder: of word vectors.
        output_layer: over the target embedding's rows.
        language_codes: of the source and target languages.
    """

    copy_head = None

    def __init__(
        self,
        source_embedding: WordEmbedding,
        target_embedding: WordEmbedding,
        encoder: EncoderT,
        decoder: DecoderT,
        output_layer: OutputLayer,
        language_codes: LanguageCodes = ((), ()),
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.output_layer = output_layer
        self.language_codes = language_codes
