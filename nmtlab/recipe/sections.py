"""The sections of a recipe, each valid by itself."""

from typing import Annotated

from pydantic import Field

from nmtlab.recipe.bytenet import ByteNetSettings
from nmtlab.recipe.convolutional import ConvSettings
from nmtlab.recipe.corpus import CorpusSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.recipe.phrase import PhraseSettings
from nmtlab.recipe.rnn import RnnSettings
from nmtlab.recipe.search import SearchSettings
from nmtlab.recipe.section import Section
from nmtlab.recipe.text import TextSettings
from nmtlab.recipe.training import TrainingSettings
from nmtlab.recipe.transfer import TransferSettings
from nmtlab.recipe.transformer import TransformerSettings

ModelSettings = Annotated[
    TransformerSettings | RnnSettings | ConvSettings | ByteNetSettings | PhraseSettings, Field(discriminator="family")
]
"""The settings of one family of models."""


class Sections(Section):
    """All settings of a run, whether or not they go together."""

    about: str = ""
    """Purpose of the recipe, in one line."""

    corpus: CorpusSettings = Field(default_factory=CorpusSettings)

    more_corpora: tuple[CorpusSettings, ...] = ()
    """Additional training corpora, each a [[more_corpora]] table with the fields of [corpus]."""

    text: TextSettings = Field(default_factory=TextSettings)
    model: ModelSettings = Field(default_factory=TransformerSettings)
    transfer: TransferSettings = Field(default_factory=TransferSettings)
    training: TrainingSettings = Field(default_factory=TrainingSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    machine: MachineSettings = Field(default_factory=MachineSettings)

    @property
    def corpora(self) -> tuple[CorpusSettings, ...]:
        """All training corpora; dev text of the first one decides when training stops."""
        return (self.corpus, *self.more_corpora)

    @property
    def trained_corpora(self) -> tuple[CorpusSettings, ...]:
        """All but those from which only subwords are learned."""
        return tuple(corpus for corpus in self.corpora if not corpus.vocabulary_only)

    @property
    def teacher(self) -> str:
        """Name of the run whose distributions are learned besides the text; empty for none."""
        return (self.training.teacher or self.transfer.parent) if self.training.teacher_weight else ""
