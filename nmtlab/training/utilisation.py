"""How much of a GPU's arithmetic a training uses: model FLOPs utilisation (Chowdhery et al. 2022, appendix B)."""

import re

import torch

from nmtlab.models.interface import TranslationModel
from nmtlab.recipe.machine import MachineSettings

_PEAKS = {
    "GH200": 989e12, "H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12,
    "L40S": 362e12, "L40": 181e12, "L4": 121e12,
}  # fmt: skip
"""Operations a second of dense matrix products in bf16, as NVIDIA's data sheets have them; the first that fits."""

_OF_THE_SOURCE = re.compile(r"encoder\..*|.*cross_attention\.(key|value)\.weight|attention\.key\.weight")
_NO_PRODUCT = re.compile(r".*embedding.*|output_weight")  # the output layer's rows are counted by its columns


def update_operations(model: TranslationModel, source_tokens: float, target_tokens: float) -> float:
    """Return the operations of an update: six a weight and token, two of them forwards and four backwards.

    What attention multiplies without weights is left out: one or two in a hundred at the lengths of sentences.

    Args:
        model: to be trained.
        source_tokens, target_tokens: of the batch.
    """
    products = len(model.output_ids) * model.target_embedding.weight.shape[1] * target_tokens
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and not _NO_PRODUCT.fullmatch(name):
            products += weight.numel() * (source_tokens if _OF_THE_SOURCE.fullmatch(name) else target_tokens)
    return 6.0 * products


def peak_operations(device: torch.device, settings: MachineSettings) -> float | None:
    """Return the operations a second that a device is made for; None where that is not known: CPUs, fp32."""
    if device.type != "cuda" or settings.precision != "bf16":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for kind, peak in _PEAKS.items() if re.search(rf"\b{kind}\b", name)), None)
