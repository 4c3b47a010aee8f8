"""A training text may be large: it is read a small fixed number of times, by one process only."""

from collections import Counter

import pytest

from nmtlab.text.corpora import corpus as corpus_module
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train


@pytest.fixture
def reads(monkeypatch) -> Counter[str]:
    """Count how often each file of a corpus is opened."""
    opened: Counter[str] = Counter()
    read_lines = corpus_module.read_lines
    monkeypatch.setattr(corpus_module, "read_lines", lambda path: opened.update([path.name]) or read_lines(path))
    monkeypatch.setattr(corpus_module, "_SETTLED", 0.0)
    return opened


@pytest.mark.full
@pytest.mark.parametrize(
    ("settings", "times"),
    [({}, 5), ({"text.segmentation": "bpe", "text.vocabulary_size": 60}, 6)],
    ids=["words", "bpe"],
)
def test_a_training_reads_its_text_a_fixed_small_number_of_times(
    reads, make_corpus, tiny_recipe, workspace, settings, times
):
    corpus = ParallelCorpus.open(make_corpus())
    recipe = tiny_recipe.with_changes(
        {**settings, "training.max_evaluations": 1, "text.joint": "bpe" in settings.values()}
    )
    train("read", recipe, corpus, workspace)
    assert reads["train.de"] == reads["train.en"] == times
    reads.clear()
    asked = iter(range(100))
    train("stopped", recipe, corpus, workspace, should_stop=lambda: next(asked) == 2)
    reads.clear()
    corpus_module._known_checksum.cache_clear()  # as in another process
    train("stopped", recipe, corpus, workspace, resume=True)
    assert reads["train.de"] == 2
