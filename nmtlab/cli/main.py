"""The command `nmtlab`."""

import os
import sys

import typer

from nmtlab.cli import (
    compare,
    dashboards,
    demo,
    evaluate,
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
from nmtlab.errors import NmtlabError

app = typer.Typer(
    help=(
        "Train, decode and understand translation systems for languages with little data.\n\n"
        "Begin with 'nmtlab demo'. For text of your own: 'nmtlab corpus import', 'nmtlab train', 'nmtlab evaluate'. "
        "Corpora, runs and caches are kept in the folder 'data', or where NMTLAB_DATA says."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(demo.demo)
corpus.command("make")(make)
app.add_typer(corpus, name="corpus")
app.command()(train.train)
app.command()(translate.translate)
app.command()(evaluate.evaluate)
app.command()(compare.compare)
app.command()(search.search_errors)
app.command()(search.beam_sweep)
app.command()(search.length_errors)
app.command()(reproduce.reproduce)
app.command()(trainability.trainability)
app.command()(figures.figures)
app.command()(dashboards.dashboards)
app.command()(dashboards.lab)
app.add_typer(runs.app, name="runs")
app.add_typer(recipes.app, name="recipes")


def main() -> None:
    """Run the command; what a person can mend becomes one line on standard error and exit code 2."""
    try:
        app()
    except NmtlabError as error:
        print(f"nmtlab: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        print(f"nmtlab: {error.filename or 'file'}: {error.strerror}; mend that and try again", file=sys.stderr)
        sys.exit(2)
