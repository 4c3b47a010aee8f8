"""Random models of the transformers library, and folders with them as huggingface_hub stores them."""

import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

os.environ["HF_HUB_OFFLINE"] = "1"

SIZES = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64, "dropout": 0.0,
    "attention_dropout": 0.0, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "scale_embedding": True,
}  # fmt: skip


def subwords(lines: Iterable[str], size: int = 60, byte_fallback: bool = False, kind: str = "unigram") -> bytes:
    """Learn a SentencePiece model as these models have it, with SentencePiece's own ids and normalisation."""
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size + 256 * byte_fallback,
        model_type=kind, byte_fallback=byte_fallback, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


def pieces(model: bytes) -> list[str]:
    """Return the pieces of a SentencePiece model without its special ones."""
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return [processor.id_to_piece(number) for number in range(3, len(processor))]


def marian(
    folder: Path,
    texts: Sequence[Sequence[str]],
    tags: Sequence[str] = (),
    separate: bool = False,
    byte_fallback: bool = False,
    **changes,
) -> torch.nn.Module:
    """Write a random MarianMTModel to a folder and return it.

    Args:
        folder: a new folder.
        texts: lines of source and target, to learn subwords.
        tags: tokens of target languages.
        separate: give the sides vocabularies and tables of their own.
        byte_fallback: give the subwords a piece for each byte.
        changes: fields of its config.
    """
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir(parents=True)
    models = [subwords(lines, byte_fallback=byte_fallback) for lines in texts]
    for name, model in zip(("source.spm", "target.spm"), models, strict=True):
        (folder / name).write_bytes(model)
    own = [list(dict.fromkeys(pieces(model))) for model in models]
    both = own if separate else [list(dict.fromkeys([*own[0], *own[1]]))] * 2
    size = 3 + max(len(kept) for kept in both) + len(tags)
    for name, kept in zip(("vocab.json", "target_vocab.json"), both, strict=True):
        if separate or name == "vocab.json":
            words = ["</s>", "<unk>", *kept, *tags]
            ids = {word: number for number, word in enumerate(words)} | {"<pad>": size - 1}
            write_json(folder / name, ids)
    special = {"pad_token_id": size - 1, "decoder_start_token_id": size - 1, "eos_token_id": 0, "bos_token_id": None}
    sizes = {"vocab_size": size, "decoder_vocab_size": size, "share_encoder_decoder_embeddings": not separate}
    others = {"activation_function": "swish", "forced_eos_token_id": None}
    config = MarianConfig(**(SIZES | special | sizes | others | changes))
    torch.manual_seed(1)
    model = taught(MarianMTModel(config), range(2, size - 1 - len(tags)))
    model.save_pretrained(folder)
    write_json(
        folder / "tokenizer_config.json", {"source_lang": "de", "target_lang": "en", "separate_vocabs": separate}
    )
    return model


def m2m(folder: Path, lines: Sequence[str], nllb: bool, languages: Sequence[str], **changes) -> torch.nn.Module:
    """Write a random M2M100ForConditionalGeneration with the tokenizer of M2M-100 or NLLB and return it."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    folder.mkdir(parents=True)
    model = subwords(lines)
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    words = ["<s>", "<pad>", "</s>", "<unk>", *pieces(model)]
    tokens = list(languages) if nllb else [f"__{code}__" for code in languages]
    if not nllb:
        write_json(folder / "vocab.json", {word: number for number, word in enumerate(words)})
    write_json(folder / "special_tokens_map.json", {"additional_special_tokens": tokens})
    size = len(words) + len(tokens) + (1 if nllb else 8)  # a mask, or made-up words
    config = M2M100Config(**SIZES, vocab_size=size, **changes)
    torch.manual_seed(1)
    model = taught(M2M100ForConditionalGeneration(config), range(4, len(words)), [len(words), len(words) + 1])
    model.save_pretrained(folder)
    return model


def taught(model: torch.nn.Module, words: range, tags: Sequence[int] = ()) -> torch.nn.Module:
    """Teach a model to copy, a little: its translations then end, and its weights differ from their initial values.

    Args:
        model: a new one.
        words: ids that occur in text.
        tags: ids that every source and every target begin with.
    """
    torch.manual_seed(1)
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            if name == "final_logits_bias":
                buffer.normal_(std=0.2)
        learned = [parameter for parameter in model.parameters() if parameter.requires_grad]  # not the sinusoids
        for parameter in learned:
            parameter.add_(torch.randn(parameter.shape), alpha=0.1)
    optimiser = torch.optim.Adam(learned, lr=0.02)
    end = torch.full((32, 1), model.config.eos_token_id)
    for step in range(60):
        text = torch.randint(words.start, words.stop, (32, 1 + step % 5))
        source, target = (
            torch.cat((*(torch.full((32, 1), tag) for tag in some), text, end), 1) for some in (tags[:1], tags[1:])
        )
        optimiser.zero_grad()
        model(input_ids=source, labels=target).loss.backward()
        optimiser.step()
    return model.eval()


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
