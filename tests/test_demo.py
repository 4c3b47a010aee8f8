"""The demo runs are trained once, to the end."""

import pytest

from nmtlab import demo
from nmtlab.demo import CORPUS, LANGUAGE, RECURRENT, TRANSFORMERS, demo_corpus, demo_recipe, demo_runs, finished
from nmtlab.grids.results.schemas import TEXT
from nmtlab.runs.run import Run
from nmtlab.text.artificial import write_corpus
from nmtlab.thesis.measured import measured
from nmtlab.training.events import Validated
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

SHORT = {
    "text.vocabulary_size": 300, "model.d_model": 16, "model.d_ff": 16, "training.validate_every": 5,
    "training.max_evaluations": 2, "training.batch_tokens": 300, "search.beam_size": 1, "machine.threads": 1,
}  # fmt: skip


@pytest.fixture
def short(workspace, monkeypatch) -> Workspace:
    """A workspace with a small corpus instead of the demo corpus, and demo runs of a second each."""
    write_corpus(workspace.new_corpus_folder(CORPUS), [LANGUAGE], train=100, dev=10, test=10)
    monkeypatch.setattr(demo, "_SYSTEMS", {name: (recipe, SHORT) for name, (recipe, _) in demo._SYSTEMS.items()})
    return workspace


@pytest.mark.parametrize(
    ("names", "family"), [(TRANSFORMERS, "transformer"), (RECURRENT, "rnn")], ids=["transformers", "recurrent"]
)
def test_every_demo_run_has_a_recipe_of_its_family(names, family):
    recipes = [demo_recipe(name) for name in names]
    assert [recipe.model.family for recipe in recipes] == [family] * 3
    assert len({recipe.model for recipe in recipes}) == 3


def test_the_corpus_is_grown_once(workspace):
    first = demo_corpus(workspace)
    assert first.check() == {"train": 6000, "dev": 200, "test": 500}
    made = first.folder.stat()
    assert demo_corpus(workspace) == first
    assert first.folder.stat() == made


@pytest.mark.full  # near the limit of the quick tier on a slow machine
def test_what_is_trained_is_found_the_second_time(short):
    events = []
    first = demo_runs(short, "demo-prenorm", "demo-scalenorm", on_event=events.append)
    assert [run.name for run in first] == ["demo-prenorm", "demo-scalenorm"]
    assert [event.step for event in events if isinstance(event, Validated)] == [5, 10] * 2
    del events[:]
    second = demo_runs(short, "demo-scalenorm", "demo-prenorm", on_event=events.append)
    assert [run.folder for run in second] == [run.folder for run in first[::-1]]
    assert events == []


def test_what_was_interrupted_is_trained_to_its_end(short):
    events = []
    stopped = train(
        "demo-postnorm", demo_recipe("demo-postnorm"), demo_corpus(short), short,
        on_event=events.append, should_stop=lambda: any(isinstance(event, Validated) for event in events),
    )  # fmt: skip
    assert stopped.status == "stopped"
    assert finished(short, "demo-postnorm") is None
    (run,) = demo_runs(short, "demo-postnorm")
    assert list(run.log.metrics("validation")["step"]) == [5, 10]
    assert finished(short, "demo-postnorm").folder == Run(run.folder).folder


@pytest.mark.parametrize(
    ("table", "row", "verdicts"),
    [
        ("table-3.13", "gl-en", ["underpowered", "better", "better"]),
        ("table-3.2", "Uyg-Eng", ["better", "better", "worse", "better"]),
    ],
)
def test_the_finding_shown_first_is_the_one_that_is_stored(table, row, verdicts, capsys):
    from nmtlab.cli.demo import _show_finding

    _show_finding(table, row)
    shown = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("│")
    ]
    assert [cells[-1] for cells in shown] == ["", *verdicts]
    stored = measured(table).path(TEXT).read_text(encoding="utf-8")
    for cells in shown:
        (line,) = (line for line in stored.splitlines() if all(f" {cell} " in line for cell in cells))
        assert line.startswith("│")


@pytest.mark.full
def test_the_command_trains_the_transformers_and_compares_them(short, monkeypatch, capsys):
    from nmtlab.cli.demo import demo as command

    monkeypatch.setenv("NMTLAB_DATA", str(short.data))
    command(threads=1)
    said = capsys.readouterr().out
    assert said.index("PreNorm + fixnorm + ScaleNorm") < said.index("Nara")
    for name in TRANSFORMERS:
        assert f"\n{name}: {demo_recipe(name).about}" in said
    assert sorted(path.name for path in short.runs.iterdir()) == sorted(TRANSFORMERS)
    command(threads=1)
    said = capsys.readouterr().out
    assert said.count("already trained") == 3
    assert "BLEU" in said
