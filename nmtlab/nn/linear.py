"""Linear layers, in the faster of the two libraries that torch has for a CPU."""

from functools import cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from weakref import ref

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ONEDNN_ROWS = 16
"""From how many vectors at once oneDNN is the faster one with weights that are not packed."""

PACKED_BYTES = 192 * 2**20
"""Memory for all packed weights: enough for a base Transformer, and less than a tenth of a model of 600 M weights."""

LARGEST_PACKED = 16 * 2**20
"""Bytes of the largest weight to pack: packing a larger output layer would take longer than it saves in a sentence."""


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return W x + b, (..., out), for x, (..., in), with the weight, (out, in), and the bias, (out,).

    torch multiplies single-precision matrices with MKL, which does not use the full width of an AMD processor's vector
    units. oneDNN, which torch has for half precision, does, and is twice as fast there; but it has no gradient. On an
    Intel processor MKL is the faster one, since oneDNN compiles a kernel for each new number of vectors.
    """
    if _in_onednn(x, weight):
        form = packed(weight)
        if form is not weight or x.numel() >= ONEDNN_ROWS * x.shape[-1]:
            return torch.ops.mkldnn._linear_pointwise(x, form, bias, "none", [], "")
    return F.linear(x, weight, bias)


class Linear(nn.Linear):
    """`torch.nn.Linear`, faster without gradients."""

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, (..., out_features), for x, (..., in_features)."""
        return affine(x, self.weight, self.bias)


def packed(weight: Tensor) -> Tensor:
    """Return a weight, (out, in), in the order in which oneDNN reads it, so that no call has to reorder it.

    The packed form lives as long as the weight and is made anew when its values change. Weights that require gradients
    are returned as they are, since the fused optimiser changes them unnoticed; so are those that exceed the limits
    above. A weight computed in inference mode, as an output table is, must not be changed.
    """
    if weight.requires_grad:
        return weight
    values = weight.data_ptr(), 0 if weight.is_inference() else weight._version
    known = _packed.get(id(weight))
    if known is None or known.values != values or known.weight() is not weight:
        known = _pack(weight, values)
    return weight if known.form is None else known.form


class _Packed(NamedTuple):
    """A weight in oneDNN's order, if there was room for it.

    Args:
        weight: reference to the weight.
        values: address and version of the values that were packed.
        form: None if it was too large.
    """

    weight: ref[Tensor]
    values: tuple[int, int]
    form: Tensor | None


_packed: dict[int, _Packed] = {}  # by the weight's identity
_packing = Lock()


def _pack(weight: Tensor, values: tuple[int, int]) -> _Packed:
    key = id(weight)
    with _packing:
        _packed.pop(key, None)
        taken = sum(known.form.numel() for known in list(_packed.values()) if known.form is not None)
        fits = weight.nbytes <= min(LARGEST_PACKED, PACKED_BYTES - taken * weight.itemsize)
        form = torch.ops.mkldnn._reorder_linear_weight(weight, 64) if fits else None
        _packed[key] = _Packed(ref(weight, lambda _: _packed.pop(key, None)), values, form)
        return _packed[key]


def _in_onednn(x: Tensor, weight: Tensor) -> bool:
    return (
        _mkl_is_slow()
        and x.dtype == weight.dtype == torch.float32
        and x.is_cpu
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and torch.backends.mkldnn.is_available()
    )


@cache
def _mkl_is_slow() -> bool:
    processor = Path("/proc/cpuinfo")  # of Linux; elsewhere MKL it is
    return processor.exists() and "AuthenticAMD" in processor.read_text()
