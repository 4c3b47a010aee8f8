"""What a model loses by pruning, against the pruned run itself."""

import math

import numpy as np
import pandas as pd
import pytest
from support.foreign_folder import write_marian

from nmtlab.analysis.lexical.pruning import (
    EDGES,
    EVERY,
    PRUNING,
    SHARES,
    at_share,
    cut_losses,
    lost,
    pruning_figure,
    pruning_losses,
)
from nmtlab.errors import NmtlabError
from nmtlab.evaluation import bleu
from nmtlab.evaluation.rare_words import bucket_names, bucket_of
from nmtlab.interchange.huggingface import import_model
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.training.derived import cut_run, prune_run

SAMPLE = 4


@pytest.fixture(scope="session")
def run(trained) -> Run:
    return trained[0]


@pytest.fixture(scope="session")
def found(run, tiny_corpus) -> pd.DataFrame:
    rows = [row for rows in pruning_losses(run, tiny_corpus, "dev", SAMPLE) for row in rows]
    return pd.DataFrame(rows).assign(run="run")


def forced(run: Run, corpus) -> tuple[np.ndarray, list[str]]:
    """Return the log-probability and the bucket of each token of the sample but EOS."""
    system, drawn = open_model(run), draw_sample(corpus, "dev", SAMPLE)
    values, buckets = [], []
    for source, target in drawn.pairs:
        ids = system.pipeline.target_ids(target)
        ((_, one),) = forced_decode_all(system.model, [system.pipeline.source_ids(source)], [ids])
        values += one.log_probs[:-1].tolist()
        counts = system.pipeline.target.counts
        buckets += [None if one == UNK else bucket_names(EDGES)[bucket_of(counts[one], EDGES)] for one in ids[:-1]]
    return np.array(values), buckets


@pytest.mark.full
@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_where_all_matrices_are_pruned_the_numbers_are_those_of_the_pruned_run(
    share, found, run, tiny_corpus, tmp_path
):
    other = prune_run(run, tmp_path / "other", share) if share else run
    rows = found[(found["pruned"] == "all") & (found["share"] == share)].set_index("frequency")
    values, buckets = forced(other, tiny_corpus)
    expected = pd.DataFrame({"value": values, "bucket": buckets}).groupby("bucket")["value"]
    assert rows.loc[EVERY, "log_prob"] == pytest.approx(values.mean(), abs=1e-5)
    assert rows["log_prob"].drop(EVERY).to_dict() == pytest.approx(expected.mean().to_dict(), abs=1e-5)
    assert rows["tokens"].drop(EVERY).to_dict() == expected.size().to_dict()
    drawn = draw_sample(tiny_corpus, "dev", SAMPLE)
    texts = [one.text for one in open_model(other).translate(drawn.sources)]
    assert rows.loc[EVERY, "bleu"] == pytest.approx(bleu(texts, [drawn.targets]).value)
    assert rows.loc[EVERY, "saved"] == pytest.approx(share, abs=0.01)


def test_word_vectors_and_the_network_are_all_matrices_between_them(found):
    saved = found.drop_duplicates(["pruned", "share"]).pivot(index="share", columns="pruned", values="saved")
    assert (saved["words"] + saved["network"]).tolist() == pytest.approx(saved["all"].tolist(), abs=1e-9)
    assert (saved.loc[0.9, ["words", "network"]] > 0).all()
    assert found[found["pruned"] != "all"]["bleu"].isna().all()


def test_a_computation_that_was_cut_off_goes_on_where_it_ended(found, run, tiny_corpus):
    last = [row for rows in pruning_losses(run, tiny_corpus, "dev", SAMPLE, start=3 * len(SHARES) - 1) for row in rows]
    pd.testing.assert_frame_equal(pd.DataFrame(last).assign(run="run"), found.tail(len(last)).reset_index(drop=True))


def test_the_loss_is_the_difference_from_no_pruning_and_the_figure_shows_it(found):
    table = at_share(found, 0.9).set_index("pruned")
    of_all = found[(found["frequency"] == EVERY) & (found["pruned"] == "words")].set_index("share")["log_prob"]
    assert table.loc["words", EVERY] == pytest.approx(of_all[0.0] - of_all[0.9])
    assert (lost(found).query("share == 0")["loss"] == 0).all()
    scores, *by_frequency = pruning_figure(found, 0.9).data
    assert list(scores.y) == found[(found["pruned"] == "all") & (found["frequency"] == EVERY)]["bleu"].tolist()
    assert [len(trace.y) for trace in by_frequency] == 2 * [found["frequency"].nunique() - 1]
    assert "of word vectors" in PRUNING.finding(found)
    assert PRUNING.finding(found[:0]) == ""
    assert "of word vectors" not in PRUNING.finding(found[found["frequency"] == EVERY])


def test_an_imported_model_without_its_smallest_weights_is_an_imported_one(workspace):
    workspace.data.mkdir(parents=True)
    write_marian(workspace.data / "opus")
    imported = import_model(workspace.data / "opus", "opus", workspace)
    light = prune_run(imported, workspace.run_folder("light"), 0.4)
    assert (light.status, light.origin.limitations) == (imported.status, imported.origin.limitations)
    assert light.origin.imported == imported.origin.imported


@pytest.mark.full
def test_at_a_lower_rank_the_numbers_are_those_of_the_run_that_was_cut(run, tiny_corpus, tmp_path):
    rows = pd.DataFrame([row for rows in cut_losses(run, tiny_corpus, "dev", SAMPLE) for row in rows])
    rows = rows[(rows["pruned"] == "all") & (rows["frequency"] == EVERY)].set_index("share")
    values, _ = forced(cut_run(run, tmp_path / "cut", 0.4), tiny_corpus)
    assert rows.loc[0.6, "log_prob"] == pytest.approx(values.mean(), abs=1e-5)
    assert rows.loc[0.0, "log_prob"] == pytest.approx(forced(run, tiny_corpus)[0].mean(), abs=1e-5)
    assert rows.loc[0.0, "saved"] == 0
    assert rows["saved"].is_monotonic_increasing


@pytest.mark.parametrize("share", [0, 1, -0.1, math.nan])
def test_a_share_that_prunes_nothing_or_everything_is_refused(share, run, tmp_path):
    with pytest.raises(NmtlabError, match="not above 0 and below 1; give one such as"):
        prune_run(run, tmp_path / "none", share)
    with pytest.raises(NmtlabError, match=r"rank .* not above 0 and below 1; give one such as"):
        cut_run(run, tmp_path / "none", share)
    assert not (tmp_path / "none").exists()
