"""Every page stands on any workspace: with nothing in it, with packed runs, with runs of one's own."""

import importlib
import json
import re
import shutil
from collections.abc import Iterator

import ipywidgets as widgets
import pytest
from dashboards.conftest import workspace_of
from support.foreign_models import marian
from support.packed import copy_packed, packed_folder
from support.unfolded import unfolded

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.dynamics.depth import G_SLOPES
from nmtlab.analysis.lexical.rare_words import name_translations
from nmtlab.dashboards.frame.headings import headings
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.pages.dynamics import _verdicts
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.scheme import DARK, as_hex
from nmtlab.interchange.huggingface import import_model
from nmtlab.jobs import Job
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.workspace import Workspace

LEX, G = "small-tr-en.fixnorm-lex.s1", "small-gl-en.prenorm-fixnorm-scalenorm.s1"
CHILD = "child-gl-en.4000.transfer-bpe.related-parent.s1"
SHOWN = {"depth": G, "searches": G, "languages": CHILD}
LISTS = ("index", "runs")
"""Pages that answer nothing of runs."""

NAMES = [page.name for page in headings() if page.name not in LISTS]
each_page = pytest.mark.parametrize("name", NAMES)


def make(name: str, workspace: Workspace) -> Page:
    return getattr(importlib.import_module(f"nmtlab.dashboards.pages.{name}"), f"{name}_page")(workspace)


def leaves(widget: widgets.Widget) -> Iterator[widgets.Widget]:
    """Yield what can be seen of a widget."""
    if getattr(widget, "layout", None) is not None and widget.layout.display == "none":
        return
    if isinstance(widget, widgets.Box):
        for child in widget.children:
            yield from leaves(child)
    else:
        yield widget


def told(page: Page) -> str:
    """Return the sentence in which a page tells of a problem."""
    return page._message.value


def notes(page: Page) -> list[str]:
    return [leaf.value for leaf in leaves(page) if isinstance(leaf, Note) and leaf.value]


def figures(page: Page) -> list:
    """Return the figures that runs are behind."""
    skipped = {leaf for name in ("measured",) for leaf in leaves(getattr(page, name, None))}
    return [
        leaf.figure for leaf in leaves(page) if isinstance(leaf, Chart) and leaf.figure.data and leaf not in skipped
    ]


@pytest.fixture(scope="module", autouse=True)
def judged() -> None:
    """Judge all claims, which pages show, once."""
    measured_claims()


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch) -> None:
    """Measure few where that is slow: what pages do with the numbers is the same."""
    for page in ("detached", "pruning", "reranking"):
        monkeypatch.setattr(f"nmtlab.dashboards.pages.{page}._SAMPLE", 4)


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Workspace:
    """Packed runs without their weights, one of them phrase-based."""
    workspace = Workspace(tmp_path_factory.mktemp("packed"))
    for name in ("small-qaa-en.fixnorm.s1", "small-qaa-en.moses"):
        copy_packed(name, workspace, leave_out="checkpoints")
    assert not any(run.checkpoints.has_weights() for run in list_runs(workspace)[0])
    return workspace


@each_page
def test_a_page_of_a_workspace_with_nothing_says_so_in_a_sentence(name, workspace, monkeypatch, tmp_path):
    for module in ("grids.results.results", "grids.trainability", "analysis.search.stored_speed"):
        monkeypatch.setattr(importlib.import_module(f"nmtlab.{module}"), "RESULTS", tmp_path / "none")
    page = make(name, workspace)
    assert all(page.state.keys() >= set(section.inputs) for section in page.sections)
    parts = [part for section in page.sections for part in section.parts]
    assert len(parts) == len(set(parts))
    assert told(page) == ""
    assert any(note.partition("<details>")[0].endswith(".") for note in notes(page))
    assert figures(page) == []
    page._opened("")
    page._looking()
    assert told(page) == ""


@pytest.mark.full
@pytest.mark.parametrize("name", LISTS)
def test_a_list_stands_with_nothing_and_with_runs_that_lack_something(name, workspace, packed, uncounted):
    for one in (workspace, packed, uncounted):
        page = make(name, one)
        page._opened("")
        page._looking()
        assert told(page) == ""
        assert notes(page) or name == "index" or one != workspace


@pytest.mark.full
@each_page
def test_a_page_of_packed_runs_without_weights_shows_what_it_can(name, packed):
    page = make(name, packed)
    assert told(page) == ""
    assert notes(page)
    stored = ("tables", "compare", "norms", "dynamics", "gradients", "gains", "efficiency", "worth")
    assert bool(figures(page)) == (name in stored)


SLOW = {"languages", "detached", "attention", "reranking", "pruning"}
"""They compare all sentences of four runs, erase all words of a hundred, measure attention on whole texts, search with
a wide beam, and translate with every share of the weights."""


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.full] * (one in SLOW)) for one in NAMES])
def test_a_page_of_packed_runs_with_weights_shows_all_but_g(name, gallery):
    page = make(name, gallery)
    assert told(page) == ""
    assert all(leaf.frame.index.is_unique for leaf in leaves(page) if isinstance(leaf, Table))
    without = ("changed", "correct", "depth", "many", "monolingual", "noise", "train", "searches", "sources")
    assert bool(figures(page)) == (name not in without)


def held(page: Page) -> dict[object, str]:
    """Return what charts and tables hold that answer a page's controls."""
    own = {page.state.get("runs")}
    unmoved = (getattr(page, name, None) for name in ("measured",))  # which no run is behind
    skipped = {leaf for part in unmoved for leaf in leaves(part)}
    skipped |= {page.maps.chart} if hasattr(page, "maps") else set()
    parts = [leaf for leaf in leaves(page) if isinstance(leaf, Chart | Table) and leaf not in own | skipped]
    return {
        part: part.figure.to_json() if isinstance(part, Chart) else part.title + part.content
        for part in parts
        if (part.figure.data if isinstance(part, Chart) else len(part.frame))
    }


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Workspace:
    """Three runs that answer most questions."""
    return workspace_of(tmp_path_factory.mktemp("three") / "data", (LEX, G, CHILD))


@pytest.fixture
def twice(tmp_path) -> Workspace:
    """These runs and a copy of each, for a test that damages them."""
    workspace = workspace_of(tmp_path / "twice", (LEX, G, CHILD))
    for name in (LEX, G, CHILD):
        copy_packed(name, workspace, new_name=f"other-{name}")
    return workspace


def answering(name: str, workspace: Workspace) -> Page:
    """Return a page that shows something."""
    page = make(name, workspace)
    if "runs" in page.state:
        page.state["runs"].choose([SHOWN.get(name, LEX)])
    assert held(page)
    return page


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("many", "monolingual", "noise", "train", "changed", "sources")]
)
def test_where_nothing_is_chosen_no_figure_table_or_note_is_left_of_what_was(name, three):
    page = answering(name, three)
    chosen = next(page.state[key] for key in ("runs", "table", "text", "ruler") if key in page.state)
    if isinstance(chosen, Table):
        chosen.unpick()
    else:
        chosen.value = None
    assert told(page) == ""
    assert held(page) == {}


UNFAILING = {
    "changed",
    "many",
    "monolingual",
    "noise",
    "tables",
    "efficiency",
    "gains",
    "train",
    "dynamics",
    "sources",
    "worth",
}  # the last reads what is whole of the log


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNFAILING])
def test_where_an_answer_fails_no_figure_table_or_note_is_left_of_what_was(name, twice):
    page = answering(name, twice)
    before, said = held(page), notes(page)
    other = "other-" + SHOWN.get(name, LEX)
    for path in open_run(other, twice).folder.rglob("*.*"):
        if path.suffix in (".xz", ".safetensors", ".tsv", ".parquet") or path.parent.name == "translations":
            path.write_bytes(b"no")
    page.state["runs"].choose([other])
    assert told(page)
    assert before.items() & held(page).items() == set()
    assert not {note for note in said if LEX in note} & set(notes(page))


def test_the_page_train_shows_no_curve_of_the_training_picked_before(trained, workspace):
    shutil.copytree(trained[0].folder, workspace.runs / "whole")
    for name in ("begun", "whole"):
        Job.start(workspace.data / "jobs" / name, ["true"])._process.wait()
    page = make("train", workspace)
    page.jobs.choose(["whole"])
    assert page.curve.figure.data
    page.jobs.choose(["begun"])
    assert not page.curve.figure.data
    page.jobs.choose(["whole"])
    page._looking()
    assert page.curve.figure.data


@pytest.fixture
def alone(trained, workspace) -> Workspace:
    """A workspace with one run and no corpus."""
    shutil.copytree(trained[0].folder, workspace.runs / "whole")
    return workspace


@pytest.mark.full
@each_page
def test_a_page_of_a_run_of_ones_own_stands_without_its_corpus(name, alone):
    page = make(name, alone)
    assert told(page) == ""
    assert notes(page) or figures(page)


@pytest.fixture(scope="module")
def uncounted(tiny_corpus, tmp_path_factory) -> Workspace:
    """A workspace with a random Marian model that was imported without a text, and nothing else."""
    pytest.importorskip("transformers", reason="it makes the folder")
    folder, workspace = tmp_path_factory.mktemp("folder"), Workspace(tmp_path_factory.mktemp("imported"))
    marian(folder / "marian", [list(tiny_corpus.lines("train", code)) for code in ("de", "en")])
    import_model(folder / "marian", "marian", workspace)
    return workspace


@pytest.mark.full
@each_page
def test_a_page_of_an_imported_model_without_text_and_counts_stands(name, uncounted):
    page = make(name, uncounted)
    assert told(page) == ""
    assert notes(page)


@pytest.mark.full
def test_an_imported_model_has_no_verdict_on_its_convergence(uncounted):
    page = make("dynamics", uncounted)
    assert page.runs.chosen
    assert not len(page.verdicts.frame)


def test_a_run_that_translates_has_learned_and_its_last_evaluation_is_not_its_best():
    run = Run(packed_folder("multi30k-de-en.small"))
    verdict = _verdicts([run]).iloc[0]
    assert (verdict["verdict"], verdict["still rising at the end"]) == ("learned to translate", "no")
    assert verdict["last BLEU"] < verdict["best BLEU"]


def test_logits_and_neighbours_of_an_imported_model_need_no_counts(uncounted):
    norms, page = unfolded(make("norms", uncounted)), unfolded(make("logits", uncounted))
    assert not norms.norms.chart.figure.data
    assert any("the counts of its types are unknown; import it again" in note for note in notes(norms))
    page.sentences.state["sentence"].value = "hund sieht katze"
    assert told(page) == ""
    assert page.waterfall.figure.data
    assert page.logits.figure.data
    norms.word.value = page.terms.frame["word"].iloc[0]
    assert told(norms) == ""
    assert len(norms.neighbours.frame)


@pytest.mark.full
@each_page
def test_a_page_of_a_run_that_has_hardly_begun_stands(name, tiny_recipe, tiny_corpus, workspace):
    Run.create(workspace.runs / "begun", tiny_recipe, {}, Pipeline.learn(tiny_recipe.text, tiny_corpus))
    page = make(name, workspace)
    assert "Internal error" not in told(page)


@pytest.mark.full
@pytest.mark.parametrize("name", ["norms", "attention", "translate", "dynamics", "depth"])
def test_a_page_of_a_run_on_hostile_text_stands(name, hostile):
    page = make(name, hostile)
    page._opened("?runs=hostile")
    assert told(page) == ""
    assert page.state["runs"].value == ("hostile",)
    assert figures(page)


LANGUAGES = "af ar bg bn ca cs cy da el es et fa fi fr gl ha he hi hu id it ja ka ko lt lv nl pl ro sv".split()


@pytest.fixture(scope="module")
def thirty(tmp_path_factory, zoo) -> Workspace:
    """Runs in thirty languages."""
    workspace = Workspace(tmp_path_factory.mktemp("thirty"))
    for language in LANGUAGES:
        folder = shutil.copytree(zoo("trained").folder, workspace.runs / f"tiny-{language}-en")
        for name in ("recipe.toml", "vocabulary/pipeline.json"):
            text = (folder / name).read_text(encoding="utf-8")
            for before in ('source = "de"', '"source": "de"', 'name = "tiny"'):
                text = text.replace(before, before.replace("de", language).replace("tiny", f"tiny-{language}"))
            (folder / name).write_text(text, encoding="utf-8")
    return workspace


@pytest.mark.full
@pytest.mark.parametrize("name", ["norms", "attention", "dynamics", "gradients", "compare", "translate"])
def test_runs_in_thirty_languages_are_shown_in_sentences_that_can_be_read(name, thirty):
    page = make(name, thirty)
    runs = page.state["runs"]
    runs.choose(list(runs.frame.index))
    assert told(page) == ""
    if name != "compare":  # which lists runs with translations
        assert len(runs.chosen) == len(LANGUAGES)
    assert max(map(len, notes(page))) < 500


@pytest.mark.full
def test_what_is_said_of_g_is_what_the_slopes_and_the_seeds_say(hostile):
    page = unfolded(make("depth", hostile))
    (slopes,) = (leaf.frame["slope"] for leaf in leaves(page) if isinstance(leaf, Table) and "slope" in leaf.frame)
    answer = next(note for note in notes(page) if "grows with depth" in note)
    assert f": {(slopes > 0).sum()} of {len(slopes)} in hostile" in answer
    (claims,) = (leaf.frame for leaf in leaves(page) if isinstance(leaf, Table) and "claim" in leaf.frame)
    found = measured_claims()
    verdicts = found[found["metric"].isin([metric.label for metric in G_SLOPES])]
    assert len(verdicts) == len(claims) > 1
    for line in verdicts.itertuples():
        (said,) = claims.loc[claims["claim"] == line.claim, "found"]
        assert said == f"{line.verdict}: {line.text}"


@pytest.mark.full
def test_every_page_keeps_its_state_in_its_address(gallery):
    for name in NAMES:
        page = make(name, gallery)
        again = make(name, gallery)
        again._opened(f"?{page._browser.query}")
        assert told(again) == ""
        assert again._browser.query == page._browser.query


def test_an_address_restores_what_depends_on_what_it_has_restored(hostile):
    first = make("attention", hostile)
    query = (
        "runs=hostile&text=hostile+dev&line=5&target=own&layer=2&head=2"
        "&show=attention&position=0&attention=cross-attention&open=text"
    )
    first._opened(f"?{query}")
    assert told(first) == ""
    assert first._browser.query == query
    assert first.sentences.source == "நாய் பூனையைப் பார்க்கிறது"
    assert (first.layer.value, first.head.value) == (2, 2)


def test_an_address_restores_sentence_position_and_length(hostile):
    page = make("logits", hostile)
    query = (
        "runs=hostile&system=hostile&text=hostile+test&line=2&position=1&fixed=True&r=3.5&selected=target%3A%3Adog"
        "&open=candidates%2Cstates"
    )
    page._opened(f"?{query}")
    assert told(page) == ""
    assert page._browser.query == query


def test_an_address_of_norms_restores_the_word_and_the_folds(hostile):
    page = make("norms", hostile)
    query = (
        "runs=hostile&system=hostile&text=hostile+test&word=dog&vectors=words&projection=pca"
        "&selected=target%3A%3Adog&open=near%2Cplane"
    )
    page._opened(f"?{query}")
    assert told(page) == ""
    assert page._browser.query == query
    assert len(page.neighbours.frame)


@pytest.mark.full
def test_an_address_that_asks_for_a_run_that_is_not_here_says_so_and_does_the_rest(gallery):
    page = make("attention", gallery)
    page._opened("?runs=nobody&target=own")
    assert "runs = nobody" in told(page)
    assert page.said.value == "own"
    assert figures(page)


@pytest.mark.parametrize("r", ["nan", "inf", "1e400", "-3", "abc", "100"])
def test_an_address_with_a_length_that_is_none_is_told_and_harmless(gallery, r):
    page = make("logits", gallery)
    before = page.radius.value
    page._opened(f"?fixed=True&r={r}")
    assert f"r = {r}" in told(page)
    assert page.radius.min <= page.radius.value <= page.radius.max
    assert page.radius.value == before or r in ("inf", "1e400", "-3", "100")


def test_a_page_of_translations_asks_for_text_where_it_has_no_example(alone, monkeypatch):
    monkeypatch.setattr("nmtlab.dashboards.frame.examples._EXAMPLES", {})
    page = make("translate", alone)
    assert any("type" in note.lower() for note in notes(page))
    page.typed.value = "hund sieht katze"
    assert len(page.found.frame) == 3
    assert figures(page)
    page.typed.value = ""
    assert told(page) == ""


def test_a_table_of_words_can_pick_a_comma_from_an_address(gallery):
    page = make("lexicon", gallery)
    assert "," in page.words.frame.index
    page._opened("?word=%2C")
    assert told(page) == ""
    assert page.words.value == ","


def test_the_lexicon_shows_how_far_it_agrees_with_the_aligner(gallery):
    page = unfolded(make("lexicon", gallery))
    frame = page.agreement.frame.set_index("frequency")
    assert 0 < frame.loc["all", "same best translation"] < 1
    assert frame["words"].drop("all").sum() == frame.loc["all", "words"] > 1000


def test_names_that_were_confused_with_others_are_shown(trained, tiny_corpus, tmp_path):
    workspace = Workspace(tmp_path / "data")
    untranslated = shutil.ignore_patterns("translations")
    run = Run(shutil.copytree(trained[0].folder, workspace.runs / "named", ignore=untranslated))
    folder = shutil.copytree(tiny_corpus.folder, workspace.data / "corpora" / tiny_corpus.name)
    page = make("norms", workspace)
    page.find_names.click()
    assert "--split test" in told(page)
    corpus = ParallelCorpus.open(folder)
    translations(run, corpus, "test")
    page.find_names.click()
    assert "no gold/names.de-en.tsv" in told(page)
    (folder / "gold").mkdir()
    (folder / "gold/names.de-en.tsv").write_text("source\ttarget\tclass\nhund\tdog\tanimal\nkatze\tcat\tanimal\n")
    page.find_names.click()
    assert told(page) == ""
    outcomes = name_translations(run, corpus)
    assert len(outcomes) > 5
    assert page.names.frame["names"].sum() == len(outcomes)
    assert page.confused.frame["times"].sum() == (outcomes["outcome"] == "confused").sum()


def colours(value: object, key: str = "") -> Iterator[str]:
    """Yield the colours of a figure's JSON."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from colours(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from colours(one, key)
    elif isinstance(value, str) and "color" in key and key != "coloraxis":
        yield value


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    [
        "tables",
        "compare",
        "norms",
        "logits",
        "lexicon",
        "attention",
        "depth",
        "dynamics",
        "gradients",
        "gains",
        "languages",
        "search",
        "efficiency",
        "worth",
    ],
)
def test_every_colour_of_a_figure_has_a_partner_on_a_dark_page(name, hostile):
    for figure in figures(make(name, hostile)):
        for colour in colours(json.loads(figure.to_json())):
            plain = as_hex(colour) if colour.startswith("rgb(") else colour
            rgba = re.fullmatch(r"rgba\((\d+),(\d+),(\d+),[\d.]+\)", colour)
            assert (as_hex(f"rgb({', '.join(rgba.groups())})") if rgba else plain) in DARK


@pytest.mark.parametrize(("status", "can"), [("stopped", True), ("interrupted", True), ("finished", False)])
def test_a_training_that_has_ended_can_go_on_unless_it_is_finished(trained, workspace, status, can):
    run = Run(shutil.copytree(trained[0].folder, workspace.runs / "whole"))
    if status != "finished":
        RunWriter(run).truncate_after(45)
    if status == "stopped":
        RunWriter(run).log("end", 45, status=status, seconds=1.0)
    job = Job.start(workspace.data / "jobs/whole", ["true"])
    job._process.wait()
    page = make("train", workspace)
    assert page.jobs.value == "whole"
    assert page.stop.disabled
    assert page.resume.disabled != can
    assert f"whole: {status}." in notes(page)
