"""A small Marian folder without the transformers library, and ways to spoil it."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
from conftest import WORDS
from safetensors.torch import load_file, save_file

from nmtlab.errors import NmtlabError
from nmtlab.interchange.huggingface import import_model
from support.foreign_models import SIZES, pieces, subwords, write_json

ATTENTION = [f"{part}_proj" for part in "qkv"] + ["out_proj"]


def weights(types: int, settings: dict, closing: bool) -> dict[str, torch.Tensor]:
    """Return random weights under the names of the transformers library."""
    torch.manual_seed(3)
    d, inner = settings["d_model"], settings["encoder_ffn_dim"]
    shapes = {"model.shared.weight": (types, d), "final_logits_bias": (1, types)}
    for side in ("encoder", "decoder"):
        kinds = ("self_attn", "encoder_attn") if side == "decoder" else ("self_attn",)
        for layer in range(settings[f"{side}_layers"]):
            names = {f"{kind}.{part}": (d, d) for kind in kinds for part in ATTENTION}
            names |= {f"{kind}_layer_norm": (d,) for kind in (*kinds, "final")}
            names |= {"fc1": (inner, d), "fc2": (d, inner)}
            for name, shape in names.items():
                shapes[f"model.{side}.layers.{layer}.{name}.weight"] = shape
                shapes[f"model.{side}.layers.{layer}.{name}.bias"] = shape[:1]
        if closing:
            shapes |= {f"model.{side}.layer_norm.{kind}": (d,) for kind in ("weight", "bias")}
    return {name: torch.randn(shape) * 0.2 for name, shape in shapes.items()}


def write_marian(folder: Path) -> None:
    """Write a small random MarianMTModel of de-en to a new folder."""
    folder.mkdir()
    generator = random.Random(1)
    sentences = [generator.choices(list(WORDS), k=generator.randint(2, 7)) for _ in range(300)]
    models = [
        subwords(" ".join(words) for words in sentences),
        subwords(" ".join(WORDS[word] for word in words) for words in sentences),
    ]
    for name, model in zip(("source.spm", "target.spm"), models, strict=True):
        (folder / name).write_bytes(model)
    words = ["</s>", "<unk>", *dict.fromkeys([*pieces(models[0]), *pieces(models[1])]), "<pad>"]
    write_json(folder / "vocab.json", {word: number for number, word in enumerate(words)})
    last = len(words) - 1
    config = {
        **SIZES, "architectures": ["MarianMTModel"], "model_type": "marian", "activation_function": "swish",
        "vocab_size": len(words), "pad_token_id": last, "decoder_start_token_id": last, "eos_token_id": 0,
        "num_beams": 6,
    }  # fmt: skip
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer_config.json", {"source_lang": "de", "target_lang": "en"})
    save_file(weights(len(words), SIZES, closing=False), folder / "model.safetensors")


def in_cache(folder: Path, cache: Path, *commits: str) -> Path:
    """Write a folder's files as huggingface_hub stores some commits of a repository, and return the repository."""
    for place in ("blobs", "refs", *(f"snapshots/{commit}" for commit in commits)):
        (cache / place).mkdir(parents=True)
    for number, file in enumerate(sorted(folder.iterdir())):
        shutil.copyfile(file, cache / f"blobs/{number}")
        for commit in commits:
            (cache / "snapshots" / commit / file.name).symlink_to(f"../../blobs/{number}")
    (cache / "refs/main").write_text(commits[-1])
    return cache


def changed(folder: Path, name: str = "config.json", **fields) -> Path:
    """Change fields of a JSON file, and return the folder."""
    path = folder / name
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_json(path, before | fields)
    return folder


def refusal(folder: Path, workspace, **more) -> str:
    """Return the message of a refused import, which must leave nothing behind."""
    with pytest.raises(NmtlabError) as refused:
        import_model(folder, "bad", workspace, **more)
    assert not workspace.runs.exists() or not list(workspace.runs.iterdir())
    return str(refused.value)


def change_weight(folder: Path, name: str, tensor: torch.Tensor) -> None:
    """Replace a weight, or add one."""
    save_file(load_file(folder / "model.safetensors") | {name: tensor}, folder / "model.safetensors")
