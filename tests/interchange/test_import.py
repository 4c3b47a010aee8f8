"""Import of a model's folder: what the run has and lacks, and what is refused. Nothing here needs other libraries."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from support.foreign_folder import changed, in_cache, refusal, write_marian
from support.foreign_models import write_json
from typer.testing import CliRunner

from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY, word_norms
from nmtlab.cli.main import app
from nmtlab.errors import NmtlabError, RunError
from nmtlab.interchange.huggingface import import_model
from nmtlab.recipe import SearchSettings
from nmtlab.runs.pack import pack, unpack
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.segmentation.counting import counted
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, UNKNOWN_COUNT
from nmtlab.training.setup import train


@pytest.fixture(scope="session")
def marian_folder(tmp_path_factory) -> Path:
    """A folder with a small random MarianMTModel of de-en."""
    folder = tmp_path_factory.mktemp("hub") / "opus-tiny"
    write_marian(folder)
    return folder


@pytest.fixture
def folder(marian_folder, tmp_path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(marian_folder, tmp_path / "model"))


@pytest.fixture(scope="module")
def run(marian_folder, tmp_path_factory) -> Run:
    from nmtlab.workspace import Workspace

    return import_model(marian_folder, "opus", Workspace(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def counted_run(marian_folder, tiny_corpus, tmp_path_factory) -> Run:
    from nmtlab.workspace import Workspace

    return import_model(marian_folder, "opus", Workspace(tmp_path_factory.mktemp("data")), corpus=tiny_corpus)


# What it becomes


def test_it_is_a_run_that_says_what_it_lacks(run):
    assert run.status == "imported"
    assert run.directions == [("de", "en")]
    assert run.origin.limitations == (
        "imported from opus-tiny, it has no log of its training; the counts of its types are unknown; "
        "'nmtlab train CORPUS --from RUN' goes on from it"
    )
    assert run.recipe.search == SearchSettings(beam_size=6, score="average")
    assert (run.recipe.model.placement, run.recipe.model.activation) == ("post", "swish")
    assert run.checkpoints.best_step == 0
    assert run.checkpoints.last_step is None


def test_a_repository_in_the_hubs_cache_is_read_and_has_its_name(marian_folder, workspace, tmp_path):
    old, new = "0a" * 20, "f1" * 20
    cache = in_cache(marian_folder, tmp_path / "models--Helsinki-NLP--opus-mt-de-en", old, new)
    (cache / "snapshots" / old / "config.json").unlink()  # so that it could not be read
    for number, folder in enumerate((cache, cache / "snapshots" / new)):
        run = import_model(folder, f"opus-{number}", workspace)
        assert run.origin.limitations.startswith("imported from Helsinki-NLP/opus-mt-de-en, it has no log")
        assert open_model(run).translate(["ein hund"])[0].hypotheses
    (cache / "refs/main").unlink()  # of another branch
    with pytest.raises(RunError, match=r"it has no config\.json; give one of the folders in .*snapshots"):
        import_model(cache, "either", workspace)
    shutil.rmtree(cache / "snapshots" / old)
    import_model(cache, "only", workspace)


def test_a_model_that_ranks_by_log_probability_does_so_here(folder, workspace):
    run = import_model(changed(folder, length_penalty=0.0), "opus", workspace)
    assert run.recipe.search == SearchSettings(beam_size=6, score="log-prob")


def test_padding_start_end_and_unknown_come_first_and_the_start_is_their_padding(run, marian_folder):
    from safetensors.torch import load_file

    types = run.pipeline.source.vocabulary.types
    theirs = load_file(marian_folder / "model.safetensors")["model.shared.weight"]
    ours = run.checkpoints.weights()[0]["source_embedding.weight"]
    assert types[:4] == SPECIALS
    assert torch.equal(ours[[PAD, BOS, EOS, UNK]], theirs[[-1, -1, 0, 1]])
    assert torch.equal(ours[4:], theirs[2:-1])


def test_it_may_generate_all_types_but_padding_and_start(run):
    assert np.flatnonzero(~run.pipeline.target_allowed).tolist() == [PAD, BOS]
    model = open_model(run).model
    rows = model.output_table().rows
    assert rows.data_ptr() == model.target_embedding.weight[2:].data_ptr()  # not a copy


def test_its_pipeline_is_saved_and_read_as_it_was(run, tmp_path):
    run.pipeline.save(tmp_path)
    again = Pipeline.load(tmp_path)
    assert again.checksum() == run.pipeline.checksum()
    assert not again.counts_known
    assert set(again.source.vocabulary.counts) == {UNKNOWN_COUNT}
    assert again.source_ids("ein hund") == run.pipeline.source_ids("ein hund")


def test_words_of_a_text_that_the_model_normalises_are_those_of_its_pieces(run):
    tokenizer = run.pipeline.source.tokenizer
    words, indices = tokenizer.words("ein hund")
    assert words == ["ein", "hund"]
    assert len(indices) == len(tokenizer.split("ein hund"))
    split = "ein hund´s"  # NFKC puts a space before the accent
    words, indices = tokenizer.words(split)
    assert len(words) == max(indices) + 1 > 2
    assert tokenizer.words("") == ([], [])


def test_it_stays_as_it_is_and_its_subwords_do_not_extend(run, tiny_corpus, tiny_recipe):
    from nmtlab.workspace import Workspace

    workspace = Workspace(run.folder.parents[1])
    with pytest.raises(RunError, match=r"an imported run stays as it is; go on from it .* --from opus"):
        train(run.name, tiny_recipe, tiny_corpus, workspace, resume=True)
    child = tiny_recipe.with_settings([f"transfer.parent={run.name}"])
    with pytest.raises(NmtlabError):
        train("child", child, tiny_corpus, workspace)


def test_subwords_of_an_imported_model_cannot_be_learned(tiny_corpus, run):
    with pytest.raises(NmtlabError, match="come with a model and are not learned"):
        Pipeline.learn(run.recipe.text, tiny_corpus)


def test_it_can_be_packed_with_its_weights(run, tmp_path, workspace):
    pack(run, tmp_path / "opus.tar.xz", weights=True)
    again = unpack(tmp_path / "opus.tar.xz", workspace)
    assert again.status == "imported"
    assert again.origin.limitations.startswith("imported from opus-tiny")
    assert open_model(again).translate(["ein hund"])[0].hypotheses


# Counts and shortlists


def test_without_counts_frequencies_are_refused_and_not_invented(run, tiny_corpus):
    assert np.isnan(run.pipeline.target.counts).all()
    with pytest.raises(RunError, match="frequencies of the model's types are unknown"):
        NORMS_BY_FREQUENCY.of(run)
    with pytest.raises(RunError, match="frequencies of the model's types are unknown"):
        rare_choices(run, tiny_corpus)
    with pytest.raises(RunError, match=r"search\.shortlist"):
        open_model(run, SearchSettings(shortlist=5))


def test_a_named_corpus_gives_the_counts(counted_run, tiny_corpus):
    pipeline = counted_run.pipeline
    lines = list(tiny_corpus.lines("train", "en"))
    ids = np.concatenate(pipeline.encode_target(lines))
    assert pipeline.target.counts.tolist() == np.bincount(ids, minlength=pipeline.target.size).tolist()
    assert pipeline.target.counts[EOS] == len(lines)
    assert (
        "the counts of its types are those of tiny, not of the text it was trained on" in counted_run.origin.limitations
    )
    assert counted_run.recipe.corpus.name == "tiny"
    norms = word_norms(counted_run)
    assert norms["count"].is_monotonic_decreasing
    assert norms["count"].max() == pipeline.target.counts[len(SPECIALS) :].max()


def test_counting_again_gives_the_same_counts(counted_run, tiny_corpus):
    assert counted(counted_run.pipeline, tiny_corpus).checksum() == counted_run.pipeline.checksum()


def test_a_shortlist_keeps_the_most_frequent_types_and_says_what_it_leaves_out(counted_run):
    system = open_model(counted_run, SearchSettings(shortlist=5))
    counts = counted_run.pipeline.target.counts
    kept = system.model.output_ids.tolist()
    others = [number for number in kept if number not in (EOS, UNK)]
    assert len(others) == 5
    left = np.delete(counts[4:], np.array(others) - 4)
    assert counts[others].min() >= left.max()
    share = left.sum() / counts[2:].sum()
    assert system.limitations == (
        f"a shortlist leaves out {len(left)} of {len(counts) - 2} target types, which are {share:.2%} of the tokens of "
        "the counted text"
    )
    tokens = system.translate(["ein hund sieht"])[0].hypotheses[0].tokens
    assert set(tokens) <= {*others, UNK}
    assert open_model(counted_run).limitations == ""


# Memory and precision


@torch.inference_mode()
def test_half_precision_is_half_as_large_and_close(marian_folder, run, workspace):
    half = import_model(marian_folder, "half", workspace, half=True)
    model = open_model(half).model
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    whole, halved = (open_model(one) for one in (run, half))
    source = torch.tensor([run.pipeline.source_ids("ein hund sieht")])
    first = [
        system.model.step(system.model.start(system.model.encode(source)), torch.tensor([[BOS]]), record=True)
        for system in (whole, halved)
    ]
    assert first[1].log_probs.dtype == torch.float32
    torch.testing.assert_close(first[1].log_probs, first[0].log_probs, atol=0.1, rtol=0)
    assert first[1].attention.numpy().dtype == np.float32
    assert halved.translate(["ein hund"])[0].hypotheses


def test_weights_are_mapped_and_not_copied(run):
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("needs /proc/self/maps, which shows what is mapped")
    system = open_model(run)
    mapped = [
        line.split()[0] for line in maps.read_text().splitlines() if line.endswith("checkpoints/best.safetensors")
    ]
    spans = [tuple(int(end, 16) for end in span.split("-")) for span in mapped]
    for parameter in system.model.parameters():
        assert any(low <= parameter.data_ptr() < high for low, high in spans)


# What is refused


def test_a_folder_without_a_model_is_refused(tmp_path, workspace):
    assert "it has no config.json; give a folder as huggingface_hub stores it" in refusal(tmp_path, workspace)


def test_another_architecture_is_named_with_those_that_are_supported(folder, workspace):
    changed(folder, architectures=["BartForConditionalGeneration"], model_type="bart")
    assert refusal(folder, workspace) == (
        "config.json: architecture 'BartForConditionalGeneration' cannot be imported; choose one of "
        "MarianMTModel, PegasusForConditionalGeneration, M2M100ForConditionalGeneration"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("activation_function", "gelu"), ("scale_embedding", False), ("tie_word_embeddings", False)],
)
def test_a_part_that_ours_lacks_is_named(folder, workspace, field, value):
    message = refusal(changed(folder, **{field: value}), workspace)
    assert message.startswith(f"config.json: {field} = {value!r}: no such part here; ")


def test_sides_of_different_sizes_are_refused(folder, workspace):
    assert "encoder_ffn_dim and decoder_ffn_dim differ" in refusal(changed(folder, decoder_ffn_dim=25), workspace)


def test_a_folder_without_weights_is_refused(folder, workspace):
    (folder / "model.safetensors").unlink()
    assert "no weights: neither model.safetensors nor pytorch_model.bin" in refusal(folder, workspace)


def test_truncated_weights_are_refused(folder, workspace):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    assert f"{path}: damaged or truncated" in refusal(folder, workspace)


@pytest.mark.parametrize("archived", [True, False], ids=["archive", "before torch 1.6"])
def test_a_file_of_torch_is_read_as_tensors_alone(folder, workspace, run, archived):
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=archived)
    again = import_model(folder, "old", workspace)
    for name, tensor in again.checkpoints.weights()[0].items():
        assert torch.equal(tensor, run.checkpoints.weights()[0][name])


class _Planted:
    ran = False

    def __reduce__(self):
        return setattr, (_Planted, "ran", True)


@pytest.mark.parametrize("archived", [True, False], ids=["archive", "before torch 1.6"])
def test_a_pickle_that_is_more_than_tensors_is_refused_and_not_run(folder, workspace, archived):
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save({"model.shared.weight": _Planted()}, path, _use_new_zipfile_serialization=archived)
    assert f"{path}: damaged, or more than tensors" in refusal(folder, workspace)
    assert not _Planted.ran


@pytest.mark.parametrize("name", ["source.spm", "target.spm"])
def test_a_missing_or_damaged_tokenizer_model_is_refused(folder, workspace, name):
    (folder / name).write_bytes(b"no model")
    assert f"{folder / name}: not a SentencePiece model" in refusal(folder, workspace)
    (folder / name).unlink()
    assert f"{folder / name}: no tokenizer model" in refusal(folder, workspace)


def test_a_vocabulary_that_does_not_fit_the_weights_is_refused(folder, workspace):
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    write_json(folder / "vocab.json", ids | {"more": len(ids), "still more": len(ids) + 1})
    assert f"the source vocabulary has {len(ids) + 2:,} types, but the weights {len(ids):,}" in refusal(
        folder, workspace
    )


def test_weights_that_are_missing_or_superfluous_are_named(folder, workspace):
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors")
    fc1 = tensors.pop("model.encoder.layers.0.fc1.bias")
    save_file(tensors, folder / "model.safetensors")
    assert "weight 'model.encoder.layers.0.fc1.bias': missing" in refusal(folder, workspace)
    save_file(tensors | {"model.encoder.layers.0.fc1.bias": fc1, "extra": fc1.clone()}, folder / "model.safetensors")
    assert "weight 'extra': the architecture has no such part here" in refusal(folder, workspace)
    save_file(tensors | {"model.encoder.layers.0.fc1.bias": fc1[:-1].clone()}, folder / "model.safetensors")
    assert "the checkpoint has shape" in refusal(folder, workspace)


def test_stored_positions_must_be_sinusoids(folder, workspace):
    from safetensors.torch import load_file

    from nmtlab.nn.positions import sinusoids

    tensors, name = load_file(folder / "model.safetensors"), "model.encoder.embed_positions.weight"
    waves = sinusoids(torch.arange(64), 16, "halves")
    save_file(tensors | {name: waves}, folder / "model.safetensors")
    import_model(folder, "waves", workspace)
    save_file(tensors | {f"{name}s": waves}, folder / "model.safetensors")
    import_model(folder, "computed", workspace)
    save_file(tensors | {name: torch.randn(64, 16)}, folder / "model.safetensors")
    with pytest.raises(RunError, match="positions are not sinusoids"):
        import_model(folder, "learned", workspace)


def test_unknown_languages_are_asked_for(folder, workspace):
    (folder / "tokenizer_config.json").unlink()
    assert "does not name its source language; name it with --source" in refusal(folder, workspace)
    assert "no tokens for target languages" in refusal(folder, workspace, sources=["de"], targets=["en", "gl"])


def test_a_model_larger_than_memory_is_refused_before_it_is_read(folder, workspace, monkeypatch):
    from nmtlab.interchange import folder as module

    monkeypatch.setattr(module.os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 8}[name])
    message = refusal(folder, workspace)
    assert "GiB of memory, and this machine has 0.0 GiB" in message


def test_a_name_that_is_taken_is_refused(marian_folder, run):
    from nmtlab.workspace import Workspace

    with pytest.raises(RunError, match="already exists"):
        import_model(marian_folder, run.name, Workspace(run.folder.parents[1]))


# The command


def test_the_command_imports_and_the_run_translates(marian_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    done = CliRunner().invoke(app, ["runs", "import", str(marian_folder), "--name", "opus"], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.output.startswith("run opus: de-en; imported from opus-tiny, it has no log of its training")
    listed = CliRunner().invoke(app, ["runs", "list"], catch_exceptions=False)
    assert "imported" in listed.output
    shown = CliRunner().invoke(app, ["runs", "show", "opus"], catch_exceptions=False)
    assert "Imported from opus-tiny" in shown.output
    words = ["translate", "opus", "--n-best", "2", "--scores"]
    said = CliRunner().invoke(app, words, input="ein hund\n\n", catch_exceptions=False)
    assert len(said.stdout.splitlines()) == 3
