"""The recurrent systems of thesis 1.1 and 3.2, with their lexical choice."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from nmtlab.recipe.section import Section


class RnnSettings(Section):
    """Every row of thesis Tables 3.4-3.10 is a choice of these fields."""

    neural: ClassVar[bool] = True
    """Whether it is a model that is trained by gradient, searched and looked into."""

    family: Literal["rnn"] = "rnn"
    """Which family of models the other fields describe."""

    d_model: int = Field(512, ge=1, le=65_536)
    """Width of embeddings and of hidden states."""

    layers: int = Field(1, ge=1, le=1000)
    """Number of layers, of the encoder and of the decoder."""

    bidirectional: bool = False
    """Half of the encoder's layers read the source backwards and half forwards; otherwise all read it backwards."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Recurrent cell."""

    attention: Literal["general", "dot", "additive"] = "general"
    """Score of a source position: h W s, h s, or v tanh(W h + U s) (Luong et al. 2015; Bahdanau et al. 2015)."""

    tied: bool = True
    """One table for target embeddings and output layer (Table 3.4)."""

    fixnorm: bool = False
    """Target embeddings and the attentional state in the output layer at length r (thesis 3.2.3)."""

    fix_hidden: bool = True
    """With fixnorm, whether the attentional state is brought to length r too (Table 3.4)."""

    radius: float = Field(5.0, gt=0)
    """The length r (thesis 3.2.6.4)."""

    lexicon: Literal["none", "module", "table"] = "none"
    """The jointly trained lexical module (thesis 3.2.4), or a fixed table from word alignment (Arthur et al. 2016)."""

    lexicon_reads_dropped: bool = False
    """Whether the lexical module reads source embeddings after dropout, as the thesis' program does, or whole."""

    dropout: float = Field(0.2, ge=0, lt=1)
    """Share of units dropped between layers, never from one position to the next unless variational."""

    variational: bool = False
    """One dropout mask for all positions of a sentence, on recurrent connections too (Gal 2015)."""

    layer_norm: bool = False
    """Layer normalisation of the cells' inner sums (Ba et al. 2016)."""

    residual: bool = False
    """Add each layer's input to its output, from the second layer on."""

    init_range: float = Field(0.01, gt=0)
    """Initial weights are drawn evenly from minus to plus this (0.01 in thesis 3.2.5.3)."""

    @model_validator(mode="after")
    def _check(self) -> "RnnSettings":
        if self.bidirectional and self.layers % 2:
            raise ValueError(f"layers is {self.layers}, which bidirectional cannot halve; choose {self.layers + 1}")
        if self.fixnorm and not self.tied:
            raise ValueError("fixnorm is of tied embeddings; leave out tied = false")
        if self.lexicon == "module" and not (self.fixnorm and self.fix_hidden):
            raise ValueError("lexicon is 'module', whose vectors have length r; set fixnorm and fix_hidden to true")
        return self
