"""How much of a translation comes from its source: models of the source or the target alone, and sums by hand."""

import shutil

import numpy as np
import pytest
from sacrebleu.metrics import CHRF
from support.scripted_model import ScriptedModel

from nmtlab.analysis.attribution.methods import prefix_erasure
from nmtlab.analysis.attribution.source_share import SOURCE_SHARE, dependence, repeats, source_share_figure
from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.runs.run import Run
from nmtlab.search.searches import Sample
from nmtlab.systems import open_system
from nmtlab.text.segmentation.vocabulary import EOS

SOURCE, TARGET = [7, 4, 5, EOS], [4, 6, 5, 4, EOS]


class OfTheSource(ScriptedModel):
    def log_probs(self, source, prefix):
        return super().log_probs(source, ())


class OfTheTarget(ScriptedModel):
    def log_probs(self, source, prefix):
        return super().log_probs((), prefix)


def log_prob(model: ScriptedModel, source: list[int], prefix: list[int], token: int) -> float:
    return model.log_probs(tuple(source), tuple(prefix))[model.output_ids.tolist().index(token)].item()


def test_a_translation_by_a_model_of_the_source_is_all_from_the_source():
    assert dependence(OfTheSource(9), SOURCE, TARGET)["source_share"] == 1


def test_a_translation_by_a_model_of_the_target_has_nothing_from_the_source():
    assert dependence(OfTheTarget(9), SOURCE, TARGET)["source_share"] == 0


def test_erased_prefixes_are_those_of_a_loop_over_tokens():
    model = ScriptedModel(9)
    expected = np.zeros((len(TARGET), len(TARGET)))
    for predicted, token in enumerate(TARGET):
        for erased in range(predicted):
            prefix = TARGET[:predicted]
            shorter = prefix[:erased] + prefix[erased + 1 :]
            expected[predicted, erased] = log_prob(model, SOURCE, prefix, token) - log_prob(
                model, SOURCE, shorter, token
            )
    np.testing.assert_allclose(prefix_erasure(model, SOURCE, TARGET), expected, rtol=1e-12)


def test_both_sides_are_added_up_token_by_token():
    model, from_source, from_target = ScriptedModel(9, seed=3), 0.0, 0.0
    for predicted, token in enumerate(TARGET):
        prefix = TARGET[:predicted]
        whole = log_prob(model, SOURCE, prefix, token)
        shorter_sources = (SOURCE[:s] + SOURCE[s + 1 :] for s in range(len(SOURCE) - 1))
        shorter_prefixes = (prefix[:t] + prefix[t + 1 :] for t in range(predicted))
        from_source += sum(abs(whole - log_prob(model, shorter, prefix, token)) for shorter in shorter_sources)
        from_target += sum(abs(whole - log_prob(model, SOURCE, shorter, token)) for shorter in shorter_prefixes)
    found = dependence(model, SOURCE, TARGET)
    assert found["from_source"] == pytest.approx(from_source)
    assert found["from_both"] == pytest.approx(from_source + from_target)
    assert found["source_share"] == pytest.approx(from_source / (from_source + from_target))
    every = [log_prob(model, SOURCE, TARGET[:place], token) for place, token in enumerate(TARGET)]
    assert found["log_prob"] == pytest.approx(np.mean(every))
    assert found["length_ratio"] == pytest.approx(4 / 3)


def test_the_list_begins_with_the_translation_that_depends_least_on_its_source(trained, tiny_corpus, tmp_path):
    run = Run(shutil.copytree(trained[0].folder, tmp_path / "whole"))
    view = SOURCE_SHARE.view(run, corpus=tiny_corpus, split="dev", sample=4)
    assert len(view.frame) == 4
    assert view.frame["source_share"].is_monotonic_increasing
    assert view.frame["source_share"].between(0, 1).all()
    stored = SOURCE_SHARE.stored(run, corpus=tiny_corpus, split="dev", sample=4)
    references = dict(enumerate(tiny_corpus.lines("dev", "en"), start=1))
    system, chrf = open_system(run), CHRF()
    for row in stored.itertuples():
        ((*samples,),) = [of.texts for of in system.translate([row.source], search=Sample(run.recipe.search, 16))]
        alike = [chrf.sentence_score(row.translation, [one]).score for one in samples]
        assert row.agreement == pytest.approx(np.mean(alike))
        assert row.chrf == pytest.approx(chrf.sentence_score(row.translation, [references[row.line]]).score)
    (trace,) = source_share_figure(stored.assign(run="whole")).data
    assert sorted(trace.x) == pytest.approx(sorted(100 * view.frame["source_share"]))


@pytest.mark.full
def test_the_share_of_a_text_is_of_all_its_sentences_together(trained, tiny_corpus, tmp_path):
    run = Run(shutil.copytree(trained[0].folder, tmp_path / "whole"))
    rows = SOURCE_SHARE.of(run, corpus=tiny_corpus)
    value = value_of(find_metric("source-share"), run, tiny_corpus)
    assert value == pytest.approx(rows["from_source"].sum() / rows["from_both"].sum())


def test_sequences_of_four_words_that_recur_beyond_the_source_are_counted():
    assert repeats("a b c d a b c d a b c d", "v w x y z") == 2
    assert repeats("w x y z w x y z", "A B C D A B C D") == 0
    assert repeats("three words only", "drei Wörter und noch") == 0
