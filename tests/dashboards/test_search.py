"""The page Search: a tree, a ranking, exact search, planned lengths, what was measured."""

import re
import shutil

import pandas as pd
import pytest
import torch
from support.packed import DATA, link_packed
from support.unfolded import unfolded

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.search.beams import SWEEPS, sweep, varied
from nmtlab.analysis.search.calibration import CALIBRATION, calibration_errors
from nmtlab.analysis.search.least_risk import LEAST_RISK
from nmtlab.analysis.search.length_baselines import BASELINES, length_models
from nmtlab.analysis.search.planned_lengths import (
    PLANNED_LENGTHS,
    length_calibration,
    length_errors,
    length_plan,
    lengths_finding,
)
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, empty_bests, error_rates
from nmtlab.analysis.search.search_tree import (
    LOG_PROB,
    continue_from,
    empty_above_beam,
    ended_hypotheses,
    first_empty_rank,
    path_to,
    search_tree,
)
from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.pages.search import SearchPage, _verdict
from nmtlab.dashboards.pages.searches import SearchesPage
from nmtlab.dashboards.parts.beam_tree import TOKENS
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.exact import exact_search
from nmtlab.systems import open_system
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def here(tmp_path_factory, zoo, tiny_corpus) -> Workspace:
    """An ordinary run, one that plans lengths, and their corpus."""
    workspace = Workspace(tmp_path_factory.mktemp("here") / "data")
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora" / tiny_corpus.name)
    zoo.copy("trained", workspace, "ordinary")
    zoo.copy("planned", workspace, "planned")
    return workspace


@pytest.fixture
def page(here) -> SearchPage:
    page = unfolded(SearchPage(here))
    page.runs.table.choose(["ordinary"])
    return page


@pytest.mark.full
def test_the_tree_is_that_of_the_beam_and_is_drawn_as_far_as_the_step(page, here):
    page.beam.value = 3
    system = open_system(Run(here.runs / "ordinary"))
    source, reference = page.sentences.source, page.sentences.reference
    tree = search_tree(system, source, SearchSettings(score="log-prob", beam_size=3), reference)
    assert page.step.value == page.step.max == tree["step"].max()
    assert page.sentences._current.value == f"Line 1 of tiny test: {source}"
    assert page.hint.value.startswith(f"Reference: {reference}. ordinary: the empty translation enters beams of size ")
    assert page.tree.chart.figure.layout.title.text.endswith("tiny (de → en), line 1 of tiny test, seed 1</span>")
    page.step.value = 1
    drawn = {x for trace in page.tree.chart.figure.data for x in trace.x if x is not None}
    assert drawn <= {0, 1}


def test_translations_are_ranked_anew_without_another_search(page):
    before = page.tree.tree
    page.score.value = "word-reward"
    page.gamma.value = 3.0
    longest = page.ended.frame.sort_values(TOKENS, ascending=False)[TOKENS].iloc[0]
    assert page.ended.frame[TOKENS].iloc[0] == longest
    assert page.tree.tree is before
    page.score.value = "log-prob"
    assert page.ended.frame["log p"].is_monotonic_decreasing


def test_a_bounded_reward_knows_how_long_the_source_is(page, here):
    page.score.value = "bounded-reward"
    page.gamma.value = 3.0
    tokens = len(open_system(Run(here.runs / "ordinary")).pipeline.source_ids(page.sentences.source))
    found = page.ended.frame
    assert found["score"].tolist() == pytest.approx(found["log p"] + 3 * found[TOKENS].clip(upper=tokens), abs=0.02)
    assert page._message.value == ""


def test_exact_search_stands_beside_the_beam(page, here):
    system = open_system(Run(here.runs / "ordinary"))
    source = torch.tensor([system.pipeline.source_ids(page.sentences.source)])
    best = exact_search(system.model, system.model.encode(source), SearchSettings(score="log-prob"), budget=20_000)
    found = page.both.frame.set_index("search")["log p"]
    by_exact = "exact search" if best.complete else "exact search, so far"
    assert found[by_exact] == pytest.approx(best.best.log_prob, abs=0.006)
    tree = page.tree.tree
    assert found["beam of 8"] == pytest.approx(tree.loc[tree["best"], "log_prob"].iloc[-1], abs=0.006)
    sure = "is" if best.complete else "is, so far,"
    assert f"The most probable translation of this sentence {sure} " in page.answer.value
    assert f"{best.best.log_prob:.2f}".replace("-", "−") in page.answer.value
    assert page.found.value.startswith("Proved after " if best.complete else "Not proved after ")
    page.step.value, page.alpha.value = 1, 1.0
    assert page.found.value != ""
    page.beam.value = 4
    assert page.both.frame["search"].tolist() == ["beam of 4", by_exact, "reference (forced)"]


@pytest.mark.parametrize(
    ("log_prob", "complete", "expected"),
    [
        (
            -1.0,
            True,
            "Proved after 1,234 expansions: search error; the global best has a log p 2.00 higher than the beam",
        ),
        (-3.0, True, "Proved after 1,234 expansions: the global best is the beam's."),
        (
            -2.5,
            False,
            "Not proved after 1,234 expansions; press “Exact search” to continue. The best so far has a log p 0.50",
        ),
    ],
)
def test_a_beam_that_misses_the_global_best_made_a_search_error(log_prob, complete, expected):
    found = pd.Series({"log_prob": log_prob, "expansions": 1234, "complete": complete})
    assert _verdict(-3.0, found).startswith(expected)


def nodes(page) -> set[tuple[int, int]]:
    return {tuple(node) for trace in page.tree.chart.figure.data for node in trace.customdata or ()}


def click(page, step: int, slot: int) -> None:
    page.tree._clicked({"customdata": [step, slot], "x": step, "y": 0, "meta": None})


@pytest.mark.full
def test_a_clicked_node_shows_its_prefix_and_is_continued(page, here):
    tree = page.tree.tree
    node = next(tree[(tree["step"] == 2) & ~tree["ended"] & ~tree["best"]].itertuples())
    assert page.tree.prefix.layout.display == page.tree.button.layout.display == "none"
    click(page, 2, node.slot)
    path = path_to(tree, 2, node.slot)
    assert page.tree.prefix.frame["token"].tolist() == path["piece"].tolist()
    assert page.tree.prefix.frame["log p of token"].sum() == pytest.approx(node.log_prob, abs=0.02)
    assert page.tree.prefix.title == f"Selected prefix: {node.text}"
    (marked,) = [trace for trace in page.tree.chart.figure.data if trace.name == "the selected prefix"]
    assert list(marked.x) == [0, 1, 2]
    assert page.tree.continued.layout.display == "none"
    page.tree.button.click()
    system = open_system(Run(here.runs / "ordinary"))
    search = SearchSettings(score="log-prob", beam_size=8)
    expected = continue_from(system, page.sentences.source, path["piece"].tolist(), search).iloc[0]
    assert page.tree.continued.frame["search"].tolist() == ["from this prefix", "beam of 8"]
    assert page.tree.continued.frame["translation"][0] == legible(expected["text"])
    assert page.tree.continued.frame["log p"][0] == pytest.approx(expected["log_prob"], abs=0.006)
    page.step.value = 1
    assert page.tree.prefix.frame["token"].tolist() == path["piece"].tolist()
    page.beam.value = 3
    assert page.tree.prefix.layout.display == page.tree.continued.layout.display == "none"


@pytest.mark.full
def test_the_reference_outside_the_beam_can_be_clicked(page):
    page.beam.value = 1
    outside = [step for step, slot in nodes(page) if slot == 0]
    assert outside
    click(page, min(outside), 0)
    assert page.tree.prefix.title.startswith("Selected prefix, which the beam does not hold: ")
    assert page.tree.prefix.frame["in the beam"].iloc[-1] == "no"
    assert len(page.tree.prefix.frame) == min(outside)
    assert page.tree.button.layout.display == ""
    click(page, max(outside), 0)
    assert page.tree.prefix.frame["token"].iloc[-1] == "</s>"
    assert page.tree.button.layout.display == "none"  # a whole translation is not continued


def test_a_node_of_an_earlier_tree_is_refused_in_words(page):
    click(page, 99, 1)
    assert "step 99, slot 1: no hypothesis of the tree" in page._message.value


@pytest.mark.full
def test_exact_search_goes_on_where_its_budget_ended(page, monkeypatch):
    for name, value in (("_BUDGET", 2), ("_CHEAP", 2), ("_PORTION", 1)):
        monkeypatch.setattr(f"nmtlab.dashboards.pages.search.{name}", value)
    done = []
    page.beam.value = 5  # searched exactly as far as is cheap
    for press in (lambda: None, page.exact.click, page.exact.click):
        press()
        assert "; press “Exact search” to continue." in page.found.value
        assert "is, so far, " in page.answer.value
        done.append(int(re.search(r"(\d+) expansions", page.found.value)[1]))
    assert done == [2, 4, 6]


@pytest.mark.full
def test_a_run_that_plans_lengths_has_a_tree_beside_the_others(page, here):
    page.runs.table.choose(["planned", "ordinary"])
    assert page.each.frame["run"].tolist() == ["planned", "ordinary"]
    assert page.each.frame["by"].tolist()[0] == "planned, 3 lengths"
    (bars,) = page.lengths.figure.data
    assert sum(bars.y) == pytest.approx(1.0, abs=1e-5)
    assert {part.layout.display for part in (page.lengths, page.tree, page.planned_tree, page.exact)} == {""}
    assert "ordinary: the empty translation enters beams of size" in page.hint.value
    page.runs.table.choose(["planned"])
    assert page.tree.layout.display == page.exact.layout.display == "none"
    assert {part.layout.display for part in (page.lengths, page.planned_tree, page.ended)} == {""}
    system = open_system(Run(here.runs / "planned"))
    plan = length_plan(system, page.sentences.source)
    assert page.hint.value.endswith(f"with probability {plan['probability'].iloc[0]:.2g}.")
    assert page.planned.value == lengths_finding(plan, len(system.pipeline.target_ids(page.sentences.reference)) - 1)
    search = SearchSettings(score="log-prob", beam_size=page.beam.value, length_candidates=3)
    tree = search_tree(system, page.sentences.source, search, page.sentences.reference)
    assert page.step.max == tree["step"].max()
    page.step.value = 1
    assert max(x for trace in page.planned_tree.chart.figure.data for x in trace.x if x is not None) == 1
    assert len(page.ended.frame) == len(ended_hypotheses(tree))


def test_where_nothing_is_planned_there_is_no_tree_but_its_probability(here, zoo):
    run = zoo.copy("classified", here, "nothing")
    with torch.no_grad():
        system_of(run).model.length_model.output.bias[0] = 99.0
    page = unfolded(SearchPage(here))
    page.runs.table.choose(["nothing"])
    assert page.answer.value.startswith("Most probable length: 0 tokens (p 1.00)")
    assert page._message.value == ""
    assert page.hint.value.endswith("nothing plans the empty translation with probability 1.")
    assert page.each.frame["translation"].tolist() == ["(empty)"]
    assert {part.layout.display for part in (page.planned_tree, page.ended, page.step)} == {"none"}


@pytest.mark.full
def test_what_was_measured_of_whole_texts_is_drawn(here, tiny_corpus):
    run = Run(here.runs / "ordinary")
    page = unfolded(SearchesPage(here))
    page.runs.table.choose(["ordinary"])
    assert "No beam sweep of these runs yet" in page.missing.value
    sweep(run, tiny_corpus, varied(LOG_PROB, "beam_size", [1, 2]), "dev", 4)
    SEARCH_ERRORS.of(run, corpus=tiny_corpus, split="dev", budget=100, sample=3)
    assert "No choice among samples" in page.risks.answer.value
    risks = LEAST_RISK.of(run, corpus=tiny_corpus, split="dev", sample=3)
    again = unfolded(SearchesPage(here))
    again.runs.table.choose(["ordinary"])
    assert list(again.curves.figure.data[0].x) == [1, 2]
    assert again.rates.frame["sentences"].tolist() == [3]
    assert again.risks.frame["bleu"].tolist() == risks["bleu"].tolist()
    assert again.missing.value == ""


@pytest.mark.full
@pytest.mark.usefixtures("here")  # trains the runs
def test_how_well_probabilities_are_calibrated_is_computed_when_it_is_looked_at(workspace, zoo, tiny_corpus):
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora" / tiny_corpus.name)
    ordinary, planned = (
        zoo.copy(kind, workspace, name) for kind, name in (("trained", "ordinary"), ("planned", "plan"))
    )
    page = SearchesPage(workspace)
    page.runs.table.choose(["ordinary", "plan"])
    asked = {"corpus": tiny_corpus, "split": "test", "sample": 500}
    assert page.probabilities.text.value == "tiny test"
    assert CALIBRATION.stored(ordinary, **asked) is None
    unfolded(page)
    found = calibration_errors(CALIBRATION.among([ordinary, planned], **asked))
    shown = page.probabilities.table.frame
    assert shown["calibration error (points)"].tolist() == found["ece"].round(2).tolist()
    assert shown["predicted"].tolist() == ["the most probable token", "EOS", "the most probable token"]
    assert page.probabilities.answer.value.startswith("Expected calibration error in percentage points: ordinary ")
    assert "tiny (de → en), tiny test" in page.probabilities.chart.figure.layout.title.text
    page.probabilities.text.value = "tiny dev"
    assert "tiny dev" in page.probabilities.chart.figure.layout.title.text
    assert "text=tiny+dev" in page._browser.query


@pytest.mark.full
def test_planned_lengths_of_whole_texts_are_shown_where_they_were_measured(here, tiny_corpus):
    page = unfolded(SearchesPage(here))
    page.runs.table.choose(["planned"])
    assert "nmtlab length-errors RUN" in page.missing.value
    assert "search-errors" not in page.missing.value
    assert page.planned.frame.empty
    assert page.planned.why == "No planned lengths of a text are stored with these runs."
    run = Run(here.runs / "planned")
    found = PLANNED_LENGTHS.of(run, corpus=tiny_corpus, split="dev", sample=6)
    again = unfolded(SearchesPage(here))
    again.runs.table.choose(["planned"])
    assert again.planned.frame["absolute error (tokens)"].tolist() == [round(length_errors(found)["error"], 2)]
    assert list(again.calibration.figure.data[1].y) == list(length_calibration(found)["right"])
    length_models(run, tiny_corpus, "dev", sample=6)
    beside = unfolded(SearchesPage(here))
    beside.runs.table.choose(["planned"])
    assert beside.planned.frame["predicted by"][0] == "length model"
    assert set(beside.planned.frame["predicted by"][1:]) == set(BASELINES.values())
    assert len(set(beside.planned.frame["text"])) == 1
    again = unfolded(SearchesPage(here))
    again.runs.table.choose(["ordinary"])
    assert again.planned.frame.empty
    assert again.calibration.layout.display == "none"


@pytest.mark.full
def test_a_run_without_weights_shows_what_was_measured_of_it(tmp_path):
    workspace = Workspace(tmp_path)
    for name in ("small-de-en.prenorm.s1", "multi30k-de-en.small", "deep-de-en.post-layernorm"):
        link_packed(name, workspace)
    assert set(SearchPage(workspace).runs.table.frame["run"]) == {"multi30k-de-en.small"}
    page = unfolded(SearchesPage(workspace))
    assert set(page.runs.table.frame["run"]) == {"small-de-en.prenorm.s1", "multi30k-de-en.small"}
    page.runs.table.choose(["small-de-en.prenorm.s1"])
    assert page.curves.figure.data
    assert page.rates.frame["run"].tolist() == ["small-de-en.prenorm.s1"]
    (answer,) = SEARCH_ERRORS.answers(page.runs.chosen[0])
    rates = error_rates(answer.frame())
    said = f"{round(100 * rates['empty'])} % and {round(100 * rates['errors'])} % of {int(rates['sentences'])}"
    assert said in page.answer.value
    assert page.rates.frame["empty global best, %"].tolist() == [round(100 * rates["empty"])]


def test_an_address_keeps_sentence_beam_step_and_ranking(here):
    query = "runs=planned&text=tiny+dev&line=2&beam=5&step=2&score=word-reward&alpha=0.6&gamma=1.0&open=exact"
    page = SearchPage(here)
    page._opened(f"?{query}")
    assert page._message.value == ""
    assert page._browser.query == query


@pytest.mark.full
def test_a_run_without_its_text_has_an_example(tmp_path):
    workspace = Workspace(tmp_path)
    link_packed("multi30k-de-en.small", workspace)
    page = unfolded(SearchPage(workspace))
    assert page.runs.table.value == ("multi30k-de-en.small",)
    assert page.sentences.source.startswith("Ein Bäcker")
    assert "sentence=" not in page._browser.query
    assert page.ended.frame["text"].str.startswith("A baker").all()
    assert page.finder.why == "No text of this run is here."
    whole = unfolded(SearchesPage(workspace))
    assert whole.rates.frame["sentences"].tolist() == [500]
    assert len(whole.curves.figure.data) == 10  # by log-probability and length-normalised, in five panels


@pytest.mark.full
def test_the_page_opens_at_a_sentence_whose_most_probable_translation_is_empty_and_proves_it(tmp_path):
    link_packed("multi30k-de-en.small", Workspace(tmp_path))
    page = SearchPage(Workspace(tmp_path))
    system = open_system(page.runs.chosen[0])
    source = torch.tensor([system.pipeline.source_ids(page.sentences.source)])
    best = exact_search(system.model, system.model.encode(source), SearchSettings(score="log-prob"), budget=2_000)
    assert (best.complete, best.best.tokens) == (True, ())
    number = f"{best.best.log_prob:.2f}".replace("-", "−")
    assert f"is the empty one (log p {number}); a beam of 8 finds “A baker " in page.answer.value
    assert page.found.value.startswith("Proved after ")
    (line,) = [note.text for note in page.tree.chart.figure.layout.annotations if "empty" in note.text]
    assert line == f"empty translation, {number}"  # which no beam of 8 holds


@pytest.mark.full
def test_sentences_with_an_empty_global_best_are_found_and_one_is_searched_at_a_click(here, tiny_corpus):
    page = SearchPage(here)
    page.runs.table.choose(["ordinary"])
    assert (len(page.finder.frame), page.finder.why) == (0, "")  # it waits in its fold
    unfolded(page)
    system = open_system(Run(here.runs / "ordinary"))
    found = page.finder.frame["line"].tolist()
    assert found == empty_above_beam(system, page.sentences.table.frame["source"].tolist())
    rows = SEARCH_ERRORS.of(Run(here.runs / "ordinary"), corpus=tiny_corpus, split="test", sample=5)
    stored = unfolded(SearchPage(here))
    stored.runs.table.choose(["ordinary"])
    assert stored.finder.frame["line"].tolist() == empty_bests(rows)
    stored.finder.offer([3, 2, 999], "none")
    assert stored.finder.frame["line"].tolist() == [3, 2]
    stored.finder.choose([3])
    assert (stored.sentences.line, stored.finder.value) == (3, None)
    shutil.rmtree(here.runs / "ordinary" / "measures", ignore_errors=True)


@pytest.mark.full
def test_the_note_on_the_empty_translation_holds_at_every_beam(here):
    page = SearchPage(here)
    page.runs.table.choose(["ordinary"])
    rank = first_empty_rank(open_system(Run(here.runs / "ordinary")), page.sentences.source)
    assert 1 < rank < page.beam.max
    for beam in (1, rank - 1, rank, rank + 1, page.beam.max):
        page.beam.value = beam
        nothing = ended_hypotheses(page.tree.tree).query("scored_length == 1")
        assert f"the empty translation enters beams of size {rank} or more at step 1" in page.hint.value
        assert len(nothing) == (beam >= rank)
        for one in nothing.itertuples():
            kept = one.dropped_at is pd.NA
            fate = "keeps it to the end" if kept else f"drops it after step {one.dropped_at}"
            assert f"this beam {fate}" in page.hint.value
        assert ("may be dropped again at step 2" in page.hint.value) == (beam < rank)


@pytest.mark.full
def test_curves_are_of_one_text_at_a_time():
    page = unfolded(SearchesPage(Workspace(DATA)))
    page.runs.table.choose(["small-gl-en.prenorm.s1", "small-de-en.prenorm.s1"])
    names = [run.label for run in page.runs.chosen]
    texts = page.swept.options
    assert len(texts) > 1
    assert page.swept.layout.display == ""
    lines = set()
    for text in texts:
        page.swept.value = text
        drawn = {trace.name for trace in page.curves.figure.data}
        assert all(name.endswith(f", {text}") for name in drawn)
        swept = {name.partition(", ")[0] for name in drawn}
        without = [name for name in names if name not in swept]
        assert (f"No beam sweep of {text} for {', '.join(without)}." in page.missing.value) == bool(without)
        lines |= drawn
    assert lines == set(SWEEPS.among(page.runs.chosen)["name"])
    assert f"curves={texts[-1].replace(' ', '+')}" in page._browser.query
