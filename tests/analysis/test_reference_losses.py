"""What is said of given translations, against forced decoding of each alone."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.packed import packed_folder

from nmtlab.analysis.search.unseen_lengths import (
    LOSSES_BY_REST,
    REFERENCE_LOSSES,
    loss_of_rests,
    losses_by_rest,
    losses_by_seen,
    reference_losses,
)
from nmtlab.errors import CorpusError, RunError
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def planned(zoo, tmp_path_factory) -> Run:
    return zoo.copy("planned", Workspace(tmp_path_factory.mktemp("planned")), "planned")


@pytest.fixture(scope="module")
def short(planned, tiny_corpus) -> Run:
    """A run on targets of at most 4 tokens."""
    changed = planned.recipe.with_changes({"text.max_target_tokens": 4})
    return train("short", changed, tiny_corpus, Workspace(planned.folder.parents[2] / "short"))


def said(run: Run, corpus: ParallelCorpus) -> list[np.ndarray]:
    """Return the log-probabilities of the tokens of each reference of dev, without EOS."""
    system = open_system(run)
    found = []
    for source, target in corpus.pairs("dev"):
        memory = system.model.encode(torch.tensor([system.pipeline.source_ids(source)]))
        (forced,) = forced_decode(system.model, memory, torch.tensor([system.pipeline.target_ids(target)]))
        found.append(forced.log_probs[:-1])
    return found


def loss_alone(run: Run, source: str, target: str) -> float:
    """Return the loss of one translation, without EOS."""
    system = open_system(run)
    memory = system.model.encode(torch.tensor([system.pipeline.source_ids(source)]))
    (forced,) = forced_decode(system.model, memory, torch.tensor([system.pipeline.target_ids(target)]))
    return -forced.log_probs[:-1].sum()


@pytest.mark.full
def test_references_have_their_loss_and_whether_training_had_as_long_a_target(short, tiny_corpus):
    """Against forced decoding of each alone; what is longer than 4 tokens was left out of training."""
    found = reference_losses(short, tiny_corpus, "dev")
    own, left_out = (found[found["part"] == part] for part in ("dev", "train"))
    pairs = dict(enumerate(tiny_corpus.pairs("dev"), start=1))
    assert sorted(own["line"]) == list(pairs)
    for row in own.itertuples():
        source, target = pairs[row.line]
        assert (row.length, row.seen) == (len(target.split()), len(target.split()) <= 4)
        assert row.loss == pytest.approx(loss_alone(short, source, target), rel=1e-4)
    assert set(own["seen"]) == {True, False}
    dev = {target for _, target in pairs.values()}
    longer = {t: s for s, t in tiny_corpus.pairs("train") if len(t.split()) > 4 and t not in dev}
    assert not left_out["seen"].any()
    assert sorted(left_out["length"]) == sorted(len(target.split()) for target in longer)
    some = dict(list(longer.items())[:5])
    for target, source in some.items():
        assert (left_out["loss"] - loss_alone(short, source, target)).abs().min() < 1e-3


def test_a_phrase_based_run_is_refused_and_so_is_a_text_in_other_languages(planned, tiny_corpus):
    moses = Run(packed_folder("small-qaa-en.moses"))
    backwards = ParallelCorpus(tiny_corpus.folder, tiny_corpus.target, tiny_corpus.source)
    for analysis, part in ((REFERENCE_LOSSES, "part"), (LOSSES_BY_REST, "split")):
        with pytest.raises(RunError, match="phrase"):
            analysis.of(moses, corpus=moses.sentences, **{part: "dev"})
        with pytest.raises(CorpusError):
            analysis.of(planned, corpus=backwards, **{part: "dev"})


def test_the_loss_is_of_a_token_in_all_sentences_together():
    found = pd.DataFrame({"line": [1, 2, 3], "length": [2, 6, 5], "seen": [True, True, False], "loss": [3.0, 5.0, 4.0]})
    assert losses_by_seen(found) == {"seen": 1.0, "unseen": 0.8}
    assert np.isnan(losses_by_seen(found[:2])["unseen"])


def test_tokens_are_told_apart_by_how_many_are_to_come(planned, tiny_corpus):
    found = losses_by_rest(planned, tiny_corpus, "dev")
    alone = said(planned, tiny_corpus)
    assert found["rest"].tolist() == list(range(max(map(len, alone))))
    for row in found.itertuples():
        own = [-log_probs[-1 - row.rest] for log_probs in alone if len(log_probs) > row.rest]
        assert row.tokens == len(own)
        assert row.loss == pytest.approx(sum(own), rel=1e-4)


def test_the_loss_of_some_rests_is_of_a_token_of_all_of_them():
    found = pd.DataFrame({"rest": [0, 1, 2], "tokens": [4, 3, 1], "loss": [2.0, 6.0, 4.0]})
    assert loss_of_rests(found, 0, 0) == 0.5
    assert loss_of_rests(found, 1) == 2.5
    assert loss_of_rests(found, 0, 1) == pytest.approx(8 / 7)
    assert np.isnan(loss_of_rests(found, 3))
