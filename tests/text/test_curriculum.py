"""Easier pairs first: which pairs a pass has."""

import math

import numpy as np
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.curriculum import Curriculum
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

SOURCES = ["a a", "a a a a", "b a", "c", "a"]


@pytest.fixture(scope="module")
def mixture(tmp_path_factory) -> Mixture:
    folder = tmp_path_factory.mktemp("five")
    for language in ("xx", "yy"):
        for split in ("train", "dev", "test"):
            (folder / f"{split}.{language}").write_text("\n".join(SOURCES) + "\n")
    corpus = ParallelCorpus.open(folder, "xx", "yy")
    pipeline = Pipeline.learn(TextSettings(segmentation="word", vocabulary_size=0), corpus)
    return Mixture([EncodedCorpus.open(tmp_path_factory.mktemp("cache"), pipeline, corpus)])


def test_a_pair_is_as_hard_as_its_source_is_long_and_of_equal_ones_the_earlier_is_easier(mixture):
    assert Curriculum.by_length(mixture, 5).ranks.tolist() == [0.6, 1.0, 0.8, 0.2, 0.4]


def test_a_pair_is_as_hard_as_its_tokens_are_rare(mixture):
    seen = {"a": 8, "b": 1, "c": 1, "</s>": 5}
    total = sum(seen.values())
    rarity = [-sum(math.log(seen[word] / total) for word in [*line.split(), "</s>"]) for line in SOURCES]
    expected = np.argsort(np.argsort(rarity, kind="stable")) + 1
    assert Curriculum.by_rarity(mixture, 5).ranks.tolist() == (expected / 5).tolist() == [0.4, 0.6, 1.0, 0.8, 0.2]


@pytest.mark.parametrize("kind", [Curriculum.by_length, Curriculum.by_rarity])
def test_each_pass_has_the_pairs_within_its_competence_and_the_last_ones_are_as_without_one(mixture, kind):
    curriculum = kind(mixture, 4)
    assert [curriculum.competence(number) for number in (0, 1, 3, 9)] == [0.5, math.sqrt(0.5), 1.0, 1.0]
    some, plain = (Batches(mixture, 20, 1, curriculum=one) for one in (curriculum, None))
    sizes = [sum(batch.rows for batch in some.epoch(number)) for number in range(5)]
    assert sizes == [2, 3, 4, 5, 5]
    for number in (3, 4):
        assert some.count(number) == plain.count(number)
        for one, other in zip(some.epoch(number), plain.epoch(number), strict=True):
            np.testing.assert_array_equal(one.source, other.source)


def test_a_pass_is_never_empty(mixture):
    assert sum(batch.rows for batch in Batches(mixture, 20, 1, curriculum=Curriculum.by_length(mixture, 900)).epoch(0))


def test_passes_without_a_curriculum_are_refused(tiny_recipe):
    with pytest.raises(NmtlabError, match="curriculum_passes is set, but curriculum is none; set that to length"):
        tiny_recipe.with_changes({"training.curriculum_passes": 3})


@pytest.mark.full
def test_a_training_with_a_curriculum_goes_on_exactly_and_does_not_stop_before_it_has_read_all(
    tiny_corpus, tiny_recipe, tmp_path
):
    workspace = Workspace(tmp_path / "data")
    changes = {
        "training.curriculum": "rarity", "training.curriculum_passes": 4, "training.validate_every": 0,
        "training.max_evaluations": 6, "training.patience": 1, "training.lr_scale": 1e-12,
        "training.min_learning_rate": 0.0,
    }  # fmt: skip
    recipe = tiny_recipe.with_changes(changes)
    whole = train("whole", recipe, tiny_corpus, workspace)
    steps = whole.log.metrics("validation")["step"].tolist()
    assert len(steps) == 4
    assert np.diff([0, *steps]).tolist() == sorted(np.diff([0, *steps]).tolist())
    polls = iter(range(1000))
    train("stopped", recipe, tiny_corpus, workspace, should_stop=lambda: next(polls) == steps[1] + 1)
    again = train("stopped", recipe, tiny_corpus, workspace, resume=True)
    assert again.log.metrics("train")["loss"].tolist() == whole.log.metrics("train")["loss"].tolist()
