"""`nmtlab dashboards`: Voila, told to serve our pages and nothing else."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado import web
from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher, Rule
from traitlets.config import Config
from voila.app import Voila
from voila.handler import BaseVoilaHandler

from nmtlab.dashboards.about import INDEX, PAGES, About
from nmtlab.dashboards.chart import PLOTLY, SERVED
from nmtlab.dashboards.log import VARIABLE
from nmtlab.workspace import Workspace

_SHARE = Path(__file__).parent / "share"
_WIDGETS = ("@voila-dashboards/widgets-manager8", "@jupyter-widgets/jupyterlab-manager", "anywidget")
_IDLE = 30 * 60  # seconds without a sign of life, after which a page's kernel is ended


class Kernels(AsyncMappingKernelManager):
    """Ends kernels of pages that nobody looks at, and leaves those alone that wait, warmed up, for a page."""

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)
        self._met: set[str] = set()

    def notify_connect(self, kernel_id: str) -> None:
        self._met.add(kernel_id)
        super().notify_connect(kernel_id)

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        if kernel_id in self._met:
            await super().cull_kernel_if_idle(kernel_id)


_LOCAL = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that lead to nobody else's."""

_A_PAGE = rf"(?:{'|'.join(page.name for page in (INDEX, *PAGES))})\.ipynb"
_A_FILE = r"\w+/static(?:/[^/.%][^/%]*)+"  # of a template, without a way up

_ALL_INTERFACES = ("0.0.0.0", "::", "")


class _AskedByAnotherName(Matcher):
    """Matches what is asked of a host that is not ours.

    A web site whose name is turned to this machine's address would else have a browser read and work the pages for it.

    Args:
        ip: of the interface that is listened on; if it is all of them, every name is ours, and the token guards.
    """

    def __init__(self, ip: str) -> None:
        self._ours = None if ip in _ALL_INTERFACES else {*_LOCAL, ip.lower()}

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        ours = self._ours is None or request.host_name.strip("[]") in self._ours
        return None if ours else {}


class _Refused(web.RequestHandler):
    def prepare(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("nmtlab does not answer to this name: open the address that 'nmtlab dashboards' printed.\n")


class _NoPage(BaseVoilaHandler):
    @web.authenticated
    def get(self) -> None:
        raise web.HTTPError(404)


class Server(Voila):
    """Voila that answers to its own names and has no pages but ours."""

    def init_handlers(self) -> list:
        nothing = f"/logout|/voila/render/(?!{_A_PAGE}$).*|/voila/templates/(?!{_A_FILE}$).*"  # Voila trips over these
        return [
            Rule(_AskedByAnotherName(self.ip), _Refused),
            (nothing, _NoPage, {"voila_configuration": self.voila_configuration}),
            *super().init_handlers(),
        ]


def page_notebook(page: About) -> nbformat.NotebookNode:
    """Return a page's notebook: one call."""
    code = f"from nmtlab.dashboards.{page.name} import {page.name}_page\n\n{page.name}_page()"
    cell = nbformat.v4.new_code_cell(code, id=page.name)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=[cell], metadata={"title": page.title, "kernelspec": kernel})


def write_pages(folder: Path) -> None:
    """Write the notebook of every page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in (INDEX, *PAGES):
        nbformat.write(page_notebook(page), folder / f"{page.name}.ipynb")


def serve(workspace: Workspace, ip: str, port: int, token: str, warm: int, open_browser: bool) -> None:
    """Serve the pages until interrupted.

    Args:
        workspace: whose runs and corpora are shown.
        ip: of the interface that is listened on.
        port: the first that is tried.
        token: without which nobody is let in; empty for none.
        warm: kernels that wait for each page, at least 0.
        open_browser: whether to open the index in one.
    """
    os.environ |= {
        "NMTLAB_DATA": str(workspace.data.resolve()),
        VARIABLE: str(workspace.data.resolve() / "logs/dashboards.log"),
        SERVED: "1",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),  # people share the cores
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    with TemporaryDirectory(prefix="nmtlab-pages-") as folder:
        pages, share = Path(folder) / "pages", Path(folder) / "share"
        write_pages(pages)
        _write_template(share)
        os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [str(share), os.environ.get("JUPYTER_PATH")]))
        Server.launch_instance(argv=[], config=_config(pages, ip, port, token, warm, open_browser))


def _write_template(share: Path) -> None:
    """Write Voila's template, with plotly's script among its static files: a browser keeps it."""
    shutil.copytree(_SHARE, share)
    static = share / "voila/templates/nmtlab/static"
    static.mkdir()
    shutil.copyfile(PLOTLY, static / "plotly.min.js")


def _config(folder: Path, ip: str, port: int, token: str, warm: int, open_browser: bool) -> Config:
    culling = {"cull_idle_timeout": _IDLE, "cull_interval": 60, "cull_connected": True}
    return Config(
        {
            "Voila": {"root_dir": str(folder), "ip": ip, "port": port, "token": token, "open_browser": open_browser},
            "VoilaConfiguration": {
                "template": "nmtlab",
                "allow_template_override": "NO",
                "allow_theme_override": "NO",
                "classic_tree": True,
                "file_allowlist": [],
                "extension_allowlist": list(_WIDGETS),
                "preheat_kernel": warm > 0,
                "default_pool_size": warm,
                "multi_kernel_manager_class": Kernels,
                "resources": {"pages": [page._asdict() for page in (INDEX, *PAGES)]},
            },
            "Kernels": culling,
        }
    )
