"""Quality against cost, drawn: the front, what a point is, and the published systems behind it."""

import math

import pandas as pd
import pytest

from nmtlab.analysis.search.translation_speed import efficiency_figure

MEASURED = pd.DataFrame(
    [
        ("a", "nmtlab", "fp32", 1, 2.0, 30.0, True), ("a", "nmtlab", "fp32", 5, 9.0, 33.0, True),
        ("a", "ctranslate2", "int8", 5, 12.0, 32.0, False),
    ],
    columns=["run", "engine", "precision", "beam_size", "milliseconds", "bleu", "frontier"],
    index=["one", "two", "three"],
).assign(
    batch_tokens=8192, threads=[1, 1, 2], words_per_second=1000.0, processor_milliseconds=1.5, memory_mib=400.0,
    size_mib=5.0,
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
        "WNMT 2018, CPU", "WNMT 2018, GPU", "Pareto front", "nmtlab fp32", "ctranslate2 int8", "selected",
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
    ticks = figure.layout.xaxis.tickvals
    assert min(ticks) <= min(MEASURED[cost].min(), PUBLISHED[cost].min())
    assert max(ticks) >= PUBLISHED[cost].max()
    assert {trace.visible for trace in figure.data if trace.name.startswith("WNMT")} == {"legendonly"}


def test_several_runs_are_named_and_none_needs_the_published():
    two = pd.concat([MEASURED, MEASURED.assign(run="b<i>", bleu=20.0, frontier=False)])
    names = [trace.name for trace in efficiency_figure(two, "milliseconds", "t").data]
    assert names == [
        "Pareto front", "a, nmtlab fp32", "a, ctranslate2 int8", "b&lt;i&gt;, nmtlab fp32",
        "b&lt;i&gt;, ctranslate2 int8", "selected",
    ]  # fmt: skip
