"""The Transformer of thesis 1.2 and 3.3, with every normalisation."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from nmtlab.recipe.family import Family


class TransformerSettings(Family):
    """The Transformer; its fields cover every option of thesis Tables 3.12-3.17."""

    self_attention: ClassVar[bool] = True
    combines_sources: ClassVar[bool] = True
    for_little_text: ClassVar[tuple[str, ...]] = ("transformer-tiny", "transformer-small")

    family: Literal["transformer"] = "transformer"
    """Model family that the other fields describe."""

    d_model: int = Field(256, ge=2, le=65_536)
    """Width d of embeddings and of every sublayer's input and output; even."""

    d_ff: int = Field(1024, ge=1, le=1_048_576)
    """Width of the feed-forward sublayers' inner layer (4 d in the thesis)."""

    encoder_layers: int = Field(3, ge=1, le=1000)
    """Number of encoder layers."""

    decoder_layers: int = Field(3, ge=1, le=1000)
    """Number of decoder layers."""

    heads: int = Field(4, ge=1)
    """Attention heads; must divide d_model."""

    placement: Literal["pre", "post"] = "pre"
    """PreNorm x + f(norm(x)) or PostNorm norm(x + f(x)) (eq 3.3, 3.4)."""

    norm: Literal["layer", "scale", "rms"] = "scale"
    """LayerNorm, ScaleNorm g x/|x| (eq 3.6) or RMSNorm."""

    fixnorm: bool = True
    """Word embeddings of unit norm, in input and output (eq 3.7)."""

    activation: Literal["relu", "swish"] = "relu"
    """Activation between the feed-forward layers: ReLU, or Swish x σ(x), which Marian's models have."""

    positions: Literal["alternating", "halves", "fairseq", "learned", "relative", "none"] = "alternating"
    """Sinusoids by turns, all sines first (Marian) or as in fairseq; learned; vectors of distances (Shaw); or none."""

    max_positions: int = Field(512, ge=1, le=100_000)
    """Number of learned positions; longer sentences, in tokens with EOS, are refused, and translations cut off."""

    g: Literal["learned", "fixed"] = "learned"
    """With fixed, every ScaleNorm g but the one before the softmax stays at the square root of d (Table 3.17)."""

    init: Literal["small", "xavier"] = "small"
    """SmallInit (attention std sqrt(2/5d)) or Xavier normal (eq 3.5)."""

    dropout: float = Field(0.3, ge=0, lt=1)
    """Share of units dropped in embeddings, residual branches, attention weights and the activation's output."""

    shared_embeddings: bool = True
    """With a joint vocabulary, one table for source and target embeddings."""

    decoder_history: Literal["attention", "average"] = "attention"
    """What the decoder reads of the words so far: self-attention, or their mean (Zhang et al. 2018)."""

    average_ffn: bool = True
    """Pass that mean through a feed-forward network of width d."""

    average_gate: bool = True
    """Weigh that mean, or what the network makes of it, against the word itself by learned gates."""

    combine: Literal["separate", "joint"] = "separate"
    """Of several sources: an attention to each, summed before the residual, or one to all their positions."""

    shared_encoders: bool = False
    """Of several sources: read them with one encoder, as related languages, or each with its own."""

    language_vectors: bool = False
    """Add a learned embedding of the side's language at every position."""

    embedding_share: float = Field(1.0, ge=0, le=1)
    """Share σ of the embeddings' units that all languages have in common; the others are one language's (eq 4.3)."""

    attention_share: float = Field(1.0, ge=0, le=1)
    """Share σ of the attention's units and heads that all languages have in common (eq 4.3)."""

    feed_forward_share: float = Field(1.0, ge=0, le=1)
    """Share σ of the feed-forward units that all languages have in common (eq 4.3)."""

    adapter_width: int = Field(0, ge=0, le=65_536)
    """Inner width of an adapter for each language after every layer (Bapna and Firat 2019); 0: no adapters."""

    lora_rank: int = Field(0, ge=0, le=65_536)
    """Rank of the changes B A of attention and feed-forward maps that alone are trained (LoRA); 0: none."""

    clip_inputs: float = Field(0.0, ge=0)
    """Clip what is multiplied, activations and weights, to [-c, c], for 8-bit integers to stand for it (0: none)."""

    lora_base: Literal["fp32", "bf16"] = "fp32"
    """Number format in which LoRA keeps the matrices that it changes, and embeddings; bf16 rounds them at first."""

    copy_head: bool = False
    """Mix copies of the source types that the last layer attends to into what is generated; needs joint types."""

    plan_length: bool = False
    """Predict the translation length and count decoder positions down from it, instead of using EOS (thesis 4.1)."""

    length_input: Literal["counted-mean", "counted-attention", "mean"] = "counted-mean"
    """What p(length) depends on: the encoder's mean or a learned weighted mean, with the source length; or the mean."""

    length_output: Literal["mixture", "classifier"] = "mixture"
    """Form of p(length): a mixture over its ratio to the source length, or a classifier of lengths seen in training."""

    length_gradient: bool = True
    """Whether the gradient of the length loss reaches the encoder; otherwise it trains the length model only."""

    max_predicted_length: int = Field(200, ge=1, le=100_000)
    """Maximum length that can be predicted, in tokens."""

    @property
    def depth(self) -> tuple[int, ...]:
        return self.encoder_layers, self.decoder_layers

    @property
    def joint_attention(self) -> bool:
        return self.combine != "separate"

    @property
    def inner_width(self) -> int:
        return self.d_ff

    @property
    def copies(self) -> bool:
        return self.copy_head

    @property
    def adapters(self) -> bool:
        return self.adapter_width > 0

    @property
    def low_rank(self) -> int:
        return self.lora_rank

    @property
    def clips(self) -> bool:
        return self.clip_inputs > 0

    @property
    def halves_base(self) -> bool:
        return self.lora_base == "bf16"

    @property
    def plans_length(self) -> bool:
        return self.plan_length

    @model_validator(mode="after")
    def _check(self) -> "TransformerSettings":
        if self.d_model % 2:
            raise ValueError(f"d_model is {self.d_model} but must be even; choose {self.d_model + 1}")
        if self.d_model % self.heads:
            raise ValueError(f"heads is {self.heads}, which does not divide d_model {self.d_model}; choose a divisor")
        self._check_shares()
        for field in ("lora_rank", "clip_inputs"):
            if getattr(self, field) and min(self.attention_share, self.feed_forward_share) < 1:
                raise ValueError(
                    f"{field} needs maps that all languages share; set attention_share and "
                    f"feed_forward_share to 1, or {field} to 0"
                )
        if self.lora_rank and self.clip_inputs:
            raise ValueError("lora_rank changes weights after they are clipped by clip_inputs; set one of them to 0")
        if self.lora_base == "bf16" and not self.lora_rank:
            raise ValueError("lora_base is 'bf16', but lora_rank is 0; set that to 16, or lora_base to 'fp32'")
        if self.copy_head and self.plan_length:
            raise ValueError("copy_head copies EOS too, which plan_length does without; remove one of them")
        if self.plan_length and self.positions in ("relative", "none"):
            raise ValueError(
                f"plan_length counts the decoder's positions down, which positions {self.positions!r} do not show it; "
                "choose sinusoids or learned ones"
            )
        if self.plan_length and self.positions == "learned" and self.max_predicted_length >= self.max_positions:
            raise ValueError(
                f"max_predicted_length is {self.max_predicted_length:,}, but only {self.max_positions:,} positions are "
                f"learned, one of them for EOS; set it to at most {self.max_positions - 1:,}, or raise max_positions"
            )
        if self.decoder_history == "average":
            self._check_average()
        for field in ("average_ffn", "average_gate"):
            if self.decoder_history == "attention" and not getattr(self, field):
                raise ValueError(f"{field} is false, but decoder_history is 'attention'; set that to 'average'")
        if self.positions == "fairseq" and self.d_model < 4:
            raise ValueError("positions 'fairseq' needs two frequencies; set d_model to at least 4")
        if self.g == "fixed" and self.norm != "scale":
            raise ValueError(f"g is 'fixed' but norm is {self.norm!r}; only norm 'scale' has a g to fix")
        return self

    def _check_average(self) -> None:
        for field in ("attention_share", "feed_forward_share"):
            if getattr(self, field) < 1:
                raise ValueError(
                    f"decoder_history 'average' has no private units, but {field} is {getattr(self, field):g}; "
                    "set it to 1, or decoder_history to 'attention'"
                )
        if self.positions == "relative":
            raise ValueError(
                "decoder_history 'average' weighs no distances, which positions 'relative' are; choose sinusoids or "
                "learned ones"
            )

    def _check_shares(self) -> None:
        for field, divided in (
            ("embedding_share", "d_model"),
            ("attention_share", "heads"),
            ("feed_forward_share", "d_model"),
            ("feed_forward_share", "d_ff"),
        ):
            share, units = getattr(self, field), getattr(self, divided)
            if share * units % 1:
                raise ValueError(
                    f"{field} is {share:g}, which of {divided} {units} is not a whole number; choose a multiple of "
                    f"1/{units}"
                )
