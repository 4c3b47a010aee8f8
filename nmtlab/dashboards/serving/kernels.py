"""Kernels forked from one process that has already imported the pages' modules and filled their caches.

Such a kernel starts at once and shares the memory of these modules with all others. Jupyter starts each kernel as a
process, `launch`, that asks for a fork and lives as long as the fork does; if nobody answers, it becomes an ordinary
kernel.
"""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import NoReturn

_START = (
    "-c",
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "  # ends it without a traceback
    "from nmtlab.dashboards.serving.kernels import {0}; {0}(*sys.argv[1:])",
)
CONTENT = ""
"""In place of a kernel's connection file: a fork is asked for the start page's content."""

FORKED = b"+"
_MAX_BYTES = 100  # of a socket's address on any system
_PATIENCE = 60  # seconds to wait for a fork before a kernel imports everything itself
_STDIN = 0
"""Its other end is held by the server alone, and closed when the server ends, however it ends."""


def kernel_spec(address: Path) -> dict[str, object]:
    """Return the kernel specification of kernels that are forked from the process at an address."""
    argv = [*python("launch"), str(address), "{connection_file}"]
    return {"argv": argv, "display_name": "Python 3", "language": "python"}


@contextmanager
def forks(address: Path) -> Iterator[None]:
    """Run the process that kernels are forked from.

    Args:
        address: of its socket, which is created.
    """
    if not hasattr(os, "fork") or len(os.fsencode(address)) > _MAX_BYTES:
        yield
        return
    command = [*python("fork_kernels"), str(address)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # out of reach of Ctrl-C
    try:
        yield
    finally:
        process.terminate()
        process.communicate()  # closes its standard input, and waits for it


def launch(address: str, connection_file: str) -> None:
    """Have a kernel forked, and wait until it ends; or become one, if that is not possible or takes too long."""
    request = {"file": connection_file, "folder": os.getcwd(), "environment": dict(os.environ)}
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(address)
            connection.sendall(json.dumps(request).encode() + b"\n")
            if connection.recv(1) != FORKED:
                raise ConnectionError
            connection.settimeout(None)
            connection.recv(1)
    except (OSError, AttributeError):  # without Unix sockets
        os.execv(sys.executable, [sys.executable, "-m", "ipykernel_launcher", "-f", connection_file])


def fork_kernels(address: str) -> None:
    """Import the pages' modules, fill their caches, then fork a kernel for each request until the server ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)  # kernels may be asked for during the imports
        _import_pages()
        _fill_caches()
        gc.collect()
        gc.freeze()  # otherwise a collection in a kernel would copy the shared memory
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended kernels leave no zombies
        while listener.fileno() in select.select([listener.fileno(), _STDIN], [], [])[0]:
            connection, _ = listener.accept()
            with connection, suppress(OSError):  # no memory or processes left, or who asked waits no longer
                if os.fork() == 0:
                    listener.close()
                    _serve(connection)


def _import_pages() -> None:
    from importlib import import_module

    import plotly.graph_objects as go
    from ipywidgets import register_comm_target

    from nmtlab.dashboards.frame.about import pages

    sys.modules["debugpy"] = None  # type: ignore[assignment]  # each kernel would import it, and nobody debugs a page
    for module in ("ipykernel.kernelapp", "ipykernel.zmqshell", "ipykernel.debugger", "psutil"):
        import_module(module)
    register_comm_target()  # as on import in a kernel: a browser then asks once for all widgets, not for each
    pages()
    go.Figure([go.Scatter(), go.Bar(), go.Heatmap()]).to_json()  # plotly imports its classes when they are first used


def _fill_caches() -> None:
    """List the runs as every page does, so that what the pages ask of each is in the index, and open the page Tables.

    That page reads on which machine each run was trained, and draws, without computing on several threads, which
    no fork survives.
    """
    from importlib import import_module

    from ipywidgets import Widget

    from nmtlab.dashboards.frame.about import pages
    from nmtlab.dashboards.frame.runs import RunChooser
    from nmtlab.workspace import Workspace

    with suppress(Exception):  # the page says what is damaged
        workspace = Workspace.find()
        for page in pages():
            if page.needs is not None:
                RunChooser(workspace, page.needs)
        import_module("nmtlab.dashboards.pages.tables").tables_page(workspace)
    Widget.close_all()  # a kernel would send them to its page


def _serve(connection: socket.socket) -> NoReturn:
    """Become the kernel that is asked for, or answer with the start page's content."""
    try:
        connection.sendall(FORKED)
        with connection.makefile(encoding="utf-8") as lines:
            request = json.loads(lines.readline())
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        Thread(target=_end_with, args=[connection], daemon=True).start()
        if request["file"] == CONTENT:
            connection.sendall(_content().encode())
        else:
            _run_kernel(request["file"])
    except OSError:  # who asked did not wait
        pass
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(0)


def _run_kernel(file: str) -> None:
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(argv=["-f", file, "--IPKernelApp.parent_handle=1"])


def print_content() -> None:
    """Print the start page's content."""
    sys.stdout.buffer.write(_content().encode())


def _content() -> str:
    from nmtlab.dashboards.parts.argument import argument
    from nmtlab.workspace import Workspace

    return argument(Workspace.find())


def _end_with(connection: socket.socket) -> None:
    """End this kernel when `launch` or the server has ended."""
    select.select([connection.fileno(), _STDIN], [], [])
    os._exit(0)


def python(function: str) -> list[str]:
    """Return the command that calls a function of this module."""
    option, code = _START
    return [sys.executable, option, code.format(function)]
