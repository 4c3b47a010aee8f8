"""What models have in common whose output layer multiplies with the target embeddings."""

from torch import Tensor

from nmtlab.models.interface import InnerProduct, MemoryT, OutputTable, StateT, TranslationModel
from nmtlab.nn.embeddings import WordEmbedding
from nmtlab.nn.output import OutputLayer
from nmtlab.nn.precision import widened


class TiedModel(TranslationModel[MemoryT, StateT]):
    """A model with an output layer over the rows of its target embedding.

    Args:
        source_embedding, target_embedding: tables of word vectors, the same object if shared.
        output_layer: over the target embedding's rows.
    """

    source_embedding: WordEmbedding
    target_embedding: WordEmbedding
    output_layer: OutputLayer

    @property
    def output_ids(self) -> Tensor:
        return self.output_layer.types(self.default_languages[1])

    def output_table(self, language: str | None = None) -> OutputTable:
        self.check_languages(target=language)
        language, layer = language or self.default_languages[1], self.output_layer
        rows = self.target_embedding.table(language=language)
        return OutputTable(layer.types(language), layer.allowed(rows, language), layer.allowed(layer.bias, language))

    def output(self, states: Tensor, table: OutputTable | None = None) -> Tensor:
        table = table or self.output_table()
        return self.output_layer(states, table.rows, table.bias)

    def explain(self, states: Tensor) -> dict[str, Tensor]:
        _, rows, bias = self.output_table()
        parts = self.output_layer.parts(states, rows, bias, self.target_embedding.units)
        return {name: widened(part) for name, part in parts.items()}

    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        vectors, rows = self.output_layer.scaled(states), self.output_table().rows
        units = self.target_embedding.units.items()
        return {name: InnerProduct(widened(vectors[..., some]), widened(rows[:, some])) for name, some in units}

    def embeddings(self) -> dict[str, Tensor]:
        source, target = self.default_languages
        vectors = widened(self.target_embedding.stored(target))
        return {"source": widened(self.source_embedding.stored(source)), "target": vectors, "output": vectors}
