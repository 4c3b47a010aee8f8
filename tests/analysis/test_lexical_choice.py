"""The numbers of lexical choice are those of the analyses that they come from."""

import math

import pytest

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.attention.shift import attention_error, attention_shift
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.analysis.lexical.embedding_norms import norm_correlations, word_norms
from nmtlab.analysis.lexical.lexical_choice import LEXICAL_CHOICE, lexical_choice, lexical_sums, reference_unknowns
from nmtlab.analysis.metrics import find_metric, sums_of, value_of
from nmtlab.errors import NmtlabError
from nmtlab.recipe import find_recipe
from nmtlab.runs.run import Run
from nmtlab.text.artificial import ArtificialSettings, write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import gold_links
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # three systems are trained until they choose words

ALIGNMENT_ERROR = find_metric("alignment-error")
LEFT_SHIFT = find_metric("left-shift")
NORM_DECIDES = find_metric("norm-decides")
RARE_RECALL = find_metric("rare-recall")
RIGHT_COPIES = find_metric("right-copies")

SMALL = {
    "model.d_model": 24, "model.init_range": 0.1, "training.optimiser": "adam", "training.learning_rate": 0.01,
    "training.loss_reduction": "mean", "training.max_evaluations": 6, "text.min_frequency": 2, "search.beam_size": 2,
    "machine.threads": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> ParallelCorpus:
    folder = tmp_path_factory.mktemp("words") / "words"
    write_corpus(folder, ["qad"], ArtificialSettings(vocabulary=150, names=6), train=600, dev=20, test=40)
    return ParallelCorpus.open(folder, "qad", "en")


@pytest.fixture(scope="module")
def runs(corpus, tmp_path_factory) -> dict[str, Run]:
    workspace = Workspace(tmp_path_factory.mktemp("runs") / "data")
    recipes = {
        "tied": find_recipe("tied").with_changes(SMALL),
        "fixnorm-lex": find_recipe("fixnorm-lex").with_changes(SMALL),
        "moses": find_recipe("moses").with_changes({"machine.threads": 1, "model.tuning_evaluations": 4}),
    }
    return {name: train(name, recipe, corpus, workspace) for name, recipe in recipes.items()}


def numbers(run: Run, corpus: ParallelCorpus) -> dict[str, tuple[float, int]]:
    return {line.quantity: (line.value, line.count) for line in lexical_choice(run, corpus).itertuples(index=False)}


@pytest.mark.full
def test_each_number_is_that_of_its_own_analysis(runs, corpus):
    run, links = runs["tied"], gold_links(corpus, "test")
    found = numbers(run, corpus)
    shifts = attention_shift(run, corpus, "test", links)
    assert found["left shift"] == (pytest.approx(shifts["shift"].dropna().mean()), shifts["shift"].notna().sum())
    assert found["alignment error"][0] == attention_error(shifts, links)["error_rate"].item()
    norms = norm_correlations(word_norms(run)).set_index("quantity")
    assert found["norm-frequency"] == tuple(norms.loc["used_norm", ["spearman", "words"]])
    wrong = rare_choices(run, corpus, "test", below=10).query("not right")
    assert found["norm decides"] == ((wrong["largest"] == "word_norm").mean(), len(wrong))
    unknowns = reference_unknowns(run, corpus, "test", links).query("linked")
    assert found["right copies"] == (unknowns["correct"].mean(), len(unknowns))
    assert "lexicon precision" not in found


def test_a_ratio_is_that_of_the_sums_over_the_sentences(runs, corpus):
    run, links = runs["tied"], gold_links(corpus, "test")
    sums = lexical_sums(run, corpus).set_index(["quantity", "line"])
    for name in ("rare recall", "norm decides", "left shift", "alignment error", "right copies"):
        amount, of = sums.loc[name].sum()
        assert numbers(run, corpus)[name] == (amount / of, of)
    (shifts,) = (some for line, some in attention_shift(run, corpus, "test", links).groupby("line") if line == 7)
    assert sums.loc[("left shift", 7)].tolist() == [shifts["shift"].sum(), shifts["shift"].notna().sum()]
    amount, of = sums.loc[("alignment error", 7)]
    assert amount / of == attention_error(shifts, links)["error_rate"].item()


@pytest.mark.parametrize("ratio", [RARE_RECALL, LEFT_SHIFT, ALIGNMENT_ERROR, RIGHT_COPIES])
def test_what_each_sentence_adds_to_a_number_of_a_table_makes_the_number(runs, corpus, ratio):
    value = value_of(ratio, runs["tied"], corpus)
    sums = sums_of(ratio, runs["tied"], corpus)
    assert sums.shape == (corpus.count("test"), 2)
    assert sums[:, 0].sum() / sums[:, 1].sum() == value


def test_what_a_system_has_no_number_of_its_sentences_add_nothing_to(runs, corpus):
    assert math.isnan(value_of(NORM_DECIDES, runs["fixnorm-lex"], corpus))
    assert sums_of(NORM_DECIDES, runs["fixnorm-lex"], corpus) is None
    assert math.isnan(value_of(LEFT_SHIFT, runs["moses"], corpus))
    assert sums_of(LEFT_SHIFT, runs["moses"], corpus) is None
    assert sums_of(RARE_RECALL, runs["moses"], corpus) is not None


def test_rare_words_are_those_that_training_has_one_to_nine_times(runs, corpus):
    counts, rare, produced = {}, 0, 0
    for _, target in corpus.pairs("train"):
        for word in target.split():
            counts[word] = counts.get(word, 0) + 1
    said = translations(runs["tied"], corpus, "test")
    for (_, reference), hypothesis in zip(corpus.pairs("test"), said, strict=True):
        words = hypothesis.split()
        for word in {word for word in reference.split() if 1 <= counts.get(word, 0) < 10}:
            rare += reference.split().count(word)
            produced += min(reference.split().count(word), words.count(word))
    value, count = numbers(runs["tied"], corpus)["rare recall"]
    assert (value, count) == (pytest.approx(produced / rare), rare)


def test_a_system_with_fixed_norms_has_no_correlation_and_one_with_a_lexicon_its_precision(runs, corpus):
    found = numbers(runs["fixnorm-lex"], corpus)
    assert found["norm-frequency"][0] != found["norm-frequency"][0]  # NaN
    assert found["norm decides"][0] == 0
    assert 0 < found["lexicon precision"][0] <= 1


def test_a_phrase_based_run_is_asked_about_its_translations_alone(runs, corpus):
    assert set(numbers(runs["moses"], corpus)) == {"rare recall", "frequent recall"}


def test_the_answer_is_kept_with_the_run(runs, corpus):
    first = LEXICAL_CHOICE.of(runs["tied"], corpus=corpus)
    assert first.equals(LEXICAL_CHOICE.of(runs["tied"], corpus=corpus))
    assert [path for path in (runs["tied"].folder / "measures").iterdir() if path.suffix == ".parquet"]


def test_other_languages_are_refused(runs, tiny_corpus):
    with pytest.raises(NmtlabError, match="translates qad to en"):
        lexical_choice(runs["tied"], tiny_corpus)
