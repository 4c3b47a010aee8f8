"""`nmtlab dashboards` and `nmtlab lab`."""

import os
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode, urlsplit

import typer

import nmtlab
from nmtlab.errors import NmtlabError, how_to_install
from nmtlab.workspace import Workspace

_HERE = "127.0.0.1"
_PATH = re.compile(r"/?(?:[\w.~-]+/)*[\w.~-]*", re.ASCII)
_WORKBENCH = ("jupyterlab", "ipywidgets", "plotly", "anywidget", "voila", "kaleido")


def dashboards(
    ip: Annotated[
        str,
        typer.Option(
            help="Address to bind; --token is required unless it is local. Pages answer to this name, localhost and "
            "127.0.0.1; with 0.0.0.0, to any name."
        ),
    ] = _HERE,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port, or the first free one near it.")] = 8866,
    token: Annotated[str | None, typer.Option(help="Token that gives access to the pages.")] = None,
    base_url: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where a proxy serves the pages: a path such as /nmtlab/, which it has to pass on, or a full address "
            "such as https://lab.example.org/nmtlab/, to whose name they then answer too; that requires --token.",
        ),
    ] = "/",
    warm: Annotated[
        int,
        typer.Option(
            min=0,
            help="Kernels kept ready for each of the most used pages: index, Tables and Attention. The server takes "
            "about 450 MB, and each kernel, ready or of an open page, another 60 to 180 MB.",
        ),
    ] = 1,
    browser: Annotated[bool, typer.Option(help="Open the index in a browser.")] = False,
) -> None:
    """Serve the dashboards to a browser until Ctrl-C: figures of any runs, attention, lexicons, trainings.

    They show the runs and corpora of the workspace and nothing else on this machine.
    """
    if token is not None and not token.strip():
        raise NmtlabError("--token: empty, which would let everyone in", "give a token, or leave --token out")
    origin, path = _parts(base_url)
    reachable = {f"--ip {ip}": ip not in (_HERE, "localhost", "::1"), f"--base-url {base_url}": bool(origin)}
    for option in (option for option, elsewhere in reachable.items() if elsewhere and not token):
        problem = f"{option}: other machines could connect, read the workspace and start trainings"
        raise NmtlabError(problem, "set a token with --token")
    try:
        from nmtlab.dashboards.serving.server import Address, serve
    except ImportError as error:
        raise _missing(error) from error
    workspace = Workspace.find()
    query = f"?{urlencode({'token': token})}" if token else ""
    print(f"Runs and corpora of {workspace.data}")
    if origin:
        print(f"Open {origin}{path}{query} through the proxy")
    print(f"Open http://{ip}:{port}{path}{query} (or the port named below, if this one is taken); Ctrl-C stops")
    serve(workspace, Address(ip, port, path, origin), token or "", warm, browser)


def _parts(base_url: str) -> tuple[str, str]:
    """Return the origin, empty for a path alone, and the path, with a slash at both ends, of an address."""
    scheme, host, path, query, fragment = urlsplit(base_url)
    whole = scheme in ("http", "https") and host and "@" not in host
    if not (whole or (not scheme and not host)) or query or fragment or not _PATH.fullmatch(path):
        remedy = "give one like /nmtlab/ or https://lab.example.org/nmtlab/"
        raise NmtlabError(f"--base-url {base_url}: not an address", remedy)
    return f"{scheme}://{host.lower()}" if whole else "", f"/{path.strip('/')}/".replace("//", "/")


def lab(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port, or the first free one near it.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Open it in a browser.")] = False,
) -> None:
    """Open JupyterLab on the notebooks until Ctrl-C; anyone with the printed address has access."""
    try:
        from jupyterlab.labapp import main
    except ImportError as error:
        raise _missing(error) from error
    notebooks = Path(nmtlab.__file__).parents[1] / "notebooks"
    if not notebooks.is_dir():
        raise NmtlabError(f"{notebooks}: not found", "run this from a checkout, which has the notebooks")
    os.environ["NMTLAB_DATA"] = str(Workspace.find().data.resolve())
    options = [f"--ServerApp.root_dir={notebooks}", "--ip=127.0.0.1", f"--port={port}"]
    options += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    if os.geteuid() == 0:
        options.append("--allow-root")  # a container has no other user
    main([*options, "--LabApp.default_url=/lab/tree/00-start-here.ipynb", *([] if browser else ["--no-browser"])])


def _missing(error: ImportError) -> Exception:
    return NmtlabError(f"the workbench needs {error.name}", how_to_install(*_WORKBENCH))
