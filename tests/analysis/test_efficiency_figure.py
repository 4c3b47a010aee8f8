"""Quality against cost, drawn: the front, what a point is, and the published systems behind it."""

import math

import pandas as pd
import pytest

from nmtlab.analysis.search.efficiency_figure import efficiency_figure, efficiency_finding
from nmtlab.analysis.search.stored_speed import NOISE, marked, priced, published_efficiency, words_per_dollar
from nmtlab.errors import NmtlabError

MEASURED = pd.DataFrame(
    [
        ("a", "nmtlab", "fp32", 1, 2.0, 30.0, True), ("a", "nmtlab", "fp32", 5, 9.0, 33.0, True),
        ("a", "ctranslate2", "int8", 5, 12.0, 32.0, False),
    ],
    columns=["run", "engine", "precision", "beam_size", "milliseconds", "bleu", "frontier"],
    index=["one", "two", "three"],
).assign(
    shortlist=0, batch_tokens=8192, threads=[1, 1, 2], words_per_second=1000.0, processor_milliseconds=1.5,
    memory_mib=400.0, size_mib=5.0, bleu_margin=[1.0, 1.5, math.nan], chrf=[50.0, 52.0, math.nan], chrf_margin=0.8,
)  # fmt: skip
PUBLISHED = pd.DataFrame(
    [("cpu", "small", 30.0, 28.0, 460.0, 370.0), ("gpu", "big", 11.0, 31.0, 1000.0, 1300.0)],
    columns=["processor", "system", "milliseconds", "bleu", "memory_mib", "size_mib"],
).assign(processor_milliseconds=[30.0, math.nan])


def traces(**changes) -> dict:
    arguments = {"cost": "milliseconds", "title": "BLEU and time", "published": PUBLISHED} | changes
    return {trace.name: trace for trace in efficiency_figure(MEASURED, **arguments).data}


def test_points_on_the_front_are_filled_and_joined_in_the_order_of_cost():
    drawn = traces()
    assert list(drawn) == [
        "WNMT 2018, CPU", "WNMT 2018, GPU", "change of beam", "beam", "Pareto front", "nmtlab fp32", "ctranslate2 int8",
        "selected",
    ]  # fmt: skip
    front = drawn["Pareto front"]
    assert (list(front.x), list(front.y), front.line.shape) == ([2.0, 9.0], [30.0, 33.0], "hv")
    assert drawn["nmtlab fp32"].marker.symbol == ("circle", "circle")
    assert list(drawn["nmtlab fp32"].text) == ["beam 1", "beam 5"]
    assert drawn["ctranslate2 int8"].marker.symbol == ("circle-open",)
    assert list(drawn["ctranslate2 int8"].text) == ["beam 5"]


def test_a_point_says_what_it_is_and_has_its_key():
    ((key, words),) = traces()["ctranslate2 int8"].customdata
    assert key == "three"
    assert (
        "beam 5, batches of 8,192 tokens, 2 threads<br>BLEU 32.00, 12 ms per sentence (1.5 ms of processor time)"
        in words
    )
    assert "Pareto" not in words
    assert traces()["nmtlab fp32"].customdata[0][1].endswith("on the Pareto front")


def test_the_chosen_point_has_a_ring():
    assert len(traces()["selected"].x) == 0
    ring = traces(chosen="two")["selected"]
    assert (list(ring.x), list(ring.y)) == ([9.0], [33.0])


def test_published_systems_are_left_out_where_their_cost_is_not_known():
    drawn = traces(cost="processor_milliseconds")
    assert list(drawn["WNMT 2018, CPU"].x) == [30.0]
    assert "WNMT 2018, GPU" not in drawn


@pytest.mark.parametrize("cost", ["milliseconds", "memory_mib", "size_mib"])
def test_published_systems_lie_on_the_axis_of_their_cost(cost):
    drawn = traces(cost=cost)
    for processor, system in (("CPU", 0), ("GPU", 1)):
        assert list(drawn[f"WNMT 2018, {processor}"].x) == [PUBLISHED[cost][system]]
    figure = efficiency_figure(MEASURED, cost, "t", PUBLISHED)
    for axis, costs in ((figure.layout.xaxis, MEASURED[cost]), (figure.layout.xaxis2, PUBLISHED[cost])):
        assert 10 ** axis.range[0] <= costs.min() <= costs.max() <= 10 ** axis.range[1]


def test_several_runs_have_a_colour_each_and_their_engines_a_symbol_and_none_needs_the_published():
    two = pd.concat([MEASURED, MEASURED.assign(run="b<i>", bleu=20.0, frontier=False)])
    drawn = efficiency_figure(two, "milliseconds", "t").data
    names = [trace.name for trace in drawn if trace.showlegend is not False]
    assert names == ["change of beam", "Pareto front", "a", "b&lt;i&gt;", "nmtlab fp32", "ctranslate2 int8"]
    systems = {
        (trace.legendgroup, *trace.marker.symbol): trace.marker.color
        for trace in drawn
        if trace.mode == "markers" and trace.legendgroup in ("a", "b<i>")
    }
    symbols = [("circle", "circle"), ("square-open",), ("circle-open", "circle-open"), ("square-open",)]
    assert [*systems] == [(run, *symbol) for run, symbol in zip(["a", "a", "b<i>", "b<i>"], symbols, strict=True)]
    assert len(set(systems.values())) == len({"a", "b<i>"})


def test_more_runs_than_colours_have_another_symbol_where_their_colour_comes_again():
    runs = [MEASURED.head(2).assign(run=f"run {number}", frontier=False) for number in range(9)]
    drawn = efficiency_figure(pd.concat(runs), "milliseconds", "t").data
    looks = {
        trace.name: (trace.marker.color, trace.marker.symbol[0]) for trace in drawn if trace.name.startswith("run")
    }
    assert len(set(looks.values())) == len(looks) == 9
    assert len({colour for colour, _ in looks.values()}) < 9


def test_points_have_the_intervals_of_their_scores():
    drawn = traces()
    assert list(drawn["nmtlab fp32"].error_y.array) == [1.0, 1.5]
    chrf = traces(score="chrf")
    assert list(chrf["nmtlab fp32"].error_y.array) == [0.8, 0.8]
    assert "ctranslate2 int8" not in chrf
    assert not [name for name in chrf if name.startswith("WNMT")]


WAYS = pd.concat(
    [
        MEASURED.head(1).assign(
            engine=engine, precision=precision, beam_size=beam, shortlist=shortlist, threads=1, milliseconds=time,
            bleu=bleu,
        )
        for engine, precision, beam, shortlist, time, bleu in [
            ("nmtlab", "fp32", 1, 0, 2.0, 30.0), ("nmtlab", "fp32", 4, 0, 8.0, 32.0),
            ("nmtlab", "fp32", 4, 500, 6.0, 31.0),
            ("ctranslate2", "fp32", 4, 0, 4.0, 32.5), ("ctranslate2", "int8", 4, 0, 2.0, 32.25),
        ]
    ]
)  # fmt: skip


def test_lines_join_points_that_differ_in_one_setting_and_say_what_it_does():
    drawn = {trace.name: trace for trace in efficiency_figure(WAYS, "milliseconds", "t").data}
    said = {name: list(drawn[name].text) for name in ("beam", "engine", "precision", "shortlist")}
    assert said == {
        "beam": ["beam 1 → 4: +2.00 BLEU, 4.00 × the cost"],
        "engine": ["engine nmtlab → ctranslate2: +0.50 BLEU, 0.50 × the cost"],
        "precision": ["precision fp32 → int8: -0.25 BLEU, 0.50 × the cost"],
        "shortlist": ["shortlist 500 → all: +1.00 BLEU, 1.33 × the cost"],
    }
    assert list(drawn["change of engine"].x) == [8.0, 4.0, None]
    assert (drawn["engine"].x[0], drawn["engine"].y[0]) == (pytest.approx(32**0.5), 32.25)


ECHO = MEASURED.head(1).assign(run="echo", engine="echo", bleu=3.0, milliseconds=0.001, frontier=False)


def test_what_copies_its_input_is_neither_drawn_nor_on_the_front_nor_in_the_answer():
    both = pd.concat([WAYS, ECHO], ignore_index=True)
    assert efficiency_finding(both, "milliseconds") == efficiency_finding(WAYS.reset_index(drop=True), "milliseconds")
    assert not marked(both, "milliseconds")["frontier"].iloc[-1]
    names = [trace.name for trace in efficiency_figure(both, "milliseconds", "t").data]
    assert not [name for name in names if "echo" in name]


def test_the_answer_says_what_base_costs():
    found = efficiency_finding(WAYS.reset_index(drop=True), "milliseconds")
    assert "Base, nmtlab fp32 with beam 4, costs 4 times as much." in found


def test_base_is_measured_with_as_many_threads_and_the_same_batches():
    two = WAYS.assign(threads=2, milliseconds=0.55 * WAYS["milliseconds"])
    small = WAYS.assign(batch_tokens=512, milliseconds=2 * WAYS["milliseconds"])
    found = efficiency_finding(pd.concat([WAYS, two, small], ignore_index=True), "milliseconds")
    setting = "batches of 8,192 tokens, 2 threads"
    assert f"ctranslate2 int8 with beam 4, {setting}: the best BLEU" in found
    assert f"Base, nmtlab fp32 with beam 4, {setting}, costs 4 times as much." in found


def test_a_cost_that_no_system_has_is_not_known():
    unknown = WAYS.assign(memory_mib=math.nan, milliseconds=-1.0)
    assert efficiency_finding(unknown, "memory_mib") == "Peak memory: not known for any system."
    assert efficiency_finding(unknown, "milliseconds") == "Time per sentence: not known for any system."
    assert [trace for trace in efficiency_figure(unknown, "memory_mib", "t").data if len(trace.x)] == []


def test_a_point_has_the_score_and_the_price_that_are_drawn():
    figure = efficiency_figure(priced(MEASURED, 0.36), "dollars", "t", score="chrf")
    (drawn,) = (trace for trace in figure.data if trace.name == "nmtlab fp32")
    assert "chrF 50.00, 0.1 USD for a million words, 2 ms per sentence" in drawn.customdata[0][1]


@pytest.mark.parametrize(
    ("system", "processor", "millions"),
    [
        ("OpenNMT cpu2 (distill-tiny-opt)", "cpu", 28.9), ("Marian small-aan", "cpu", 23.6),
        ("Marian base-aan", "cpu", 8.07), ("Marian big", "cpu", 1.45), ("nmt-1cpu (Base)", "cpu", 0.50),
        ("amun fastgru", "gpu", 46.4), ("Marian amun-tinyrnn", "gpu", 42.7), ("Marian big", "gpu", 2.26),
    ],
)  # fmt: skip
def test_the_words_of_a_dollar_are_the_published_ones(system, processor, millions):
    (price,) = published_efficiency().query("system == @system and processor == @processor")["dollars"].dropna()
    assert 1 / price == pytest.approx(millions, rel=5e-3)


def test_a_price_of_an_hour_becomes_that_of_a_million_words():
    assert words_per_dollar(819.0, 0.102) == pytest.approx(819 * 3600 / 0.102)
    assert priced(MEASURED, 0.36)["dollars"].tolist() == pytest.approx([0.1] * 3)
    for price in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(NmtlabError, match="no price of an hour; give US dollars an hour, above 0"):
            priced(MEASURED, price)


def test_a_text_without_words_has_no_price():
    assert priced(MEASURED.assign(words_per_second=0.0), 0.36)["dollars"].isna().all()


def test_a_lead_within_the_noise_is_on_no_front():
    frame = MEASURED.assign(bleu=[30.0, 30.0 + NOISE, 31.0])
    assert marked(frame, "milliseconds")["frontier"].tolist() == [True, False, True]
