"""`nmtlab dashboards`: Voila, restricted to the pages of nmtlab."""

import asyncio
import json
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

from nmtlab.dashboards.about import ATTENTION, INDEX, PAGES, TABLES, About
from nmtlab.dashboards.chart import PLOTLY, SERVED
from nmtlab.dashboards.glossary import glossary, glossary_document
from nmtlab.dashboards.kernels import forks, kernel_spec
from nmtlab.dashboards.log import VARIABLE
from nmtlab.workspace import Workspace

_SHARE = Path(__file__).parent / "share"
_WIDGETS = ("@voila-dashboards/widgets-manager8", "@jupyter-widgets/jupyterlab-manager", "anywidget")
_MOST_USED = (INDEX, TABLES, ATTENTION)
_IDLE = 30 * 60  # seconds without a heartbeat before the kernel of a page is shut down
_LEFT = 5 * 60  # seconds without a connection, as of a closed tab, before it is shut down


class Kernels(AsyncMappingKernelManager):
    """Culls idle kernels of pages and those whose tab was closed, but not preheated ones that wait for a page."""

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)
        self._connected: set[str] = set()

    def notify_connect(self, kernel_id: str) -> None:
        self._connected.add(kernel_id)
        super().notify_connect(kernel_id)

    def notify_disconnect(self, kernel_id: str) -> None:
        super().notify_disconnect(kernel_id)
        asyncio.get_running_loop().call_later(_LEFT, self._cull_if_left, kernel_id)

    def _cull_if_left(self, kernel_id: str) -> None:
        if kernel_id in self and not self._kernel_connections.get(kernel_id):
            self.log.info("Shutting down kernel %s: its page was closed", kernel_id)
            self._culling = asyncio.ensure_future(self.shutdown_kernel(kernel_id))

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        if kernel_id in self._connected:
            await super().cull_kernel_if_idle(kernel_id)


_LOCAL = ("127.0.0.1", "localhost", "::1")
"""Host names that always refer to this machine."""

_A_PAGE = rf"(?:{'|'.join(page.name for page in (INDEX, *PAGES))})\.ipynb"
_A_FILE = r"\w+/static(?:/[^/.%][^/%]*)+"  # a static file of a template, without path traversal

_ALL_INTERFACES = ("0.0.0.0", "::", "")


class _ForeignHost(Matcher):
    """Matches requests for a host name other than the server's, against DNS rebinding.

    Otherwise a web site whose name resolves to this machine's address could read and control the pages.

    Args:
        ip: address of the interface that the server listens on; if it is all interfaces, every name is accepted, and
            the token protects the pages.
    """

    def __init__(self, ip: str) -> None:
        self._accepted = None if ip in _ALL_INTERFACES else {*_LOCAL, ip.lower()}

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        accepted = self._accepted is None or request.host_name.strip("[]") in self._accepted
        return None if accepted else {}


class _Refused(web.RequestHandler):
    def prepare(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("nmtlab does not answer to this host name: open the address that 'nmtlab dashboards' printed.\n")


class _NoPage(BaseVoilaHandler):
    @web.authenticated
    def get(self) -> None:
        raise web.HTTPError(404)


class Server(Voila):
    """Voila that accepts only its own host names and serves only the pages of nmtlab."""

    def init_handlers(self) -> list:
        not_found = f"/logout|/voila/render/(?!{_A_PAGE}$).*|/voila/templates/(?!{_A_FILE}$).*"  # Voila fails on these
        return [
            Rule(_ForeignHost(self.ip), _Refused),
            (not_found, _NoPage, {"voila_configuration": self.voila_configuration}),
            *super().init_handlers(),
        ]


def page_notebook(page: About) -> nbformat.NotebookNode:
    """Return the notebook of a page, a single call."""
    code = f"from nmtlab.dashboards.{page.name} import {page.name}_page\n\n{page.name}_page()"
    cell = nbformat.v4.new_code_cell(code, id=page.name)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    title = page.title if page == INDEX else f"{page.title} · {INDEX.title}"
    return nbformat.v4.new_notebook(cells=[cell], metadata={"title": title, "page": page.name, "kernelspec": kernel})


def write_pages(folder: Path) -> None:
    """Write the notebook of every page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in (INDEX, *PAGES):
        nbformat.write(page_notebook(page), folder / f"{page.name}.ipynb")


def serve(workspace: Workspace, ip: str, port: int, token: str, warm: int, open_browser: bool) -> None:
    """Serve the pages until interrupted.

    Args:
        workspace: workspace whose runs and corpora are shown.
        ip: address of the interface to listen on.
        port: first port to try.
        token: token required for access; empty for none.
        warm: number of preheated kernels for each of the pages most used, at least 0.
        open_browser: whether to open the index in a browser.
    """
    os.environ |= {
        "NMTLAB_DATA": str(workspace.data.resolve()),
        VARIABLE: str(workspace.data.resolve() / "logs/dashboards.log"),
        SERVED: "1",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),  # sessions share the cores
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    with TemporaryDirectory(prefix="nmtlab-pages-") as folder:
        pages, share, address = (Path(folder) / name for name in ("pages", "share", "kernels.sock"))
        write_pages(pages)
        _write_share(share, address)
        os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [str(share), os.environ.get("JUPYTER_PATH")]))
        with forks(address):
            Server.launch_instance(argv=[], config=_config(pages, ip, port, token, warm, open_browser))


def _write_share(share: Path, address: Path) -> None:
    """Write Voila's template and the pages' kernel; plotly's script and the glossary are files that browsers cache."""
    shutil.copytree(_SHARE, share)
    kernel = share / "kernels/python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps(kernel_spec(address)), encoding="utf-8")
    static = share / "voila/templates/nmtlab/static"
    static.mkdir()
    shutil.copyfile(PLOTLY, static / "plotly.min.js")
    (static / "glossary.html").write_text(glossary_document(glossary()), encoding="utf-8")


def _config(folder: Path, ip: str, port: int, token: str, warm: int, open_browser: bool) -> Config:
    culling = {"cull_idle_timeout": _IDLE, "cull_interval": 60, "cull_connected": True}
    pools = {f"{page.name}.ipynb": {"pool_size": warm} for page in _MOST_USED} | {"default": {"pool_size": 0}}
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
                "multi_kernel_manager_class": Kernels,
                "resources": {"pages": [page._asdict() for page in (INDEX, *PAGES)]},
            },
            "Kernels": culling | ({"kernel_pools_config": pools} if warm else {}),
        }
    )
