"""The page Efficiency: figure and table have the same rows, and a point picked in one is picked in the other."""

from html import unescape

import pandas as pd
import pytest
from support.unfolded import unfolded

from nmtlab.analysis.search import stored_speed as module
from nmtlab.analysis.search.efficiency_figure import COSTS
from nmtlab.analysis.search.stored_speed import (
    NOISE,
    SETTING,
    TIMED,
    frontier,
    medians,
    new_file,
    priced,
    stored_efficiency,
    times_file,
)
from nmtlab.dashboards.pages.efficiency import EfficiencyPage
from nmtlab.thesis.shown.distillation import distillation_view
from nmtlab.workspace import RESULTS, Workspace

RUN = "multi30k-de-en.small"
GREEDY = f"{RUN} · nmtlab · fp32 · 1 · 0 · 8192 · 1"
STORED, _ = stored_efficiency(Workspace(RESULTS.parent))
MACHINES = STORED["machine"].unique()
FIRST = STORED[STORED["machine"] == MACHINES[0]]


@pytest.fixture
def page(workspace) -> EfficiencyPage:
    return with_settings(workspace)


def with_settings(workspace: Workspace) -> EfficiencyPage:
    """Return the page with those folds open that are about settings: figures of where time goes take as long again."""
    page = EfficiencyPage(workspace)
    page.state["open"].value = "faster,settings,method"
    return page


def measure(workspace: Workspace, name: str = "own", **changes) -> None:
    """Store some rows as if they had been measured in a workspace."""
    path = new_file(workspace, name, "test")
    path.parent.mkdir(parents=True, exist_ok=True)
    STORED.head(2).assign(corpus=name, **changes).to_csv(path, index=False)


def points(page: EfficiencyPage) -> pd.DataFrame:
    """Return key, cost, BLEU and symbol of all points of runs in the figure."""
    rows = [
        (data[0], x, y, symbol)
        for trace in page.chart.figure.data
        if trace.customdata is not None
        for data, x, y, symbol in zip(trace.customdata, trace.x, trace.y, trace.marker.symbol, strict=True)
    ]
    return pd.DataFrame(rows, columns=["key", "cost", "bleu", "symbol"]).set_index("key")


@pytest.mark.parametrize("cost", COSTS)
def test_figure_and_table_have_the_same_rows_and_the_same_front(page, cost):
    page.cost.value = cost
    drawn, lines, found = points(page), page.lines.frame, priced(medians(FIRST), 0.102)
    found = found[found["engine"] != "echo"]
    lines = lines[lines["engine"] != "echo"]
    assert sorted(drawn.index) == sorted(lines.index)
    assert sorted(drawn["cost"]) == pytest.approx(sorted(found[cost]))
    assert lines["BLEU"].to_dict() == pytest.approx(drawn["bleu"].to_dict())
    on_front = drawn.index[drawn["symbol"] == "circle"]
    assert set(lines.index[lines["Pareto"] == "●"]) == set(on_front)
    assert len(on_front) == frontier(found, cost, margin=NOISE).sum() > 0


def test_the_answer_names_what_is_best_at_the_least_cost_and_what_the_cheapest_loses(page):
    assert page.answer.value == (
        "ctranslate2 int8 with beam 5: the best BLEU, 40.3, at the least cost, 2.27 ms of processor time per sentence. "
        "Base, nmtlab fp32 with beam 5, costs 1.6 times as much. "
        "ctranslate2 int8 with beam 1: 1.4 BLEU less at 0.627 ms of processor time per sentence."
    )
    found = medians(FIRST).query("engine != 'echo'")
    good = found[found["bleu"] > found["bleu"].max() - NOISE]
    assert f"{good['processor_milliseconds'].min():.3g} ms" in page.answer.value
    page.cost.value = "memory_mib"
    assert f"{good['memory_mib'].min():.3g} MiB of peak memory" in page.answer.value


def test_a_point_picked_in_the_figure_is_picked_in_the_table_and_the_other_way_round(page):
    key = next(key for key in page.lines.frame.index if key != GREEDY)
    page._clicked({"customdata": [key, "words"], "x": 0, "y": 0, "meta": None})
    assert page.lines.value == key
    page.lines.choose([GREEDY])
    (ring,) = (trace for trace in page.chart.figure.data if trace.name == "selected")
    assert list(ring.x) == [points(page).loc[GREEDY, "cost"]]
    assert "line=" in page._browser.query
    page._clicked({"customdata": None, "x": 0, "y": 0, "meta": None})
    assert page.lines.value == GREEDY


def test_the_page_says_how_it_was_measured_and_what_the_faint_points_are(page):
    assert FIRST["signature"].iloc[0] in page.hint.value
    assert "were measured on another text and other hardware" in page.hint.value


def test_settings_that_all_lines_share_are_named_once_and_others_are_columns(workspace):
    measure(workspace, "one")
    measure(workspace, "two", threads=[1, 2])
    page = with_settings(workspace)
    page.text.value = next(text for text in page.text.options if text.startswith("one"))
    assert not {"run", "batch tokens", "threads"} & set(page.lines.frame)
    assert f"The same everywhere: run {RUN}, shortlist 0, batch tokens 8192, threads 1" in page.hint.value
    page.text.value = next(text for text in page.text.options if text.startswith("two"))
    assert set(page.lines.frame["threads"]) == {1, 2}
    assert "threads" not in page.hint.value


@pytest.mark.parametrize(("load_average", "busy"), [(0.1, False), (3.2, True)])
def test_a_busy_machine_is_called_so_and_an_idle_one_is_not(workspace, load_average, busy):
    measure(workspace, load_average=load_average)
    page = with_settings(workspace)
    page.text.value = next(text for text in page.text.options if text.startswith("own"))
    assert (f"load average {load_average:.1f}" in page.hint.value) == busy


def test_texts_and_machines_are_kept_apart(workspace):
    measure(workspace, "own")
    measure(workspace, "other", machine="another machine")
    page = with_settings(workspace)
    assert len(page.text.options) == len(MACHINES) + 2
    page.text.value = next(text for text in page.text.options if text.endswith("another machine"))
    assert len(page.lines.frame) == len(points(page)) == len(medians(STORED.head(2)))


def test_a_new_measurement_is_listed_and_a_damaged_one_is_named(page, workspace):
    before = page.text.value
    measure(workspace)
    page._looking()
    assert len(page.text.options) == len(MACHINES) + 1
    assert page.text.value == before
    damaged = new_file(workspace, "damaged", "test")
    damaged.write_text("no")
    page._looking()
    assert page.damaged.value == f"Damaged, and left out: {damaged.name}."


def test_without_measurements_the_page_says_how_to_make_some(workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RESULTS", tmp_path / "none")
    page = with_settings(workspace)
    assert page.answer.value == "Nothing measured yet: run &#x27;nmtlab efficiency RUN&#x27; for one run or more."
    measure(workspace)
    page._looking()
    assert len(points(page)) == 2


def test_the_price_of_an_hour_is_asked_for_with_the_price_of_words_alone(page):
    assert page.price.layout.display == "none"
    page.cost.value = "dollars"
    assert page.price.layout.display == ""
    before = points(page)["cost"]
    page.price.value = "0.204"
    assert points(page)["cost"].to_dict() == pytest.approx((2 * before).to_dict())
    page.price.value = "0"
    assert "price 0: no price of an hour" in page._message.value
    page.price.value = "cheap"
    assert "price &#x27;cheap&#x27;: no number; give US dollars an hour, as 0.102" in page._message.value


def test_the_table_follows_the_score_and_the_cost(page):
    assert "USD per million words" not in page.lines.frame
    page.cost.value, page.score.value = "dollars", "chrf"
    lines = page.lines.frame
    assert lines["chrF"].dropna().is_monotonic_decreasing
    systems = points(page)
    assert lines.loc[systems.index, "USD per million words"].to_dict() == pytest.approx(systems["cost"].to_dict())
    assert "newstest2015" not in page.hint.value


def test_where_the_time_goes_is_drawn_for_the_text_that_is_shown(workspace):
    measure(workspace)
    own = dict(STORED[SETTING].iloc[0]) | {"corpus": "own", "split": "test", "load_average": 6.3, "commit": ""}
    own |= {name: STORED[name].iloc[0] for name in ("sentences", "machine")}
    rows = [("part", "encoder", 3, 1.0), ("part", "search and text", 1, 3.0), ("step", 1, 8, 0.2), ("step", 2, 2, 0.1)]
    rows += [("sentence", number, 4, number / 1000) for number in range(1, 101)]
    times = pd.DataFrame(rows, columns=["kind", "item", "count", "seconds"]).assign(**own)
    times[TIMED].to_csv(times_file(new_file(workspace, "own", "test")), index=False)
    page = unfolded(EfficiencyPage(workspace))
    page.text.value = next(text for text in page.text.options if text.startswith("own"))
    said = {fold.name: [part.value for part in fold._content.children if hasattr(part, "say")] for fold in page.folds}
    name = "nmtlab fp32, beam 1"
    busy = " Other work ran on the machine (load average 6.3) and lengthens all times: compare their ratios."
    assert {fold: said[fold] for fold in ("parts", "steps", "alone")} == {
        "parts": [f"Most time: {name}: 75% search and text and 25% encoder.{busy}"],
        "steps": [f"{name} reads 10 hypotheses in 2 steps, 62% of 16 if all stayed until the last step.{busy}"],
        "alone": [f"Median and 95th percentile of a sentence alone: {name} 50.5 ms, 95 ms.{busy}"],
    }


def test_the_page_says_how_many_times_as_fast_as_the_chosen_setting_others_are_and_of_no_other_cost(page):
    page.cost.value = "milliseconds"
    found = page.faster.frame.set_index("setting")["times as fast"].astype(float)
    assert found.min() == found["nmtlab fp32 with beam 5"] == 1.0
    page.lines.choose([GREEDY])
    assert page.faster.frame.set_index("setting").loc["nmtlab fp32 with beam 1", "times as fast"] == "1.00"
    assert page.ratios.value.startswith("Against nmtlab fp32 with beam 1, with the same engine: at most 0.5 BLEU less")
    page.cost.value = "memory_mib"
    assert (page.ratios.value, page.faster.frame.empty) == ("Choose a time as the cost.", True)


def test_what_distillation_does_to_the_search_is_shown_of_the_measured_table(page):
    page.state["open"].value = "distillation"
    found = distillation_view()
    assert found.finding == unescape(page.taught.answer.value)
    assert len(page.taught.frame) == len(found.frame)


def test_a_setting_whose_time_loading_hides_is_compared_with_nothing(workspace):
    measure(workspace, "hidden", seconds=[-0.1, 2.0], engine=["nmtlab", "ctranslate2"])
    page = with_settings(workspace)
    page.text.value = next(text for text in page.text.options if text.startswith("hidden"))
    page.cost.value = "milliseconds"
    page.lines.choose([next(key for key in page.lines.frame.index if "nmtlab" in key)])
    assert list(page.faster.frame["times as fast"]) == ["1.00"]
