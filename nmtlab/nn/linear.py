"""Linear layers, in the faster of the two libraries that torch has for a CPU."""

from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ONEDNN_ROWS = 16
"""From how many vectors at once oneDNN is the faster one: below, the cost of its call outweighs its kernels."""


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return W x + b, (..., out), for x, (..., in), with the weight, (out, in), and the bias, (out,).

    torch multiplies single-precision matrices with MKL, which does not use the full width of an AMD processor's vector
    units. oneDNN, which torch has for half precision, does, and is twice as fast there; but it has no gradient. On an
    Intel processor MKL is the faster one, since oneDNN compiles a kernel for each new number of vectors.
    """
    if _in_onednn(x, weight):
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return F.linear(x, weight, bias)


class Linear(nn.Linear):
    """`torch.nn.Linear`, faster without gradients."""

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, (..., out_features), for x, (..., in_features)."""
        return affine(x, self.weight, self.bias)


def _in_onednn(x: Tensor, weight: Tensor) -> bool:
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == "cpu"
        and x.numel() >= ONEDNN_ROWS * x.shape[-1]
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and _mkl_is_slow()
        and torch.backends.mkldnn.is_available()
    )


@cache
def _mkl_is_slow() -> bool:
    processor = Path("/proc/cpuinfo")  # of Linux; elsewhere MKL it is
    return processor.exists() and "AuthenticAMD" in processor.read_text()
