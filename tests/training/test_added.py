"""What a run that goes on from another adds to it: letters that it lacks, and the tag of a new language."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from support.foreign_folder import write_marian
from support.foreign_models import m2m, subwords
from typer.testing import CliRunner

from nmtlab.analysis.dynamics.divergence import divergence
from nmtlab.analysis.dynamics.weight_change import weight_change
from nmtlab.analysis.languages.moved_vectors import moved_vectors
from nmtlab.analysis.lexical.word_changes import word_changes
from nmtlab.cli.main import app
from nmtlab.errors import NmtlabError
from nmtlab.interchange.export import export_model
from nmtlab.interchange.huggingface import import_model
from nmtlab.interchange.served import open_served
from nmtlab.models.interface import on_device
from nmtlab.models.parts import vocabulary_side
from nmtlab.recipe import Recipe, SearchSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.extending import other_code, with_letters
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.tokenizers import ImportedSubwords
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.training.parallel import Group
from nmtlab.training.setup import train
from nmtlab.training.step import Stepper
from nmtlab.training.transfer import continued_recipe
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

SHORT = {
    "training.validate_every": 10, "training.max_evaluations": 2, "training.batch_tokens": 400,
    "training.learning_rate": 1e-3, "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip
LETTERS = {"de": "☃ǂ", "en": "ǁ☃"}
LINES = ["ein hund singt", "ein kind sieht einen hund"]


@pytest.fixture(scope="module")
def here(tmp_path_factory, tiny_corpus, tiny_recipe) -> Workspace:
    """A workspace with the corpora `tiny`, `odd`, which has more letters, and `bavarian`, and three parents."""
    workspace = Workspace(tmp_path_factory.mktemp("added") / "data")
    corpora = workspace.data / "corpora"
    corpora.mkdir(parents=True)
    shutil.copytree(tiny_corpus.folder, corpora / "tiny")
    odd = Path(shutil.copytree(tiny_corpus.folder, corpora / "odd"))
    for code, letters in LETTERS.items():
        write_lines(odd / f"train.{code}", [f"{line} {letters}" for line in tiny_corpus.lines("train", code)])
    for folder, codes in (("bavarian", ("bar_Latn", "eng_Latn")), ("french", ("de", "fr"))):
        (corpora / folder).mkdir()
        for split in ("train", "dev", "test"):
            for theirs, ours in zip(("de", "en"), codes, strict=True):
                shutil.copyfile(tiny_corpus.folder / f"{split}.{theirs}", corpora / folder / f"{split}.{ours}")
    recipe = tiny_recipe.with_changes(
        {"training.max_evaluations": 1, "text.segmentation": "bpe", "text.vocabulary_size": 90}
    )
    train("words", tiny_recipe.with_changes({"training.max_evaluations": 1}), opened(workspace, "tiny"), workspace)
    train("parent", recipe, opened(workspace, "tiny"), workspace)
    more = {"more_corpora": [{"name": "tiny", "source": "en", "target": "de"}]}
    train("both", recipe.with_changes(more), opened(workspace, "tiny"), workspace)
    write_marian(workspace.data / "opus-folder")
    import_model(workspace.data / "opus-folder", "opus", workspace)
    lines = [*tiny_corpus.lines("train", "de"), *tiny_corpus.lines("train", "en")]
    m2m(workspace.data / "nllb-folder", lines, nllb=True, languages=["deu_Latn", "eng_Latn", "fra_Latn"])
    import_model(workspace.data / "nllb-folder", "nllb", workspace, ["deu_Latn"], ["eng_Latn"])
    return workspace


def opened(workspace: Workspace, name: str, *languages: str) -> ParallelCorpus:
    return ParallelCorpus.open(workspace.data / "corpora" / name, *languages)


def run_of(workspace: Workspace, name: str) -> Run:
    return Run(workspace.runs / name)


def recipe_from(parent: Run, **changes) -> Recipe:
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return continued_recipe(parent, named_recipe("fine-tune")).with_changes(SHORT | named)


@pytest.fixture(scope="module", params=["parent", "opus"])
def parent(request, here) -> Run:
    return run_of(here, request.param)


@pytest.fixture(scope="module")
def lettered(parent, here) -> Run:
    """A run that has begun with its parent's weights, and with more letters."""
    recipe = recipe_from(parent, transfer__add_letters=True)
    return train(f"{parent.name}-letters", recipe, opened(here, "odd"), here, should_stop=lambda: True)


def test_letters_become_types_behind_all_others_and_old_text_keeps_its_ids(parent, lettered, here, tmp_path):
    ours, theirs = lettered.pipeline, parent.pipeline
    for side in ("source", "target"):
        mine, before = getattr(ours, side), getattr(theirs, side)
        assert mine.vocabulary.types[: before.size] == before.vocabulary.types
        assert set(mine.vocabulary.types[before.size :]) == {"☃", "ǂ", "ǁ"}  # joint
    old, odd = opened(here, "tiny"), opened(here, "odd")
    assert ours.encode_source([*old.lines("train", "de")]) == theirs.encode_source([*old.lines("train", "de")])
    assert ours.encode_target([*old.lines("dev", "en")]) == theirs.encode_target([*old.lines("dev", "en")])
    before = sum(UNK in row for row in theirs.encode_source([*odd.lines("train", "de")]))
    assert before == odd.count("train")
    for encode, code in ((ours.encode_source, "de"), (ours.encode_target, "en")):
        assert not any(UNK in row for row in encode([*odd.lines("train", code)]))
    assert ours.source.counts[ours.source.vocabulary.ids("☃ǂ")].tolist() == [odd.count("train")] * 2
    assert ours.target_allowed[ours.target.vocabulary.ids("ǁ☃")].all()
    assert np.array_equal(ours.target_allowed[: theirs.target.size], theirs.target_allowed)
    ours.save(tmp_path)
    again = Pipeline.load(tmp_path)
    assert again.checksum() == ours.checksum() != theirs.checksum()
    assert again.encode_source(["☃ ein hund ǂ"]) == ours.encode_source(["☃ ein hund ǂ"])
    assert ours.target.text(ours.target_ids("a ☃ dog")) == "a ☃ dog"


def test_their_vectors_begin_as_the_mean_and_all_others_as_the_parents(parent, lettered):
    ours, theirs = lettered.checkpoints.weights("last")[0], parent.checkpoints.weights()[0]
    for name, before in theirs.items():
        side = vocabulary_side(name)
        assert torch.equal(ours[name][: len(before)] if side else ours[name], before), name
        if side:
            mean = before[torch.from_numpy(getattr(parent.pipeline, side).vocabulary.is_text)].mean(0)
            torch.testing.assert_close(ours[name][len(before) :], mean.expand_as(ours[name][len(before) :]))


def test_a_letter_that_only_the_source_had_can_be_written_once_the_target_has_it(parent, lettered, here, tmp_path):
    folder = Path(shutil.copytree(opened(here, "tiny").folder, tmp_path / "written"))
    write_lines(folder / "train.en", [f"{line} ǂ" for line in opened(here, "tiny").lines("train", "en")])
    (number,) = lettered.pipeline.target.vocabulary.ids(["ǂ"])
    assert lettered.pipeline.target_allowed[number] == (parent.name == "opus")  # which has no mask
    more = with_letters(lettered.pipeline, [ParallelCorpus.open(folder, "de", "en")])
    assert more.target_allowed[number]
    assert more.target.size == lettered.pipeline.target.size


def test_what_changed_is_asked_of_the_types_that_both_have(parent, lettered, here):
    folder = shutil.copytree(lettered.folder, lettered.folder.parent / f"{lettered.name}-begun")
    shutil.copyfile(Run(folder).checkpoints.path("last"), Run(folder).checkpoints.path("best"))
    run = Run(folder)
    assert (weight_change(run, parent)["change"] == 0).all()
    for side in ("source", "target"):
        moved = moved_vectors(run, parent, side)
        assert (moved["distance"] == 0).all()
        assert not set(moved["word"]) & {"☃", "ǂ", "ǁ"}
    words = word_changes(run, parent, opened(here, "odd"))
    assert words["attention"].max() < 1e-6
    assert (words["after"] <= words["before"] + 1e-5).all()  # the new letters take a little
    moved = divergence(run, parent, opened(here, "odd"))
    assert moved["same"].all()
    known = words.groupby("line").filter(lambda line: not set("".join(line["word"])) & set("☃ǂǁ"))
    left = (known["before"] - known["after"]).groupby(known["line"]).sum()  # all types lose the same share of p
    assert len(left)
    assert moved.groupby("line")["divergence"].sum()[left.index].to_numpy() == pytest.approx(left.to_numpy(), abs=1e-4)


def logits(run: Run, which: str, corpus: ParallelCorpus, here: Workspace) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the ids of the columns, and the logits of each target token of some text, in double precision."""
    model = open_model(run, which=which).model.double()
    text = EncodedCorpus.open(here.cache, run.pipeline.learned or run.pipeline, corpus)
    batch = on_device(next(iter(Batches(Mixture([text]), 400, seed=1).epoch(0))))
    with torch.no_grad():
        return model.output_ids, model.output(model(batch))


def test_the_logits_of_old_types_are_the_parents_and_new_ones_take_little(parent, lettered, here):
    corpus = opened(here, "tiny")
    ids, before = logits(parent, "best", corpus, here)
    more, after = logits(lettered, "last", corpus, here)
    old = torch.isin(more, ids)
    torch.testing.assert_close(after[:, old], before, atol=1e-12, rtol=0)
    torch.testing.assert_close(after[:, old].log_softmax(-1), before.log_softmax(-1), atol=1e-12, rtol=0)
    if parent.name == "opus":  # whose rows are not normalised
        words = int(parent.pipeline.target.vocabulary.is_text.sum())
        new = int((~old).sum())
        assert new == 3
        share = after.softmax(-1)[:, ~old].sum(-1)
        assert share.max() <= new / words


def test_updates_at_rate_0_leave_what_was_inherited(parent, lettered, here):
    model = open_model(lettered, which="last").model.requires_grad_().train()
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    stepper = Stepper(model, lettered.recipe, lettered.pipeline, Group.init(torch.device("cpu")))
    text = EncodedCorpus.open(here.cache, lettered.pipeline.learned, opened(here, "odd"))
    batches = Batches(Mixture([text]), 400, seed=1).epoch(0)
    for step, batch in zip(range(1, 4), batches, strict=False):
        assert stepper.update(step, [batch], rate=0.0).norm > 0
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())


@pytest.fixture(scope="module")
def whole(parent, here) -> Run:
    """The same run, trained to its end."""
    return train(f"{parent.name}-whole", recipe_from(parent, transfer__add_letters=True), opened(here, "odd"), here)


def test_it_is_trained_resumed_decoded_and_continued(parent, whole, here):
    recipe = whole.recipe
    steps = iter(range(100))
    name = f"{parent.name}-stopped"
    train(name, recipe, opened(here, "odd"), here, should_stop=lambda: next(steps) == 13)
    stopped = train(name, recipe, opened(here, "odd"), here, resume=True)
    ours, theirs = (run.checkpoints.weights("last")[0] for run in (stopped, whole))
    assert all(torch.equal(ours[one], theirs[one]) for one in theirs)
    assert open_model(whole).translate(["ein hund ☃"], must=[["ǁ"]])[0].text.count("ǁ") >= 1
    again = train(f"{name}-again", recipe_from(whole), opened(here, "odd"), here, should_stop=lambda: True)
    assert again.pipeline.checksum() == whole.pipeline.checksum()


def test_new_letters_are_exported(whole, tmp_path):
    lines, greedy = ["ein hund ☃ ǂ", *LINES], SearchSettings(beam_size=1)
    said = [one.text for one in open_model(whole, greedy).translate(lines)]
    pytest.importorskip("ctranslate2")
    assert [one.text for one in open_served(whole, "fp32", greedy).translate(lines)] == said
    if whole.recipe.model.norm == "scale":
        return  # which no architecture of the transformers library has
    export_model(whole, "huggingface", tmp_path / "out")
    assert {"☃", "ǂ", "ǁ"} < json.loads((tmp_path / "out/vocab.json").read_text(encoding="utf-8")).keys()
    copy = import_model(tmp_path / "out", "copy", Workspace(tmp_path / "data"))
    assert [one.text for one in open_model(copy, greedy).translate(lines)] == said


# Tags


@pytest.fixture(scope="module")
def tagged(here) -> Run:
    recipe = recipe_from(run_of(here, "nllb"), transfer__add_tag="bar_Latn", transfer__like="deu_Latn")
    return train("bavarian", recipe, opened(here, "bavarian"), here, should_stop=lambda: True)


def test_a_new_tag_begins_as_the_one_that_it_is_like(tagged, here, tmp_path):
    parent = run_of(here, "nllb")
    ours, theirs = tagged.pipeline.source.vocabulary, parent.pipeline.source.vocabulary
    assert ours.types == (*theirs.types, "bar_Latn")
    assert ours.tag_ids(["deu_Latn", "bar_Latn"]) == [theirs.tag_ids(["deu_Latn"])[0], theirs.size]
    assert tagged.pipeline.languages == ("bar_Latn", "eng_Latn")
    assert tagged.pipeline.source_ids("ein hund")[0] == theirs.size
    assert tagged.pipeline.source.text(tagged.pipeline.source_ids("ein hund")) == "ein hund"
    assert tagged.pipeline.target_allowed[-1]  # as where it comes from
    weights, before = tagged.checkpoints.weights("last")[0], parent.checkpoints.weights()[0]
    like = theirs.tag_ids(["deu_Latn"])[0]
    for name in filter(vocabulary_side, before):
        assert torch.equal(weights[name][-1], before[name][like])
    first = open_model(parent, SearchSettings(beam_size=1)).translate(LINES)
    second = open_model(tagged, SearchSettings(beam_size=1), "last").translate(LINES)
    assert [one.text for one in first] == [one.text for one in second]
    loaded = Pipeline.load(tagged.folder / "vocabulary")
    assert loaded.source.vocabulary.added_tags == {"bar_Latn": theirs.size}
    assert loaded.checksum() == tagged.pipeline.checksum()


def test_a_run_with_a_new_tag_is_exported(tagged, here, tmp_path):
    run = train(tagged.name, tagged.recipe, opened(here, "bavarian"), here, resume=True)
    export_model(run, "huggingface", tmp_path / "out")
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert card.startswith('---\nlanguage:\n- "bar"\n- "en"\n')  # NLLB's codes are none of the hub's
    assert f"# {run.name}\n\nA Transformer that translates from bar_Latn to eng_Latn." in card
    copy = import_model(tmp_path / "out", "copy", Workspace(tmp_path / "data"), ["bar_Latn"], ["eng_Latn"])
    first, second = (open_model(one, SearchSettings(beam_size=1)).translate(LINES) for one in (run, copy))
    assert [one.text for one in first] == [one.text for one in second]


def test_our_own_tags_grow_too_and_again(here, tmp_path):
    parent = run_of(here, "both")
    recipe = recipe_from(parent, transfer__add_tag="fr", transfer__like="en", transfer__add_letters=True)
    run = train("french", recipe, opened(here, "french", "de", "fr"), here)
    ours, theirs = run.pipeline, parent.pipeline
    assert ours.source.vocabulary.types == (*theirs.source.vocabulary.types, "<2fr>")
    assert ours.source_ids("ein hund")[0] == theirs.source.size
    assert not ours.target_allowed[theirs.target.size]
    assert ours.target_allowed.sum() > 10
    assert open_model(run).translate(LINES)[0].hypotheses
    recipe = recipe_from(run, transfer__add_tag="gl", transfer__like="fr")
    shutil.copytree(opened(here, "french").folder, tmp_path / "galician")
    for split in ("train", "dev", "test"):
        (tmp_path / f"galician/{split}.fr").rename(tmp_path / f"galician/{split}.gl")
    again = train("galician", recipe, ParallelCorpus.open(tmp_path / "galician", "de", "gl"), here)
    vocabulary = Pipeline.load(again.folder / "vocabulary").source.vocabulary
    assert vocabulary.tag_ids(["<2fr>", "<2gl>"]) == [theirs.source.size, theirs.source.size + 1]
    odd = ParallelCorpus.open(shutil.copytree(tmp_path / "galician", tmp_path / "odd"), "de", "gl")
    write_lines(odd.folder / "train.gl", reversed([*odd.lines("train", "gl")]))
    child = named_recipe("transfer-bpe").with_changes({**SHORT, "transfer.parent": "galician"})
    child = child.model_copy(update={"model": run.recipe.model, "text": run.recipe.text})
    with pytest.raises(NmtlabError, match="was given a tag later; go on from it"):
        train("child", child, odd, here, allow_overlap=True)


# What is refused


def refused(here: Workspace, recipe: Recipe, corpus: ParallelCorpus) -> str:
    with pytest.raises(NmtlabError) as error:
        train("refused", recipe, corpus, here)
    assert not (here.runs / "refused").exists()
    return str(error.value)


def test_a_text_in_another_language_is_refused_with_the_tag_that_it_needs(here):
    message = refused(here, recipe_from(run_of(here, "nllb")), opened(here, "bavarian"))
    assert (
        "is to be continued on is in bar_Latn; give it a tag: --add-tag bar_Latn --like LANGUAGE, one of deu" in message
    )
    message = refused(here, recipe_from(run_of(here, "both")), opened(here, "french", "de", "fr"))
    assert "translates into en, de, the child into fr; give it a tag: --add-tag fr --like LANGUAGE, one of" in message


@pytest.mark.parametrize(
    ("parent", "changes", "said"),
    [
        ("opus", {"add_tag": "bar_Latn", "like": "de"}, "has no tags of languages; leave out --add-tag"),
        (
            "nllb",
            {"add_tag": "bar_Latn", "like": "ita_Latn"},
            "--like ita_Latn: parent 'nllb' has no tag for it; choose from",
        ),
        ("nllb", {"add_tag": "ita_Latn", "like": "deu_Latn"}, "is in bar_Latn"),
        ("both", {"add_tag": "bar_Latn", "like": "de"}, "translates into en, de, the child into eng_Latn"),
    ],
)
def test_a_tag_that_does_not_fit_is_refused(here, parent, changes, said):
    recipe = recipe_from(run_of(here, parent), **{f"transfer__{field}": value for field, value in changes.items()})
    corpus = opened(here, "tiny" if parent == "opus" else "bavarian")
    assert said in refused(here, recipe, corpus)


def test_a_language_that_the_run_calls_otherwise_needs_another_name_and_no_tag(here, monkeypatch):
    message = refused(here, recipe_from(run_of(here, "nllb")), opened(here, "tiny"))
    named = "name the files of the text as the run names the language (train.eng_Latn), or give it a tag: --add-tag en"
    assert named in message
    monkeypatch.setenv("NMTLAB_DATA", str(here.data))
    said = " ".join(CliRunner().invoke(app, ["corpus", "stats", "tiny", "--with", "nllb"]).output.split())
    for code, theirs in (("de", "deu_Latn"), ("en", "eng_Latn")):
        assert f"{code}: not a language that nllb" in said
        assert f"it calls it {theirs}: name the files of the text so (train.{theirs})" in said
    assert "next:" not in said  # a training adds one tag


def test_a_language_in_another_script_is_not_one_that_the_run_calls_otherwise(here):
    pipeline = run_of(here, "nllb").pipeline
    assert other_code(pipeline, "de") == "deu_Latn"
    assert other_code(pipeline, "deu_Hebr") == ""


def test_a_tag_that_is_known_is_not_added(here, tmp_path):
    changes = {"transfer__add_tag": "fra_Latn", "transfer__like": "deu_Latn"}
    folder = Path(shutil.copytree(opened(here, "bavarian").folder, tmp_path / "french"))
    for split in ("train", "dev", "test"):
        (folder / f"{split}.bar_Latn").rename(folder / f"{split}.fra_Latn")
    message = refused(here, recipe_from(run_of(here, "nllb"), **changes), ParallelCorpus.open(folder))
    assert "has a tag for fra_Latn; import the model again with --source fra_Latn too" in message


def test_letters_that_could_not_be_trained_are_refused(here):
    words = recipe_from(run_of(here, "words"), transfer__add_letters=True)
    assert "its types are words, to which no letter can be added" in refused(here, words, opened(here, "odd"))
    low_rank = continued_recipe(run_of(here, "parent"), named_recipe("fine-tune-lora"))
    message = refused(here, low_rank.with_changes({**SHORT, "transfer.add_letters": True}), opened(here, "odd"))
    assert "the vectors of new letters would not be trained, by model.lora_rank" in message
    frozen = {"transfer__source_embedding": "freeze", "transfer__target_embedding": "freeze"}
    recipe = recipe_from(run_of(here, "parent"), transfer__add_letters=True, **frozen)
    assert "would not be trained, by transfer.source_embedding" in refused(here, recipe, opened(here, "odd"))


def test_additions_need_a_run_to_go_on_from_and_each_other():
    for changes, said in (
        ({"transfer.add_letters": True}, "add_letters needs a run to go on from"),
        ({"transfer.continued": True, "transfer.add_tag": "fr"}, "add_tag needs like"),
        ({"transfer.continued": True, "transfer.like": "fr"}, "like needs add_tag"),
    ):
        with pytest.raises(NmtlabError, match=said):
            named_recipe("fixnorm-small").with_changes(changes)


def test_the_command_line_adds_letters_and_a_tag(here, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(here.data))
    words = ["train", "bavarian", "--from", "nllb", "--add-tag", "bar_Latn", "--like", "deu_Latn", "--add-letters"]
    for change in SHORT:
        words += ["--set", f"{change}={1 if change.endswith('evaluations') else SHORT[change]}"]
    done = CliRunner().invoke(app, [*words, "--name", "said"])
    assert done.exit_code == 0, done.output
    assert "1 types were added; now unknown: 0.00% of the source tokens" in done.output
    transfer = run_of(here, "said").recipe.transfer
    assert (transfer.add_tag, transfer.like, transfer.add_letters) == ("bar_Latn", "deu_Latn", True)
    alone = CliRunner().invoke(app, ["train", "tiny", "--add-letters"])
    assert "--add-letters: belongs to --from" in str(alone.exception)


def test_statistics_name_what_a_training_has_to_add(here, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(here.data))
    said = [
        CliRunner().invoke(app, ["corpus", "stats", *words]).output
        for words in (("bavarian", "--with", "nllb"), ("odd", "--with", "parent"), ("french", "--with", "parent"))
    ]
    assert said[0].endswith("next: nmtlab train bavarian --from nllb --add-tag bar_Latn --like LANGUAGE\n")
    assert said[1].endswith("next: nmtlab train odd --from parent --add-letters\n")
    assert "fr: not a language that parent writes" in said[2]
    assert "next:" not in said[2]  # there is no tag to add


def test_subwords_with_bytes_have_no_unknown_letter(here):
    assert ImportedSubwords(subwords(LINES * 20, byte_fallback=True)).has_bytes
    assert not ImportedSubwords(subwords(LINES * 20)).has_bytes
