"""The tokenizers and vocabularies of Marian and M2M-100 as pipelines of imported subwords.

| file | what it becomes |
| --- | --- |
| `source.spm`, `target.spm` (Marian), `sentencepiece.bpe.model` (M2M-100, NLLB) | the sides' SentencePiece models |
| `tokenizer.json` (NLLB), without one | the same model |
| `vocab.json`, `target_vocab.json` | types; without one (NLLB), the model's own ids, each one higher |
| `>>xx<<` in a Marian vocabulary | tags of target languages, before the source |
| `__xx__` (M2M-100) or `xxx_Xxxx` (NLLB) | tags of languages, at the beginning of either side |

Ids are put into our order: padding, start, end, unknown, tags, then all others in theirs. The symbol that their decoder
starts with becomes BOS, whatever its name: in Marian's models it is the padding. Rows without a type, which some tables
have at their end, can be neither read nor written and are left out; so is M2M-100's unused `<s>`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from sentencepiece import SentencePieceProcessor
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.interchange.architectures import M2M100
from nmtlab.interchange.folder import ModelFolder
from nmtlab.interchange.schemas import Ids, SpecialTokens, Tokenizer, TokenizerConfig
from nmtlab.interchange.tokenizer_json import FAIRSEQ, model_of_tokenizer
from nmtlab.languages import CODE
from nmtlab.recipe import TextSettings
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.tags import M2M_FORM, MARIAN_FORM, NLLB_FORM, language_tag, leading_tag, tagged_language
from nmtlab.text.segmentation.tokenizers import ImportedSubwords
from nmtlab.text.segmentation.vocabulary import SPECIALS, UNKNOWN_COUNT, Vocabulary

_UNK, _BOS = "<unk>", "<s>"
_AGAIN = "download the whole folder again"
_LEGACY = "its tokenizer puts the source language behind the text (legacy_behaviour), and nmtlab before it"

Languages = tuple[Sequence[str], Sequence[str]]
"""Codes of source and target languages."""


class ImportedText(NamedTuple):
    """A pipeline, and the row of their tables that each type of a side had.

    Args:
        pipeline: of imported subwords, whose counts are unknown.
        rows: (source types,) and (target types,) int64.
        notes: what its tokenizer does otherwise, as clauses.
    """

    pipeline: Pipeline
    rows: tuple[Tensor, Tensor]
    notes: tuple[str, ...] = ()


def marian_text(folder: ModelFolder, languages: Languages, joint: bool) -> ImportedText:
    """Return the text pipeline of a MarianMTModel, or of another model that nmtlab exported.

    Languages are those of its tokenizer_config.json where none are given; with `joint`, the sides share a table.

    Raises:
        RunError: a file is missing or damaged, or the languages are unknown.
    """
    tokenizer = folder.optional_json("tokenizer_config.json", TokenizerConfig)
    source_ids = _vocabulary(folder, "vocab.json")
    separate = folder.has("target_vocab.json") and not joint
    target_ids = _vocabulary(folder, "target_vocab.json") if separate else source_ids
    tags = {piece: number for piece, number in source_ids.items() if _is_tag(piece, MARIAN_FORM)}
    sources, targets = _named(languages, tokenizer)
    own = folder.kind.get("model_type") == M2M100.model_type
    _check_tags((*sources, *targets) if own else targets, tags, MARIAN_FORM) if tags or own else _check_single(targets)
    settings = TextSettings(
        segmentation="imported",
        vocabulary_size=len(source_ids),
        joint=joint,
        target_tag="own" if own else "source" if tags else "none",
        tag_form=MARIAN_FORM,
        target_vocabulary_mask=False,
    )
    source = _Types(source_ids, folder.config, tuple(tags))
    target = _Types(target_ids, folder.config, tuple(tags) if joint else ())
    models = [_subwords(folder, name) for name in ("source.spm", "target.spm")]
    return _text(settings, (sources, targets), models, (source, target))


def m2m_text(folder: ModelFolder, languages: Languages, joint: bool) -> ImportedText:
    """Return the text pipeline of M2M-100 or NLLB; arguments and errors as of `marian_text`."""
    if not joint:
        raise RunError(
            "config.json: share_encoder_decoder_embeddings = False: no such part here", "choose another model"
        )
    name = "sentencepiece.bpe.model"
    is_m2m = folder.has("vocab.json")
    alone = folder.has("tokenizer.json") and not (is_m2m or folder.has(name))
    subwords = model_of_tokenizer(folder) if alone else _subwords(folder, name)
    form = M2M_FORM if is_m2m else NLLB_FORM
    ids = _vocabulary(folder, "vocab.json") if is_m2m else _nllb_ids(subwords)
    tokenizer = folder.optional_json("tokenizer_config.json", TokenizerConfig)
    tags = _language_tags(folder, tokenizer, form, len(ids))
    if not tags:
        raise RunError(f"{folder.path}: names no language tokens", _AGAIN)
    sources, targets = _named(languages, {})
    _check_tags((*sources, *targets), tags, form)
    settings = TextSettings(
        segmentation="imported",
        vocabulary_size=len(ids) + len(tags),
        joint=True,
        target_tag="own",
        tag_form=form,
        target_vocabulary_mask=False,
    )
    types = _Types(_checked({**ids, **tags}, folder.path), folder.config, tuple(tags))
    text = _text(settings, (sources, targets), [subwords, subwords], (types, types))
    return text._replace(notes=(_LEGACY,)) if tokenizer.get("legacy_behaviour") else text


class _Types:
    """The types of a side in our order, and their rows."""

    def __init__(self, ids: Mapping[str, int], config: Mapping[str, Any], tags: tuple[str, ...]) -> None:
        numbers = [config[f"{name}_token_id"] for name in ("pad", "decoder_start", "eos")]
        first = [*numbers, ids.get(_UNK)]
        if first[3] is None:
            raise RunError(f"vocabulary: no {_UNK}", _AGAIN)
        reserved = {*first, ids.get(_BOS), *(ids[tag] for tag in tags)}
        others = sorted((number, piece) for piece, number in ids.items() if number not in reserved)
        self.tags = tags
        self.types = (*SPECIALS, *tags, *(piece for _, piece in others))
        self.rows = torch.tensor([*first, *(ids[tag] for tag in tags), *(number for number, _ in others)])

    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.types, torch.full((len(self.types),), UNKNOWN_COUNT).numpy(), self.tags)


def _text(
    settings: TextSettings, languages: Languages, models: Sequence[bytes], types: tuple[_Types, _Types]
) -> ImportedText:
    source, target = (
        Side(codes[0], ImportedSubwords(model), one.vocabulary(), tuple(codes))
        for codes, model, one in zip(languages, models, types, strict=True)
    )
    return ImportedText(Pipeline(settings, source, target), (types[0].rows, types[1].rows))


def _vocabulary(folder: ModelFolder, name: str) -> dict[str, int]:
    return _checked(folder.json(name, Ids), folder.path / name)


def _checked(ids: dict[str, int], path: Path) -> dict[str, int]:
    if len(set(ids.values())) < len(ids):
        raise RunError(f"{path}: two types have the same id", _AGAIN)
    return ids


def _subwords(folder: ModelFolder, name: str) -> bytes:
    if not folder.has(name):
        raise RunError(f"{folder.path / name}: no tokenizer model", _without_model(folder))
    model = folder.bytes(name)
    try:
        ImportedSubwords(model)
    except RuntimeError as error:
        raise RunError(f"{folder.path / name}: not a SentencePiece model", _AGAIN) from error
    return model


def _without_model(folder: ModelFolder) -> str:
    """Return what to do about a folder without a SentencePiece model."""
    if folder.has("source.bpe"):
        return "its subwords are of subword-nmt (source.bpe), which cannot be imported; choose a model with source.spm"
    return _AGAIN


def _nllb_ids(model: bytes) -> dict[str, int]:
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    pieces = [processor.id_to_piece(number) for number in range(3, len(processor))]
    return {piece: number for number, piece in enumerate((*FAIRSEQ, *pieces))}


def _language_tags(folder: ModelFolder, tokenizer: Mapping[str, Any], form: str, first: int) -> dict[str, int]:
    """Return the tokens of languages with their ids, in that order.

    Files list them with ids, or in order behind all other types; tokens that were added later always have ids.

    Args:
        folder: of the model.
        tokenizer: its tokenizer_config.json.
        form: of a token.
        first: the id of the first one, if there are no ids.
    """
    tags = {token["content"]: int(number) for number, token in tokenizer.get("added_tokens_decoder", {}).items()}
    full = folder.optional_json("tokenizer.json", Tokenizer).get("added_tokens", [])
    tags |= {token["content"]: token["id"] for token in full}
    added = folder.optional_json("added_tokens.json", Ids)
    if not any(_is_tag(token, form) for token in tags):
        listed = _listed(tokenizer) or _listed(folder.optional_json("special_tokens_map.json", SpecialTokens))
        ordered = [token for token in listed if _is_tag(token, form) and token not in added]
        tags = {token: first + place for place, token in enumerate(ordered)}
    tags = {token: number for token, number in (tags | added).items() if _is_tag(token, form)}
    return dict(sorted(tags.items(), key=lambda token: token[1]))


def _listed(settings: Mapping[str, Any]) -> list[str]:
    listed = settings.get("additional_special_tokens") or settings.get("extra_special_tokens") or []
    named = listed if isinstance(listed, list) else []
    return [token if isinstance(token, str) else token["content"] for token in named]


def _is_tag(piece: str, form: str) -> bool:
    return leading_tag(piece, form) == piece != ""


def _named(languages: Languages, tokenizer: Mapping[str, Any]) -> Languages:
    """Return the languages of both sides, none of them unknown."""
    found = []
    for side, given, field in zip(("source", "target"), languages, ("source_lang", "target_lang"), strict=True):
        codes = tuple(given) or tuple(filter(None, [tokenizer.get(field)]))
        for code in codes:
            if not re.fullmatch(CODE, code):
                raise RunError(f"language {code!r}: not a language code", f"name it with --{side}")
        if not codes:
            raise RunError(f"the folder does not name its {side} language", f"name it with --{side}")
        found.append(codes)
    return found[0], found[1]


def _check_tags(codes: Iterable[str], tags: Mapping[str, int], form: str) -> None:
    for code in codes:
        if language_tag(code, form) not in tags:
            known = ", ".join(tagged_language(tag, form) for tag in tags)
            raise RunError(f"language {code!r}: the model has no token for it", f"choose from {known}")


def _check_single(targets: Sequence[str]) -> None:
    if len(targets) > 1:
        raise RunError("the model has no tokens for target languages", "name one target language")
