"""A model whose vectors are set by hand, for analyses whose answer is known.

Its state depends on the target word before alone, and its lexicon on the first source word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from nmtlab.alignment.table import LexicalTable
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import InnerProduct, Inspectable, OutputTable, TranslationModel
from nmtlab.recipe import ByteNetSettings, ConvSettings, RnnSettings, SearchSettings, TextSettings, TransformerSettings
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.text.segmentation.vocabulary import EOS, PAD, Vocabulary
from nmtlab.translation import Translator

SOURCE = {"olim": 9, "Fauchi": 3, "deydi": 20, "Entoni": 4}
TARGET = {"says": 21, "scientist": 9, "Anthony": 4, "Fauci": 3, "Chan": 12, "the": 90}
SYSTEMS = {
    "conv": ConvSettings(d_model=6, encoder_layers=2, decoder_layers=2),
    "bytenet": ByteNetSettings(d_model=6, encoder_layers=2, decoder_layers=2),
    "untied": RnnSettings(d_model=6, tied=False),
    "fixnorm": RnnSettings(d_model=6, fixnorm=True, radius=3.0),
    "fixnorm, h free": RnnSettings(d_model=6, fixnorm=True, fix_hidden=False, radius=3.0),
    "fixnorm+lex": RnnSettings(d_model=6, fixnorm=True, lexicon="module", radius=2.0),
    "arthur": RnnSettings(d_model=6, lexicon="table"),
    "no attention": RnnSettings(d_model=6, attention="none"),
    "layer": TransformerSettings(d_model=8, d_ff=16, heads=2, encoder_layers=1, decoder_layers=1, norm="layer"),
    "average": TransformerSettings(
        d_model=8, d_ff=16, heads=2, encoder_layers=1, decoder_layers=1, decoder_history="average"
    ),
    "scale": TransformerSettings(d_model=8, d_ff=16, heads=2, encoder_layers=1, decoder_layers=1, norm="scale"),
}
TABLE = LexicalTable(
    offsets=np.array([0, 0, 0, 0, 0, 2, 3, 4, 4]),
    targets=np.array([5, 9, 7, 4]),
    probabilities=np.array([0.75, 0.25, 1.0, 0.5], dtype=np.float32),
)


def hand_made_pipeline(source: Mapping[str, int], target: Mapping[str, int]) -> Pipeline:
    """Return a pipeline of words with these training counts, from xx to en, whose words have the ids 4, 5, ..."""
    sides = [
        Side(language, Words(language), Vocabulary.of_words(counts, counts, sentences=1))
        for language, counts in (("xx", source), ("en", target))
    ]
    return Pipeline(TextSettings(segmentation="word", joint=False), *sides)


@dataclass
class Vectors:
    """Rows for EOS, UNK and each word, and what they are multiplied with.

    Args:
        rows: (C, E), a row for each column.
        bias: (C,)
        states: (types, E): the state after each target type, or of the lexicon for each first source type.
    """

    rows: Tensor
    bias: Tensor
    states: Tensor


class HandMadeModel(nn.Module, Inspectable):
    """Logits of `word`, and of `lexicon` where there is one; EOS, UNK and all words may be produced."""

    plans_length, sources, attention_temperature, int8 = False, 1, 1.0, False
    device = torch.device("cpu")

    def __init__(self, word: Vectors, lexicon: Vectors | None = None) -> None:
        super().__init__()
        self.types = torch.arange(EOS, EOS + len(word.rows))
        self.word, self.lexical = word, lexicon

    def forward(self, pairs: Batch) -> Tensor:
        states = self.word.states[pairs.target_input]
        if self.lexical is not None:
            first = self.lexical.states[pairs.source[:, :1]]
            states = torch.cat((states, first.expand(-1, states.shape[1], -1)), dim=-1)
        return states[pairs.target != PAD]

    @property
    def output_ids(self) -> Tensor:
        return self.types

    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        width = self.word.rows.shape[1]
        products = {"word": InnerProduct(states[..., :width], self.word.rows)}
        if self.lexical is not None:
            products["lexicon"] = InnerProduct(states[..., width:], self.lexical.rows)
        return products

    def explain(self, states: Tensor) -> dict[str, Tensor]:
        terms = {name: vectors @ rows.T for name, (vectors, rows) in self.inner_products(states).items()}
        terms["bias"] = self.word.bias.expand_as(terms["word"])
        if self.lexical is not None:
            terms["lexicon_bias"] = self.lexical.bias.expand_as(terms["word"])
        return terms

    def output(self, states: Tensor, table: OutputTable | None = None) -> Tensor:
        return sum(self.explain(states).values())

    def lexicon(self, source_types: Tensor) -> Tensor | None:
        if self.lexical is None:
            return None
        return (self.lexical.states[source_types] @ self.lexical.rows.T + self.lexical.bias).log_softmax(-1)

    def embeddings(self) -> dict[str, Tensor]:
        specials = torch.zeros(EOS, self.word.rows.shape[1], dtype=self.word.rows.dtype)
        return {"output": torch.cat((specials, self.word.rows))}


def at_angle(norms: Sequence[float], cosines: Sequence[float]) -> Tensor:
    """Return vectors of these lengths and cosines to the first axis: (n, 2), float64."""
    norms, cosines = np.array(norms), np.array(cosines)
    return torch.from_numpy(np.stack((norms * cosines, norms * np.sqrt(1 - cosines**2)), axis=1))


def along_the_first_axis(types: int, length: float) -> Tensor:
    """Return the same state for every type: (types, 2), float64."""
    return torch.tensor([[length, 0.0]], dtype=torch.float64).repeat(types, 1)


def translator(model: HandMadeModel | TranslationModel, pipeline: Pipeline) -> Translator:
    """Return a model and its pipeline as analyses take them."""
    return Translator(model.eval(), pipeline, SearchSettings())


def immunologists() -> Translator:
    """Return the system of thesis 3.2.3 at the position where `Fauci` should stand: its first table."""
    words = {"Chan": 40, "Fauci": 8, "Jenner": 20}
    rows = at_angle([1.0, 1.0, 5.25, 4.69, 5.23], [0.0, 0.0, 0.144, 0.154, 0.120])
    bias = torch.tensor([0.0, 0.0, -1.53, -1.35, -1.59], dtype=torch.float64)
    word = Vectors(rows, bias, along_the_first_axis(EOS + len(rows), 19.5))
    return translator(HandMadeModel(word), hand_made_pipeline({"Fauchi": 8}, words))


def immunologists_with_lexicon() -> Translator:
    """Return the system of thesis 3.2.6.2, r = 3.5, at the same position; the thesis gives the sum of both biases."""
    words = {"Fauci": 8, "Anthony": 30, "Ahmedova": 6, "Chan": 40}
    cos, lexicon_cos = [-1.0, 0.566, 0.522, 0.263, 0.555, 0.546], [-1.0, -0.009, 0.762, 0.644, 0.173, 0.150]
    bias = torch.tensor([0.0, -1.25, -8.71, -8.70, -8.66, -8.73], dtype=torch.float64)
    states = along_the_first_axis(EOS + len(cos), 3.5)
    word = Vectors(at_angle([3.5] * 6, cos), 0.25 * bias, states)
    lexicon = Vectors(at_angle([3.5] * 6, lexicon_cos), 0.75 * bias, states)
    return translator(HandMadeModel(word, lexicon), hand_made_pipeline({"Fauchi": 8}, words))


def random_system(name: str, dtype: torch.dtype = torch.float64) -> Translator:
    """Return one of SYSTEMS with weights far from where training begins."""
    pipeline = hand_made_pipeline(SOURCE, TARGET)
    torch.manual_seed(0)
    allowed = pipeline.target_allowed
    model = build_model(SYSTEMS[name], ModelText(pipeline.source.size, allowed, joint=False, table=TABLE)).to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, dtype=dtype))
    return translator(model, pipeline)
