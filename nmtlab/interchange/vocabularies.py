"""The tokenizers and vocabularies of Marian and M2M-100 as pipelines of imported subwords.

| file | what it becomes |
| --- | --- |
| `source.spm`, `target.spm` (Marian), `sentencepiece.bpe.model` (M2M-100, NLLB) | the sides' SentencePiece models |
| `vocab.json`, `target_vocab.json` | types; without one (NLLB), the model's own ids, each one higher |
| `>>xx<<` in a Marian vocabulary | tags of target languages, before the source |
| `__xx__` (M2M-100) or `xxx_Xxxx` (NLLB) | tags of languages, at the beginning of either side |

Ids are put into our order: padding, start, end, unknown, tags, then all others in theirs. The symbol that their decoder
starts with becomes BOS, whatever its name: in Marian's models it is the padding. Rows without a type, which some tables
have at their end, can be neither read nor written and are left out; so is M2M-100's unused `<s>`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from sentencepiece import SentencePieceProcessor
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.interchange.folder import ModelFolder
from nmtlab.languages import CODE
from nmtlab.recipe import TextSettings
from nmtlab.text.pipeline import Pipeline
from nmtlab.text.side import Side
from nmtlab.text.tags import language_tag
from nmtlab.text.tokenizers import ImportedSubwords
from nmtlab.text.vocabulary import SPECIALS, UNKNOWN_COUNT, Vocabulary

_UNK, _BOS = "<unk>", "<s>"
_AGAIN = "download the whole folder again"
_FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")
"""The first types of NLLB; those of its SentencePiece model, without its own special ones, follow in their order."""
MARIAN_FORM, _M2M_FORM, _NLLB_FORM = ">>{}<<", "__{}__", "{}"

Languages = tuple[Sequence[str], Sequence[str]]
"""Codes of source and target languages."""


class ImportedText(NamedTuple):
    """A pipeline, and the row of their tables that each type of a side had.

    Args:
        pipeline: of imported subwords, whose counts are unknown.
        rows: (source types,) and (target types,) int64.
    """

    pipeline: Pipeline
    rows: tuple[Tensor, Tensor]


def marian_text(folder: ModelFolder, languages: Languages, joint: bool) -> ImportedText:
    """Return the text pipeline of a MarianMTModel, or of another model with its tokenizer.

    Args:
        folder: of the model.
        languages: of its sides; those in its tokenizer_config.json where none are given.
        joint: whether source and target share a table.

    Raises:
        RunError: a file is missing or damaged, or the languages are unknown.
    """
    tokenizer = folder.optional_json("tokenizer_config.json")
    source_ids = _vocabulary(folder, "vocab.json")
    separate = folder.has("target_vocab.json") and not joint
    target_ids = _vocabulary(folder, "target_vocab.json") if separate else source_ids
    tags = {piece: number for piece, number in source_ids.items() if _is_tag(piece, MARIAN_FORM)}
    sources, targets = _named(languages, tokenizer)
    _check_tags(targets, tags, MARIAN_FORM) if tags else _check_single(targets)
    settings = TextSettings(
        segmentation="imported",
        vocabulary_size=len(source_ids),
        joint=joint,
        target_tag="source" if tags else "none",
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
    subwords = _subwords(folder, name)
    is_m2m = folder.has("vocab.json")
    form = _M2M_FORM if is_m2m else _NLLB_FORM
    ids = _vocabulary(folder, "vocab.json") if is_m2m else _nllb_ids(folder.bytes(name))
    tags = _language_tags(folder, form, len(ids))
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
    types = _Types({**ids, **tags}, folder.config, tuple(tags))
    return _text(settings, (sources, targets), [subwords, subwords], (types, types))


class _Types:
    """The types of a side in our order, and their rows."""

    def __init__(self, ids: Mapping[str, int], config: Mapping[str, Any], tags: tuple[str, ...]) -> None:
        end = config.get("eos_token_id")
        first = [config.get("pad_token_id"), config.get("decoder_start_token_id"), end, ids.get(_UNK)]
        for name, number in zip(("pad_token_id", "decoder_start_token_id", "eos_token_id"), first, strict=False):
            if not isinstance(number, int):
                raise RunError(f"config.json: {name} = {number!r}: not an id", _AGAIN)
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
    sides = [
        Side(codes[0], ImportedSubwords(model), one.vocabulary(), tuple(codes))
        for codes, model, one in zip(languages, models, types, strict=True)
    ]
    return ImportedText(Pipeline(settings, *sides), (types[0].rows, types[1].rows))


def _vocabulary(folder: ModelFolder, name: str) -> dict[str, int]:
    ids = folder.json(name)
    numbers = list(ids.values())
    if not all(type(number) is int and number >= 0 for number in numbers) or len(set(numbers)) < len(numbers):
        raise RunError(f"{folder.path / name}: not a table of types with an id each", _AGAIN)
    return ids


def _subwords(folder: ModelFolder, name: str) -> bytes:
    if not folder.has(name):
        raise RunError(f"{folder.path / name}: no tokenizer model", _AGAIN)
    model = folder.bytes(name)
    try:
        ImportedSubwords(model)
    except RuntimeError as error:
        raise RunError(f"{folder.path / name}: not a SentencePiece model", _AGAIN) from error
    return model


def _nllb_ids(model: bytes) -> dict[str, int]:
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    pieces = [processor.id_to_piece(number) for number in range(3, len(processor))]
    return {piece: number for number, piece in enumerate((*_FAIRSEQ, *pieces))}


def _language_tags(folder: ModelFolder, form: str, first: int) -> dict[str, int]:
    """Return the tokens of languages with their ids, in that order.

    Files list them with ids, or in order behind all other types.

    Args:
        folder: of the model.
        form: of a token.
        first: the id of the first one, if there are no ids.
    """
    tokenizer = folder.optional_json("tokenizer_config.json")
    by_id = tokenizer.get("added_tokens_decoder", {})
    explicit = {str(_content(token)): int(number) for number, token in by_id.items()}
    explicit |= {str(token): int(number) for token, number in folder.optional_json("added_tokens.json").items()}
    full = folder.optional_json("tokenizer.json").get("added_tokens", [])
    explicit |= {str(_content(token)): int(token["id"]) for token in full}
    tags = {token: number for token, number in explicit.items() if _is_tag(token, form)}
    if not tags:
        listed = _listed(tokenizer) or _listed(folder.optional_json("special_tokens_map.json"))
        tags = {token: first + place for place, token in enumerate(t for t in listed if _is_tag(t, form))}
    return dict(sorted(tags.items(), key=lambda token: token[1]))


def _listed(settings: Mapping[str, Any]) -> list[str]:
    listed = settings.get("additional_special_tokens") or settings.get("extra_special_tokens") or []
    return [str(_content(token)) for token in listed]


def _content(token: Any) -> Any:
    return token.get("content") if isinstance(token, dict) else token


def _is_tag(piece: str, form: str) -> bool:
    if form == _NLLB_FORM:
        return re.fullmatch(r"[a-z]{3}_[A-Z][a-z]{3}", piece) is not None
    before, after = map(re.escape, form.split("{}"))
    return re.fullmatch(f"{before}{CODE}{after}", piece) is not None


def _named(languages: Languages, tokenizer: Mapping[str, Any]) -> Languages:
    """Return the languages of both sides, none of them unknown."""
    found = []
    for side, given, field in zip(("source", "target"), languages, ("source_lang", "target_lang"), strict=True):
        codes = tuple(given) or tuple(filter(None, [tokenizer.get(field)]))
        for code in codes:
            if not re.fullmatch(CODE, str(code)):
                raise RunError(f"language {code!r}: not a language code", f"name it with --{side}")
        if not codes:
            raise RunError(f"the folder does not name its {side} language", f"name it with --{side}")
        found.append(codes)
    return found[0], found[1]


def _check_tags(codes: Iterable[str], tags: Mapping[str, int], form: str) -> None:
    for code in codes:
        if language_tag(code, form) not in tags:
            before, after = map(len, form.split("{}"))
            known = ", ".join(tag[before : len(tag) - after] for tag in tags)
            raise RunError(f"language {code!r}: the model has no token for it", f"choose from {known}")


def _check_single(targets: Sequence[str]) -> None:
    if len(targets) > 1:
        raise RunError("the model has no tokens for target languages", "name one target language")
