"""Runs that read each sentence after the one before it: trained, resumed, scored, shown, and what they refuse."""

import shutil
from dataclasses import replace

import pytest
from support.weights import same_weights

from nmtlab.analysis.access.needs import ALONE, unmet
from nmtlab.analysis.access.scoring import run_perplexity
from nmtlab.analysis.access.texts import Text, sentences
from nmtlab.analysis.access.translations import stored_translations, translations
from nmtlab.analysis.attention.focus import BEFORE, FOCUS, words_by_mass
from nmtlab.analysis.attention.shift import SHIFT
from nmtlab.analysis.attention.weights import attention, attention_figure
from nmtlab.analysis.comparison.documents import ADAPTATION
from nmtlab.analysis.search.calibration import CALIBRATION
from nmtlab.analysis.search.translation_speed import Options, efficiency, where_time_goes
from nmtlab.analysis.states.projection import STATE_PROJECTION
from nmtlab.dashboards.pages.sources import SourcesPage
from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.interchange.export import export_model
from nmtlab.rounds import Rounds
from nmtlab.runs.run import Run
from nmtlab.selection import costs_by_runs
from nmtlab.systems import open_model
from nmtlab.text.corpora.context import SEPARATOR, in_context
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

_CHANGES = {"text.context": 1, "training.max_evaluations": 2}


@pytest.fixture(scope="module")
def corpus(make_corpus) -> ParallelCorpus:
    """The tiny text in documents of five lines."""
    folder = make_corpus()
    for split in ("train", "dev", "test"):
        lines = len((folder / f"{split}.de").read_text(encoding="utf-8").splitlines())
        (folder / f"{split}.documents").write_text("".join(f"{n // 5}\n" for n in range(lines)))
    return ParallelCorpus.open(folder)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("context") / "data")


@pytest.fixture(scope="module")
def run(corpus, tiny_recipe, workspace) -> Run:
    return train("context", tiny_recipe.with_changes(_CHANGES), corpus, workspace)


def test_it_is_stopped_and_resumed_exactly_and_not_with_other_documents(run, corpus, tiny_recipe, workspace, tmp_path):
    recipe, steps = tiny_recipe.with_changes(_CHANGES), iter(range(25))
    train("stopped", recipe, corpus, workspace, should_stop=lambda: next(steps, None) is None)
    other = shutil.copytree(corpus.folder, tmp_path / corpus.name)
    (other / "train.documents").write_text("1\n" * corpus.count("train"))
    with pytest.raises(RunError, match="other documents"):
        train("stopped", recipe, ParallelCorpus.open(other), workspace, resume=True)
    assert same_weights(train("stopped", recipe, corpus, workspace, resume=True), run)


def test_its_translations_are_those_of_the_sentences_in_context(run, corpus):
    read = list(in_context(corpus.lines("test", "de"), corpus.documents("test")))
    expected = [one.text for one in open_model(run).translate(read)]
    assert translations(run, corpus, "test") == expected
    assert stored_translations(run, corpus, "test") == expected
    assert stored_translations(run, replace(corpus, context=True), "test") == expected


def test_the_context_changes_what_is_translated(run, corpus):
    read = replace(corpus, context=True)
    system = open_model(run)
    alone, in_documents = (
        [one.hypotheses[0].log_prob for one in system.translate(list(text.lines("test", "de")))]
        for text in (corpus, read)
    )
    ids = corpus.documents("test")
    same = [a == pytest.approx(b, abs=1e-5) for a, b in zip(alone, in_documents, strict=True)]
    assert all(one == (ids.index(name) == n) for n, (one, name) in enumerate(zip(same, ids, strict=True)))
    assert run_perplexity(run, corpus, "test") == run_perplexity(run, read, "test")


def test_a_heat_map_has_the_context_and_the_separator(run):
    weights = attention(open_model(run), f"ein hund {SEPARATOR} ein kind")
    pieces = weights.drop_duplicates("source_position").set_index("source_position")
    assert pieces["source_piece"].tolist() == ["ein", "hund", SEPARATOR, "ein", "kind", "</s>"]
    assert pieces["segment"].tolist() == [1, 1, 1, 0, 0, 0]
    (line,) = [trace for trace in attention_figure(weights.assign(run="one")).data if trace.name == "next source"]
    assert line.x[0] == 2.5
    assert set(attention(open_model(run), "ein kind")["segment"]) == {0}


def test_the_mass_on_the_sentence_before_is_that_of_its_tokens(run, corpus):
    found = FOCUS.of(run, corpus=corpus, split="test", limit=4)
    assert list(dict.fromkeys(found["source"])) == ["de", BEFORE]
    assert 1 not in set(found["line"])  # the first sentence of a document
    assert found.groupby(["line", "position"])["mass"].sum().to_numpy() == pytest.approx(1, abs=1e-5)
    line = list(replace(corpus, context=True).lines("test", "de"))[1]
    weights = attention(open_model(run), line)
    last = weights[(weights["layer"] == weights["layer"].max()) & (weights["segment"] == 1)]
    by_hand = last.groupby("target_position")["weight"].sum() / weights["head"].nunique()
    of_line = found[(found["line"] == 2) & (found["source"] == BEFORE)]["mass"]
    assert of_line.tolist() == pytest.approx(by_hand.tolist()[:-1], abs=1e-5)
    words = words_by_mass(found, fewest=1)
    assert words["mass"].is_monotonic_decreasing
    assert words["tokens"].sum() == len(found) // 2


def test_analyses_of_texts_see_the_context_or_say_that_they_cannot(run, corpus):
    assert unmet(run, STATE_PROJECTION.needs) is ALONE
    with pytest.raises(RunError, match="sentences alone"):
        STATE_PROJECTION.of(run, corpus=corpus, split="dev")
    links = [frozenset()] * corpus.count("dev")
    found = SHIFT.of(run, corpus=corpus, split="dev", links=links)
    words = [len(line.split()) for line in corpus.lines("dev", "de")]
    assert found.drop_duplicates("line")["source_length"].tolist() == words
    assert CALIBRATION.of(run, corpus=corpus, split="dev")["tokens"].sum() > 0


def test_documents_are_translated_in_context_while_the_model_learns(run, corpus):
    documents = corpus.documents("test")
    found = ADAPTATION.of(run, corpus=corpus, split="test", documents=documents, epochs=0).sort_values("line")
    assert found["adapted"].tolist() == found["unadapted"].tolist() == translations(run, corpus, "test")
    assert found["source"].tolist() == list(corpus.lines("test", "de"))


def test_a_text_without_documents_is_named_and_it_is_not_exported(run, tiny_corpus, tiny_recipe, workspace, tmp_path):
    with pytest.raises(CorpusError, match=r"no test\.documents"):
        translations(run, tiny_corpus, "test")
    with pytest.raises(CorpusError, match=r"tiny: no dev\.documents"):
        train("without", tiny_recipe.with_changes(_CHANGES), tiny_corpus, workspace)
    with pytest.raises(RunError, match="context = 1"):
        export_model(run, "huggingface", tmp_path / "out")


def test_a_page_gets_the_lines_of_a_text_as_the_runs_beside_it_read_them(run, corpus, tiny_corpus):
    read = list(in_context(corpus.lines("test", "de"), corpus.documents("test")))
    assert sentences([run], Text(corpus, "test", False))["source"].tolist() == read
    assert sentences([], Text(corpus, "test", False))["source"].tolist() == list(corpus.lines("test", "de"))
    without = sentences([run], Text(tiny_corpus, "test", False))["source"].tolist()
    assert without == list(tiny_corpus.lines("test", "de"))


def test_what_would_read_its_sentences_alone_refuses_it(run, corpus, tiny_recipe, workspace):
    options = Options(beam_sizes=[1], batch_tokens=[500], threads=[1], ways=[("nmtlab", "fp32")])
    for measure in (efficiency, where_time_goes):
        with pytest.raises(RunError, match="sentences alone"):
            measure([run], corpus, options)
    with pytest.raises(RunError, match="reads more than a sentence"):
        costs_by_runs(corpus, run, run)
    with pytest.raises(RecipeError, match=r"text\.context: text that is made has no documents"):
        Rounds("rounds", tiny_recipe.with_changes(_CHANGES), corpus, {})


def test_an_answer_on_one_split_does_not_depend_on_the_documents_of_another(run, corpus, tmp_path):
    CALIBRATION.of(run, corpus=corpus, split="dev")
    other = shutil.copytree(corpus.folder, tmp_path / corpus.name)
    (other / "train.documents").write_text("1\n" * corpus.count("train"))
    assert CALIBRATION.stored(run, corpus=ParallelCorpus.open(other), split="dev") is not None
    (other / "dev.documents").write_text("1\n" * corpus.count("dev"))
    assert CALIBRATION.stored(run, corpus=ParallelCorpus.open(other), split="dev") is None


def test_the_page_of_several_sources_opens_at_a_line_with_a_context(run, corpus, workspace):
    page = SourcesPage(Workspace(workspace.data, (corpus.folder.parent,)))
    page.runs.table.choose(["context"])
    assert page.line.value == 2
    before, sentence = list(corpus.lines("test", "de"))[:2]
    assert page.hint.value.count(before) == page.hint.value.count(sentence) == 1
    page.typed.value = f"{sentence}\n{before}"
    assert page.hint.value.index(sentence) < page.hint.value.index(before)
    page.typed.value = f"\n{before}"
    assert "This line has no source." in page.hint.value
