"""What changed as a run went on from another: weights, vectors, words."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file
from support.lineage import SHORT, Lineage, make_lineage

from nmtlab.analysis.dynamics.divergence import DIVERGENCE, divergence
from nmtlab.analysis.dynamics.weight_change import WEIGHT_CHANGE, change_by_module, weight_change
from nmtlab.analysis.languages.moved_vectors import MOVED_VECTORS, moved_vectors
from nmtlab.analysis.lexical.unseen_words import unseen_words
from nmtlab.analysis.lexical.word_changes import WORD_CHANGES, gains_by_word, gains_finding, word_changes
from nmtlab.errors import RunError
from nmtlab.recipe import named_recipe
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode, forced_steps
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.setup import train
from nmtlab.training.transfer import continued_recipe


@pytest.fixture(scope="module")
def lineage(tmp_path_factory, tiny_recipe) -> Lineage:
    return make_lineage(tmp_path_factory.mktemp("lineage") / "data", tiny_recipe)


@pytest.fixture(scope="module")
def twin(lineage) -> Run:
    """A child with the weights of its parent."""
    return lineage.with_weights("twin", lineage.parent.checkpoints.weights()[0])


@pytest.fixture(scope="module")
def low_rank(lineage) -> Run:
    return lineage.trained("low-rank", "fine-tune-lora")


@pytest.mark.full
def test_of_a_child_with_its_parents_weights_all_is_zero_and_nothing_changed(lineage, twin):
    weights = WEIGHT_CHANGE.view(twin)
    assert weights.finding == "twin: nothing changed."
    assert (WEIGHT_CHANGE.of(twin)["change"] == 0).all()
    assert (weights.frame["relative"] == 0).all()
    for side in ("source", "target"):
        moved = MOVED_VECTORS.view(twin, side=side)
        assert moved.finding == "twin: no vector moved."
        assert (moved.frame[["angle", "distance"]] == 0).all(axis=None)
        assert (moved.frame["kept"] == 1).all()
    words = WORD_CHANGES.view(twin, corpus=lineage.new)
    assert words.finding == "twin: no word became likelier or less likely."
    assert (words.frame[["gain", "total"]] == 0).all(axis=None)
    assert words.frame["attention"].dropna().eq(0).all()


def test_the_one_vector_that_was_moved_by_hand_is_found_first(lineage):
    weights = dict(lineage.parent.checkpoints.weights()[0])
    number = lineage.parent.pipeline.source.vocabulary.ids(["katze"])[0]
    (name,) = (name for name in weights if name.startswith("source_embedding."))
    weights[name] = weights[name].clone()
    weights[name][number] *= -1
    run = lineage.with_weights("moved", weights)
    found = moved_vectors(run, lineage.parent, "source", k=3)
    first, others = found.iloc[0], found.iloc[1:]
    assert (first["word"], first["count"]) == ("katze", run.pipeline.source.counts[number])
    assert (first["angle"], first["distance"]) == (pytest.approx(180), pytest.approx(2))
    assert (others["distance"] == 0).all()
    vectors = weights[name].double().numpy()[4:]
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units[number - 4]
    cosines[number - 4] = -2
    types = lineage.parent.pipeline.source.vocabulary.types[4:]
    assert first["neighbours"].split(", ") == [types[place] for place in np.argsort(-cosines)[:3]]
    assert "“katze” moved most (180.0°)" in MOVED_VECTORS.view(run).finding


def test_gains_of_words_are_those_of_forced_decoding_sentence_by_sentence(lineage):
    found = word_changes(lineage.child, lineage.parent, lineage.new)
    gains = (found["after"] - found["before"]).groupby(found["line"]).sum()
    pairs = list(lineage.new.pairs("test"))
    systems = [open_model(run) for run in (lineage.parent, lineage.child)]
    for line, (source, target) in enumerate(pairs[:10], start=1):
        pipeline = systems[0].pipeline
        ids = [torch.tensor([pipeline.source_ids(source)]), torch.tensor([pipeline.target_ids(target)])]
        before, after = (forced_decode(one.model, one.model.encode(ids[0]), ids[1])[0] for one in systems)
        assert gains[line] == pytest.approx(after.log_prob - before.log_prob, abs=1e-4)
        words = found[found["line"] == line]
        assert words["word"].tolist() == [*target.split(), "</s>"]
        moved = np.abs(after.attention[-1].mean(0) - before.attention[-1].mean(0)).sum(-1) / 2
        assert words["attention"].iloc[0] <= moved[0] + 1e-6  # pieces of a word are summed
        assert words["attention"].iloc[:-1].between(0, 1).all()
        assert np.isnan(words["attention"].iloc[-1])
    assert len(gains) == len(pairs)


def test_gains_add_up_over_words_and_a_child_gains_on_its_text(lineage):
    found = word_changes(lineage.child, lineage.parent, lineage.new)
    table = gains_by_word(found.assign(run="child"))
    assert table["total"].sum() == pytest.approx((found["after"] - found["before"]).sum())
    assert table["total"].sum() > 0
    assert table["times"].sum() == len(found)
    assert table["total"].is_monotonic_decreasing


def test_norms_of_changes_are_those_of_the_two_files(lineage):
    before, after = (load_file(run.checkpoints.path("best")) for run in (lineage.parent, lineage.child))
    found = weight_change(lineage.child, lineage.parent).set_index("parameter")
    assert list(found.index) == [*after]
    for name, weight in after.items():
        change = weight.astype(float) - before[name]
        assert found.loc[name, "change"] == pytest.approx(np.linalg.norm(change))
        assert found.loc[name, "norm"] == pytest.approx(np.linalg.norm(before[name].astype(float)))
    inner = [name for name in after if name.startswith("decoder.0.feed_forward")]
    together = [
        np.sqrt(sum(np.linalg.norm(some[name].astype(float)) ** 2 for name in inner))
        for some in ({name: after[name].astype(float) - before[name] for name in inner}, before)
    ]
    table = change_by_module(found.assign(run="child")).set_index("module")
    assert table.loc["decoder feed-forward", "relative"] == pytest.approx(together[0] / together[1])
    assert not [module for module in table.index if "_" in module]


def test_a_low_rank_change_is_that_of_its_two_factors_and_all_else_stays(lineage, low_rank):
    weights = load_file(low_rank.checkpoints.path("best"))
    found = weight_change(low_rank, lineage.parent).set_index("parameter")
    name = "decoder.0.cross_attention.query"
    change = weights[f"{name}.low_rank_up"].astype(float) @ weights[f"{name}.low_rank_down"].astype(float)
    assert found.loc[f"{name}.weight", "change"] == pytest.approx(np.linalg.norm(change), rel=1e-4)
    values = np.linalg.svd(change, compute_uv=False)
    shares = values[values > 1e-9] / values.sum()
    assert found.loc[f"{name}.weight", "effective_rank"] == pytest.approx(
        np.exp(-(shares * np.log(shares)).sum()), rel=1e-2
    )
    assert found.loc["source_embedding.weight", "change"] == 0
    assert "unchanged: " in WEIGHT_CHANGE.view(low_rank).finding


def test_a_parent_that_is_gone_or_another_model_is_named(lineage, twin, tmp_path):
    alone = Run(shutil.copytree(lineage.child.folder, tmp_path / "runs/child"))
    with pytest.raises(RunError, match="its parent 'parent' is not here"):
        WEIGHT_CHANGE.of(alone)
    shutil.copytree(lineage.child.folder, tmp_path / "runs/parent")
    with pytest.raises(RunError, match="went on from another model than the one that is called 'parent' now"):
        WEIGHT_CHANGE.of(alone)
    with pytest.raises(RunError, match="did not go on from another run"):
        WEIGHT_CHANGE.of(lineage.parent, parent=lineage.parent)


def test_answers_are_stored_and_found_without_the_parent(lineage, tmp_path):
    asked = WORD_CHANGES.of(lineage.child, corpus=lineage.new)
    WEIGHT_CHANGE.of(lineage.child)
    alone = Run(shutil.copytree(lineage.child.folder, tmp_path / "child"))
    assert WORD_CHANGES.of(alone, corpus=lineage.new).equals(asked)
    assert len(WEIGHT_CHANGE.of(alone))


def test_words_that_an_exported_model_forbids_do_not_count():
    rows = [
        (1, 0, "dog", -2.0, -1.0, 0.5),
        (1, 1, "ŝnuro", -10_012.0, -10_001.0, 0.5),
        (1, 2, "</s>", -1.0, -1.0, np.nan),
    ]
    columns = ["line", "position", "word", "before", "after", "attention"]
    found = pd.DataFrame(rows, columns=columns).assign(run="child")
    assert gains_by_word(found)["word"].tolist() == ["dog", "</s>"]
    assert "1 of 2 words are at least twice as likely as before, 0 at most" in gains_finding(found)
    assert f"perplexity of a word {np.exp(1.5):.1f} before, {np.exp(1.0):.1f} after" in gains_finding(found)
    assert gains_finding(found[found["word"] == "ŝnuro"]) == "child: no word of the text can be produced."


def test_divergence_is_that_of_torch_token_by_token_and_zero_from_itself(lineage, twin):
    found = divergence(lineage.child, lineage.parent, lineage.new)
    systems = [open_model(run) for run in (lineage.parent, lineage.child)]
    best = []
    for line, (source, target) in enumerate(list(lineage.new.pairs("test"))[:10], start=1):
        pipeline = systems[0].pipeline
        ids = [torch.tensor([pipeline.source_ids(source)]), torch.tensor([pipeline.target_ids(target)])]
        before, after = (
            torch.cat([step.log_probs[0] for step in forced_steps(one.model, one.model.encode(ids[0]), ids[1])])
            for one in systems
        )
        apart = torch.nn.functional.kl_div(after, before, reduction="none", log_target=True).sum(1)
        of_line = found[found["line"] == line]
        assert of_line["divergence"].to_numpy() == pytest.approx(apart.numpy(), abs=1e-5)
        assert of_line["token"].tolist() == [*target.split(), "</s>"]
        best.append((before.argmax(1) == after.argmax(1)).tolist() == of_line["same"].tolist())
    assert all(best)
    assert (found["divergence"] >= 0).all()
    itself = DIVERGENCE.of(twin, corpus=lineage.new)
    assert (itself["divergence"] == 0).all()
    assert itself["same"].all()
    assert "0.00 nats a token from its parent's distributions" in DIVERGENCE.view(twin, corpus=lineage.new).finding


def test_unseen_words_are_counted_by_type_and_by_token_in_each_text(lineage):
    found = unseen_words(lineage.child, lineage.parent, lineage.new)
    assert (found["unseen"] == 0).all()  # both texts have all words of the toy language
    tokens = found[(found["counted"] == "tokens") & (found["side"] == "target")]["words"].unique().tolist()
    assert tokens == [sum(len(line.split()) for line in lineage.new.lines("test", "en"))]
    types = found[(found["counted"] == "types") & (found["side"] == "source")]["words"].unique().tolist()
    assert types == [len({word for line in lineage.new.lines("test", "de") for word in line.split()})]


def test_words_of_each_text_of_a_run_are_seen_and_one_that_all_lack_is_in_neither(lineage):
    folder = lineage.workspace.data / "corpora/third"
    folder.mkdir()
    for split, pairs in (("train", ["neu neu"]), ("dev", []), ("test", ["neu niemals neu katze"])):
        for language in ("de", "en"):
            kept = [] if split == "test" else list(lineage.old.lines(split, language))[:20]
            write_lines(folder / f"{split}.{language}", [*kept, *pairs])
    third = {"name": "third", "source": "de", "target": "en"}
    recipe = continued_recipe(lineage.parent, named_recipe("fine-tune")).with_changes(SHORT)
    run = train("both", recipe.with_changes({"more_corpora": [third]}), lineage.new, lineage.workspace)
    found = unseen_words(run, lineage.parent, ParallelCorpus.open(folder))
    source = found[found["side"] == "source"].set_index(["counted", "text"])[["words", "unseen"]]
    assert source.loc[("types", "the parent's text")].tolist() == [3, 2]
    assert source.loc[("tokens", "the parent's text")].tolist() == [4, 3]
    assert source.loc[("types", "the new text")].tolist() == [3, 1]
    assert source.loc[("tokens", "either text")].tolist() == [4, 1]


def test_a_training_text_that_is_not_here_is_named(lineage, tmp_path):
    for name in ("runs/parent", "runs/child", "corpora/new"):
        shutil.copytree(lineage.workspace.data / name, tmp_path / name)
    child, parent = (Run(tmp_path / "runs" / name) for name in ("child", "parent"))
    with pytest.raises(RunError, match="run 'parent': not all that it, or a run before it, was trained on is here"):
        unseen_words(child, parent, lineage.new)
