"""Where and how fast the arithmetic is done."""

from typing import Literal

from pydantic import Field

from nmtlab.recipe.section import Section


class MachineSettings(Section):
    """Settings of speed; of them precision alone changes what is learned, by its rounding."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Processor; auto takes a GPU where there is one."""

    threads: int = Field(0, ge=0, le=1024)
    """CPU threads (0: as many as torch chooses)."""

    precision: Literal["fp32", "bf16"] = "fp32"
    """Arithmetic of matrix products; bf16 keeps weights and optimiser in fp32."""

    compile: bool = False
    """Compile the model with torch.compile (worth it on a GPU)."""
