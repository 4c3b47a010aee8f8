"""Corpora that take turns: each epoch reads the next one."""

import shutil

import pytest
import torch

from nmtlab.errors import RecipeError
from nmtlab.recipe import named_recipe
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.setup import train

SHORT = {"training.validate_every": 0, "training.max_evaluations": 3, "training.batch_tokens": 400}


def weights(run) -> dict[str, torch.Tensor]:
    return run.checkpoints.weights("last")[0]


def same(ours, theirs) -> bool:
    return all(torch.equal(ours[name], theirs[name]) for name in ours.keys() | theirs.keys())


@pytest.fixture
def halves(tiny_corpus, workspace) -> ParallelCorpus:
    """The training text of the tiny corpus in two: `first`, with dev, and `second`."""
    pairs = list(tiny_corpus.pairs("train"))
    for name, some in (("first", pairs[:100]), ("second", pairs[100:220])):
        folder = workspace.data / "corpora" / name
        folder.mkdir(parents=True)
        for place, code in enumerate(tiny_corpus.direction):
            write_lines(folder / f"train.{code}", [pair[place] for pair in some])
            if name == "first":
                shutil.copyfile(tiny_corpus.folder / f"dev.{code}", folder / f"dev.{code}")
    return ParallelCorpus.open(workspace.data / "corpora" / "first")


def test_a_training_on_corpora_that_take_turns_goes_on_exactly_where_it_was_stopped(halves, tiny_recipe, workspace):
    source, target = halves.direction
    second = {"name": "second", "source": source, "target": target, "rotation": "halves"}
    recipe = tiny_recipe.with_changes({**SHORT, "corpus.rotation": "halves", "more_corpora": [second]})
    whole = train("whole", recipe, halves, workspace)
    steps = whole.log.metrics("validation")["step"].tolist()
    epochs = [end - begin for begin, end in zip([0, *steps], steps, strict=False)]
    assert epochs[0] == epochs[2] != epochs[1]  # the second epoch is longer, as the other half is
    count = iter(range(1000))
    train("stopped", recipe, halves, workspace, should_stop=lambda: next(count) == steps[0] + 2)
    for changes in ({"corpus.rotation": ""}, {"more_corpora": [second | {"rotation": ""}]}):
        with pytest.raises(RecipeError, match=r"run 'stopped' was begun with (corpus|more_corpora)\.rotation"):
            train("stopped", recipe.with_changes(changes), halves, workspace, resume=True)
    assert same(weights(train("stopped", recipe, halves, workspace, resume=True)), weights(whole))


def test_a_corpus_that_takes_turns_with_no_other_is_an_ordinary_one(halves, tiny_recipe, workspace):
    recipe = tiny_recipe.with_changes({**SHORT, "training.max_evaluations": 1})
    alone = train("alone", recipe.with_changes({"corpus.rotation": "alone"}), halves, workspace)
    assert same(weights(alone), weights(train("ordinary", recipe, halves, workspace)))


def test_what_has_no_epochs_takes_no_turns():
    with pytest.raises(RecipeError, match="rotation is of neural training, which has epochs; leave it out"):
        named_recipe("moses").with_changes({"corpus.rotation": "a"})
    more = [{"name": "b", "rotation": "a", "vocabulary_only": True}]
    with pytest.raises(RecipeError, match="rotation: a corpus with vocabulary_only is in no epoch"):
        named_recipe("tied").with_changes({"more_corpora": more})
