"""Where the time goes, drawn: what is a system of its own, and what a text lacks."""

import pandas as pd
import pytest

from nmtlab.analysis.search.time_figures import (
    parts_figure,
    parts_finding,
    sentences_figure,
    steps_figure,
    steps_finding,
)


def times(run: str, engine: str = "nmtlab", batch_tokens: int = 8192) -> pd.DataFrame:
    rows = [("part", "search and text", 1, 3.0), ("sentence", 1, 4, 0.05)]
    if engine == "nmtlab":
        rows += [("part", "encoder", 3, 1.0), ("step", 1, 8, 0.2), ("step", 2, 2, 0.1)]
    return pd.DataFrame(rows, columns=["kind", "item", "count", "seconds"]).assign(
        run=run, engine=engine, precision="fp32", beam_size=1, shortlist=0, batch_tokens=batch_tokens, sentences=10
    )


def test_a_run_measured_with_ctranslate2_alone_stands_beside_one_of_nmtlab():
    both = pd.concat([times("a"), times("b", "ctranslate2")], ignore_index=True)
    name = "a, nmtlab fp32, beam 1"
    assert {trace.name for trace in steps_figure(both, "t").data} == {name}
    assert steps_finding(both).startswith(f"{name} reads 10 hypotheses")
    assert parts_finding(both) == f"Most time: {name}: 75% search and text and 25% encoder."


def test_a_text_measured_with_ctranslate2_alone_has_no_steps():
    alone = times("b", "ctranslate2")
    assert len(steps_figure(alone, "t").data) == 0
    assert steps_finding(alone) == "CTranslate2 does not tell its steps."
    assert parts_finding(alone) == "CTranslate2 does not say where its time goes."


@pytest.mark.parametrize("figure", [parts_figure, steps_figure, sentences_figure])
def test_sizes_of_batches_tell_systems_apart(figure):
    both = pd.concat([times("a", batch_tokens=size) for size in (512, 8192)], ignore_index=True)
    drawn = str(figure(both, "t").to_dict()).replace("<br>", " ")
    assert all(f"nmtlab fp32, beam 1, batches of {size} tokens" in drawn for size in ("512", "8,192"))


def test_bars_are_shares_of_the_time_with_milliseconds_beside():
    both = pd.concat([times("a"), times("a", "ctranslate2")], ignore_index=True)
    encoder, search = parts_figure(both, "t").data
    assert (list(encoder.x), list(encoder.customdata)) == ([0.25], [100.0])
    assert (list(search.x), list(search.customdata)) == ([0.75], [300.0])
