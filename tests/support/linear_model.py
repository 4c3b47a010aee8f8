"""A model whose logits are linear in the source's word vectors, so that contributions to a contrast are known."""

import torch
from torch import Tensor

from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import EOS
from support.hand_made_model import HandMadeModel, Vectors


class LinearModel(HandMadeModel):
    """The state is the sum of the source's word vectors, each times its place from 1, wherever a token is predicted.

    Args:
        vectors: (source types, E), of source words.
        rows: (C, E), of EOS, UNK and each target word.
    """

    def __init__(self, vectors: Tensor, rows: Tensor) -> None:
        super().__init__(Vectors(rows, torch.zeros(len(rows), dtype=rows.dtype), torch.zeros(EOS + len(rows), 1)))
        self.vectors = vectors

    def embeddings(self) -> dict[str, Tensor]:
        return {"source": self.vectors}

    def embed_source(self, source: Tensor, language: str | None = None) -> Tensor:
        return self.vectors[source]

    def encode(self, source: Tensor, language: str | None = None, embedded: Tensor | None = None) -> Tensor:
        vectors = self.embed_source(source) if embedded is None else embedded
        places = torch.arange(1, source.shape[1] + 1, dtype=vectors.dtype)
        return (vectors * places[:, None]).sum(1)

    def forward(self, batch: Batch, memory: Tensor) -> Tensor:
        return memory[:, None].expand(-1, batch.target.shape[1], -1)[batch.target_mask]
