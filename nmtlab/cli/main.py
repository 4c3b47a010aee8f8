"""The command `nmtlab`."""

import io
import os
import sys
import warnings
from typing import Annotated

import typer

from nmtlab.cli import (
    compare,
    dashboards,
    demo,
    efficiency,
    evaluate,
    evidence,
    figures,
    recipes,
    reproduce,
    runs,
    search,
    train,
    trainability,
    translate,
)
from nmtlab.cli.corpus import app as corpus
from nmtlab.cli.corpus_make import make
from nmtlab.cli.version import show_version
from nmtlab.errors import NmtlabError, error_of_the_machine

app = typer.Typer(
    help=(
        "Train, decode and understand translation systems for low-resource languages.\n\n"
        "Start with 'nmtlab demo'. For your text: 'nmtlab corpus import', 'nmtlab train', 'nmtlab evaluate'. "
        "Corpora, runs and caches are stored in the folder 'data', or in the one that NMTLAB_DATA names."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Print the versions in use, and where."),
    ] = False,
) -> None:
    pass


app.command()(demo.demo)
corpus.command("make")(make)
app.add_typer(corpus, name="corpus")
app.command()(train.train)
app.command()(translate.translate)
app.command()(evaluate.evaluate)
app.command()(compare.compare)
app.command()(efficiency.efficiency)
app.command()(search.search_errors)
app.command()(search.beam_sweep)
app.command()(search.length_errors)
app.command()(reproduce.reproduce)
app.add_typer(evidence.app, name="evidence")
app.command()(trainability.trainability)
app.command()(figures.figures)
app.command()(dashboards.dashboards)
app.command()(dashboards.lab)
app.add_typer(runs.app, name="runs")
app.add_typer(recipes.app, name="recipes")


def main() -> None:
    """Run the command; an error that the user can fix becomes one line on standard error and exit code 2."""
    _let_threads_spin_briefly()
    warnings.formatwarning = lambda message, *_args, **_more: f"nmtlab: {message}\n"
    try:
        _prepare_streams()
        _run()
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except Exception as error:
        fixable = error if isinstance(error, NmtlabError) else error_of_the_machine(error)
        if fixable is None:
            raise
        if not _is_repeated(error):
            print(f"nmtlab: {fixable}", file=sys.stderr)
        sys.exit(2)


def _let_threads_spin_briefly() -> None:
    """Limit how long threads spin while they wait for each other, in this process and its children.

    With long spins, speed collapses where a core has other work to do (data/evidence/results/spinning.txt). libgomp
    reads the variable when torch loads it, which happens later, in the commands.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _prepare_streams() -> None:
    """Make text UTF-8 in any locale, as it is in files, and handle closed streams.

    Raises:
        NmtlabError: standard output is closed.
    """
    if sys.stdout is None:
        raise NmtlabError("standard output: closed", "send it to a file, or to /dev/null")
    # Otherwise the next file to be opened would get a closed stream's descriptor, and its output.
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY))  # reading from it is an error
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # a file name may not be UTF-8


def _run() -> None:
    try:
        app()
    except SystemExit:
        _flush_output()
        raise


def _flush_output() -> None:
    """Flush standard output, so that a full disk is reported rather than ignored at exit."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        error.filename = error.filename or "standard output"
        _discard_output()
        raise


def _discard_output() -> None:
    """Keep the interpreter from flushing at exit what cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_repeated(error: Exception) -> bool:
    """Return whether another process of the same training has the same error and reports it."""
    return (
        isinstance(error, NmtlabError) and "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("LOCAL_RANK") != "0"
    )
