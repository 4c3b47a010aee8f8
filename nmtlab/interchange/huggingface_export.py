"""Export of a model to a folder that the transformers library loads: the inverse of `huggingface`.

The tokenizer is Marian's, with our ids: each side's SentencePiece model, and the types with theirs. Tags of target
languages take Marian's form, `>>xx<<`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from safetensors.torch import save

from nmtlab.errors import RunError
from nmtlab.files import write_text
from nmtlab.interchange.architectures import architecture_for, config_of, padding_and_start, their_weights
from nmtlab.interchange.folding import MAX_POSITIONS, folded
from nmtlab.models.transformer import Transformer
from nmtlab.recipe import SearchSettings, TransformerSettings
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.tags import MARIAN_FORM, language_tag, leading_tag, tagged_language
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, SPECIALS
from nmtlab.translation import Translator


def write_huggingface(name: str, system: Translator, settings: TransformerSettings, folder: Path) -> None:
    """Write config.json, generation_config.json, model.safetensors and the tokenizer's files to a folder that exists.

    The model of the translator passes `folding.check_exportable`.

    Raises:
        RunError: no architecture, tokenizer or search of the library has what the run has; the message names it.
    """
    pipeline = system.pipeline
    one_table = pipeline.joint and settings.shared_embeddings
    model = cast(Transformer, system.model)
    architecture = architecture_for(name, settings, one_table, bool(model.output_layer.bias.any()))
    _check_text(name, pipeline)
    if system.settings.score not in _PENALTIES:
        raise RunError(
            f"run {name!r}: search.score = {system.settings.score!r}: the transformers library has no such score",
            "export it to ctranslate2, whose caller says how to search",
        )
    pad, bos = padding_and_start(architecture)
    tag = pipeline.first_tokens.get(system.languages[1])
    start = bos if tag is None or pipeline.reads_start else tag
    sizes = pipeline.source.size, pipeline.target.size
    _write_json(folder / "config.json", config_of(architecture, settings, sizes, one_table, start))
    generation = _generation(system.settings, start) | {"pad_token_id": pad, "bos_token_id": bos}
    if pipeline.reads_start:
        generation |= {"forced_bos_token_id": tag, "bad_words_ids": [[pad], [bos]]}
    _write_json(folder / "generation_config.json", generation)
    weights = their_weights(folded(model), settings)
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    _write_tokenizer(pipeline, one_table, {SPECIALS[PAD]: pad, SPECIALS[BOS]: bos}, folder)


_PENALTIES: dict[str, Callable[[SearchSettings], float]] = {
    "log-prob": lambda search: 0.0,
    "average": lambda search: 1.0,
    "length-normalised": lambda search: search.alpha,
}
"""Score -> the exponent of the length by which the library divides log p."""


def _check_text(name: str, pipeline: Pipeline) -> None:
    """Check that a tokenizer of the library segments as the pipeline does."""
    text = pipeline.settings
    for field, known in (("segmentation", ("bpe", "unigram", "imported")), ("transliteration", ("none",))):
        value = getattr(text, field)
        if value not in known:
            raise RunError(
                f"run {name!r}: text.{field} = {value!r}: no tokenizer of the transformers library does this",
                "export it to ctranslate2, which reads tokens",
            )


def _generation(search: SearchSettings, start: int) -> dict[str, Any]:
    return {
        "num_beams": search.beam_size,
        "length_penalty": _PENALTIES[search.score](search),
        "early_stopping": "never" if search.beam_size > 1 else False,
        "max_length": MAX_POSITIONS,
        "eos_token_id": EOS,
        "decoder_start_token_id": start,
        "forced_eos_token_id": None,
    }


def _write_tokenizer(pipeline: Pipeline, one_table: bool, special: dict[str, int], folder: Path) -> None:
    source, target = pipeline.source, pipeline.target
    for name, side in (("source.spm", source), ("target.spm", target)):
        (folder / name).write_bytes(side.tokenizer.to_bytes())
    _write_json(folder / "vocab.json", _ids(source, pipeline) | special)
    if not one_table:
        _write_json(folder / "target_vocab.json", _ids(target, pipeline))
    first = [name for name, number in _ids(target, pipeline).items() if number in pipeline.first_tokens.values()]
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "additional_special_tokens": first,  # so that they are no part of a decoded translation
        "source_lang": source.language,
        "target_lang": target.language,
        "separate_vocabs": not one_table,
        "model_max_length": MAX_POSITIONS,
    }
    _write_json(folder / "tokenizer_config.json", settings)


def _ids(side: Side, pipeline: Pipeline) -> dict[str, int]:
    """Return the types of a side with their ids; tags of languages are renamed."""
    form, tags = pipeline.settings.tag_form, side.vocabulary.tags
    known = [tag for tag in tags if leading_tag(tag, form) == tag]
    renamed = {tag: language_tag(tagged_language(tag, form), MARIAN_FORM) for tag in known}
    return {renamed.get(name, name): number for number, name in enumerate(side.vocabulary.types)}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
