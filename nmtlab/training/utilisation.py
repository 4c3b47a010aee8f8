"""How much of a GPU's arithmetic a training uses: model FLOPs utilisation (Chowdhery et al. 2022, appendix B)."""

import torch

from nmtlab.models.interface import TranslationModel
from nmtlab.recipe.machine import MachineSettings

_PEAKS = {"H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12}
"""Operations a second of dense matrix products in bf16, as NVIDIA's data sheets have them; the first that fits."""

_OF_THE_SOURCE = ("cross_attention.key.weight", "cross_attention.value.weight")


def update_operations(model: TranslationModel, source_tokens: float, target_tokens: float) -> float:
    """Return the operations of an update: six a weight and token, two of them forwards and four backwards.

    What attention multiplies without weights is left out: one or two in a hundred at the lengths of sentences.

    Args:
        model: to be trained.
        source_tokens, target_tokens: of the batch.
    """
    products = len(model.output_types) * model.target_embedding.weight.shape[1] * target_tokens
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and "embedding" not in name:
            of_source = name.startswith("encoder.") or name.endswith(_OF_THE_SOURCE)
            products += weight.numel() * (source_tokens if of_source else target_tokens)
    return 6.0 * products


def peak_operations(device: torch.device, settings: MachineSettings) -> float | None:
    """Return the operations a second that a device is made for; None where that is not known: CPUs, fp32."""
    if device.type != "cuda" or settings.precision != "bf16":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for kind, peak in _PEAKS.items() if kind in name), None)
