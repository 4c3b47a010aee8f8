"""Model FLOPs utilisation of a GPU in training (Chowdhery et al. 2022, appendix B)."""

import re

import torch

from nmtlab.models.interface import TranslationModel
from nmtlab.nn.private import private_language
from nmtlab.recipe.machine import MachineSettings

_PEAKS = {
    "GH200": 989e12, "H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12,
    "L40S": 362e12, "L40": 181e12, "L4": 121e12,
}  # fmt: skip
"""Operations per second of dense bf16 matrix products, from NVIDIA's data sheets; the first matching name counts."""

_SOURCE_WEIGHT = re.compile(r"encoder\..*|.*cross_attention\.(key|value)\..*weight|attention\.key\.weight")
_NO_PRODUCT = re.compile(r".*embedding.*|output_weight")  # the output layer's rows are counted by its columns


def update_operations(model: TranslationModel, source_tokens: float, target_tokens: float) -> float:
    """Return the operations of an update: six per weight and token, two in the forward pass and four in the backward.

    Products of attention without weights are left out: one or two per cent at the lengths of sentences.

    Args:
        model: to be trained.
        source_tokens, target_tokens: of the batch.
    """
    products = len(model.output_ids) * model.output_table().rows.shape[1] * target_tokens
    used = ("", *model.default_languages)
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and not _NO_PRODUCT.fullmatch(name) and private_language(name) in used:
            products += weight.numel() * (source_tokens if _SOURCE_WEIGHT.fullmatch(name) else target_tokens)
    return 6.0 * products


def peak_operations(device: torch.device, settings: MachineSettings) -> float | None:
    """Return a device's peak operations per second; None if not known, as for CPUs and fp32."""
    if device.type != "cuda" or settings.precision != "bf16":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for kind, peak in _PEAKS.items() if re.search(rf"\b{kind}\b", name)), None)
