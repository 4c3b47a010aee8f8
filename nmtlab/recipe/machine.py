"""Device, threads and precision of a run."""

from typing import Literal

from pydantic import Field

from nmtlab.recipe.section import Section


class MachineSettings(Section):
    """Settings that affect speed; only precision changes what is learned, by rounding."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device; auto uses a GPU if available."""

    threads: int = Field(0, ge=0, le=1024)
    """CPU threads (0: torch's default)."""

    precision: Literal["fp32", "bf16"] = "fp32"
    """Number format of matrix products; bf16 keeps weights and optimiser state in fp32."""

    compile: bool = False
    """Compile the model with torch.compile (worth it on a GPU)."""
