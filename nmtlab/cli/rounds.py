"""`nmtlab rounds`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from nmtlab.analysis.comparison.files import text_of_split
from nmtlab.cli.answer import Answer, Json, print_answer
from nmtlab.cli.corpus_translate import ACCEPT
from nmtlab.cli.options import Set, Source, Target, Threads, changed, interrupted
from nmtlab.cli.scored import FIELDS, Score
from nmtlab.cli.tables import print_table
from nmtlab.errors import error_of_the_machine
from nmtlab.progress import ProgressBar
from nmtlab.recipe import find_recipe
from nmtlab.text.checks.inspection import check_held_out
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.text.corpora.monolingual import open_monolingual
from nmtlab.training.events import ignore
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.rounds import Step

_METRICS = ("BLEU", "chrF")
_COLUMNS = ("round", "run", "direction", *_METRICS, "lines translated", "dropped")


class TrainedInRounds(Answer):
    """A run, in `RoundsMade`."""

    round: int
    """Number of the round, from 1."""
    run: str
    """Name of the run."""
    source: str
    """Language that it reads."""
    target: str
    """Language that it writes."""
    bleu: Score
    """By sacrebleu, of detokenized text."""
    chrf: Score
    """By sacrebleu: chrF2."""
    lines: int | None
    """Lines that it translated for the next run."""
    dropped: int | None
    """How many of them are not in the text: blank, or cut off at the length limit."""


class RoundsMade(Answer):
    """The answer of `nmtlab rounds`."""

    text: str
    """The corpus and its split."""
    runs: list[TrainedInRounds]
    """The runs, in the order in which they were trained."""
    complete: bool
    """Whether all rounds are made; otherwise it was interrupted, and the same command goes on, or it failed."""
    error: str | None
    """Why the run after these failed, and what to do; the exit code is then 2."""


def rounds(
    name: Annotated[str, typer.Argument(help="Beginning of the names of the runs and texts that are made.")],
    corpus: Annotated[str, typer.Option(help="Corpus of real pairs, with dev text.")],
    target_text: Annotated[
        str,
        typer.Option(metavar="MONO", help="Monolingual text in the target language, or a side of a corpus: NAME:en."),
    ],
    source_text: Annotated[
        str, typer.Option(metavar="MONO", help="The same in the source language; needed for more than one round.")
    ] = "",
    recipe: Annotated[str, typer.Option(help="Recipe of every run: a name, or path of a TOML file.")] = (
        "transformer-small"
    ),
    rounds: Annotated[int, typer.Option(min=1, max=99, help="Number of rounds.")] = 1,
    ratio: Annotated[float, typer.Option(min=0.001, help="Lines that are translated in a round, per real pair.")] = 1.0,
    beam_size: Annotated[int, typer.Option(min=1, help="Beam size of the translations; 1 is greedy search.")] = 1,
    warm: Annotated[
        bool, typer.Option("--warm", help="Go on training the runs of the round before, instead of from scratch.")
    ] = False,
    both: Annotated[
        bool,
        typer.Option("--both-ways", help="A run of both directions in each round, the first on real pairs."),
    ] = False,
    split: Annotated[str, typer.Option(help="Split that the runs are scored on.")] = "test",
    source: Source = "",
    target: Target = "",
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the trainings, and of the draw of lines.")] = None,
    threads: Threads = None,
    allow_overlap: Annotated[
        bool, typer.Option("--allow-overlap", help="Accept text with sentences of dev and test.")
    ] = False,
    json: Json = False,
) -> None:
    """Back-translate in rounds: two directions that train on each other's translations (Hoang et al. 2018).

    Round 1 trains NAME.back1 on the real pairs reversed, translates target text with it (NAME.by-back1), and trains
    NAME.forth1 on real and synthetic pairs. That run translates source text for NAME.back2, and so on:

        nmtlab rounds gl --corpus gl-en --target-text english --source-text galician --rounds 2

    With --both-ways, a run of both directions is trained in each round (Niu et al. 2018): NAME.both1 on the real pairs
    alone; it translates text in either language for NAME.both2.

    Every training begins from scratch, or with --warm where the same direction ended in the round before; synthetic
    text is always its source, and tagged unless with --warm. After an interruption, the same command goes on: what is
    finished is not made again.
    """
    workspace = Workspace.find()
    workspace.own_corpus_folder(f"{name}.by-forth{rounds}")
    pairs = open_corpus(corpus, workspace, source, target)
    text_of_split(pairs, split)  # which refuses a split that is not there before hours of training
    named = {pairs.source: source_text, pairs.target: target_text}
    texts = {language: open_monolingual(one, workspace) for language, one in named.items() if one}
    settings = changed(
        find_recipe(recipe), [*(set_ or []), *([] if seed is None else [f"training.seed={seed}"])], threads
    )
    for text in () if allow_overlap else texts.values():
        check_held_out(text, [pairs], ACCEPT)

    from nmtlab.rounds import Rounds, back_translate_in_rounds  # after the names are checked: it loads torch

    asked = Rounds(name, settings, pairs, texts, rounds, ratio, beam_size, warm, both)
    should_stop = interrupted()
    steps: list[Step] = []
    failure: Exception | None = None
    try:
        for step in back_translate_in_rounds(
            asked, workspace, lambda run: ignore if json else ProgressBar(run, quiet=True), should_stop, allow_overlap
        ):
            steps.append(step)
    except Exception as error:
        if not steps:
            raise
        failure = error
    made = RoundsMade.of(
        {"error": "nothing failed"},
        text=f"{pairs.name} {split}",
        runs=[_scored(step, pairs, split) for step in steps],
        complete=len(steps) == 2 * rounds,
        error=None if failure is None else str(error_of_the_machine(failure) or failure),
    )
    if json:
        print_answer(made)
    else:
        _print(made)
    if failure:
        raise failure


def _scored(step: "Step", pairs: ParallelCorpus, split: str) -> TrainedInRounds:
    """Return the scores of a run on a split of the real pairs."""
    from nmtlab.analysis.access.scoring import compared_counts, counted_texts, text_metrics
    from nmtlab.analysis.access.translations import translations

    source, target = step.run.direction
    text = replace(pairs, source=source, target=target)
    references = text.references(split)
    metrics = {title: of for title, of in text_metrics(references, target).of.items() if title in _METRICS}
    lines = translations(step.run, text, split, machine=step.run.recipe.machine)
    rows = compared_counts([step.run.name], counted_texts([lines], references, metrics))
    scores = {FIELDS[row.metric]: Score.of_row(row) for row in rows.itertuples()}
    return TrainedInRounds.of(
        dict.fromkeys(("lines", "dropped"), "nothing is trained on translations of the last run"),
        round=step.round, run=step.run.name, source=source, target=target, **scores,
        lines=step.lines or None, dropped=step.dropped if step.lines else None,
    )  # fmt: skip


def _print(made: RoundsMade) -> None:
    rows = [_cells(one) for one in made.runs]
    end = "next: nmtlab compare RUN RUN" if made.complete else "interrupted; the same command goes on"
    end = "the next run failed; these are the runs before it" if made.error else end
    print_table(made.text, _COLUMNS, rows, {*_COLUMNS} - {"run", "direction"}, [end])


def _cells(one: TrainedInRounds) -> Sequence[str]:
    scores = [f"{score.score:.2f} ± {score.margin:.2f}" for score in (one.bleu, one.chrf)]
    counts = ["" if number is None else f"{number:,}" for number in (one.lines, one.dropped)]
    return [str(one.round), one.run, f"{one.source} to {one.target}", *scores, *counts]
