"""The recurrent systems of thesis 1.1 and 3.2, with lexical choice."""

import math
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from nmtlab.recipe.family import Family


class RnnSettings(Family):
    """The recurrent model; its fields cover every row of thesis Tables 3.4-3.10."""

    recurrent: ClassVar[bool] = True
    combines_sources: ClassVar[bool] = True
    for_little_text: ClassVar[tuple[str, ...]] = ("fixnorm-lex-small", "fixnorm-small")

    family: Literal["rnn"] = "rnn"
    """Model family that the other fields describe."""

    d_model: int = Field(512, ge=1, le=65_536)
    """Width of embeddings and hidden states."""

    layers: int = Field(1, ge=1, le=1000)
    """Number of layers in the encoder, and in the decoder."""

    bidirectional: bool = False
    """Half of the encoder layers read the source forwards, half backwards."""

    reversed_source: bool = True
    """Unless bidirectional, all encoder layers read the source backwards, as in the thesis, or all forwards."""

    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    """Recurrent cell: with gates, or tanh(W x + U h + b) without (Elman 1990)."""

    transitions: int = Field(1, ge=1, le=100)
    """Recurrent units in each step of a layer, of which the first reads its input (Miceli Barone et al. 2017)."""

    attention: Literal["general", "dot", "additive", "none"] = "general"
    """Attention score: h W s, h s, or v tanh(W h + U s) (Luong et al. 2015; Bahdanau et al. 2015); or no attention."""

    context: Literal["initial", "every-step"] = "initial"
    """Without attention, whether the encoder's last state starts the decoder alone, or enters every step, too."""

    grammar: Literal["none", "flat", "tree", "hard"] = "none"
    """Attention also reads each source word's heads: chosen alone, as a tree, or its likeliest (Tran and Bisk 2018)."""

    combine: Literal["separate", "joint", "flat", "mixture"] = "separate"
    """Of several sources: an attention to each, one to all without or with own weights, or a mixture of experts."""

    shared_encoders: bool = False
    """Of several sources: read them with one encoder, as related languages, or each with its own."""

    tied: bool = True
    """One table for target embeddings and output layer (Table 3.4)."""

    fixnorm: bool = False
    """Fix target embeddings and the attentional state in the output layer to norm r (thesis 3.2.3)."""

    fix_hidden: bool = True
    """With fixnorm, whether the attentional state is also fixed to norm r (Table 3.4)."""

    radius: float = Field(5.0, gt=0)
    """The norm r (thesis 3.2.6.4)."""

    lexicon: Literal["none", "module", "table"] = "none"
    """The jointly trained lexical module (thesis 3.2.4), or a fixed table from word alignment (Arthur et al. 2016)."""

    lexicon_reads_dropped: bool = False
    """Whether the lexical module reads source embeddings after dropout, as the thesis' program does, or before."""

    copy_head: bool = False
    """Mix copies of the attended source types into what is generated (Pham et al. 2018); needs a joint vocabulary."""

    dropout: float = Field(0.2, ge=0, lt=1)
    """Share of units dropped between layers; recurrent connections are dropped only if variational."""

    variational: bool = False
    """One dropout mask for all positions of a sentence, also on recurrent connections (Gal 2015)."""

    layer_norm: bool = False
    """Layer normalisation of the cells' pre-activations (Ba et al. 2016)."""

    residual: bool = False
    """Add each layer's input to its output, from the second layer on."""

    init_range: float = Field(0.01, gt=0)
    """Initial weights are uniform in [-init_range, init_range] (0.01 in thesis 3.2.5.3)."""

    @property
    def fixed_norm(self) -> float:
        return self.radius if self.fixnorm else math.nan

    @property
    def depth(self) -> tuple[int, ...]:
        return self.layers, self.layers

    @property
    def attends(self) -> bool:
        return self.attention != "none"

    @property
    def joint_attention(self) -> bool:
        return self.combine != "separate"

    @property
    def mixes_experts(self) -> bool:
        return self.combine == "mixture"

    @property
    def inner_width(self) -> int:
        return 4 * self.d_model

    @property
    def copies(self) -> bool:
        return self.copy_head

    @property
    def selects_heads(self) -> bool:
        return self.grammar != "none"

    @property
    def lexical_module(self) -> bool:
        return self.lexicon == "module"

    @property
    def lexical_table(self) -> bool:
        return self.lexicon == "table"

    @model_validator(mode="after")
    def _check(self) -> "RnnSettings":
        if self.bidirectional and self.layers % 2:
            raise ValueError(f"layers is {self.layers} but must be even with bidirectional; choose {self.layers + 1}")
        if self.bidirectional and not self.reversed_source:
            raise ValueError("a bidirectional encoder reads the source both ways; remove reversed_source = false")
        if self.transitions > 1 and self.cell != "gru":
            raise ValueError(f"transitions are between the states of a 'gru', but cell is {self.cell!r}; choose 'gru'")
        if self.attends and self.context != "initial":
            raise ValueError("with attention, context is that of each step; remove context, or set attention to 'none'")
        if not self.attends and self.lexicon != "none":
            raise ValueError(f"lexicon {self.lexicon!r} reads what is attended to; remove it, or set attention")
        if self.copy_head and not self.attends:
            raise ValueError("copy_head copies what is attended to; remove it, or set attention")
        if self.selects_heads and not self.attends:
            raise ValueError(f"grammar {self.grammar!r} is read by attention; remove it, or set attention")
        if self.copy_head and self.lexicon == "table":
            raise ValueError("lexicon 'table' adds to logits, which copy_head mixes; remove one of them")
        if self.mixes_experts and self.shared_encoders:
            raise ValueError("the experts of combine 'mixture' share nothing; remove shared_encoders")
        if self.fixnorm and not self.tied:
            raise ValueError("fixnorm needs tied embeddings; remove tied = false")
        if self.lexicon == "module" and not (self.fixnorm and self.fix_hidden):
            raise ValueError("lexicon 'module' needs vectors of norm r; set fixnorm and fix_hidden to true")
        return self
