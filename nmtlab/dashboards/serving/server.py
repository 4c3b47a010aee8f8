"""`nmtlab dashboards`: Voila, restricted to the pages of nmtlab."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import nbformat
from tornado.ioloop import IOLoop
from traitlets import Unicode
from traitlets.config import Config
from voila.app import Voila

from nmtlab.dashboards.frame.headings import Heading, headings
from nmtlab.dashboards.frame.log import VARIABLE
from nmtlab.dashboards.serving.culling import Kernels
from nmtlab.dashboards.serving.handlers import NoPage, Page, refusals
from nmtlab.dashboards.serving.kernels import forks, kernel_spec
from nmtlab.dashboards.serving.parts import parts
from nmtlab.dashboards.serving.start import Start, StartPage
from nmtlab.dashboards.widgets.chart import PLOTLY, SERVED
from nmtlab.dashboards.widgets.glossary import glossary, glossary_document
from nmtlab.workspace import Workspace

_SHARE = Path(__file__).parent / "share"
_WIDGETS = ("@voila-dashboards/widgets-manager8", "@jupyter-widgets/jupyterlab-manager", "anywidget")
_MOST_USED = ("tables", "norms", "attention")
_IDLE = 30 * 60  # seconds without a heartbeat before the kernel of a page is shut down
_STARTUP = 5 * 60  # seconds that a kernel has to start, on a busy machine
_DRAWN = 5  # seconds that a browser has the cores to itself before the next kernel is preheated
_MOST_PAGES = 40  # open at once; each takes 60-180 MB


_A_PAGE = rf"(?:{'|'.join(page.name for page in headings())})\.ipynb"
_A_FILE = r"\w+/static(?:/[^/.%][^/%]*)+"  # a static file of a template, without path traversal


class Address(NamedTuple):
    """Where the pages are served.

    Args:
        ip: address of the interface to listen on.
        port: first port to try.
        path: prefix of all paths, with a slash at both ends.
        origin: scheme and host by which a proxy is reached, such as `https://lab.example.org`; empty for none.
    """

    ip: str
    port: int
    path: str = "/"
    origin: str = ""


class Server(Voila):
    """Voila that accepts only its own host names and serves only the pages of nmtlab."""

    origin = Unicode("", config=True, help="Scheme and host by which a proxy is reached.")
    forks = Unicode("", config=True, help="Socket of the process that kernels are forked from.")

    def initialize(self, argv: list[str] | None = None) -> None:
        """Read the configuration; from now on Ctrl-C ends the server as SIGTERM does, without a traceback."""
        super().initialize(argv)
        signal.signal(signal.SIGINT, self._handle_signal_stop)

    def init_handlers(self) -> list:
        """Return the rules, all under the prefix: those of Voila for logging in are not."""
        base, voila = self.base_url, {"voila_configuration": self.voila_configuration}
        page = {**voila, "template_paths": self.template_paths, "config": self.config}
        nothing = rf"/logout|/voila/render/.*|/voila/templates/(?!{_A_FILE}$).*"  # Voila fails on these
        start_page = StartPage(Workspace.find(), Path(self.forks))
        if self.voila_configuration.preheat_kernel:
            IOLoop.current().add_callback(start_page.content)
        start = {**voila, "start": start_page}
        rules = [
            (rf"/|/voila/render/{headings()[0].name}\.ipynb", Start, start),
            (rf"/voila/render/({_A_PAGE})", Page, page),
            (nothing, NoPage, voila),
            *super().init_handlers(),
        ]
        host = urlsplit(self.origin).hostname or ""
        return [*refusals(self.ip, host, base), *((_under(base, path), *rule) for path, *rule in rules)]

    def _handle_signal_stop(self, sig: int, frame: FrameType | None) -> None:
        if not hasattr(self, "ioloop"):  # as yet
            raise SystemExit(128 + sig)
        super()._handle_signal_stop(sig, frame)


def _under(base: str, paths: str) -> str:
    """Return a pattern of paths with a prefix, unless it has that already."""
    return paths if paths.startswith(base) and base != "/" else f"{re.escape(base.rstrip('/'))}(?:{paths})"


def page_notebook(page: Heading) -> nbformat.NotebookNode:
    """Return the notebook of a page, a single call."""
    code = f"from nmtlab.dashboards.pages.{page.name} import {page.name}_page\n\n{page.name}_page()"
    cell = nbformat.v4.new_code_cell(code, id=page.name)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    title = page.title if page == headings()[0] else f"{page.title} · {headings()[0].title}"
    return nbformat.v4.new_notebook(cells=[cell], metadata={"title": title, "page": page.name, "kernelspec": kernel})


def write_pages(folder: Path) -> None:
    """Write the notebook of every page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in headings():
        nbformat.write(page_notebook(page), folder / f"{page.name}.ipynb")


def serve(workspace: Workspace, address: Address, token: str, warm: int, open_browser: bool) -> None:
    """Serve the pages until interrupted.

    Args:
        workspace: workspace whose runs and corpora are shown.
        address: where they are served.
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
        pages, share, socket = (Path(folder) / name for name in ("pages", "share", "kernels.sock"))
        write_pages(pages)
        _write_share(share, socket)
        os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [str(share), os.environ.get("JUPYTER_PATH")]))
        with forks(socket):
            Server.launch_instance(argv=[], config=_config(pages, socket, address, token, warm, open_browser))


def _write_share(share: Path, socket: Path) -> None:
    """Write Voila's template and the pages' kernel; large scripts and the glossary are files that browsers cache."""
    shutil.copytree(_SHARE, share)
    kernel = share / "kernels/python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps(kernel_spec(socket)), encoding="utf-8")
    static = share / "voila/templates/nmtlab/static"
    static.mkdir()
    shutil.copyfile(PLOTLY, static / "plotly.min.js")
    (static / "parts.js").write_text(parts(_WIDGETS), encoding="utf-8")
    (static / "glossary.html").write_text(glossary_document(glossary()), encoding="utf-8")


def _config(folder: Path, socket: Path, address: Address, token: str, warm: int, open_browser: bool) -> Config:
    kernels: dict[str, object] = {
        "cull_idle_timeout": _IDLE,
        "cull_interval": 60,
        "cull_connected": True,
        "fill_delay": _DRAWN,
        "most": _MOST_PAGES + warm * len(_MOST_USED),
    }
    pools = {f"{name}.ipynb": {"pool_size": warm} for name in _MOST_USED} | {"default": {"pool_size": 0}}
    kernels |= {"kernel_pools_config": pools} if warm else {}
    return Config(
        {
            "Voila": {
                "root_dir": str(folder),
                "ip": address.ip,
                "port": address.port,
                "base_url": address.path,
                "token": token,
                "open_browser": open_browser,
                "tornado_settings": {"allow_origin": address.origin},
            },
            "Server": {"origin": address.origin, "forks": str(socket)},
            "VoilaExecutor": {
                "startup_timeout": _STARTUP,
                "iopub_timeout": _STARTUP,  # without its output, which may be late, the page would be blank
                "cell_error_instruction": "See the output of nmtlab dashboards for the reason.",
            },
            "VoilaConfiguration": {
                "template": "nmtlab",
                "allow_template_override": "NO",
                "allow_theme_override": "NO",
                "classic_tree": True,
                "file_allowlist": [],
                "extension_allowlist": list(_WIDGETS),
                "preheat_kernel": warm > 0,
                "multi_kernel_manager_class": Kernels,
                "page_config_hook": _with_themes_here,
                "resources": {"pages": [page._asdict() for page in headings()]},
            },
            "Kernels": kernels,
        }
    )


def _with_themes_here(page_config: dict[str, Any], base_url: str, **_: object) -> dict[str, Any]:
    """Return the settings of a page with the address of the themes under the prefix, where Voila forgets it."""
    return {**page_config, "themesUrl": f"{base_url}voila/api/themes"}
