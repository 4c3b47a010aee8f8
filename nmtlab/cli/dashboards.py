"""`nmtlab dashboards` and `nmtlab lab`."""

from typing import Annotated

import typer

_HERE = "127.0.0.1"


def dashboards(
    ip: Annotated[
        str,
        typer.Option(
            help="Interface to listen on; another than this machine's own needs --token. Pages answer to this name, "
            "to localhost and 127.0.0.1; with 0.0.0.0 to any."
        ),
    ] = _HERE,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port, or the first free one near it.")] = 8866,
    token: Annotated[str | None, typer.Option(help="Word without which nobody is let in.")] = None,
    warm: Annotated[int, typer.Option(min=0, help="Kernels kept ready for each page: each takes some 200-400 MB.")] = 1,
    browser: Annotated[bool, typer.Option(help="Open the index in a browser.")] = False,
) -> None:
    """Serve the dashboards to a browser, until Ctrl-C: figures of any runs, attention, lexicons, trainings.

    They show the runs and corpora of the workspace, and nothing else of this machine.
    """
    from nmtlab.errors import NmtlabError
    from nmtlab.workspace import Workspace

    if token is not None and not token.strip():
        raise NmtlabError("--token: it is empty, and would let everybody in", "give a word, or leave --token out")
    if ip not in (_HERE, "localhost", "::1") and not token:
        raise NmtlabError(
            f"--ip {ip}: others could reach it, and whoever does can train and read here",
            "give them a word to know with --token",
        )
    try:
        from nmtlab.dashboards.server import serve
    except ImportError as error:
        raise _lacking(error) from error
    workspace = Workspace.find()
    query = f"?token={token}" if token else ""
    print(f"Runs and corpora of {workspace.data}")
    print(f"Open http://{ip}:{port}/{query} (or at the port named below, if this one is taken); Ctrl-C ends")
    serve(workspace, ip, port, token or "", warm, browser)


def lab(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port, or the first free one near it.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Open it in a browser.")] = False,
) -> None:
    """Open JupyterLab on the notebooks, until Ctrl-C; the address it prints lets in who has it."""
    import os
    from pathlib import Path

    import nmtlab
    from nmtlab.errors import NmtlabError
    from nmtlab.workspace import Workspace

    try:
        from jupyterlab.labapp import main
    except ImportError as error:
        raise _lacking(error) from error
    notebooks = Path(nmtlab.__file__).parents[1] / "notebooks"
    if not notebooks.is_dir():
        raise NmtlabError(f"{notebooks}: not there", "run this from a checkout, which has the notebooks")
    os.environ["NMTLAB_DATA"] = str(Workspace.find().data.resolve())
    options = [f"--ServerApp.root_dir={notebooks}", "--ip=127.0.0.1", f"--port={port}"]
    options += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    if os.geteuid() == 0:
        options.append("--allow-root")  # a container has no other user
    main([*options, "--LabApp.default_url=/lab/tree/00-start-here.ipynb", *([] if browser else ["--no-browser"])])


def _lacking(error: ImportError) -> Exception:
    from nmtlab.errors import NmtlabError

    return NmtlabError(f"the workbench needs {error.name}", "install the extra: pip install 'nmtlab[workbench]'")
