"""What comes into each normalisation, on a page: what was measured, and what is measured on a click."""

import asyncio
import os
import shutil
from contextlib import nullcontext

import pandas as pd
import pytest
from support.packed import link_packed, packed_folder
from support.unfolded import unfolded

from nmtlab.analysis.dynamics.signals import ENOUGH, SIGNALS
from nmtlab.dashboards.pages.gradients import gradients_page
from nmtlab.dashboards.parts.signals import Signals
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

DEEP = "deep-de-en.pre-scalenorm"


@pytest.fixture
def deep(tmp_path) -> Workspace:
    workspace = Workspace(tmp_path / "deep")
    link_packed(DEEP, workspace)
    return workspace


def drawn(part: Signals) -> dict[str, list[float]]:
    """Return what is drawn of the encoder's gradients by name of the line."""
    return {t.name: list(t.y) for t in part._chart.figure.data if (t.xaxis, t.yaxis) == ("x3", "y3")}


def test_what_was_measured_is_drawn_at_once(deep):
    part, run = Signals(deep, nullcontext), open_run(DEEP, deep)
    part.show([run])
    stored = pd.concat([answer.frame() for answer in SIGNALS.answers(run)])
    own = stored[(stored["side"] == "encoder") & (stored["update"] == 0)]
    assert drawn(part)[f"{DEEP}, at the start"] == own["gradient"].tolist()
    assert len(drawn(part)) == 2
    first = f"Measured on the first dev sentences (not a random sample): {DEEP}."
    assert (part._button.layout.display, part._note.value) == ("none", first)


@pytest.mark.full
def test_what_was_not_is_measured_on_a_click_where_text_and_weights_are_here(hostile):
    part, run = Signals(hostile, nullcontext), open_run("hostile", hostile)
    part.show([run])
    assert (part._chart.layout.display, part._note.value) == ("none", "Not measured: hostile.")
    assert part._button.layout.display == ""
    part._button.click()
    assert {answer.question.arguments["update"] for answer in SIGNALS.answers(run)} == {0, run.checkpoints.last_step}
    assert set(drawn(part)) == {"hostile, at the start", f"hostile, update {run.checkpoints.last_step:,}"}
    assert (part._button.layout.display, part._note.value) == ("none", "")
    shutil.rmtree(run.folder / "measures")


def test_what_was_measured_in_part_can_be_completed(hostile):
    part, run = Signals(hostile, nullcontext), open_run("hostile", hostile)
    corpus = ParallelCorpus.open(hostile.corpus_folder("hostile"), "de", "en")
    SIGNALS.of(run, corpus=corpus, update=run.checkpoints.last_step, sample=ENOUGH)
    part.show([run])
    assert part._button.layout.display == ""
    part._button.click()
    assert len(drawn(part)) == 2
    shutil.rmtree(run.folder / "measures")


@pytest.mark.full
def test_measuring_goes_on_though_its_own_files_and_a_training_change_the_run(hostile):
    run = open_run("hostile", hostile)

    async def main() -> None:
        page = unfolded(gradients_page(hostile))
        page.signals._button.click()
        for _ in range(100):
            os.utime(run.folder / "metrics.jsonl")  # as if it were training
            page._looking()
            await asyncio.sleep(0.01)
            if len(SIGNALS.answers(run)) == 2:
                break

    asyncio.run(main())
    assert {answer.question.arguments["update"] for answer in SIGNALS.answers(run)} == {0, run.checkpoints.last_step}
    shutil.rmtree(run.folder / "measures")


def test_other_runs_end_what_is_being_measured(hostile):
    run = open_run("hostile", hostile)

    async def main() -> None:
        part = Signals(hostile, nullcontext)
        part.show([run])
        part._button.click()
        part.show([])
        await asyncio.sleep(1)

    asyncio.run(main())
    assert SIGNALS.answers(run) == []


def test_without_text_or_weights_there_is_nothing_to_press(deep):
    shutil.rmtree(open_run(DEEP, deep).folder / "measures")
    part = Signals(deep, nullcontext)
    part.show([open_run(DEEP, deep)])
    assert part._note.value == f"Not measured: {DEEP}."
    assert part._button.layout.display == "none"
    part.show([Run(packed_folder("small-tr-en.tied.s1"))])  # no Transformer
    assert part._note.value == ""
