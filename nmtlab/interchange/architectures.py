"""Marian's, Pegasus' and M2M-100's Transformers in the terms of ours, and ours in theirs.

| config.json | recipe |
| --- | --- |
| `MarianMTModel` | `placement = post`, `positions = halves` |
| `PegasusForConditionalGeneration` | `placement = pre`, `positions = halves`, one table |
| `M2M100ForConditionalGeneration` (also NLLB) | `placement = pre`, `positions = fairseq` |
| `activation_function` swish (silu) or relu | `activation` |
| `d_model`, `*_layers`, `*_ffn_dim`, `*_attention_heads` | `d_model`, `*_layers`, `d_ff`, `heads` |
| always LayerNorm, tables times sqrt(d_model), biases in all linear maps | `norm = layer`, no FixNorm |

| their weight, after `model.encoder.layers.N.` or `model.decoder.layers.N.` | ours, after `encoder.N.` or `decoder.N.` |
| --- | --- |
| `self_attn.{q,k,v,out}_proj` | `attention.{query,key,value,output}` |
| `encoder_attn.{q,k,v,out}_proj` | `cross_attention.{query,key,value,output}` |
| `fc1`, `fc2` | `feed_forward.inner`, `feed_forward.outer` |
| `self_attn_layer_norm`, `encoder_attn_layer_norm`, `final_layer_norm` | `attention_residual.norm`, `cross_attention_residual.norm`, `feed_forward_residual.norm` |

`model.{encoder,decoder}.layer_norm` are our closing norms, `model.shared` (or the two `embed_tokens`) our tables, whose
rows also score the output, `final_logits_bias` our output bias (zero in M2M-100, which has none). What a config asks for
beyond this is refused by name.

On the way out, `positions = alternating` becomes `halves` by another order of the model's units: every part that reads or
writes them is reordered alike, and nothing else changes.
"""  # noqa: E501 (a table's row is a line)

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.interchange.folding import MAX_POSITIONS, lacking
from nmtlab.nn.positions import Layout, sinusoids
from nmtlab.reading import reading
from nmtlab.recipe import TransformerSettings
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD


class Architecture(NamedTuple):
    """A kind of model that can be imported.

    Args:
        name: of its class, as config.json gives it.
        model_type: as config.json gives it.
        placement, positions: as in the recipe.
    """

    name: str
    model_type: str
    placement: str
    positions: str


MARIAN = Architecture("MarianMTModel", "marian", "post", "halves")
PEGASUS = Architecture("PegasusForConditionalGeneration", "pegasus", "pre", "halves")
M2M100 = Architecture("M2M100ForConditionalGeneration", "m2m_100", "pre", "fairseq")
_BY_TYPE = {architecture.model_type: architecture for architecture in (MARIAN, PEGASUS, M2M100)}

_EXPECTED = {
    "scale_embedding": True,
    "tie_word_embeddings": True,
    "normalize_embedding": False,
    "add_bias_logits": False,
}
"""Fields of config.json that must have this value if they are there."""

_PLAIN = {"scale_embedding": False, "activation_function": "gelu"}
_DEFAULTS = {MARIAN: _PLAIN, PEGASUS: _PLAIN, M2M100: {}}
"""Values that the architecture has where config.json leaves a field out, if they differ from `_EXPECTED`."""

_ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish"}

_PARTS = {
    "self_attn.q_proj": "attention.query",
    "self_attn.k_proj": "attention.key",
    "self_attn.v_proj": "attention.value",
    "self_attn.out_proj": "attention.output",
    "self_attn_layer_norm": "attention_residual.norm",
    "encoder_attn.q_proj": "cross_attention.query",
    "encoder_attn.k_proj": "cross_attention.key",
    "encoder_attn.v_proj": "cross_attention.value",
    "encoder_attn.out_proj": "cross_attention.output",
    "encoder_attn_layer_norm": "cross_attention_residual.norm",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "feed_forward_residual.norm",
}

_SHARED = ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
_OUTPUT = "lm_head.weight"
_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
_COMPUTED = ("model.encoder.embed_positions.weights", "model.decoder.embed_positions.weights")
"""M2M-100's encodings of positions, which are computed there too, whatever a file has."""
_BIAS = "final_logits_bias"

_LARGEST = torch.finfo(torch.bfloat16).max
"""Largest weight, which single precision and bfloat16 have too."""

_MOST_POSITIONS = 1 << 16

_AGAIN, _OTHER = "download the whole folder again", "choose another model"


def architecture_of(config: Mapping[str, Any]) -> Architecture:
    """Return the architecture that a config.json, checked as `schemas.Kind`, names.

    Raises:
        RunError: it is not one of those that can be imported.
    """
    named = next(iter(config.get("architectures") or []), config.get("model_type", "unknown"))
    found = _BY_TYPE.get(str(config.get("model_type")))
    if found is None or named not in (found.name, config.get("model_type")):
        known = ", ".join(architecture.name for architecture in _BY_TYPE.values())
        raise RunError(f"config.json: architecture {named!r} cannot be imported", f"choose one of {known}")
    return found


def settings_of(architecture: Architecture, config: Mapping[str, Any]) -> TransformerSettings:
    """Return the recipe's model section for a config.json, checked as `schemas.Config`.

    Raises:
        RunError: the model has a part or a size that ours lacks, which the message names.
    """
    given = {**_DEFAULTS[architecture], **config}
    for field, value in _EXPECTED.items():
        if given.get(field, value) != value:
            raise _lacking(field, given[field], f"only {value!r} can be imported")
    activation = given.get("activation_function", "relu")
    if activation not in _ACTIVATIONS:
        raise _lacking("activation_function", activation, f"known are {', '.join(_ACTIVATIONS)}")
    with reading(Path("config.json"), _OTHER):
        return TransformerSettings(
            d_model=config["d_model"],
            d_ff=_same(config, "encoder_ffn_dim", "decoder_ffn_dim"),
            encoder_layers=config["encoder_layers"],
            decoder_layers=config["decoder_layers"],
            heads=_same(config, "encoder_attention_heads", "decoder_attention_heads"),
            placement=architecture.placement,
            norm="layer",
            fixnorm=False,
            activation=_ACTIVATIONS[activation],
            positions=architecture.positions,
            init="xavier",
            dropout=config.get("dropout", 0.1),
            shared_embeddings=config.get("share_encoder_decoder_embeddings", True),
        )


def our_weights(
    weights: Mapping[str, Tensor], settings: TransformerSettings, rows: tuple[Tensor, Tensor]
) -> dict[str, Tensor]:
    """Return a model's weights under our names; `rows` are the source and target row of each of our types.

    Raises:
        RunError: a weight is missing or superfluous, or tables that should be the same differ.
    """
    take = _Taker(weights)
    ours = {name: take(theirs) for name, theirs in _layer_names(settings)}
    source, target = _tables(take, settings)
    bias = take.optional(_BIAS)
    bias = torch.zeros(len(target), dtype=target.dtype) if bias is None else bias.flatten()
    if len(bias) != len(target):
        raise RunError(f"weight {_BIAS!r}: for {len(bias):,} types, but the target table has {len(target):,}", _AGAIN)
    ours["source_embedding.weight"] = _rows(source, rows[0], "source")
    if not settings.shared_embeddings:
        ours["target_embedding.weight"] = _rows(target, rows[1], "target")
    ours["output_layer.bias"] = _rows(bias, rows[1], "target")
    _check_positions(take, settings)
    take.check_all_taken()
    return ours


def architecture_for(name: str, settings: TransformerSettings, one_table: bool, has_bias: bool) -> Architecture:
    """Return the architecture that holds a run's model, which passes `folding.check_exportable`.

    `has_bias` says whether the output has a bias other than zero.

    Raises:
        RunError: none does; the message names the part that they lack.
    """
    to_ctranslate2 = "export it to ctranslate2, which has it"
    if settings.norm != "layer":
        raise lacking(name, f"model.norm = {settings.norm!r}", to_ctranslate2)
    if settings.positions in ("learned", "relative", "none"):
        raise lacking(name, f"model.positions = {settings.positions!r}", to_ctranslate2)
    if settings.positions == "fairseq" and (has_bias or settings.placement == "post" or not one_table):
        missing = "a bias of the output" if has_bias else "PostNorm or a table for each side"
        raise lacking(name, f"model.positions = 'fairseq' with {missing}", to_ctranslate2)
    if settings.positions == "fairseq":
        return M2M100
    if settings.placement == "post":
        return MARIAN
    if not one_table:
        raise lacking(name, "PreNorm with a table for each side", to_ctranslate2)
    return PEGASUS


def config_of(
    architecture: Architecture, settings: TransformerSettings, sizes: tuple[int, int], one_table: bool, start: int
) -> dict[str, Any]:
    """Return the config.json of a model with so many source and target types.

    `start` is the id of the type that the decoder reads first.
    """
    s, (pad, bos) = settings, padding_and_start(architecture)
    return {
        "architectures": [architecture.name],
        "model_type": architecture.model_type,
        "is_encoder_decoder": True,
        "d_model": s.d_model,
        "encoder_layers": s.encoder_layers,
        "decoder_layers": s.decoder_layers,
        "encoder_ffn_dim": s.d_ff,
        "decoder_ffn_dim": s.d_ff,
        "encoder_attention_heads": s.heads,
        "decoder_attention_heads": s.heads,
        "activation_function": s.activation,
        **dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), s.dropout),
        **_EXPECTED,
        "max_position_embeddings": MAX_POSITIONS,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "share_encoder_decoder_embeddings": one_table,
        "pad_token_id": pad,
        "bos_token_id": bos,
        "eos_token_id": EOS,
        "decoder_start_token_id": start,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }


def padding_and_start(architecture: Architecture) -> tuple[int, int]:
    """Return the ids of padding and BOS there: M2M-100 counts positions from its padding's id, which must be 1."""
    return (BOS, PAD) if architecture is M2M100 else (PAD, BOS)


def their_weights(ours: Mapping[str, Tensor], settings: TransformerSettings) -> dict[str, Tensor]:
    """Return the weights from `folding.folded` under their names, in the order of types that they have here."""
    order = torch.arange(settings.d_model)
    if settings.positions == "alternating":
        order = torch.cat((order[::2], order[1::2]))
    theirs = {name: _reordered(ours[of_ours], of_ours, order) for of_ours, name in _layer_names(settings)}
    tables = [ours[name] for name in ("source_embedding.weight", "target_embedding.weight") if name in ours]
    names = _SHARED[:1] if len(tables) == 1 else _SHARED[1:]
    if settings.positions == "fairseq":
        rows = torch.tensor([*padding_and_start(M2M100), *range(EOS, len(tables[0]))])
        return {name: weight.contiguous() for name, weight in (theirs | {names[0]: tables[0][rows]}).items()}
    theirs |= {name: table[:, order] for name, table in zip(names, tables, strict=True)}
    theirs[_BIAS] = ours["output_layer.bias"].unsqueeze(0)
    if settings.placement == "pre":  # Pegasus misses them in a file, though they are what it computes itself
        encodings = sinusoids(torch.arange(MAX_POSITIONS), settings.d_model, "halves")
        theirs |= {name: encodings.clone() for name in _POSITIONS}
    return {name: weight.contiguous() for name, weight in theirs.items()}


def _layer_names(settings: TransformerSettings) -> Iterator[tuple[str, str]]:
    """Yield our name and theirs of each weight of the layers and of the closing norms."""
    for side, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        parts = {
            name: part for name, part in _PARTS.items() if side == "decoder" or not name.startswith("encoder_attn")
        }
        names = [
            (f"{side}.{number}.{part}", f"model.{side}.layers.{number}.{name}")
            for number in range(layers)
            for name, part in parts.items()
        ]
        closing = [(f"{side}_norm", f"model.{side}.layer_norm")] if settings.placement == "pre" else []
        for ours, theirs in (*names, *closing):
            for kind in ("weight", "bias"):
                yield f"{ours}.{kind}", f"{theirs}.{kind}"


def _reordered(weight: Tensor, name: str, order: Tensor) -> Tensor:
    """Return a weight of ours for another order of the model's units, which it reads, or writes, or neither."""
    part, _, kind = name.rpartition(".")
    if part.endswith(("norm", "output", "outer")):
        return weight[order]
    return weight[:, order] if kind == "weight" else weight


class _Taker:
    """Takes weights by name, checks that they are numbers, and knows which are left."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._weights = weights
        self._left = set(weights)

    def __call__(self, name: str) -> Tensor:
        found = self.optional(name)
        if found is None:
            raise RunError(f"weight {name!r}: missing", _AGAIN)
        return found

    def optional(self, name: str) -> Tensor | None:
        self._left.discard(name)
        found = self._weights.get(name)
        if found is not None and found.numel():
            low, high = torch.aminmax(found)
            if not (low >= -_LARGEST and high <= _LARGEST):
                raise RunError(f"weight {name!r}: NaN or infinite", _OTHER)
        return found

    def check_all_taken(self) -> None:
        for name in sorted(self._left):
            raise RunError(f"weight {name!r}: the architecture has no such part here", _OTHER)


def _tables(take: _Taker, settings: TransformerSettings) -> tuple[Tensor, Tensor]:
    """Return the tables of source and target; the target's is also the output's."""
    both, source, target, output = (take.optional(name) for name in (*_SHARED, _OUTPUT))
    for table in (both, source, target, output):
        if table is not None and (table.ndim != 2 or table.shape[1] != settings.d_model):
            raise RunError(f"a table of shape {tuple(table.shape)}, but d_model = {settings.d_model}", _AGAIN)
    if settings.shared_embeddings:
        table = _the_same(both, source, target, output)
        return table, table
    return _the_same(source), _the_same(target, output)


def _the_same(*tables: Tensor | None) -> Tensor:
    """Return the first of several names' tables, those that are there being equal."""
    present = [table for table in tables if table is not None]
    if not present:
        raise RunError(f"weight {_SHARED[0]!r}: missing", _AGAIN)
    first, *others = present
    if any(other.data_ptr() != first.data_ptr() and not torch.equal(other, first) for other in others):
        raise RunError("source, target or output have tables of their own, but config.json shares them", _OTHER)
    return first


def _rows(table: Tensor, rows: Tensor, side: str) -> Tensor:
    if int(rows.max()) >= len(table):
        raise RunError(
            f"the {side} vocabulary has {int(rows.max()) + 1:,} types, but the weights {len(table):,}",
            "download the whole folder again: its files belong to different models",
        )
    return table.index_select(0, rows)


def _check_positions(take: _Taker, settings: TransformerSettings) -> None:
    """Check that stored encodings of positions, which older files have, are the sinusoids that we compute."""
    for name in _COMPUTED:
        take.optional(name)
    for name in _POSITIONS:
        stored = take.optional(name)
        if stored is None:
            continue
        if stored.ndim != 2 or stored.shape[1] != settings.d_model or len(stored) > _MOST_POSITIONS:
            raise RunError(f"weight {name!r}: shape {tuple(stored.shape)}, but d_model = {settings.d_model}", _OTHER)
        computed = sinusoids(torch.arange(len(stored)), settings.d_model, cast(Layout, settings.positions))
        if not torch.allclose(stored.float(), computed, atol=1e-3):
            raise RunError(f"weight {name!r}: positions are not sinusoids, and ours are", _OTHER)


def _lacking(field: str, value: Any, remedy: str) -> RunError:
    return RunError(f"config.json: {field} = {value!r}: no such part here", remedy)


def _same(config: Mapping[str, Any], *fields: str) -> int:
    values = [config[field] for field in fields]
    if len(set(values)) > 1:
        raise RunError(
            f"config.json: {' and '.join(fields)} differ ({', '.join(map(str, values))})", "they must be equal here"
        )
    return values[0]
