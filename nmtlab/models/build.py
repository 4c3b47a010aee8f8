"""The only place where a recipe's choices become modules."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import RunError
from nmtlab.models.bytenet import Block, ByteNet
from nmtlab.models.bytenet import Decoder as ByteNetDecoder
from nmtlab.models.bytenet import Encoder as ByteNetEncoder
from nmtlab.models.convolutional import ConvolutionalModel, Decoder, Encoder
from nmtlab.models.convolutional import DecoderLayer as ConvDecoderLayer
from nmtlab.models.interface import LanguageCodes, TranslationModel
from nmtlab.models.layers import DecoderLayer, EncoderLayer
from nmtlab.models.mixture import MixtureModel
from nmtlab.models.planned import PlannedTransformer
from nmtlab.models.recurrent import Encoder as RecurrentEncoder
from nmtlab.models.recurrent import RecurrentModel
from nmtlab.models.transformer import Transformer
from nmtlab.nn.adapters import Adapters
from nmtlab.nn.attention import MultiHeadAttention
from nmtlab.nn.average import AverageAttention
from nmtlab.nn.convolution import GatedConvolution
from nmtlab.nn.copying import CopyHead
from nmtlab.nn.embeddings import WordEmbedding
from nmtlab.nn.feed_forward import FeedForward
from nmtlab.nn.global_attention import GlobalAttention
from nmtlab.nn.length import LengthModel
from nmtlab.nn.lexical import LexicalModule, TranslationTable
from nmtlab.nn.linear import Linear
from nmtlab.nn.maps import linear_maps
from nmtlab.nn.matrix_tree import HeadSelection
from nmtlab.nn.norms import ScaleNorm
from nmtlab.nn.output import OutputLayer, OutputTypes
from nmtlab.nn.positions import LearnedPositions, RelativePositions, Sinusoids
from nmtlab.nn.private import Generators, generators, small_normal, xavier_normal
from nmtlab.nn.recurrent import CELLS, Cell, FusedLayer, SequenceDropout, Stack, SteppedLayer, TransitionGruCell
from nmtlab.nn.residual import PostNorm, PreNorm
from nmtlab.nn.several import FlatGlobalAttention, SeparateAttention, SeparateGlobalAttention
from nmtlab.recipe import Recipe
from nmtlab.recipe.bytenet import ByteNetSettings
from nmtlab.recipe.convolutional import ConvSettings
from nmtlab.recipe.family import Family
from nmtlab.recipe.rnn import RnnSettings
from nmtlab.recipe.transformer import TransformerSettings
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS


class ModelText(NamedTuple):
    """What a model depends on besides its settings.

    Args:
        source_types: size of the source vocabulary.
        allowed: (target types,) bool, which types may be produced; or one such mask for each target language.
        joint: whether source and target share one vocabulary; a Transformer's embeddings may then share one table.
        table: p(target | source), for a model that has one.
        languages: codes of the source languages and of the target languages.
        first_tokens: target language -> type that a Transformer's decoder reads in place of BOS.
        reads_start: whether that decoder reads BOS before this type too.
        sources: number of sources that are translated together.
        missing: type that stands for a missing one of several sources; None: none is ever missing.
    """

    source_types: int
    allowed: np.ndarray | Mapping[str, np.ndarray]
    joint: bool
    table: LexicalTable | None = None
    languages: LanguageCodes = ((), ())
    first_tokens: Mapping[str, int] | None = None
    reads_start: bool = False
    sources: int = 1
    missing: int | None = None

    @property
    def masks(self) -> Mapping[str, np.ndarray]:
        """The types that may be produced, by target language."""
        return self.allowed if isinstance(self.allowed, Mapping) else {"": self.allowed}

    @property
    def target_types(self) -> int:
        """Size of the target vocabulary."""
        return len(next(iter(self.masks.values())))


def model_for(recipe: Recipe, pipeline: Pipeline, table: LexicalTable | None = None) -> TranslationModel:
    """Build the model of a recipe, of a neural family, for a pipeline, whose direction is its default.

    Args:
        recipe, pipeline: of one run.
        table: p(target | source), if the recipe's lexicon is a table.
    """
    source, languages = pipeline.source, (pipeline.source.languages, pipeline.target.languages)
    text = ModelText(
        source_types=source.size,
        allowed=pipeline.allowed_by_language,
        joint=pipeline.joint,
        table=table,
        languages=languages,
        first_tokens=pipeline.first_tokens,
        reads_start=pipeline.reads_start,
        sources=1 + len(recipe.corpus.also_sources),
        missing=pipeline.missing_source,
    )
    model = build_model(recipe.model, text)
    default = tuple(codes[0] for codes in languages)
    return model if pipeline.languages == default else model.directed(*pipeline.languages)


def build_model(settings: Family, text: ModelText) -> TranslationModel:
    """Build a model of a neural family with initial weights drawn from torch's random stream."""
    return BUILDERS[type(settings)](settings, text)


def _transformer(settings: TransformerSettings, text: ModelText) -> Transformer:
    s, allowed, target_types = settings, text.masks, text.target_types
    sources, targets = (tuple(codes) or ("",) for codes in text.languages)
    base = torch.bfloat16 if s.halves_base else torch.float32

    def norm() -> nn.Module:
        if s.norm == "layer":
            return nn.LayerNorm(s.d_model, eps=1e-5)
        if s.norm == "rms":
            return nn.RMSNorm(s.d_model, eps=1e-6)
        return ScaleNorm(s.d_model, learned=s.g == "learned")

    def residual() -> nn.Module:
        return PreNorm(norm(), s.dropout) if s.placement == "pre" else PostNorm(norm(), s.dropout)

    def attention(of: Sequence[str], relative: bool = False) -> MultiHeadAttention:
        maps = linear_maps(s.attention_share, of, s.lora_rank, base, s.clip_inputs)
        return MultiHeadAttention(s.d_model, s.heads, s.dropout, maps, relative)

    def self_attention(of: Sequence[str]) -> MultiHeadAttention:
        return attention(of, s.positions == "relative")

    def positions() -> Sinusoids | LearnedPositions | None:
        match s.positions:
            case "learned":
                return LearnedPositions(s.max_positions, s.d_model)
            case "relative" | "none":
                return None
            case layout:
                return Sinusoids(s.d_model, layout)

    def feed_forward(of: Sequence[str]) -> FeedForward:
        maps = linear_maps(s.feed_forward_share, of, s.lora_rank, base, s.clip_inputs)
        return FeedForward(s.d_model, s.d_ff, s.dropout, maps, s.activation)

    def adapters(of: Sequence[str]) -> Adapters | None:
        return Adapters(s.d_model, s.adapter_width, of) if s.adapter_width else None

    def embedding(types: int, of: Sequence[str]) -> WordEmbedding:
        return WordEmbedding(types, s.d_model, s.fixnorm, s.embedding_share, of, base)

    def encoder_layer() -> EncoderLayer:
        return EncoderLayer(self_attention(sources), feed_forward(sources), residual, adapters(sources))

    def average() -> AverageAttention:
        maps = linear_maps(rank=s.lora_rank, dtype=base, clip=s.clip_inputs)
        network = FeedForward(s.d_model, s.d_model, s.dropout, maps, s.activation) if s.average_ffn else None
        return AverageAttention(network, maps(2 * s.d_model, 2 * s.d_model) if s.average_gate else None)

    def decoder_layer() -> DecoderLayer:
        history = self_attention(targets) if s.decoder_history == "attention" else average()
        parts = [attention(targets) for _ in range(text.sources if s.combine == "separate" else 1)]
        attentions = history, parts[0] if len(parts) == 1 else SeparateAttention(parts)
        return DecoderLayer(*attentions, feed_forward(targets), residual, adapters(targets))

    def closing_norm() -> nn.Module:
        return norm() if s.placement == "pre" else nn.Identity()

    more = range(0 if s.shared_encoders else text.sources - 1)
    shared = text.joint and s.shared_embeddings
    target_embedding = embedding(target_types, tuple(dict.fromkeys((*sources, *targets))) if shared else targets)
    if s.plan_length:  # the planned length replaces EOS
        allowed = {language: mask & (np.arange(target_types) != EOS) for language, mask in allowed.items()}
        length_model = LengthModel(s.d_model, s.max_predicted_length, s.length_input, s.length_output)
        kind: Callable[..., Transformer] = partial(PlannedTransformer, length_model, s.length_gradient)
    else:
        kind = Transformer
    model = kind(
        source_embedding=target_embedding if shared else embedding(text.source_types, sources),
        target_embedding=target_embedding,
        encoder=[encoder_layer() for _ in range(s.encoder_layers)],
        decoder=[decoder_layer() for _ in range(s.decoder_layers)],
        encoder_norm=closing_norm(),
        decoder_norm=closing_norm(),
        output_layer=OutputLayer(_tensors(allowed), scaled=s.fixnorm and s.norm != "scale", clip=s.clip_inputs),
        dropout=s.dropout,
        language_vectors=s.language_vectors,
        language_codes=text.languages,
        first_tokens=text.first_tokens,
        reads_start=text.reads_start,
        encoder_positions=positions(),
        decoder_positions=positions(),
        copy_head=CopyHead(s.d_model) if s.copy_head else None,
        more_encoders=[[encoder_layer() for _ in range(s.encoder_layers)] for _ in more],
        more_encoder_norms=[closing_norm() for _ in more],
        sources=text.sources,
    )
    if s.g == "fixed":
        # The g before the softmax belongs to FixNorm and stays learned (Table 3.17).
        model.get_submodule(model.sublayers()[-1].name).g.requires_grad_(True)
    if not model.output_layer.bias.is_meta:  # where torch would import sympy, for a second, to draw nothing
        _initialise_transformer(model, s.init, generators(tuple(dict.fromkeys((*sources, *targets)))))
    return model


def _mixture(settings: RnnSettings, text: ModelText) -> MixtureModel:
    one = text._replace(sources=1)
    model = MixtureModel([_recurrent(settings, one) for _ in range(text.sources)], text.missing, text.languages)
    for parameter in model.gate.parameters():
        nn.init.uniform_(parameter, -settings.init_range, settings.init_range)
    return model


def _of_rnn(settings: RnnSettings, text: ModelText) -> RecurrentModel | MixtureModel:
    if settings.mixes_experts and text.sources > 1:
        return _mixture(settings, text)
    return _recurrent(settings, text)


def _recurrent(settings: RnnSettings, text: ModelText) -> RecurrentModel:
    s, target_types = settings, text.target_types
    dropout = SequenceDropout(s.dropout, s.variational)
    radius = s.radius if s.fixnorm else None

    def cell() -> Cell:
        if s.transitions > 1:
            return TransitionGruCell(s.d_model, s.d_model, s.layer_norm, s.transitions)
        return CELLS[s.cell](s.d_model, s.d_model, s.layer_norm)

    def layer() -> FusedLayer | SteppedLayer:
        if not (s.layer_norm or s.variational or s.transitions > 1):
            return FusedLayer(s.cell, s.d_model)
        return SteppedLayer(cell(), s.dropout if s.variational else 0.0)

    def stack(layers: int) -> Stack:
        return Stack([layer() for _ in range(layers)], dropout, s.residual)

    forwards = s.layers // 2 if s.bidirectional else 0 if s.reversed_source else s.layers
    source_embedding = WordEmbedding(text.source_types, s.d_model, fixnorm=False)

    def encoder() -> RecurrentEncoder:
        return RecurrentEncoder(
            embedding=source_embedding,
            backwards=stack(s.layers - forwards) if forwards < s.layers else None,
            forwards=stack(forwards) if forwards else None,
            dropout=dropout,
            lexicon_reads_dropped=s.lexicon_reads_dropped,
        )

    first, others = encoder(), range(text.sources - 1)
    model = RecurrentModel(
        encoder=first,
        target_embedding=WordEmbedding(target_types, s.d_model, fixnorm=False),
        cells=[cell() for _ in range(s.layers)],
        attention=_global_attention(s, text.sources),
        every_step=s.context == "every-step",
        dropout=dropout,
        residual=s.residual,
        output_weight=None if s.tied else nn.Parameter(torch.empty(target_types, s.d_model)),
        output_types=OutputTypes(_tensors(text.masks)),
        radius=radius,
        fix_hidden=s.fix_hidden,
        lexical=_lexical(s, target_types, text.table),
        language_codes=text.languages,
        copy_head=CopyHead(s.d_model) if s.copy_head else None,
        more_encoders=[first if s.shared_encoders else encoder() for _ in others],
        grammar=None if s.grammar == "none" else HeadSelection(s.d_model, s.grammar),
    )
    for name, parameter in model.named_parameters():
        if "norm." not in name:  # layer norms keep their default gain and bias
            nn.init.uniform_(parameter, -s.init_range, s.init_range)
    if model.copy_head is not None:
        model.copy_head.open()
    return model


def _convolutional(settings: ConvSettings, text: ModelText) -> ConvolutionalModel:
    s = settings

    def convolution(kernel: int) -> GatedConvolution:
        return GatedConvolution(s.d_model, kernel, s.separable)

    def embedding(types: int) -> WordEmbedding:
        return WordEmbedding(types, s.d_model, fixnorm=False)

    target_embedding = embedding(text.target_types)
    convolutions = [convolution(s.encoder_kernel) for _ in range(s.encoder_layers)]
    layers = [ConvDecoderLayer(convolution(s.decoder_kernel), s.d_model) for _ in range(s.decoder_layers)]
    shared = text.joint and s.shared_embeddings
    model = ConvolutionalModel(
        source_embedding=target_embedding if shared else embedding(text.source_types),
        target_embedding=target_embedding,
        encoder=Encoder(convolutions, s.d_model, s.max_positions, s.dropout, readers=s.decoder_layers),
        decoder=Decoder(layers, s.d_model, s.max_positions, s.dropout),
        output_layer=OutputLayer(_tensors(text.masks), scaled=False),
        language_codes=text.languages,
    )
    if not model.output_layer.bias.is_meta:
        _initialise_convolutional(model, kept=1 - s.dropout)
    return model


def _bytenet(settings: ByteNetSettings, text: ModelText) -> ByteNet:
    s = settings

    def blocks(layers: int) -> list[Block]:
        return [Block(s.d_model, s.kernel, dilation, s.dropout) for dilation in s.dilations(layers)]

    def embedding(types: int) -> WordEmbedding:
        return WordEmbedding(types, s.d_model, fixnorm=False)

    target_embedding = embedding(text.target_types)
    model = ByteNet(
        source_embedding=target_embedding if text.joint and s.shared_embeddings else embedding(text.source_types),
        target_embedding=target_embedding,
        encoder=ByteNetEncoder(blocks(s.encoder_layers), s.d_model, s.length_factor, s.length_extra, s.dropout),
        decoder=ByteNetDecoder(blocks(s.decoder_layers), s.d_model, s.dropout),
        output_layer=OutputLayer(_tensors(text.masks), scaled=False),
        language_codes=text.languages,
    )
    if not model.output_layer.bias.is_meta:
        for table in {id(one): one for one in (model.source_embedding, model.target_embedding)}.values():
            table.reset({})
        for linear in (module for module in model.modules() if isinstance(module, Linear)):
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)
    return model


BUILDERS: dict[type, Callable[..., TranslationModel]] = {
    TransformerSettings: _transformer,
    RnnSettings: _of_rnn,
    ConvSettings: _convolutional,
    ByteNetSettings: _bytenet,
}
"""Settings of a family -> what builds its models."""


def _global_attention(
    settings: RnnSettings, sources: int
) -> GlobalAttention | SeparateGlobalAttention | FlatGlobalAttention | None:
    if settings.attention == "none":
        return None
    width, score = settings.d_model, settings.attention
    if sources == 1 or settings.combine == "joint":
        return GlobalAttention(width, score)
    parts = [GlobalAttention(width, score) for _ in range(sources)]
    return FlatGlobalAttention(parts, width) if settings.combine == "flat" else SeparateGlobalAttention(parts)


def _lexical(
    settings: RnnSettings, target_types: int, table: LexicalTable | None
) -> LexicalModule | TranslationTable | None:
    if settings.lexicon == "module":
        return LexicalModule(target_types, settings.d_model, settings.dropout, settings.radius)
    if settings.lexicon == "none" or table is None:
        return None
    offsets, targets = (torch.from_numpy(values).long() for values in (table.offsets, table.targets))
    return TranslationTable(offsets, targets, torch.from_numpy(table.probabilities).float())


def _tensors(masks: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    return {language: torch.from_numpy(mask) for language, mask in masks.items()}


def load_weights(model: TranslationModel, weights: Mapping[str, Tensor]) -> None:
    """Copy named weights into a model; errors as of `use_weights`."""
    _check_weights(model, weights)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def use_weights(model: TranslationModel, weights: Mapping[str, Tensor], dtype: torch.dtype = torch.float32) -> None:
    """Make named weights the parameters of a model, which may have been built without any, on torch's device `meta`.

    They are not copied; only weights of another type than `dtype` are converted.

    Raises:
        RunError: names or shapes differ from the model's.
    """
    _check_weights(model, weights)
    # Not strict: the model's state also has the second names of shared tables.
    model.load_state_dict({name: tensor.to(dtype) for name, tensor in weights.items()}, strict=False, assign=True)


def _check_weights(model: TranslationModel, weights: Mapping[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() ^ weights.keys()):
        raise RunError(f"weight {name!r}: in the checkpoint or in the model, but not in both", "use the run's recipe")
    for name, parameter in parameters.items():
        if parameter.shape != weights[name].shape:
            raise RunError(
                f"weight {name!r}: the checkpoint has shape {tuple(weights[name].shape)}, the model "
                f"{tuple(parameter.shape)}",
                "use the run's recipe",
            )


def _initialise_transformer(model: Transformer, init: str, private: Generators) -> None:
    for embedding in {id(e): e for e in (model.source_embedding, model.target_embedding)}.values():
        embedding.reset(private)
    if model.languages is not None:
        nn.init.normal_(model.languages, std=model.languages.shape[1] ** -0.5)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            for projection in (module.query, module.key, module.value, module.output):
                small_normal(projection, private) if init == "small" else xavier_normal(projection, private)
        elif isinstance(module, FeedForward):
            xavier_normal(module.inner, private)
            xavier_normal(module.outer, private)
        elif isinstance(module, AverageAttention) and module.gate is not None:
            xavier_normal(module.gate, private)
        elif isinstance(module, Adapters):
            module.draw(private)
        elif isinstance(module, LearnedPositions | RelativePositions):
            nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
        elif isinstance(module, LengthModel):
            for linear in filter(None, (module.attention, module.output)):
                xavier_normal(linear, private)


def _initialise_convolutional(model: ConvolutionalModel, kept: float) -> None:
    """Draw weights as Gehring et al. (2017, 3.5) do, given the share of units that dropout keeps."""
    for name, parameter in model.named_parameters():
        if "embedding" in name:
            nn.init.normal_(parameter, std=0.1)
    for module in model.modules():
        if isinstance(module, GatedConvolution):
            module.draw(kept)
    linears = [linear for layer in model.decoder.layers for linear in (layer.query, layer.context)]
    for linear in (*linears, model.encoder.output, model.decoder.output):
        linear.draw(1)
    for linear in (model.encoder.input, model.decoder.input):
        linear.draw(kept)
