"""The dilated convolutional model of Kalchbrenner et al. (2016)."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from nmtlab.recipe.family import Family


class ByteNetSettings(Family):
    """ByteNet: dilated convolutions without attention, the decoder stacked on the encoder."""

    fixnorm: ClassVar[bool] = False
    for_little_text: ClassVar[tuple[str, ...]] = ("bytenet-tiny", "bytenet")

    family: Literal["bytenet"] = "bytenet"
    """Model family that the other fields describe."""

    d_model: int = Field(256, ge=2, le=65_536)
    """Width 2d of embeddings and of every block's input and output; even. Convolutions have half as many units."""

    encoder_layers: int = Field(5, ge=1, le=1000)
    """Number of blocks in the encoder."""

    decoder_layers: int = Field(5, ge=1, le=1000)
    """Number of blocks in the decoder."""

    kernel: int = Field(3, ge=1, le=101)
    """Positions that a convolution reads; odd. In the decoder, its output is at the last of them."""

    widest_dilation: int = Field(16, ge=1, le=4096)
    """Largest distance of these positions, a power of 2; from 1, it doubles from block to block, and begins anew."""

    length_factor: float = Field(1.2, ge=1, le=10)
    """a of the a |s| + b columns that the encoder computes for a source of |s| tokens; translations may be longer."""

    length_extra: int = Field(0, ge=0, le=1000)
    """b of these columns."""

    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of units dropped in embeddings, in what each block adds to its input, and in the output layer's input."""

    shared_embeddings: bool = True
    """With a joint vocabulary, one table for source and target embeddings."""

    def dilations(self, layers: int) -> list[int]:
        """Return the dilation of each of some blocks."""
        return [2 ** (layer % self.widest_dilation.bit_length()) for layer in range(layers)]

    @property
    def depth(self) -> tuple[int, ...]:
        return self.encoder_layers, self.decoder_layers

    @property
    def attends(self) -> bool:
        return False

    @property
    def inner_width(self) -> int:
        return self.d_model // 2

    @model_validator(mode="after")
    def _check(self) -> "ByteNetSettings":
        if self.d_model % 2:
            raise ValueError(f"d_model is {self.d_model} but must be even; choose {self.d_model + 1}")
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel is {self.kernel} but must be odd; choose 3 or 5")
        if self.widest_dilation & (self.widest_dilation - 1):
            raise ValueError(f"widest_dilation is {self.widest_dilation} but must be a power of 2; choose 8 or 16")
        return self
