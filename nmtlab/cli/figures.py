"""`nmtlab figures`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from plotly.graph_objects import Figure

from nmtlab.analysis.dynamics.curves import DEV_CURVE, GRADIENT_CURVE
from nmtlab.analysis.dynamics.depth import G_BY_DEPTH
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY
from nmtlab.errors import NmtlabError
from nmtlab.figures.view import View
from nmtlab.files import writing
from nmtlab.grids.declared.declaration import Scale
from nmtlab.grids.results.results import Results, stored_results
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run
from nmtlab.thesis.shown.children import child_size_view, vocabulary_view
from nmtlab.thesis.tables.listing import TABLES
from nmtlab.workspace import Workspace

_FORMATS = ("png", "pdf")
_OF_TABLES: dict[str, Callable[[Scale], View]] = {"child-size": child_size_view, "figure-3.1": vocabulary_view}


def figures(
    names: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="Names of runs. (default: all)")] = None,
    to: Annotated[Path, typer.Option(help="Folder to write into.")] = Path("figures"),
    pictures: Annotated[bool, typer.Option(help="Also export each as PNG and PDF; needs Chrome or Chromium.")] = True,
) -> None:
    """Write the thesis' figures for runs, with all runs on a corpus in one figure, as self-contained interactive HTML.

    For each corpus: CORPUS.norms (Figure 3.2), CORPUS.dev (3.4), CORPUS.gradients (3.5) and CORPUS.depth (3.6), with
    the runs that have the data. If no runs are named, also the measured tables on transfer: figure-3.1.SCALE and
    child-size.SCALE (BLEU by the size of the child's text).
    """
    workspace = Workspace.find()
    runs = [open_run(name, workspace) for name in names] if names else list_runs(workspace)[0]
    of_tables = [] if names else [table for table in TABLES if table.name in _OF_TABLES]
    tables = stored_results(of_tables, workspace, workspace.evidence / "results")
    if not runs and not tables:
        raise NmtlabError("no runs yet", "make some with 'nmtlab demo' or 'nmtlab train'")
    to.mkdir(parents=True, exist_ok=True)
    browser = pictures and _browser_is_there()
    with _drawing() if browser else nullcontext() as draw:
        for name, view in chain(_views(runs), _table_views(tables)):
            path = to / f"{name}.html"
            with writing(path) as place:
                view.figure.write_html(place, include_plotlyjs=True, config={"displaylogo": False})
            if draw:
                for form in _FORMATS:
                    with writing(path.with_suffix(f".{form}")) as place:
                        place.write_bytes(draw(view.figure, {"format": form, "width": 1000, "scale": 1}))
            print(f"written to {path}{' and as ' + ' and '.join(_FORMATS) if browser else ''}")
    if pictures and not browser:
        print("no pictures: no Chrome or Chromium was found (install one, or give --no-pictures)")


def _views(runs: list[Run]) -> Iterator[tuple[str, View]]:
    neural = [run for run in runs if run.recipe.model.neural and len(run.log.metrics("validation"))]
    kinds: list[tuple[str, Callable[[list[Run]], View], Callable[[Run], bool]]] = [
        ("norms", NORMS_BY_FREQUENCY.view, lambda run: True),
        ("dev", DEV_CURVE.view, lambda run: True),
        ("gradients", GRADIENT_CURVE.view, lambda run: len(run.log.gradient_norms()) > 0),
        ("depth", G_BY_DEPTH.view, G_BY_DEPTH.fits),
    ]
    for corpus in dict.fromkeys(run.recipe.corpus.name for run in neural):
        on_corpus = [run for run in neural if run.recipe.corpus.name == corpus]
        for kind, view, has in kinds:
            if some := [run for run in on_corpus if has(run)]:
                yield f"{corpus}.{kind}", view(labelled(some))


def _table_views(tables: list[Results]) -> Iterator[tuple[str, View]]:
    for stored in tables:
        view = _OF_TABLES[stored.table.name](stored.scale)
        if len(view.frame):
            yield stored.name, view


@contextmanager
def _drawing() -> Iterator[Callable[[Figure, dict[str, Any]], bytes]]:
    """Return what draws pictures with one browser, and without contacting another machine."""
    import kaleido

    kaleido.start_sync_server(mathjax=False)  # which it would fetch
    try:
        yield kaleido.calc_fig_sync
    finally:
        kaleido.stop_sync_server()


def _browser_is_there() -> bool:
    """Return whether kaleido has a browser to draw with."""
    from choreographer.browsers.chromium import Chromium

    return Chromium.find_browser(skip_local=False) is not None
