"""Minimum Bayes risk by its number of samples, against a double loop over sacrebleu's sentence chrF."""

from dataclasses import replace

import numpy as np
import pytest
from sacrebleu import sentence_chrf
from support.metrics import declare

from nmtlab.analysis.metrics import find_metric, scored_text, stored_lines, value_of
from nmtlab.analysis.search.beams import OUTCOME
from nmtlab.analysis.search.least_risk import LEAST_RISK, LEAST_RISKS, MBR, SAMPLES
from nmtlab.analysis.search.searched import text_of_sample
from nmtlab.evaluation import bleu
from nmtlab.recipe import SearchSettings
from nmtlab.search.searches import Sample
from nmtlab.systems import open_system
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.workspace import Workspace

FEW = 4


@pytest.fixture(scope="module")
def run(tmp_path_factory, zoo):
    return zoo.copy("learned", Workspace(tmp_path_factory.mktemp("here") / "data"))


@pytest.fixture(scope="module")
def found(run, tiny_corpus):
    return LEAST_RISKS.of(run, corpus=tiny_corpus, sample=FEW)


def test_of_the_first_n_samples_the_one_is_kept_that_is_most_like_them(run, tiny_corpus, found):
    drawn = draw_sample(tiny_corpus, "test", FEW)
    assert found["line"].tolist() == list(drawn.lines)
    samples = open_system(run).translate(drawn.sources, search=Sample(run.recipe.search, SAMPLES[-1]))
    for place, line in enumerate(samples):
        for n in SAMPLES[:2]:
            texts = line.texts[:n]
            means = {one: np.mean([sentence_chrf(one, [other]).score for other in texts]) for one in texts if one}
            assert means[found[f"text_{n}"][place]] == pytest.approx(max(means.values()))


def test_each_number_of_samples_is_compared_with_beams(run, tiny_corpus, found):
    table = LEAST_RISK.of(run, corpus=tiny_corpus, sample=FEW)
    drawn = draw_sample(tiny_corpus, "test", FEW)
    references = [drawn.of(lines) for lines in tiny_corpus.references("test")]
    scores = [bleu(found[f"text_{n}"].tolist(), references).value for n in SAMPLES]
    assert table[table["way"] == MBR]["bleu"].tolist() == pytest.approx(scores)
    beam = OUTCOME.of(run, corpus=tiny_corpus, sample=FEW, search=SearchSettings(score="log-prob", beam_size=4))
    assert table.set_index("way")["bleu"]["log-prob"] == beam["bleu"].item()
    view = LEAST_RISK.view(run, corpus=tiny_corpus, sample=FEW)
    assert view.finding.startswith("BLEU by minimum Bayes risk: ")
    assert len(view.figure.data) == 6


def test_tables_quote_the_bleu_of_a_sample_of_the_text(run, tiny_corpus, found, monkeypatch):
    declared = find_metric("bleu-mbr-4")
    metric = replace(declared, given={"sample": FEW}, scoring=replace(declared.scored, text=text_of_sample(FEW)))
    declare(monkeypatch, LEAST_RISKS, metric)
    lines, text = stored_lines(metric, run, tiny_corpus), scored_text(metric, tiny_corpus, run)
    assert lines == found["text_4"].tolist()
    assert value_of(metric, run, tiny_corpus) == pytest.approx(bleu(lines, text.references).value)
    assert declared.given == {"sample": 200}
