"""Folders of models that are damaged, or made to do harm: each ends in one line, before it costs memory or time."""

import json
import math
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.foreign_folder import change_weight, changed, refusal, write_marian
from support.foreign_models import pieces, subwords, write_json
from support.full_disk import files_of_at_most
from typer.testing import CliRunner

from nmtlab.cli.main import app
from nmtlab.errors import RunError
from nmtlab.interchange.folder import ModelFolder
from nmtlab.interchange.huggingface import import_model
from nmtlab.interchange.vocabularies import m2m_text

INNER, TABLE, BIAS = "model.encoder.layers.0.fc1.weight", "model.shared.weight", "final_logits_bias"
POSITIONS = "model.encoder.embed_positions.weight"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hub") / "opus-tiny"
    write_marian(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


# JSON


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        *(("config.json", "d_model", value) for value in (10**9, True, 63, "16", None, [])),
        *(("config.json", "encoder_layers", value) for value in (10**6, True, None)),
        *(("config.json", "dropout", value) for value in (math.nan, "x", 2, None, [])),
        *(("config.json", "activation_function", value) for value in ([], {}, None)),
        *(("config.json", "eos_token_id", value) for value in (-1, 2**63, 10**30, True, 1.0, "0", [0], 10**6)),
        ("config.json", "_name_or_path", "\ud800"),
        ("config.json", "architectures", {"a": 1}),
        ("config.json", "model_type", []),
        ("generation_config.json", "num_beams", 100_000),
        ("generation_config.json", "num_beams", 10**30),
        ("generation_config.json", "num_beams", "4"),
        ("generation_config.json", "length_penalty", math.inf),
        *(("vocab.json", "new", value) for value in (2**63, -1, True, 1.0, None)),
        ("vocab.json", "\ud800", 5),
        ("tokenizer_config.json", "source_lang", ["de"]),
    ],
)
def test_a_field_of_another_kind_or_size_is_refused_in_one_line(folder, workspace, name, field, value):
    message = refusal(changed(folder, name, **{field: value}), workspace)
    assert message.isprintable()
    assert re.search(rf"{name}|{folder}|vocabulary has", message)


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b"[" * 100_000, b"\xff"])
def test_a_file_that_is_no_object_is_refused(folder, workspace, name, content):
    (folder / name).write_bytes(content)
    assert f"{folder / name}: damaged or truncated" in refusal(folder, workspace)


def test_a_large_file_is_refused_before_it_is_parsed(folder, workspace):
    path = folder / "config.json"
    path.write_bytes(b'{"a": [' + b"[]," * (1 << 20) + b"[]]}")
    assert refusal(folder, workspace).startswith(f"{path}: damaged or truncated (larger than 1 MiB)")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer_config.json", {"added_tokens_decoder": {"x": {"content": "eng_Latn"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"-5": {"content": "eng_Latn"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"70": 5}}),
        ("tokenizer_config.json", {"added_tokens_decoder": []}),
        ("tokenizer_config.json", {"additional_special_tokens": 5}),
        ("added_tokens.json", {"eng_Latn": "x"}),
        ("added_tokens.json", {"eng_Latn": 2**70}),
        ("tokenizer.json", {"added_tokens": [{"content": "eng_Latn"}]}),
        ("tokenizer.json", {"added_tokens": ["x"]}),
        ("special_tokens_map.json", {"additional_special_tokens": [5]}),
    ],
)
def test_lists_of_tokens_are_of_the_right_kind(nllb, name, content):
    write_json(nllb / name, content)
    with pytest.raises(RunError, match=f"{name}: damaged or truncated"):
        nllb_tags(nllb)


# Weights


@pytest.mark.parametrize("name", [INNER, TABLE, BIAS])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300])
def test_weights_that_are_no_numbers_are_refused(folder, workspace, name, value):
    tensor = load_file(folder / "model.safetensors")[name].double()
    tensor.view(-1)[3] = value
    change_weight(folder, name, tensor)
    assert refusal(folder, workspace).startswith(f"weight {name!r}: NaN or infinite")


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool, torch.complex64])
def test_weights_of_another_kind_of_number_are_refused(folder, workspace, dtype):
    change_weight(folder, INNER, load_file(folder / "model.safetensors")[INNER].to(dtype))
    assert "not a plain table of floating-point numbers" in refusal(folder, workspace)


def spoilt_pickle(folder: Path, change) -> None:
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    tensors[INNER] = change(tensors[INNER])
    torch.save(tensors, folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    "change",
    [
        lambda tensor: tensor.to_sparse(),
        lambda tensor: torch.quantize_per_tensor(tensor, 0.1, 0, torch.qint8),
        lambda tensor: tensor.to("meta"),
        lambda tensor: torch.zeros(1, 1).expand(10**8, 16),
    ],
    ids=["sparse", "quantised", "without numbers", "larger than its file"],
)
@pytest.mark.filterwarnings("ignore")
def test_tensors_that_are_not_plain_are_refused(folder, workspace, change):
    spoilt_pickle(folder, change)
    assert "not a plain table of floating-point numbers" in refusal(folder, workspace)


@pytest.mark.parametrize("shape", [(), (10,), (10, 3), (10, 0), (10**9, 0)])
def test_positions_of_another_shape_are_refused_before_ours_are_computed(folder, workspace, shape):
    change_weight(folder, POSITIONS, torch.zeros(shape))
    assert f"weight {POSITIONS!r}: shape {shape}" in refusal(folder, workspace)


@pytest.mark.parametrize("shape", [(), (3,), (3, 3), (2, 2, 2)])
def test_tables_of_another_shape_are_refused(folder, workspace, shape):
    change_weight(folder, TABLE, torch.zeros(shape))
    assert f"a table of shape {shape}, but d_model = 16" in refusal(folder, workspace)


@pytest.mark.parametrize("difference", [-3, 5])
def test_a_bias_for_other_types_than_the_table_is_refused(folder, workspace, difference):
    size = len(load_file(folder / "model.safetensors")[TABLE])
    change_weight(folder, BIAS, torch.zeros(1, size + difference))
    assert f"for {size + difference} types, but the target table has {size}" in refusal(folder, workspace)


def test_two_files_with_the_same_weights_are_refused(folder, workspace):
    shutil.copy(folder / "model.safetensors", folder / "model.fp16.safetensors")
    message = refusal(folder, workspace)
    assert message.startswith(f"{folder / 'model.safetensors'}: weight 'final_logits_bias' is in another file too")


def test_weights_in_numbered_parts_are_one_model(folder, workspace):
    tensors = sorted(load_file(folder / "model.safetensors").items())
    (folder / "model.safetensors").unlink()
    save_file(dict(tensors[:9]), folder / "model-00001-of-00002.safetensors")
    save_file(dict(tensors[9:]), folder / "model-00002-of-00002.safetensors")
    assert import_model(folder, "parts", workspace).status == "imported"


def test_a_million_names_or_a_thousand_parts_are_refused_at_once(folder, workspace):
    path = folder / "model.safetensors"
    path.write_bytes((80 << 20).to_bytes(8, "little") + b"{")
    assert "header larger than 1 MiB" in refusal(folder, workspace)
    for number in range(1000):
        (folder / f"model-{number}.safetensors").touch()
    assert f"{folder}: 1,001 files of weights, more than 100" in refusal(folder, workspace)


def test_a_compressed_pickle_is_refused_before_it_is_inflated(folder, workspace):
    (folder / "model.safetensors").unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", bytes(1 << 20))
    assert "compressed, which torch does not do" in refusal(folder, workspace)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "config.json", "source.spm"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_pipes_and_devices_are_no_files(folder, workspace, name, kind):
    if name == "pytorch_model.bin":
        (folder / "model.safetensors").unlink()
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name) if kind == "pipe" else (folder / name).symlink_to("/dev/zero")
    assert re.search("no weights|no config.json|no tokenizer model", refusal(folder, workspace))


@pytest.mark.filterwarnings("error")
def test_torch_warns_of_nothing_before_the_error(folder, workspace):
    (folder / "model.safetensors").unlink()
    torch.save({"a": Path("x")}, folder / "pytorch_model.bin", pickle_protocol=4)
    assert "damaged, or more than tensors" in refusal(folder, workspace)


# The search


def test_a_strangers_recipe_has_no_boundless_beam(folder, workspace):
    (folder / "recipe.toml").write_text("[search]\nbeam_size = 100000\n", encoding="utf-8")
    assert "its search has a beam of 100,000, more than 1,000; make it smaller" in refusal(folder, workspace)


def test_of_a_strangers_recipe_only_what_decides_a_translation_is_taken(folder, workspace):
    (folder / "recipe.toml").write_text("[search]\nbeam_size = 7\nbatch_tokens = 1000000000\n", encoding="utf-8")
    search = import_model(folder, "opus", workspace).recipe.search
    assert (search.beam_size, search.batch_tokens) == (7, 8192)


def test_a_recipe_of_many_megabytes_is_refused(folder, workspace):
    (folder / "recipe.toml").write_bytes(b"a = 1\n" * (1 << 18))
    assert "recipe.toml: cannot be read (larger than 1 MiB)" in refusal(folder, workspace)


def test_types_that_may_not_be_generated_are_refused_but_for_padding(folder, workspace):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    import_model(changed(folder, bad_words_ids=[[config["pad_token_id"]]]), "opus", workspace)
    with pytest.raises(RunError, match=r"bad_words_ids has \[5\]: nmtlab cannot forbid types"):
        import_model(changed(folder, "generation_config.json", bad_words_ids=[[5]]), "bad", workspace)


def test_what_its_search_has_and_ours_has_not_is_a_limitation(folder, workspace):
    changed(folder, "generation_config.json", no_repeat_ngram_size=3, repetition_penalty=1.0, min_length=2)
    run = import_model(folder, "opus", workspace)
    assert run.origin.limitations.endswith(
        "; it is searched without no_repeat_ngram_size and min_length, which its configuration sets"
    )


# Names


def test_a_models_name_is_printable_and_short(folder, workspace):
    evil = "\x1b[2J\x07\nnmtlab: evil\u202e"
    run = import_model(changed(folder, _name_or_path=evil + "x" * 10_000), "opus", workspace)
    assert run.origin.imported["model"].startswith("�[2J��nmtlab: evil�x")
    assert len(run.origin.imported["model"]) == 200
    assert run.origin.limitations.isprintable()
    assert run.recipe.about.isprintable()


def test_a_folders_name_is_printable_too(whole, tmp_path, workspace):
    folder = Path(shutil.copytree(whole, tmp_path / "a\nnmtlab: evil\x1b[2J"))
    assert import_model(folder, "opus", workspace).origin.imported["model"] == "a�nmtlab: evil�[2J"
    (folder / "vocab.json").unlink()
    with pytest.raises(RunError) as refused:
        import_model(folder, "bad", workspace)
    assert str(refused.value).isprintable()


# Languages


@pytest.fixture
def nllb(tmp_path) -> Path:
    """A folder with the tokenizer of NLLB, without weights, whose languages some file must name."""
    folder = tmp_path / "nllb"
    folder.mkdir()
    (folder / "sentencepiece.bpe.model").write_bytes(subwords(["the dog sees a cat", "a house is red"] * 20, 30))
    numbers = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
    numbers |= {f"{side}_{kind}": 2 for side in ("encoder", "decoder") for kind in ("ffn_dim", "attention_heads")}
    special = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    write_json(folder / "config.json", {"model_type": "m2m_100", **numbers, **special})
    return folder


def nllb_tags(folder: Path, source: str = "eng_Latn", target: str = "kas_Deva") -> dict[str, int]:
    """Return the language tags of a folder with their ids."""
    text = m2m_text(ModelFolder(folder), ((source,), (target,)), joint=True)
    vocabulary = text.pipeline.source.vocabulary
    return {tag: int(text.rows[0][vocabulary.tag_ids([tag])[0]]) for tag in vocabulary.tags}


def test_a_language_that_was_added_later_hides_no_other(nllb):
    size = 4 + len(pieces((nllb / "sentencepiece.bpe.model").read_bytes()))
    listed = ["eng_Latn", "new_Latn", "kas_Arab", "kas_Deva"]
    write_json(nllb / "special_tokens_map.json", {"additional_special_tokens": listed})
    write_json(nllb / "added_tokens.json", {"new_Latn": size + 4})
    assert nllb_tags(nllb) == {"eng_Latn": size, "kas_Arab": size + 1, "kas_Deva": size + 2, "new_Latn": size + 4}


def test_a_language_with_the_id_of_another_type_is_refused(nllb):
    write_json(nllb / "added_tokens.json", {"eng_Latn": 5, "kas_Deva": 80})
    with pytest.raises(RunError, match="two types have the same id"):
        nllb_tags(nllb)


def test_a_tokenizer_that_puts_the_language_last_is_a_limitation(nllb):
    write_json(nllb / "added_tokens.json", {"eng_Latn": 80, "kas_Deva": 81})
    languages = (("eng_Latn",), ("kas_Deva",))
    assert m2m_text(ModelFolder(nllb), languages, joint=True).notes == ()
    write_json(nllb / "tokenizer_config.json", {"legacy_behaviour": True})
    assert "legacy_behaviour" in m2m_text(ModelFolder(nllb), languages, joint=True).notes[0]


def test_the_remedy_for_a_missing_tokenizer_model_fits_the_folder(nllb, folder, workspace):
    (nllb / "sentencepiece.bpe.model").unlink()
    write_json(nllb / "tokenizer.json", {"added_tokens": []})
    with pytest.raises(RunError, match=r"tokenizer.json: damaged .*; copy sentencepiece.bpe.model into the folder"):
        nllb_tags(nllb)
    (folder / "source.spm").rename(folder / "source.bpe")
    assert "subwords are of subword-nmt" in refusal(folder, workspace)


# The disk and the command


def test_a_full_disk_names_the_run_and_speaks_of_no_training(folder, workspace):
    with files_of_at_most(4096), pytest.raises(OSError, match="File too large") as full:
        import_model(folder, "opus", workspace)
    assert full.value.filename.startswith(str(workspace.runs / "opus"))
    assert not list(workspace.runs.iterdir())


def test_a_model_is_not_exported_among_the_runs(folder, workspace, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(workspace.data))
    import_model(folder, "opus", workspace)
    for name in ("opus/hf", "x"):
        words = ["runs", "export", "opus", "--to", "huggingface", "--folder", str(workspace.runs / name)]
        refused = CliRunner().invoke(app, words)
        assert "among the runs" in str(refused.exception)
        assert not (workspace.runs / name).exists()
