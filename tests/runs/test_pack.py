"""A packed run shows what it can, reveals no private data, and may come from untrusted sources."""

import json
import lzma
import os
import re
import shutil
import socket
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from nmtlab.errors import CorpusError, NmtlabError, RunError
from nmtlab.recipe import RnnSettings
from nmtlab.runs.answers import AnswerKey, store_answer, stored_answers
from nmtlab.runs.archive import write_archive
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.log import read_log
from nmtlab.runs.pack import dev_sentences, pack, packed_lines, unpack
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter
from nmtlab.systems import open_system
from nmtlab.text.corpora.heads import gold_heads
from nmtlab.text.corpora.links import gold_links, has_gold_links
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

ALWAYS = {
    "recipe.toml", "environment.json", "packed.json", "metrics.jsonl.xz", "probes/gradient_norm.jsonl.xz",
    "probes/g.jsonl.xz", *(f"vocabulary/{name}" for name in ("pipeline.json", "source.tsv", "target.tsv")),
    *(f"probes/embedding_norms/{step:07}.npz" for step in (20, 40, 60)),
}  # fmt: skip


@pytest.fixture
def run(trained, workspace) -> Run:
    """A copy of the trained run, with an answer and with private data that must not be packed."""
    run = Run(shutil.copytree(trained[0].folder, workspace.runs / "whole"))
    store_answer(
        run.folder, AnswerKey("norms.some", {"size": 3}, run.checkpoints.best_step), pd.DataFrame({"norm": [1.5, 2.5]})
    )
    store_answer(run.folder, AnswerKey("norms.some", {}, run.checkpoints.best_step + 1), pd.DataFrame({"norm": [0.0]}))
    (run.folder / "measures/long.jsonl").write_text('{"rows": []}\n', encoding="utf-8")
    (run.folder / "tensorboard").mkdir()
    (run.folder / "tensorboard" / f"events.{socket.gethostname()}").write_text("", encoding="utf-8")
    (run.folder / "phrase").mkdir()
    (run.folder / "phrase" / "table").write_text("x" * 1000, encoding="utf-8")
    return run


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def pack_as(name: str, run: Run, workspace: Workspace) -> None:
    """Pack a copy of a run, under another name, into the evidence of a workspace."""
    copy = Run(shutil.copytree(run.folder, workspace.data / "copies" / name))
    pack(copy, workspace.evidence / f"runs/{name}.tar.xz")


def refused(do: Callable, *arguments, **more) -> str:
    with pytest.raises(NmtlabError) as caught:
        do(*arguments, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def same_to_read(one: Run, other: Run) -> None:
    assert one.recipe == other.recipe
    assert one.environment == other.environment
    assert one.pipeline.checksum() == other.pipeline.checksum()
    assert one.pipeline.target.counts.tolist() == other.pipeline.target.counts.tolist()
    assert one.status == other.status
    assert one.checkpoints.best_step == other.checkpoints.best_step
    for kind in ("train", "validation", "end"):
        pd.testing.assert_frame_equal(one.log.metrics(kind), other.log.metrics(kind))
    pd.testing.assert_frame_equal(one.log.gradient_norms(), other.log.gradient_norms())
    pd.testing.assert_frame_equal(one.log.g_values(), other.log.g_values())
    norms, others = one.log.embedding_norms(), other.log.embedding_norms()
    assert norms.keys() == others.keys()
    assert all(np.array_equal(norms[step][use], others[step][use]) for step in norms for use in norms[step])


# What is packed


def test_a_packed_run_has_all_but_the_model(run, tmp_path):
    packed = Run(pack(run, tmp_path / "packed" / "whole"))
    (answer,) = stored_answers(packed.folder)
    assert files(packed.folder) == ALWAYS | {str(answer.path.relative_to(packed.folder))}
    assert answer.question.arguments == {"size": 3}
    assert answer.frame()["norm"].tolist() == [1.5, 2.5]
    same_to_read(run, packed)
    assert packed.origin.packed
    assert not run.origin.packed
    assert run.origin.limitations == ""


def test_a_packed_and_unpacked_run_reads_the_same(run, tmp_path, workspace):
    file = pack(run, tmp_path / "sent" / "any name.tar.xz")
    same_to_read(run, unpack(file, workspace, "again"))
    shutil.rmtree(run.folder)
    again = unpack(file, workspace)
    assert again.name == "whole"
    assert sorted(os.listdir(workspace.runs)) == ["again", "whole"]
    same_to_read(open_run("again", workspace), again)
    assert len(stored_answers(again.folder)) == 1


def test_the_pack_of_a_small_run_is_small_and_the_same_every_time(run, tmp_path):
    folder = pack(run, tmp_path / "folder")
    assert sum((folder / name).stat().st_size for name in files(folder)) < 30_000
    one, other = (pack(run, tmp_path / f"{name}.tar.xz") for name in "ab")
    assert one.stat().st_size < 15_000
    assert one.read_bytes() == other.read_bytes()


def test_no_host_name_and_no_absolute_path_is_in_a_pack(run, tiny_corpus, tmp_path):
    small = dev_sentences(tiny_corpus, 5, "CC0", tmp_path / "small")
    folder = pack(run, tmp_path / "packed", weights=True, sentences=small)
    for name in files(folder):
        content = (folder / name).read_bytes()
        content = lzma.decompress(content) if name.endswith(".xz") else content
        for secret in (socket.gethostname(), str(tmp_path), str(run.folder), str(tiny_corpus.folder), str(Path.home())):
            assert not re.search(rb"\b" + re.escape(secret.encode()) + rb"\b", content), (name, secret)
            assert secret not in name
        if not name.endswith((".npz", ".safetensors", ".parquet")):
            assert not re.search(rb"[\"'\s](/[\w.-]+)+", content), name
    write_archive(folder, tmp_path / "packed.tar.xz")
    with tarfile.open(tmp_path / "packed.tar.xz") as archive:
        assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in archive} == {(0, 0, "", "", 0)}


def test_of_many_embedding_norms_the_first_the_best_and_the_last_are_kept(run, tmp_path):
    RunWriter(run).save_best(run.checkpoints.weights()[0], {"step": 150, "bleu": 1.0})
    for step in range(100, 200):
        RunWriter(run).save_embedding_norms(step, {"source": np.full(2000, step, dtype=np.float32)})
    packed = Run(pack(run, tmp_path / "packed"))
    assert set(packed.log.embedding_norms()) == {20, 150, 199}
    assert packed.log.embedding_norms()[199]["source"].tolist() == [199.0] * 2000
    assert len(packed.log.gradient_norms()) == len(run.log.gradient_norms()) == 60


@pytest.mark.parametrize("status", ["finished", "stopped", "diverged", "interrupted"])
def test_a_packed_run_keeps_its_status(run, tmp_path, workspace, status):
    if status != "finished":
        RunWriter(run).truncate_after(45)
    if status not in ("finished", "interrupted"):
        RunWriter(run).log("end", 45, status=status, seconds=1.0)
    packed = Run(pack(run, tmp_path / "packed"))
    assert packed.status == status
    assert unpack(pack(packed, tmp_path / "again.tar.xz"), workspace, "again").status == status


def test_a_run_that_has_hardly_begun_can_be_packed(tiny_corpus, tiny_recipe, tmp_path, workspace):
    begun = Run.create(workspace.runs / "begun", tiny_recipe, {}, Pipeline.learn(tiny_recipe.text, tiny_corpus))
    packed = unpack(pack(begun, tmp_path / "begun.tar.xz"), workspace, "packed")
    same_to_read(begun, packed)
    assert (packed.status, packed.checkpoints.best_step) == ("interrupted", None)
    assert len(packed.log.metrics("train")) == 0
    message = refused(pack, begun, tmp_path / "other", weights=True)
    assert message == "run 'begun': it has no best checkpoint; pack it without weights"
    assert not (tmp_path / "other").exists()


def test_a_packed_run_can_be_packed_again(run, tmp_path):
    once = Run(pack(run, tmp_path / "once", weights=True))
    twice = Run(pack(once, tmp_path / "twice", weights=True))
    assert files(twice.folder) == files(once.folder)
    for name in files(once.folder) - {"checkpoints/best.safetensors"}:  # whose metadata order varies
        assert (twice.folder / name).read_bytes() == (once.folder / name).read_bytes()
    assert all(
        torch.equal(tensor, twice.checkpoints.weights()[0][name])
        for name, tensor in once.checkpoints.weights()[0].items()
    )


def test_nothing_is_packed_over_something_else(run, tmp_path):
    for target in (tmp_path / "a", tmp_path / "a.tar.xz"):
        pack(run, target)
        assert refused(pack, run, target) == f"{target}: already exists; remove it, or choose another path"
    assert sorted(os.listdir(tmp_path)) == ["a", "a.tar.xz", "data"]


def test_a_damaged_run_is_not_packed(run, tmp_path):
    (run.folder / "vocabulary/target.tsv").write_text("x", encoding="utf-8")
    assert "target.tsv: checksum mismatch" in refused(pack, run, tmp_path / "packed")
    assert sorted(os.listdir(tmp_path)) == ["data"]


# Weights


def test_half_precision_weights_load_and_translate(run, tmp_path, tiny_corpus):
    packed = Run(pack(run, tmp_path / "packed", weights=True))
    assert files(packed.folder) & {"checkpoints/best.safetensors", "checkpoints/last.safetensors"} == {
        "checkpoints/best.safetensors"
    }
    _, facts = run.checkpoints.weights()
    halves, half_facts = packed.checkpoints.weights()
    assert facts == half_facts
    assert {tensor.dtype for tensor in halves.values()} == {torch.float16}
    model, half_model = open_system(run).model, open_system(packed).model
    for (name, parameter), (half_name, half) in zip(
        model.named_parameters(), half_model.named_parameters(), strict=True
    ):
        assert (name, half.dtype) == (half_name, torch.float32)
        torch.testing.assert_close(half, parameter, rtol=1e-3, atol=1e-7)
    lines = list(tiny_corpus.lines("dev", "de"))[:5]
    assert [t.hypotheses[0].log_prob for t in open_system(packed).translate(lines)] == pytest.approx(
        [t.hypotheses[0].log_prob for t in open_system(run).translate(lines)], rel=0.01
    )
    assert packed.origin.limitations == (
        "packed with weights in half precision, it cannot be trained further; new log-probabilities may differ by "
        "0.01 from the answers packed with it, which are from the original weights, digest "
        f"{run.checkpoints.digest[:12]}"
    )


def test_recurrent_weights_travel_too(tiny_corpus, tiny_recipe, tmp_path, workspace):
    rnn = RnnSettings(d_model=8, fixnorm=True, lexicon="module")
    recipe = tiny_recipe.model_copy(update={"model": rnn}).with_changes(
        {"training.max_evaluations": 1, "training.validate_every": 5}
    )
    run = train("rnn", recipe, tiny_corpus, workspace)
    packed = unpack(pack(run, tmp_path / "rnn.tar.xz", weights=True), workspace, "packed")
    half = dict(open_system(packed).model.named_parameters())
    for name, parameter in open_system(run).model.named_parameters():
        torch.testing.assert_close(half[name], parameter, rtol=1e-3, atol=1e-7)


def test_a_translation_table_travels_with_the_weights_alone_and_counts_as_they_do(run, tmp_path):
    table = run.folder / "translation_table.safetensors"
    table.write_bytes(b"p(target | source)")
    assert not (pack(run, tmp_path / "without") / table.name).exists()
    assert (pack(run, tmp_path / "with", weights=True) / table.name).read_bytes() == table.read_bytes()
    table.write_bytes(bytes(4 << 20))
    assert "its weights take 4.0 MiB in half precision" in refused(pack, run, tmp_path / "large", weights=True)


@pytest.mark.parametrize(("value", "problem"), [(1e6, "too large for half precision"), (0.0, "take 4.8 MiB in half")])
def test_weights_that_are_too_large_are_not_packed(run, tmp_path, value, problem):
    weights, facts = run.checkpoints.weights()
    large = torch.zeros(2_500_000 if value == 0 else 3)
    large[0] = value
    RunWriter(run).save_best({**weights, "large": large}, facts)
    message = refused(pack, run, tmp_path / "packed", weights=True)
    assert problem in message
    assert message.startswith("run 'whole': ")
    assert message.endswith("; pack it without weights")
    pack(run, tmp_path / "packed")


def test_without_weights_a_packed_run_says_what_it_has_instead(run, tmp_path):
    packed = Run(pack(run, tmp_path / "packed"))
    expected = (
        "run 'packed': packed without its model, it can neither translate nor answer new questions; it has its logs, "
        f"its vocabulary and stored answers (some) from the original weights, digest {run.checkpoints.digest[:12]}; "
        "use these, or train its recipe again"
    )
    for do in (packed.checkpoints.weights, packed.origin.check_model, lambda: open_system(packed)):
        assert refused(do) == expected
    assert refused(pack, packed, tmp_path / "again", weights=True) == expected


def test_a_packed_run_is_not_trained_any_further(tiny_corpus, tiny_recipe, run, tmp_path, workspace):
    RunWriter(run).truncate_after(45)
    packed = unpack(pack(run, tmp_path / "packed.tar.xz"), workspace, "packed")
    before = files(packed.folder)
    message = refused(train, "packed", tiny_recipe, tiny_corpus, workspace, resume=True)
    problem = "run 'packed': cannot be resumed: a packed run stays as it is"
    assert message == f"{problem}; go on from it in a new run: nmtlab train CORPUS --from packed"
    assert files(packed.folder) == before
    same_to_read(packed, run)


# Sentences


def test_dev_sentences_travel_with_their_references_and_licence(run, tiny_corpus, tmp_path):
    small = dev_sentences(tiny_corpus, 5, "CC BY 4.0", tmp_path / "small")
    drawn = draw_sample(tiny_corpus, "dev", 5)
    assert list(small.pairs("dev")) == drawn.pairs
    packed = Run(pack(run, tmp_path / "packed", sentences=small))
    assert run.sentences is None
    assert packed.sentences.splits == ("dev",)
    assert list(packed.sentences.pairs("dev")) == list(small.pairs("dev"))
    licence = (packed.folder / "sentences/LICENCE").read_text(encoding="utf-8")
    assert licence == "5 dev sentences of tiny: CC BY 4.0\n"
    assert packed_lines(packed.sentences) == drawn.lines
    lines = packed.folder / "sentences/LINES"
    lines.write_text("1\n2\n", encoding="utf-8")
    assert refused(packed_lines, packed.sentences).startswith(f"{lines}: damaged or truncated (2 numbers for 5")
    lines.unlink()  # as packed by version 0.1
    assert packed_lines(packed.sentences) == [1, 2, 3, 4, 5]
    assert not (packed.folder / "translations").exists()


def test_all_references_travel(tiny_corpus, tmp_path):
    more = shutil.copytree(tiny_corpus.folder, tmp_path / "more")
    (more / "dev.en.1").write_text("b\n" * tiny_corpus.count("dev"), encoding="utf-8")
    small = dev_sentences(type(tiny_corpus)(more, "de", "en"), 3, "CC0", tmp_path / "small")
    assert small.references("dev") == [draw_sample(tiny_corpus, "dev", 3).targets, ["b"] * 3]


def test_true_links_and_heads_travel_with_the_dev_sentences_they_belong_to(run, tiny_corpus, tmp_path):
    grown = Path(shutil.copytree(tiny_corpus.folder, tmp_path / "grown"))
    corpus = type(tiny_corpus)(grown, "de", "en")
    words = [len(source.split()) for source, _ in corpus.pairs("dev")]
    (grown / "gold").mkdir()
    diagonal = [" ".join(f"{i}-{i}" for i in range(count)) for count in words]
    (grown / "gold/dev.de-en.align").write_text("".join(f"{line}\n" for line in diagonal), encoding="utf-8")
    chains = [" ".join(str(max(0, i - 1)) for i in range(count)) for count in words]
    (grown / "gold/dev.de-en.heads").write_text("".join(f"{line}\n" for line in chains), encoding="utf-8")
    small = dev_sentences(corpus, 5, "CC0", tmp_path / "small")
    packed = unpack(pack(run, tmp_path / "packed.tar.xz", sentences=small), Workspace(tmp_path / "sent"), "packed")
    assert gold_heads(packed.sentences, "dev") == draw_sample(corpus, "dev", 5).of(gold_heads(corpus, "dev"))
    assert has_gold_links(packed.sentences, "dev")
    assert gold_links(packed.sentences, "dev") == draw_sample(corpus, "dev", 5).of(gold_links(corpus, "dev"))
    assert not has_gold_links(dev_sentences(tiny_corpus, 5, "CC0", tmp_path / "other"), "dev")


def test_sentences_are_not_given_away_by_accident(run, tiny_corpus, tmp_path):
    assert refused(dev_sentences, tiny_corpus, 5, " ", tmp_path / "small") == (
        "corpus 'tiny': no licence to redistribute its sentences; name the licence that allows it with --licence, or "
        "pack the run without --sentences"
    )
    for number in (0, 201):
        assert refused(dev_sentences, tiny_corpus, number, "CC0", tmp_path / "small") == (
            f"{number} dev sentences cannot be packed; choose 1 to 200"
        )
    assert not (tmp_path / "small").exists()
    small = dev_sentences(tiny_corpus, 5, "CC0", tmp_path / "small")
    for corpus in (tiny_corpus, type(tiny_corpus)(small.folder, "en", "de")):
        with pytest.raises(CorpusError, match=r"not a corpus of packable sentences|other languages"):
            pack(run, tmp_path / "packed", sentences=corpus)

    def more_training_text(folder: Path) -> None:
        for language in ("de", "en"):
            (folder / f"train.{language}").write_text("a\n", encoding="utf-8")

    def more_dev_text(folder: Path) -> None:
        for language in ("de", "en"):
            (folder / f"dev.{language}").write_text("a\n" * 201, encoding="utf-8")

    def no_licence(folder: Path) -> None:
        (folder / "LICENCE").unlink()

    for number, spoil in enumerate((more_training_text, more_dev_text, no_licence)):
        spoiled = type(tiny_corpus)(Path(shutil.copytree(small.folder, tmp_path / str(number))), "de", "en")
        spoil(spoiled.folder)
        message = refused(pack, run, tmp_path / "packed", sentences=spoiled)
        assert message == f"{spoiled.folder}: not a corpus of packable sentences; make it with dev_sentences"
    assert not (tmp_path / "packed").exists()


# In the evidence


def test_a_packed_run_opens_by_name_unless_the_workspace_has_one_of_that_name(run, workspace):
    for name in ("shown", "whole"):
        pack_as(name, run, workspace)
    assert open_run("shown", workspace).origin.packed
    assert open_run("whole", workspace).folder == run.folder
    with pytest.raises(RunError, match="run 'none': not found; 'nmtlab runs list --packed' lists all runs"):
        open_run("none", workspace)
    for name in ("../runs/whole", "runs/whole"):
        with pytest.raises(RunError, match="not allowed"):
            open_run(name, workspace)


def test_packed_runs_are_listed_after_those_of_the_workspace(run, workspace):
    for name in ("b", "a", "whole"):
        pack_as(name, run, workspace)
    (workspace.evidence / "runs/b.tar.xz").write_bytes(b"{")
    runs, broken = list_runs(workspace)
    assert [(run.name, bool(run.origin.packed)) for run in runs] == [("whole", False), ("a", True)]
    assert list(broken) == ["b.tar.xz"]


# Compressed logs


def test_a_damaged_compressed_log_is_named(run, tmp_path):
    packed = Run(pack(run, tmp_path / "packed"))
    log = packed.folder / "metrics.jsonl.xz"
    content = log.read_bytes()
    log.write_bytes(content[:-30])
    assert refused(packed.log.metrics, "train") == f"{log}: truncated; get a fresh copy"
    log.write_bytes(b"x" + content)
    assert refused(packed.log.metrics, "train").startswith(f"{log}: damaged (")


def test_a_log_that_swells_when_it_is_read_is_refused(tmp_path):
    chunk = lzma.compress(b"\n" * (130 << 20), preset=0)
    (tmp_path / "g.jsonl.xz").write_bytes(chunk)
    assert refused(read_log, tmp_path / "g.jsonl") == (
        f"{tmp_path / 'g.jsonl.xz'}: larger than 128 MiB when decompressed; do not trust it"
    )


# Unpacking


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("recipe.toml", None, "run 'whole': not found"),
        ("recipe.toml", b"[model", "not TOML"),
        ("environment.json", None, "(environment.json: missing)"),
        ("packed.json", b"[", "packed.json: damaged or truncated ("),
        ("vocabulary/target.tsv", b"x", "target.tsv: checksum mismatch"),
        ("metrics.jsonl.xz", b"x", "(metrics.jsonl.xz: truncated)"),
    ],
)
def test_what_is_no_whole_packed_run_is_not_left_behind(run, tmp_path, workspace, name, content, problem):
    folder = pack(run, tmp_path / "whole")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    write_archive(folder, tmp_path / "bad.tar.xz")
    shutil.rmtree(run.folder)
    message = refused(unpack, tmp_path / "bad.tar.xz", workspace)
    assert message.startswith(f"{tmp_path / 'bad.tar.xz'}: incomplete or damaged packed run (")
    assert problem in message
    assert message.endswith("; have it packed again")
    assert os.listdir(workspace.runs) == []


def test_a_run_is_not_unpacked_over_another_or_out_of_the_folder(run, tmp_path, workspace):
    file = pack(run, tmp_path / "whole.tar.xz")
    assert refused(unpack, file, workspace) == "run 'whole': already exists; choose another --name"
    assert refused(unpack, file, workspace, "../x").startswith("run name '../x': not allowed")
    assert os.listdir(workspace.runs) == ["whole"]


def test_json_of_the_pack_says_by_which_version_it_was_made(run, tmp_path):
    packed = pack(run, tmp_path / "packed")
    noted = json.loads((packed / "packed.json").read_text(encoding="utf-8"))
    assert noted["best_step"] == run.checkpoints.weights()[1]["step"]
    assert noted["weights"] == run.checkpoints.digest
    assert set(noted) == {"nmtlab", "best_step", "weights"}
