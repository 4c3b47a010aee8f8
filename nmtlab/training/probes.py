"""Measurements during training, for the figures."""

from typing import Any

import numpy as np
import torch

from nmtlab.models.interface import TranslationModel
from nmtlab.nn.norms import ScaleNorm


@torch.no_grad()
def g_values(model: TranslationModel) -> list[dict[str, Any]]:
    """Return g of every ScaleNorm, with its sublayer's position in the model (thesis Figures 3.6, 3.7)."""
    norms = [(sublayer, model.get_submodule(sublayer.name)) for sublayer in model.sublayers()]
    return [{**sublayer._asdict(), "g": norm.g.item()} for sublayer, norm in norms if isinstance(norm, ScaleNorm)]


@torch.no_grad()
def embedding_norms(model: TranslationModel) -> dict[str, np.ndarray]:
    """Return the norm of every word vector, (types,), by its use (thesis Figure 3.2)."""
    return {use: vectors.norm(dim=1).float().cpu().numpy() for use, vectors in model.embeddings().items()}
