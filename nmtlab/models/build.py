"""The only place where a recipe's choices become modules."""

import numpy as np
import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.models.interface import TranslationModel
from nmtlab.models.transformer import DecoderLayer, EncoderLayer, Transformer
from nmtlab.nn.attention import MultiHeadAttention
from nmtlab.nn.embeddings import WordEmbedding
from nmtlab.nn.feed_forward import FeedForward
from nmtlab.nn.initialisers import small_normal, xavier_normal
from nmtlab.nn.norms import ScaleNorm
from nmtlab.nn.output import OutputLayer
from nmtlab.nn.residual import PostNorm, PreNorm
from nmtlab.recipe.transformer import TransformerSettings


def build_model(settings: TransformerSettings, source_types: int, allowed: np.ndarray, joint: bool) -> TranslationModel:
    """Build a model with initial weights drawn from torch's random stream.

    Args:
        settings: the recipe's model section.
        source_types: size of the source vocabulary.
        allowed: (target types,) bool, which types may be produced.
        joint: whether source and target share one vocabulary, and so one table.
    """
    s = settings

    def norm() -> nn.Module:
        if s.norm == "layer":
            return nn.LayerNorm(s.d_model, eps=1e-5)
        if s.norm == "rms":
            return nn.RMSNorm(s.d_model, eps=1e-6)
        return ScaleNorm(s.d_model, learned=s.g == "learned")

    def residual() -> nn.Module:
        return PreNorm(norm(), s.dropout) if s.placement == "pre" else PostNorm(norm(), s.dropout)

    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(s.d_model, s.heads, s.dropout)

    def feed_forward() -> FeedForward:
        return FeedForward(s.d_model, s.d_ff, s.dropout)

    def decoder_layer() -> DecoderLayer:
        return DecoderLayer(attention(), attention(), feed_forward(), residual)

    closing = s.placement == "pre"
    target_embedding = WordEmbedding(len(allowed), s.d_model, s.fixnorm)
    model = Transformer(
        source_embedding=target_embedding if joint else WordEmbedding(source_types, s.d_model, s.fixnorm),
        target_embedding=target_embedding,
        encoder=nn.ModuleList(EncoderLayer(attention(), feed_forward(), residual) for _ in range(s.encoder_layers)),
        decoder=nn.ModuleList(decoder_layer() for _ in range(s.decoder_layers)),
        encoder_norm=norm() if closing else nn.Identity(),
        decoder_norm=norm() if closing else nn.Identity(),
        output_layer=OutputLayer(torch.from_numpy(allowed), scaled=s.fixnorm and s.norm != "scale"),
        dropout=s.dropout,
        language_vectors=s.language_vectors,
    )
    if s.g == "fixed":
        # The g before the softmax is FixNorm's own and stays learned (Table 3.17).
        model.get_submodule(model.sublayers()[-1].name).g.requires_grad_(True)
    _initialise(model, s.init)
    return model


def load_weights(model: TranslationModel, weights: dict[str, Tensor]) -> None:
    """Copy named weights into a model.

    Raises:
        RunError: names or shapes are not the model's.
    """
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() ^ weights.keys()):
        raise RunError(
            f"weight {name!r}: in the checkpoint or in the model, but not in both", "use the run's own recipe"
        )
    for name, parameter in parameters.items():
        if parameter.shape != weights[name].shape:
            raise RunError(
                f"weight {name!r}: the checkpoint has shape {tuple(weights[name].shape)}, the model "
                f"{tuple(parameter.shape)}",
                "use the run's own recipe",
            )
        with torch.no_grad():
            parameter.copy_(weights[name])


def _initialise(model: Transformer, init: str) -> None:
    for embedding in {id(e): e for e in (model.source_embedding, model.target_embedding)}.values():
        embedding.reset()
    if model.languages is not None:
        nn.init.normal_(model.languages, std=model.languages.shape[1] ** -0.5)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            for projection in (module.query, module.key, module.value, module.output):
                small_normal(projection) if init == "small" else xavier_normal(projection)
        elif isinstance(module, FeedForward):
            xavier_normal(module.inner)
            xavier_normal(module.outer)
