"""A child begins with its parent's weights: which rows, which parts, and what it is trained on."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import WORDS

from nmtlab.errors import CorpusError, NmtlabError, RecipeError
from nmtlab.models.build import model_for
from nmtlab.models.interface import on_device
from nmtlab.models.parts import part as part_of
from nmtlab.recipe import named_recipe
from nmtlab.recipe.transfer import TransferSettings
from nmtlab.runs.pack import pack
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import Vocabulary
from nmtlab.training.earlier_texts import target_overlap, texts_before
from nmtlab.training.inheritance import Inheritance, Inherited
from nmtlab.training.objective import training_objective
from nmtlab.training.setup import train
from nmtlab.training.transfer import inherit, parent_rows, shared_rows
from nmtlab.workspace import Workspace

SISTER = {word: word.replace("ei", "i") + "o" for word in WORDS}
"""A language whose words look like those of the tiny corpus, and mean the same."""


def write_sister(folder, code: str, words: dict[str, str], train: int = 200) -> ParallelCorpus:
    """Write a corpus in which German words are replaced by those of another language."""
    choose = random.Random(7)
    for split, count in (("train", train), ("dev", 20)):
        sentences = [choose.choices(list(WORDS), k=choose.randint(8, 12)) for _ in range(count)]
        write_lines(folder / f"{split}.{code}", [" ".join(words[word] for word in line) for line in sentences])
        write_lines(folder / f"{split}.en", [" ".join(WORDS[word] for word in line) for line in sentences])
    return ParallelCorpus.open(folder, code, "en")


@pytest.fixture(scope="module")
def here(tmp_path_factory, make_corpus) -> Workspace:
    """A workspace with a corpus `tiny`, and `sister`, in a language that is related to it."""
    workspace = Workspace(tmp_path_factory.mktemp("transfer") / "data")
    (workspace.data / "corpora").mkdir(parents=True)
    shutil.copytree(make_corpus(), workspace.data / "corpora/tiny")
    write_sister(workspace.data / "corpora/sister", "xx", SISTER)
    return workspace


@pytest.fixture(scope="module")
def corpora(here) -> tuple[ParallelCorpus, ParallelCorpus]:
    return tuple(ParallelCorpus.open(here.data / "corpora" / name) for name in ("tiny", "sister"))


RNN = {
    "text.segmentation": "bpe", "text.min_frequency": 1, "text.joint": True, "text.vocabulary_size": 70,
    "model.d_model": 16, "training.validate_every": 10, "training.max_evaluations": 2, "machine.threads": 1,
    "machine.device": "cpu",
}  # fmt: skip
ALSO = {"more_corpora": [{"name": "sister", "vocabulary_only": True}]}


@pytest.fixture(scope="module")
def rnn():
    return named_recipe("fixnorm").with_changes(RNN)


@pytest.fixture(scope="module")
def parent(rnn, corpora, here) -> Run:
    """A parent that shares its subwords with the child."""
    return train("parent", rnn.with_changes(ALSO), corpora[0], here)


def child_of(parent: Run, recipe, corpora, here, name: str, **changes) -> Run:
    changes = {"transfer.parent": parent.name, **{key.replace("__", "."): value for key, value in changes.items()}}
    return train(name, recipe.with_changes(changes), corpora[1], here)


def rows_of(run: Run) -> dict[str, tuple[str, int, int]]:
    return {one["name"]: (one["use"], one["types"], one["kept"]) for one in run.inheritance["parameters"]}


@pytest.mark.full
def test_a_child_whose_vectors_are_all_its_parents_translates_as_it_does_at_rate_0(parent, rnn, corpora, here):
    still = {"training__schedule": "constant", "training__learning_rate": 1e-37}
    mask = {"text__target_vocabulary_mask": False}
    unmasked = train("unmasked", rnn.with_changes({**ALSO, "text.target_vocabulary_mask": False}), corpora[0], here)
    child = child_of(unmasked, rnn, corpora, here, "still", **still, **mask)
    ours, theirs = child.checkpoints.weights("last")[0], unmasked.checkpoints.weights()[0]
    seen = unmasked.pipeline.source.counts > 0
    seen[:4] = True
    for name, weight in ours.items():
        if name == "encoder.embedding.weight":
            assert torch.equal(weight[seen], theirs[name][seen])
        elif name == "target_embedding.weight":
            kept = (unmasked.pipeline.target.counts > 0) | (np.arange(len(weight)) < 4)
            assert torch.equal(weight[kept], theirs[name][kept])
    lines = list(corpora[0].lines("dev", "de"))
    one, other = (open_system(run, which="last" if run is child else "best") for run in (child, unmasked))
    one.model.language_codes = ((), ())  # it reads German as its parent does
    assert [t.text for t in one.translate(lines)] == [t.text for t in other.translate(lines)]


@pytest.mark.full
def test_the_report_counts_the_types_that_the_parents_text_has(parent, rnn, corpora, here):
    child = child_of(parent, rnn, corpora, here, "counted")
    assert child.pipeline.source.vocabulary.types == parent.pipeline.source.vocabulary.types
    seen = int((parent.pipeline.source.counts[4:] > 0).sum())
    assert rows_of(child)["encoder.embedding.weight"] == ("tune", 66, seen)
    assert 10 < seen < 66
    assert rows_of(child)["combine.weight"] == ("tune", None, 1)
    assert child.inheritance["weights"] == parent.checkpoints.digest
    assert child.pipeline.source.counts.sum() == sum(
        len(child.pipeline.source_ids(line)) for line in corpora[1].lines("train", "xx")
    )


@pytest.mark.full
@pytest.mark.parametrize("part", ["source_embedding", "encoder", "decoder", "target_embedding", "output"])
def test_frozen_parts_do_not_move_by_one_bit_and_the_others_do(parent, rnn, corpora, here, part):
    child = child_of(parent, rnn, corpora, here, f"frozen-{part}", **{f"transfer__{part}": "freeze"})
    start = {name: p.detach().clone() for name, p in _initial(child, parent).named_parameters()}
    moved = {
        name: not torch.equal(weight, start[name]) for name, weight in child.checkpoints.weights("last")[0].items()
    }
    assert {name for name, has in moved.items() if not has} == {name for name in moved if part_of(name) == part}


def _initial(child: Run, parent: Run) -> torch.nn.Module:
    """Return a child's model as it was before its first update."""
    torch.manual_seed(child.recipe.training.seed)
    model = model_for(child.recipe, child.pipeline)
    recipe = child.recipe
    inherit(
        model, child.pipeline, parent.checkpoints.weights()[0], parent.pipeline, recipe.transfer, recipe.training.seed
    )
    return model


def test_parts_that_are_reset_are_those_of_a_child_alone(parent, rnn, corpora, here):
    torch.manual_seed(1)
    alone = model_for(rnn, parent.pipeline)
    torch.manual_seed(1)
    model = model_for(rnn, parent.pipeline)
    settings = TransferSettings(parent="p", encoder="reset", output="reset")
    report = inherit(model, parent.pipeline, parent.checkpoints.weights()[0], parent.pipeline, settings, 1)
    expected = dict(alone.named_parameters())
    for one, (name, weight) in zip(report, model.named_parameters(), strict=True):
        reset = part_of(name) in ("encoder", "output")
        assert torch.equal(weight, expected[name]) == (reset or one.kept == 0)
        assert (one.kept == 0) == reset


def test_a_vocabulary_in_another_order_gives_the_same_losses(parent, rnn, corpora, here):
    words = rnn.with_changes({"text.segmentation": "word", "text.vocabulary_size": 0, "text.joint": False})
    run = train("words", words, corpora[0], here)
    order = np.random.default_rng(1).permutation(run.pipeline.source.size - 4) + 4
    vocabulary = run.pipeline.source.vocabulary
    types = (*vocabulary.types[:4], *(vocabulary.types[i] for i in order))
    shuffled = Vocabulary(types, [*vocabulary.counts[:4], *vocabulary.counts[order]])
    other = Pipeline(words.text, replace(run.pipeline.source, vocabulary=shuffled), run.pipeline.target)
    losses = []
    for pipeline in (run.pipeline, other):
        torch.manual_seed(1)
        model = model_for(words, pipeline).eval()
        inherit(model, pipeline, run.checkpoints.weights()[0], run.pipeline, TransferSettings(parent="p"), 1)
        mixture = Mixture([EncodedCorpus.open(here.cache, pipeline, corpora[0])])
        batches = Batches(mixture, 400, seed=1).epoch(0)
        losses.append([training_objective(model, 0.0)(on_device(batch)).nll.item() for batch in batches])
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_words_get_vectors_of_random_words_and_shared_target_words_keep_theirs(rnn, corpora, here):
    words = rnn.with_changes({"text.segmentation": "word", "text.vocabulary_size": 0, "text.joint": False})
    parent = train("word-parent", words, corpora[0], here)
    changes = {"transfer__source_types": "random", "text__min_frequency": 2}
    child = child_of(parent, words, corpora, here, "word-child", **changes)
    model = _initial(child, parent)
    theirs = parent.checkpoints.weights()[0]["encoder.embedding.weight"]
    ours = model.get_parameter("encoder.embedding.weight").detach()
    places = [int((theirs == row).all(1).nonzero()[0, 0]) for row in ours]
    assert places[:4] == [0, 1, 2, 3]
    assert sorted(set(places[4:])) == sorted(places[4:])  # no row twice where there are enough
    assert min(places[4:]) >= 4
    assert places[4:] != sorted(places[4:])
    again = _initial(child, parent).get_parameter("encoder.embedding.weight")
    assert torch.equal(again, ours)
    target = shared_rows(child.pipeline.target.vocabulary, parent.pipeline.target.vocabulary)
    assert (target >= 0).all()
    assert torch.equal(
        model.get_parameter("target_embedding.weight"),
        parent.checkpoints.weights()[0]["target_embedding.weight"][target],
    )


@pytest.mark.full  # trains twice: near the limit of the quick tier on a slow machine
def test_letters_that_a_parent_lacks_get_types_and_rows_that_are_drawn(rnn, corpora, here):
    parent = train("german-only", rnn.with_changes({"text.vocabulary_size": 50}), corpora[0], here)
    folder = here.data / "corpora/greek"
    greek = write_sister(folder, "el", {word: word.translate(str.maketrans("aeio", "αειο")) for word in WORDS})
    child = train(
        "greek", rnn.with_changes({"text.vocabulary_size": 50, "transfer.parent": "german-only"}), greek, here
    )
    written = child.pipeline.source.vocabulary.types
    assert written[:50] == parent.pipeline.source.vocabulary.types
    assert set(written[50:]) == set("αειο")
    assert child.pipeline.source.counts[50:].min() > 0
    assert not child.pipeline.source.counts[3]
    use, types, kept = rows_of(child)["encoder.embedding.weight"]
    assert (use, types) == ("tune", 50)
    assert kept <= 46


def test_a_child_may_generate_what_its_parent_can_and_its_text_lacks(parent, rnn, corpora, here, tmp_path):
    few = write_sister(tmp_path / "few", "xx", SISTER, train=2)
    alone, child = (Pipeline.learn(rnn.text, few, parent=one) for one in (None, parent.pipeline))
    new = [child.target.vocabulary.types[number] for number in child.inherited_targets]
    assert new
    assert (child.target.counts[list(child.inherited_targets)] == 0).all()
    known = parent.pipeline
    assert {known.target.vocabulary.types[number] for number in np.flatnonzero(known.target_allowed)} >= set(new)
    assert child.target_allowed[list(child.inherited_targets)].all()
    assert child.target_allowed.sum() == (child.target.counts > 0).sum() + 1 + len(new)  # UNK, and EOS is counted
    child.save(tmp_path / "child")
    assert (Pipeline.load(tmp_path / "child").target_allowed == child.target_allowed).all()
    assert alone.inherited_targets == ()
    alone.save(tmp_path / "alone")
    assert "inherited" not in (tmp_path / "alone/pipeline.json").read_text(encoding="utf-8")


@pytest.mark.full
def test_a_child_goes_on_when_its_parent_is_gone(parent, rnn, corpora, here):
    whole = child_of(parent, rnn, corpora, here, "whole")
    recipe = rnn.with_changes({"transfer.parent": "parent"})
    for name, stop in (("early", 0), ("late", 13)):
        steps = iter(range(1000))
        train(name, recipe, corpora[1], here, should_stop=lambda: next(steps) == stop)  # noqa: B023
    gone = parent.folder.rename(parent.folder.with_name("gone"))
    try:
        for name in ("early", "late"):
            run = train(name, recipe, corpora[1], here, resume=True)
            assert run.log.gradient_norms().equals(whole.log.gradient_norms())
            assert run.inheritance == whole.inheritance
    finally:
        gone.rename(parent.folder)


@pytest.mark.full
def test_what_was_taken_over_is_packed_and_can_be_shown(parent, rnn, corpora, here, tmp_path):
    child = child_of(parent, rnn, corpora, here, "shown", transfer__target_embedding="freeze")
    said = Inheritance.of(child.inheritance).summary()
    assert said.startswith("parent parent: ")
    assert "target embedding copied and frozen (" in said
    assert "warning" not in said
    assert Run(pack(child, tmp_path / "packed")).inheritance == child.inheritance


@pytest.mark.full
def test_a_transformer_with_one_table_for_both_sides_freezes_both_or_none(tiny_recipe, corpora, here):
    recipe = tiny_recipe.with_changes(
        {"text.segmentation": "bpe", "text.vocabulary_size": 70, "training.max_evaluations": 1, **ALSO}
    )
    train("shared", recipe, corpora[0], here)
    alone = recipe.with_changes({"more_corpora": [], "transfer.parent": "shared"})
    with pytest.raises(RecipeError, match=r"one table for both; set model.shared_embeddings=false"):
        alone.with_changes({"transfer.target_embedding": "freeze"})
    apart = {"model.shared_embeddings": False}
    train("apart", recipe.with_changes(apart), corpora[0], here)
    changes = {**apart, "transfer.parent": "apart", "transfer.target_embedding": "freeze"}
    child = train("c2", alone.with_changes(changes), corpora[1], here)
    assert rows_of(child)["target_embedding.weight"][0] == "freeze"
    start = _initial(child, Run(here.run_folder("apart"))).get_parameter("target_embedding.weight")
    assert torch.equal(child.checkpoints.weights("last")[0]["target_embedding.weight"], start)


def test_a_parent_that_does_not_fit_is_refused_with_what_to_change(parent, rnn, corpora, here, tmp_path):
    def refused(recipe, corpus, match: str) -> None:
        with pytest.raises(NmtlabError, match=match):
            train("refused", recipe.with_changes({"transfer.parent": recipe.transfer.parent or "parent"}), corpus, here)
        assert not here.run_folder("refused").exists()

    refused(rnn, corpora[0], "was trained on the child's text, tiny")
    refused(
        rnn.with_changes({"model.d_model": 8}), corpora[1], r"model.d_model is 16, but 8 in the child; .*--set model"
    )
    refused(rnn.with_changes({"text.joint": False}), corpora[1], "text.joint is True, but False in the child")
    refused(rnn.with_changes({"transfer.parent": "nobody"}), corpora[1], "run 'nobody': not found")
    back = ParallelCorpus.open(corpora[1].folder, "en", "xx")
    refused(rnn, back, "translates into en, the child into xx; choose a parent into xx")
    packed = here.run_folder("packed")
    pack(parent, packed)
    refused(rnn.with_changes({"transfer.parent": "packed"}), corpora[1], "has no weights; choose a run with weights")


def test_a_parent_is_not_trained_on_text_that_only_its_subwords_are_from(parent, corpora):
    target = sum(len(parent.pipeline.target_ids(line)) for line in corpora[0].lines("train", "en"))
    assert parent.pipeline.target.counts.sum() == target
    pieces = parent.pipeline.source_pieces("hundo alto")
    assert "<unk>" not in parent.pipeline.source.text(parent.pipeline.source_ids("hundo alto"))
    assert len(pieces) < len("hundo alto")
    with pytest.raises(RecipeError, match="the first corpus is trained on"):
        parent.recipe.with_changes({"corpus.vocabulary_only": True})


def test_target_sentences_that_the_parent_was_trained_on_are_refused_in_dev_and_test(rnn, corpora, here):
    folder = here.data / "corpora/leaky"
    leaky = write_sister(folder, "yy", SISTER)
    known = list(corpora[0].lines("train", "en"))[:3]
    write_lines(folder / "dev.en", [*(line.upper() for line in known), *list(leaky.lines("dev", "en"))[3:]])
    child = rnn.with_changes({"transfer.parent": "parent"})
    with pytest.raises(CorpusError, match=r"parent 'parent': was trained on 3 en sentences of dev; .* --allow-overlap"):
        train("leak", child, leaky, here)
    run = train("leak", child, leaky, here, allow_overlap=True)
    assert run.environment["overlap"] == {"dev (target side, in the parent's text)": 3}
    texts, known = texts_before(run, here)
    assert ([text.name for text in texts], known) == (["leaky", "tiny"], True)
    assert target_overlap(texts[:1], leaky) == {}
    assert target_overlap(texts, leaky) == {"dev": 3}
    assert texts_before(Run(here.run_folder("parent")), Workspace(here.data.parent / "elsewhere")) == ([], False)
    orphan = Run(Path(shutil.copytree(run.folder, here.data.parent / "orphan")))
    (orphan.folder / "inheritance.json").write_text(json.dumps({**run.inheritance, "parent": "gone"}))
    texts, known = texts_before(orphan, here)
    assert ([text.name for text in texts], known) == (["leaky"], False)


def test_vocabularies_that_share_nothing_are_warned_of():
    rows = (Inherited("w", "source_embedding", "tune", 90, 0), Inherited("v", "encoder", "reset", None, 0))
    assert Inheritance("pa", None, rows).summary() == (
        "parent pa: source embedding copied (0 of 90 types), encoder drawn; "
        "warning: parent and child share no source type"
    )


def test_rows_of_one_table_for_both_sides_are_those_of_types_on_either_side(tiny_recipe, corpora, here):
    recipe = tiny_recipe.with_changes({"text.segmentation": "bpe", "text.vocabulary_size": 70})
    pipeline = Pipeline.learn(recipe.text, corpora[0])
    torch.manual_seed(2)
    parent = model_for(recipe, pipeline)
    torch.manual_seed(3)
    child = model_for(recipe, pipeline)
    drawn = child.get_parameter("source_embedding.weight").detach().clone()
    report = inherit(child, pipeline, dict(parent.named_parameters()), pipeline, TransferSettings(parent="p"), 1)
    seen = pipeline.source.counts + pipeline.target.counts > 0
    seen[:4] = True
    table, theirs = (model.get_parameter("source_embedding.weight") for model in (child, parent))
    assert torch.equal(table[seen], theirs[seen])
    assert torch.equal(table[~seen], drawn[~seen])
    assert report[0].kept == seen[4:].sum()


@pytest.mark.parametrize("shared", [True, False])
def test_the_rows_of_a_parent_of_several_languages_are_those_of_types_in_any_of_them(
    tiny_recipe, corpora, here, shared
):
    changes = {"text.segmentation": "bpe", "text.vocabulary_size": 90, "model.shared_embeddings": shared}
    recipe = tiny_recipe.with_changes(changes)
    ways = [ParallelCorpus.open(one.folder, *way) for one in corpora for way in (one.direction, one.direction[::-1])]
    pipeline = Pipeline.learn(recipe.text, *ways)
    model, settings = model_for(recipe, pipeline), TransferSettings(parent="p")
    texts = [np.bincount(np.concatenate(pipeline.encode_target(list(one.lines("train", one.target))))) for one in ways]
    counts = sum(np.pad(counts, (0, pipeline.target.size - len(counts))) for counts in texts)
    seen = (counts > 0) | (np.arange(pipeline.target.size) < pipeline.target.vocabulary.reserved)
    for direction in (("de", "en"), ("en", "xx")):
        rows = parent_rows(model, pipeline, pipeline.directed(*direction), settings, 1)
        for side in ("source", "target"):
            assert ((rows[side] >= 0) == seen).all()
    assert (pipeline.directed("de", "xx").target.counts == 0)[seen].any()
