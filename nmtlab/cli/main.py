"""The command `nmtlab`."""

import io
import os
import sys
import warnings
from typing import Annotated

import typer

from nmtlab.cli.lazy import add_commands, add_group
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
        typer.Option("--version", callback=show_version, is_eager=True, help="Print versions and locations."),
    ] = False,
) -> None:
    pass


add_commands(app, "demo.demo", "status.status")
add_commands(app, "train.train", "rounds.rounds", "translate.translate", "rerank.rerank", "evaluate.evaluate")
add_commands(app, "compare.compare", "adapt.adapt")
add_commands(app, "efficiency.efficiency", "search.search_errors", "search.beam_sweep", "search.length_errors")
add_commands(app, "grid.grid", "reproduce.reproduce", "trainability.trainability", "figures.figures")
add_commands(app, "dashboards.dashboards", "dashboards.lab")
corpus = add_group(
    app, "corpus", "Import, make, filter, list and inspect parallel text.",
    "corpus.join", "corpus.list_", "corpus.remove", "corpus.stats", "corpus.overlap", "corpus.overlap_matrix",
    "corpus_make.make", "corpus_make.make_toy", "corpus_filter.filter_", "corpus_translate.translate",
    "corpus_copy.copy", "corpus_noise.noise", "corpus_select.select", "corpus_triplets.triplets",
)  # fmt: skip
add_group(
    corpus, "import",
    "Make a corpus from text in another format: cleaned, without duplicates, and split into train, dev and test, "
    "without leaks between them. Its import.json counts the dropped pairs.",
    "corpus_import.text", "corpus_import.tsv", "corpus_import.csv", "corpus_import.jsonl", "corpus_import.gettext",
    "corpus_import.tmx", "corpus_import.xliff", "corpus_import.mtdata", "corpus_import.sacrebleu", "corpus_import.mono",
)  # fmt: skip
add_group(
    app, "evidence", "Add to data/evidence, which comes with nmtlab; no other command changes it.",
    "evidence.add_run", "evidence.add_table",
)  # fmt: skip
add_group(
    app, "runs", "List, show, align, average, prune, pack and remove runs.",
    "runs_list.list_", "runs.show", "runs.remove", "runs.import_", "runs.export", "runs.pack", "runs.unpack",
    "runs.align", "runs.average", "runs.prune",
)  # fmt: skip
add_group(app, "recipes", "List and show recipes: the settings of a training.", "recipes.list_", "recipes.show")


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
