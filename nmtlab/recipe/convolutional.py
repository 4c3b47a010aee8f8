"""The convolutional model of Gehring et al. (2017)."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from nmtlab.recipe.family import Family


class ConvSettings(Family):
    """The convolutional model: gated convolutions, with attention in every layer of the decoder."""

    fixnorm: ClassVar[bool] = False
    for_little_text: ClassVar[tuple[str, ...]] = ("conv-tiny", "conv")

    family: Literal["conv"] = "conv"
    """Model family that the other fields describe."""

    d_model: int = Field(256, ge=1, le=65_536)
    """Width d of embeddings and of every layer's input and output."""

    encoder_layers: int = Field(4, ge=1, le=1000)
    """Number of convolutions in the encoder."""

    decoder_layers: int = Field(3, ge=1, le=1000)
    """Number of convolutions in the decoder, each followed by attention to the source."""

    encoder_kernel: int = Field(3, ge=1, le=101)
    """Positions k that an encoder convolution reads, around its output; odd. L layers reach 1 + L (k - 1) positions."""

    decoder_kernel: int = Field(3, ge=1, le=101)
    """Positions that a decoder convolution reads, of which its output is the last."""

    separable: bool = False
    """Convolve each unit alone, then map each position: k d + 2 d² weights a layer, not 2 k d²."""

    dropout: float = Field(0.2, ge=0, lt=1)
    """Share of units dropped in embeddings, in the input of every convolution and in that of the output layer."""

    shared_embeddings: bool = True
    """With a joint vocabulary, one table for source and target embeddings."""

    max_positions: int = Field(256, ge=1, le=100_000)
    """Positions with a learned embedding; later ones have that of the last."""

    @property
    def depth(self) -> tuple[int, ...]:
        return self.encoder_layers, self.decoder_layers

    @property
    def inner_width(self) -> int:
        return 2 * self.d_model

    @model_validator(mode="after")
    def _check(self) -> "ConvSettings":
        if self.encoder_kernel % 2 == 0:
            raise ValueError(
                f"encoder_kernel is {self.encoder_kernel} but must be odd, for as many positions before the middle as "
                "after it; choose 3 or 5"
            )
        return self
