"""Minimum Bayes risk by its number of samples, against a double loop over sacrebleu's sentence chrF."""

from dataclasses import replace

import numpy as np
import pytest
from sacrebleu import sentence_chrf
from support.metrics import declare

from nmtlab.analysis.metrics import find_metric, scored_text, stored_lines, value_of
from nmtlab.analysis.search.beams import DECODED, OUTCOME
from nmtlab.analysis.search.least_risk import LEAST_RISK, LEAST_RISKS, MBR, SAMPLES
from nmtlab.analysis.search.searched import searched_bleu, text_of_sample
from nmtlab.evaluation import bleu
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.searches import Sample
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
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
    of_samples = f"{scores[0]:.1f} of 4, {scores[1]:.1f} of 16, {scores[2]:.1f} of 64 samples"
    normalised = table.set_index("way")["bleu"]["length-normalised"]
    beams = f"{beam['bleu'].item():.1f} by log-probability and {normalised:.1f} with length normalisation"
    assert view.finding == f"BLEU of {run.label} by minimum Bayes risk: {of_samples}; with a beam of 4, {beams}."
    assert len(view.figure.data) == 6


def test_samples_and_beams_replace_unks_if_the_recipe_does(tmp_path, zoo, tiny_corpus):
    words = zoo.copy("words", Workspace(tmp_path))
    words.recipe.with_changes({"search.replace_unknown": True}).save(words.folder / "recipe.toml")
    run, asked = Run(words.folder), {"corpus": tiny_corpus, "sample": FEW}
    found, chosen = LEAST_RISK.of(run, **asked).set_index("way"), LEAST_RISKS.of(run, **asked)
    assert not chosen["text_64"].str.contains("<unk>").any()
    for way in ("log-prob", "length-normalised"):
        search = SearchSettings(score=way, beam_size=4)
        assert DECODED.of(run, search=search, **asked)["text"].str.contains("<unk>").any()
        replaced = OUTCOME.of(run, search=search.model_copy(update={"replace_unknown": True}), **asked)
        quoted = find_metric(f"bleu-{way}-4-sample")
        metric = searched_bleu(quoted.key, quoted.label, replace(quoted.given["way"], sample=FEW))
        assert [found["bleu"][way]] == replaced["bleu"].tolist() == [value_of(metric, run, tiny_corpus)]


def test_blank_lines_do_not_count_as_empty_translations(run, tiny_corpus, tmp_path):
    for language in tiny_corpus.direction:
        for split in ("train", "dev"):
            write_lines(tmp_path / f"{split}.{language}", tiny_corpus.lines(split, language))
        write_lines(tmp_path / f"test.{language}", ["", *[*tiny_corpus.lines("test", language)][:2]])
    corpus = ParallelCorpus.open(tmp_path)
    chosen = LEAST_RISKS.of(run, corpus=corpus)
    assert chosen["text_4"][0] == ""
    shares = [chosen[f"text_{n}"][1:].eq("").mean() for n in SAMPLES]
    assert LEAST_RISK.of(run, corpus=corpus)["empty"].tolist()[: len(SAMPLES)] == shares


def test_tables_quote_the_bleu_of_a_sample_of_the_text(run, tiny_corpus, found, monkeypatch):
    declared = find_metric("bleu-mbr-4")
    metric = replace(declared, given={"sample": FEW}, scoring=replace(declared.scored, text=text_of_sample(FEW)))
    declare(monkeypatch, LEAST_RISKS, metric)
    lines, text = stored_lines(metric, run, tiny_corpus), scored_text(metric, tiny_corpus, run)
    assert lines == found["text_4"].tolist()
    assert value_of(metric, run, tiny_corpus) == pytest.approx(bleu(lines, text.references).value)
    assert declared.given == {"sample": 200}
