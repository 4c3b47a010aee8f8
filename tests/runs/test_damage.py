"""Whatever a run's folder contains, it opens or fails in one line, and nothing outside it is read or written."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors import safe_open
from support.packed import packed_folders

from nmtlab.analysis.lexical.embedding_norms import WORD_NORMS
from nmtlab.errors import NmtlabError, RunError
from nmtlab.recipe import Recipe
from nmtlab.runs.answers import AnswerKey, store_answer
from nmtlab.runs.archive import read_archive, write_archive
from nmtlab.runs.listing import list_runs, open_run, remove_run
from nmtlab.runs.pack import FIRST, pack, unpack
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import load_tensors, save_tensors
from nmtlab.runs.writer import RunWriter, writing
from nmtlab.systems import open_system
from nmtlab.training.setup import train

DEEP = "[" * 100_000


@pytest.fixture
def copied(trained, workspace) -> Run:
    """A copy of the trained run, to be damaged."""
    run, _ = trained
    return Run(shutil.copytree(run.folder, workspace.runs / "copied"))


@pytest.fixture
def interrupted(copied) -> Run:
    """A run whose training can be resumed."""
    RunWriter(copied).truncate_after(60)
    return copied


def refused(call: Callable, *arguments) -> str:
    with pytest.raises(NmtlabError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def listed(workspace) -> tuple[list[str], list[str]]:
    runs, broken = list_runs(workspace)
    return [run.name for run in runs], list(broken)


# Lists


LINES = [
    "{}", "5", "[]", "null", '"text"', DEEP, '{"kind": "end", "step": 60}', '{"kind": "other", "step": 1}',
    '{"kind": "validation", "step": 20, "bleu": "high", "seconds": 1}',
    '{"kind": "validation", "step": 20, "seconds": 1}',
    '{"kind": "validation", "step": "20", "bleu": 1, "seconds": 1}',
    '{"kind": "validation", "step": Infinity, "bleu": 1, "seconds": 1}',
]  # fmt: skip


@pytest.mark.parametrize("line", ["{}", "5", '{"step": "x", "norm": 1}', '{"step": 3}'])
@pytest.mark.parametrize("log", ["probes/gradient_norm.jsonl", "probes/g.jsonl"])
def test_a_training_whose_probes_are_damaged_is_not_resumed_and_says_which_line(
    line, log, interrupted, tiny_corpus, tiny_recipe, workspace
):
    path = interrupted.folder / log
    path.write_text(line + "\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    message = refused(train, "copied", tiny_recipe, tiny_corpus, workspace, True)
    assert message.startswith(f"{path}, line 1: damaged; remove that line")


def test_a_lock_that_is_a_folder_is_named(interrupted, tiny_corpus, tiny_recipe, workspace):
    (interrupted.folder / ".lock").unlink(missing_ok=True)
    (interrupted.folder / ".lock").mkdir()
    message = refused(train, "copied", tiny_recipe, tiny_corpus, workspace, True)
    assert message.startswith(f"{interrupted.folder / '.lock'}: cannot be read (Is a directory); remove it")


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60])
def test_a_run_with_an_odd_line_in_its_log_is_named_and_the_others_are_listed(line, copied, trained, workspace):
    shutil.copytree(trained[0].folder, workspace.runs / "other")
    (copied.folder / "metrics.jsonl").write_text(line + "\n", encoding="utf-8")
    assert listed(workspace) == (["other"], ["copied"])
    assert "metrics.jsonl, line 1: damaged" in refused(copied.log.metrics, "validation")


@pytest.mark.parametrize("name", ["environment.json", "packed.json", "recipe.toml"])
def test_a_run_with_a_file_that_is_nested_deep_is_named_and_the_others_are_listed(name, copied, trained, workspace):
    shutil.copytree(trained[0].folder, workspace.runs / "other")
    (copied.folder / name).write_text(f"a = {DEEP}" if name == "recipe.toml" else DEEP, encoding="utf-8")
    assert listed(workspace) == (["other"], ["copied"])


@pytest.mark.parametrize("content", ["[]", "5", '{"corpus_checksum": 5}', '{"processes": 0}'])
def test_an_environment_of_another_shape_is_named(content, copied, workspace):
    (copied.folder / "environment.json").write_text(content, encoding="utf-8")
    assert listed(workspace) == ([], ["copied"])


@pytest.mark.parametrize("name", ["metrics.jsonl", ".lock"])
def test_a_folder_in_the_place_of_a_file_is_named(name, copied, workspace):
    (copied.folder / name).unlink()
    (copied.folder / name).mkdir()
    copied.folder.joinpath("environment.json").touch()
    if name == ".lock":
        lines = (copied.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (copied.folder / "metrics.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    assert listed(workspace) == ([], ["copied"])
    remove_run(copied.folder)
    assert listed(workspace) == ([], [])


# Links, pipes and devices


@pytest.mark.parametrize("name", ["checkpoints", "probes", "checkpoints/best.safetensors", ".lock", "metrics.jsonl"])
def test_a_run_with_a_link_in_it_is_not_opened_and_nothing_is_done_to_what_it_leads_to(name, copied, tmp_path):
    path = copied.folder / name
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.stat()
    assert f"{path}: a link; replace it with the file or folder itself" in refused(Run, copied.folder)
    assert elsewhere.stat() == before


def test_a_pipe_in_a_run_is_not_waited_for(copied):
    (copied.folder / "checkpoints/best.safetensors").unlink()
    os.mkfifo(copied.folder / "checkpoints/best.safetensors")
    assert "a pipe or a device" in refused(Run, copied.folder)


def test_of_a_link_to_a_run_the_link_is_removed_alone(copied, workspace):
    link = workspace.runs / "link"
    link.symlink_to(copied.folder, target_is_directory=True)
    remove_run(link)
    assert listed(workspace) == (["copied"], [])


def test_a_run_that_is_being_trained_is_not_removed(copied):
    with writing(copied):
        assert refused(remove_run, copied.folder) == (
            "run 'copied': another process is training it; wait for it to end, or stop it"
        )
    assert Run(copied.folder).status == "finished"


# Checkpoints


def change(path: Path, facts: dict | str = "", cut: Callable = lambda tensor: tensor, without: str = "") -> None:
    """Rewrite a checkpoint with other contents and a valid checksum."""
    tensors, noted = load_tensors(path)
    tensors = {name: cut(tensor) for name, tensor in tensors.items() if name != without}
    save_tensors(path, tensors, json.loads(facts) if isinstance(facts, str) and facts else {**noted, **(facts or {})})


@pytest.mark.parametrize(
    "facts", [{"step": "60"}, {"step": -1}, {"epoch": None}, {"batch": -3}, {"seconds": -1}, {"best": []}, "[]", "{}"]
)
def test_a_last_checkpoint_that_says_something_else_is_refused(facts, interrupted, tiny_recipe, tiny_corpus, workspace):
    change(interrupted.folder / "checkpoints/last.safetensors", facts)
    message = refused(train, "copied", tiny_recipe, tiny_corpus, workspace, True)
    assert "last.safetensors: damaged or truncated (" in message


@pytest.mark.parametrize("facts", ["[]", "{}", '{"step": "one"}'])
def test_a_best_checkpoint_that_says_something_else_is_refused(facts, copied):
    change(copied.folder / "checkpoints/best.safetensors", facts)
    for read in (lambda: copied.checkpoints.best_step, lambda: open_system(copied)):
        assert "best.safetensors: damaged or truncated (" in refused(read)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        ({"cut": lambda tensor: tensor.reshape(-1)[:1]}, "shape (1,)"),
        ({"cut": lambda tensor: tensor.repeat(2, *[1] * (tensor.dim() - 1))}, "shape ("),
        ({"cut": lambda tensor: tensor.double()}, "float64"),
        ({"without": "exp_avg.source_embedding.weight"}, "'exp_avg.source_embedding.weight': missing"),
        ({"facts": {"seconds": 0.5}}, "belongs to another checkpoint"),
    ],
    ids=["cut", "larger", "dtype", "missing", "other"],
)
def test_an_optimiser_that_is_not_the_weights_is_refused(
    spoil, problem, interrupted, tiny_recipe, tiny_corpus, workspace
):
    (path,) = (interrupted.folder / "checkpoints").glob("last.optimiser-*")
    change(path, **spoil)
    assert problem in refused(train, "copied", tiny_recipe, tiny_corpus, workspace, True)


def test_what_safetensors_would_write_in_any_order_is_written_in_one(tmp_path):
    save_tensors(tmp_path / "a", {"w": torch.ones(2)}, {"step": 1, "bleu": 2.0})
    with safe_open(tmp_path / "a", "pt") as file:
        assert list(file.metadata()) == ["nmtlab"]


def test_two_packs_of_a_run_are_the_same_to_the_last_byte(trained, tmp_path):
    packs = [pack(trained[0], tmp_path / name / "whole.tar.xz", weights=True) for name in ("one", "two")]
    assert packs[0].read_bytes() == packs[1].read_bytes()


# Arrays and tables


@pytest.mark.full
def test_arrays_that_would_inflate_are_not_read(copied):
    path = copied.folder / "probes/embedding_norms/0000040.npz"
    np.savez_compressed(path, source=np.zeros(1 << 26, dtype=np.float64))
    assert "larger than any embedding norms" in refused(copied.log.embedding_norms)


def test_other_files_beside_the_arrays_are_left_alone(copied):
    (copied.folder / "probes/embedding_norms/notes.npz").write_bytes(b"")
    assert sorted(copied.log.embedding_norms()) == [20, 40, 60]


def test_a_table_that_would_inflate_is_not_read(copied):
    stored = store_answer(copied.folder, AnswerKey("norms.some", {}, 60), pd.DataFrame({"norm": [1.0]}))
    table = pq.read_table(stored.path)
    many = pa.table({"norm": np.zeros(60_000_000)}).replace_schema_metadata(table.schema.metadata)
    pq.write_table(many, stored.path)
    assert "larger than any answer" in refused(stored.frame)


# Packed runs from untrusted sources


@pytest.fixture
def packed(trained, tmp_path) -> Path:
    return pack(trained[0], tmp_path / "whole", weights=True)


@pytest.mark.parametrize(
    "path",
    [
        "phrase/phrase.json", "checkpoints/last.safetensors", "checkpoints/last.optimiser-0000060.safetensors",
        "metrics.txt", "measures/notes.txt", "vocabulary/other.model", "sentences/train.de", "anything",
    ],
)  # fmt: skip
def test_what_no_packed_run_has_is_refused(path, packed, tmp_path, workspace):
    (packed / path).parent.mkdir(parents=True, exist_ok=True)
    (packed / path).write_bytes(b"x")
    write_archive(packed, tmp_path / "evil.tar.xz")
    assert f"contains {path}, which no packed run has" in refused(unpack, tmp_path / "evil.tar.xz", workspace)
    assert not workspace.runs.exists()


def test_what_is_not_packed_is_refused(packed, tmp_path, workspace):
    (packed / "packed.json").unlink()
    write_archive(packed, tmp_path / "evil.tar.xz")
    assert "not a packed run: it has no packed.json" in refused(unpack, tmp_path / "evil.tar.xz", workspace)


@pytest.mark.parametrize("content", [b"[]", b'{"best_step": "one"}', DEEP.encode()])
def test_a_pack_that_says_something_else_is_refused(content, packed, tmp_path, workspace):
    (packed / "packed.json").write_bytes(content)
    write_archive(packed, tmp_path / "evil.tar.xz")
    assert "packed.json: damaged or truncated (" in refused(unpack, tmp_path / "evil.tar.xz", workspace)


@pytest.mark.parametrize("content", [b"\x80\x04K\x01.", b"x"])
def test_weights_that_are_none_are_refused(content, packed, tmp_path, workspace):
    (packed / "checkpoints/best.safetensors").write_bytes(content)
    write_archive(packed, tmp_path / "evil.tar.xz")
    assert "best.safetensors: damaged or truncated (" in refused(unpack, tmp_path / "evil.tar.xz", workspace)
    assert not list(workspace.runs.iterdir())


@pytest.mark.full
def test_every_packed_run_of_the_gallery_has_what_a_packed_run_may_have(tmp_path, workspace):
    folders = packed_folders()
    assert len(folders) >= 25
    for folder in folders:
        write_archive(folder, tmp_path / "packed.tar.xz")
        assert list(read_archive(tmp_path / "packed.tar.xz")) == [folder.name]
        assert unpack(tmp_path / "packed.tar.xz", workspace).name == folder.name


# Vocabularies with valid checksums


@pytest.fixture
def subword_run(tiny_corpus, tiny_recipe: Recipe, workspace) -> Run:
    changes = {"text.segmentation": "bpe", "text.vocabulary_size": 60, "training.max_evaluations": 1}
    return train("pieces", tiny_recipe.with_changes(changes), tiny_corpus, workspace)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("joint.model", b"garbage"),
        ("joint.model", b""),
        ("source.tsv", b"\xff\xfe"),
        ("source.tsv", b"<pad>\t0\n<s>\t0\n</s>\t0\n<unk>\t0\nx\t" + b"9" * 30 + b"\n"),
        ("source.tsv", b"<pad>\t0\n<s>\t0\n</s>\t0\n<unk>\t0\nx\t" + b"9" * 5000 + b"\n"),
        ("source.tsv", b"<pad>\t0\n<s>\t0\n</s>\t0\n<unk>\t0\nx\t1\n"),
    ],
    ids=["garbage", "empty", "utf-8", "30 digits", "5000 digits", "other types"],
)
def test_a_vocabulary_that_says_it_is_whole_is_still_read_with_care(name, content, subword_run):
    from hashlib import sha256

    folder = subword_run.folder / "vocabulary"
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "pipeline.json").read_text(encoding="utf-8"))
    manifest["files"][name] = sha256(content).hexdigest()
    (folder / "pipeline.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(RunError):
        _ = Run(subword_run.folder).pipeline


def test_an_opened_packed_run_is_not_written_into(packed, workspace):
    write_archive(packed, workspace.evidence / f"runs/{packed.name}.tar.xz", FIRST)
    run = open_run(packed.name, workspace)
    before = sorted(run.folder.rglob("*"))
    answer = WORD_NORMS.of(run)
    run.notes.save_translation("dev.txt", ["x"])
    assert sorted(run.folder.rglob("*")) == before
    assert workspace.notes.is_dir()
    again = open_run(packed.name, workspace)
    assert [m.question.analysis for m in again.notes.all_answers()] == ["norms.word_norms"]
    pd.testing.assert_frame_equal(WORD_NORMS.of(again), answer)
