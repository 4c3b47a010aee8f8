"""The pages are served, and nothing else of this machine is."""

import asyncio
import http.client
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import psutil
import pytest
from voila.execute import VoilaExecutor
from voila.voila_kernel_manager import voila_kernel_manager_factory

from nmtlab.dashboards.frame.headings import headings
from nmtlab.dashboards.serving import server
from nmtlab.dashboards.serving import start as start_module
from nmtlab.dashboards.serving.culling import Kernels
from nmtlab.dashboards.serving.server import page_notebook, write_pages
from nmtlab.dashboards.serving.start import StartPage
from nmtlab.workspace import Workspace

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks/dashboards"
TOKEN = "only-for-friends"


def ask(served, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    """Return what is answered to a path, sent as it is: other clients tidy away `..` and follow."""
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=60)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def answer(served, path: str, method: str = "GET") -> tuple[int, bytes]:
    """Return status and content of a path."""
    response = ask(served, path, method)
    return response.status, response.read()


@pytest.fixture(scope="module")
def guarded(serve, hostile):
    """Pages that ask for a token."""
    return serve(hostile, "--token", TOKEN)


# The notebooks


def test_a_slow_machine_loses_no_output_and_a_page_is_drawn_before_the_next_kernel_is_preheated(tmp_path):
    config = server._config(tmp_path, tmp_path / "socket", server.Address("127.0.0.1", 0), "", 1, False)
    manager = voila_kernel_manager_factory(Kernels, preheat_kernel=True, default_pool_size=0)
    assert VoilaExecutor(nbformat.v4.new_notebook(), config=config).iopub_timeout >= 60
    assert config.Kernels.fill_delay >= 3 > manager.class_traits()["fill_delay"].default_value


@pytest.mark.full
def test_what_the_server_imports_builds_no_parsers_of_addresses():
    code = "import nmtlab.dashboards.serving.server, sys; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


@pytest.mark.parametrize("page", headings(), ids=lambda page: page.name)
def test_the_notebook_of_a_page_is_the_one_that_is_served(page):
    path = NOTEBOOKS / f"{page.name}.ipynb"
    assert nbformat.read(path, as_version=4) == page_notebook(page)


def test_there_are_no_other_notebooks_of_pages(tmp_path):
    write_pages(tmp_path)
    assert {path.name for path in NOTEBOOKS.glob("*.ipynb")} == {path.name for path in tmp_path.iterdir()}


def test_the_notebook_of_a_page_calls_what_is_there():
    for page in headings():
        code = "\n".join(cell.source for cell in page_notebook(page).cells)
        names: dict[str, object] = {}
        exec(code.splitlines()[0], names)
        assert callable(names[f"{page.name}_page"])
        assert code.splitlines()[-1] == f"{page.name}_page()"


# What is served


def test_the_start_page_is_sent_without_a_kernel(served):
    before = kernels(served)
    pages = [answer(served, path) for path in ("/", "/voila/render/index.ipynb", "/?claim=none")]
    assert {status for status, _ in pages} == {200}
    assert kernels(served) == before
    content = pages[0][1]
    assert pages[1][1] == pages[2][1] == content
    assert b"nmtlab-argument" in content
    assert b"kernelId" not in content
    assert all(f"/voila/render/{page.name}.ipynb".encode() in content for page in headings())


def kernels(served) -> set[int]:
    """Return the processes of a server that are or become kernels."""
    children = psutil.Process(served.process.pid).children(recursive=True)
    return {one.pid for one in children if "launch(*" in " ".join(one.cmdline())}


def test_content_is_kept_until_results_or_runs_change_and_a_part_of_it_is_not(tmp_path, monkeypatch):
    data, results = Workspace(tmp_path / "data"), tmp_path / "results"
    results.mkdir()
    monkeypatch.setattr(start_module, "RESULTS", results)
    made: list[str] = []

    async def make(page: StartPage) -> str:
        made.append(f"<script>{len(made)}</script>" if made else "<script>cut o")
        return made[-1]

    async def ask_twice(page: StartPage) -> list[str]:
        return [await page.content(), await page.content()]

    def train(metrics: str) -> None:
        (data.runs / "one").mkdir(parents=True, exist_ok=True)
        (data.runs / "one/metrics.jsonl").write_text(metrics)

    monkeypatch.setattr(StartPage, "_forked", make)
    page = StartPage(data, tmp_path / "socket")
    failed, first = asyncio.run(ask_twice(page))
    assert "cannot be shown" in failed
    assert first == made[1]
    for change in (lambda: (results / "table.csv").write_text("new"), lambda: train("a"), lambda: train("longer")):
        change()
        assert asyncio.run(ask_twice(page)) == [made[-1]] * 2
        assert asyncio.run(ask_twice(StartPage(data, tmp_path / "socket"))) == [made[-1]] * 2  # another server's
    assert made[1:] == [f"<script>{n}</script>" for n in (1, 2, 3, 4)]


def test_plotly_comes_from_here(served):
    status, content = answer(served, "/voila/templates/nmtlab/static/plotly.min.js")
    assert status == 200
    assert b"plotly.js" in content[:100]


def test_every_page_links_to_the_glossary(served):
    address = "/voila/templates/nmtlab/static/glossary.html"
    assert address.encode() in answer(served, "/voila/render/index.ipynb")[1]
    status, content = answer(served, address)
    assert status == 200
    assert b'id="fixnorm"' in content


def test_a_page_that_is_not_there_is_404_and_leads_back(served):
    status, content = answer(served, "/voila/render/none.ipynb")
    assert status == 404
    assert b"Page not found" in content
    assert b"http://" not in content
    assert b"https://" not in content


OUTSIDE = [
    "/voila/files/norms.ipynb", "/voila/files/../pages/norms.ipynb", "/voila/files/%2e%2e/%2e%2e/etc/passwd",
    "/voila/files//etc/passwd", "/files/norms.ipynb", "/voila/static/../../../../etc/passwd",
    "/voila/static/%2e%2e/%2e%2e/app.py", "/api/contents", "/api/contents/norms.ipynb", "/api/kernels",
    "/api/kernelspecs", "/api/sessions", "/api/terminals", "/api/status", "/lab", "/tree", "/edit/norms.ipynb",
    "/terminals/1", "/nbextensions/x.js",
]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_else_is_served(served, path):
    assert answer(served, path)[0] in (403, 404)


@pytest.mark.parametrize(
    "path",
    ["/voila/render/../../etc/passwd", "/voila/render/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/voila/render//etc/passwd",
     "/voila/templates/nmtlab/static/../conf.json", "/voila/templates/nmtlab/static/%2e%2e/conf.json",
     "/voila/templates/nmtlab/static/..%2f..%2f..%2fconf.json"],
)  # fmt: skip
def test_no_way_leads_out_of_the_folder(served, path):
    status, content = answer(served, path)
    assert status in (403, 404)
    assert content
    assert b"root:" not in content
    assert b"base_template" not in content


@pytest.mark.parametrize(
    "path",
    ["/logout", "/voila/render/", "/voila/render/%00", "/voila/render/x/index.ipynb", "/voila/templates/",
     "/voila/templates/nmtlab/static/", "/voila/templates/nmtlab/static/%00", "/voila/templates/nmtlab/static/./x"],
)  # fmt: skip
def test_what_is_no_page_is_404_in_words(served, path):
    status, content = answer(served, path)
    assert status == 404
    assert b"Page not found" in content


def test_no_kernel_can_be_started_by_hand(served):
    assert answer(served, "/api/kernels", "POST")[0] == 404


# By which names


def upgrade(served, path: str, host: str, origin: str = "") -> int:
    """Return what is answered to a browser that asks for a websocket."""
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"}
    wanted = {"Upgrade": "websocket", "Connection": "Upgrade", "Host": host, "Origin": origin or f"http://{host}"}
    return ask(served, path, **key, **wanted).status


def kernel_of(served) -> str:
    """Open a page and return the address of its kernel's websocket."""
    _, content = answer(served, "/voila/render/depth.ipynb")
    found = re.search(rb'"kernelId": "([0-9a-f-]{36})"', content)
    return f"/api/kernels/{found[1].decode()}/channels"


def test_pages_and_kernels_answer_to_no_foreign_name(served):
    port = urlsplit(served.address).port
    kernel = kernel_of(served)
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "192.168.0.7"):
        for path in ("/", "/voila/render/index.ipynb", "/voila/templates/nmtlab/static/plotly.min.js", "/logout"):
            response = ask(served, path, Host=host)
            assert response.status == 403
            assert b"open the address that" in response.read()
        assert upgrade(served, kernel, host) == 403
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert ask(served, "/", Host=host).status == 200
        assert upgrade(served, kernel, host) == 101
    assert upgrade(served, "/voila/query/00000000-0000-0000-0000-000000000000", "evil.example") == 403


@pytest.mark.parametrize(("ip", "foreign"), [("127.0.0.2", 403), ("0.0.0.0", 200)])
def test_pages_for_others_answer_to_the_name_that_they_were_given(serve, hostile, ip, foreign):
    served = serve(hostile, "--ip", ip, "--token", TOKEN)
    for host, status in ((ip, 200), ("localhost", 200), ("evil.example", foreign)):
        assert ask(served, f"/?token={TOKEN}", Host=f"{host}:8866").status == status


def test_another_web_site_gets_a_page_only_if_a_reader_follows_its_link(served):
    page = "/voila/render/depth.ipynb"
    for site in ("cross-site", "same-site"):
        for kind, mode in (("image", "no-cors"), ("empty", "cors"), ("iframe", "navigate"), ("document", "no-cors")):
            fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": kind, "Sec-Fetch-Mode": mode}
            response = ask(served, page, **fetched)
            assert response.status == 403
            assert b"Another web site asked" in response.read()
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}
    assert ask(served, page, **followed).status == 200


def test_another_web_site_cannot_talk_to_a_kernel(served):
    host = urlsplit(served.address).netloc
    assert upgrade(served, kernel_of(served), host, "http://evil.example") == 403


# Behind a proxy


@pytest.fixture(scope="module")
def prefixed(serve, hostile):
    """Pages that a proxy serves under a path of its own host."""
    return serve(hostile, "--base-url", "https://lab.example.org/nmtlab/", "--token", TOKEN)


def test_all_paths_have_the_prefix(prefixed):
    for path in ("/nmtlab/", "/nmtlab/voila/render/depth.ipynb"):
        response = ask(prefixed, path)
        assert response.status == 302
        assert response.headers["Location"].startswith("/nmtlab/login?")
    assert answer(prefixed, "/nmtlab/login")[0] == 200
    status, content = answer(prefixed, f"/nmtlab/?token={TOKEN}")
    assert status == 200
    assert b"/nmtlab/voila/render/index.ipynb" in content
    assert answer(prefixed, "/nmtlab/voila/templates/nmtlab/static/plotly.min.js")[0] == 200
    assert answer(prefixed, f"/nmtlab/voila/render/none.ipynb?token={TOKEN}")[0] == 404


def test_a_path_without_the_prefix_is_refused_with_what_to_do(prefixed):
    for path in ("/", "/voila/render/depth.ipynb", "/nmtlabs/"):
        status, content = answer(prefixed, path)
        assert status == 404
        assert b"--base-url /nmtlab/" in content


def test_pages_answer_to_the_name_of_the_proxy(prefixed):
    assert ask(prefixed, f"/nmtlab/?token={TOKEN}", Host="lab.example.org").status == 200
    assert ask(prefixed, f"/nmtlab/?token={TOKEN}", Host="evil.example").status == 403


# Who is let in


@pytest.mark.parametrize(
    "path", ["/", "/voila/tree", "/voila/render/index.ipynb", "/voila/render/none.ipynb", "/?token=wrong", "/?token="]
)
def test_who_has_not_the_token_is_asked_for_it(guarded, path):
    response = ask(guarded, path)
    assert response.status == 302
    assert response.headers["Location"].startswith("/login?")
    assert response.read() == b""


def test_files_and_kernels_are_nobodys_without_the_token(guarded):
    for path in ("/voila/files/norms.ipynb", "/api/kernels/00000000-0000-0000-0000-000000000000/channels"):
        assert answer(guarded, path)[0] == 403


def test_whoever_has_the_token_is_let_in_and_stays_so_on_the_next_page(guarded):
    response = ask(guarded, f"/?token={TOKEN}")
    assert response.status == 200
    assert b"nmtlab-argument" in response.read()
    cookie = response.headers["Set-Cookie"].split(";")[0]
    assert ask(guarded, "/", Cookie=cookie).status == 200


# How it ends


@pytest.mark.full
def test_it_ends_at_once_and_leaves_nothing_behind(serve, hostile, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = serve(hostile).process
    assert list(tmp_path.glob("nmtlab-pages-*"))
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)
    assert list(tmp_path.glob("nmtlab-pages-*")) == []


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_it_and_its_kernels_end_without_a_traceback(serve, hostile, number):
    served = serve(hostile)
    kernels = {kernel_of(served) for _ in range(2)}
    assert len(kernels) == 2
    served.process.send_signal(number)
    served.process.wait(timeout=60)
    assert "Traceback" not in served.log.read_text(encoding="utf-8")


@pytest.mark.full
def test_a_workspace_that_cannot_be_written_to_is_shown(serve, hostile, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "logs").write_text("no folder", encoding="utf-8")
    served = serve(Workspace(data))
    status, content = answer(served, "/voila/render/depth.ipynb")
    assert status == 200
    assert b"widget-view" in content
    assert b"ExecutionError" not in content
    assert "Traceback" not in served.log.read_text(encoding="utf-8")


@pytest.mark.full
def test_a_port_that_is_taken_is_passed_over(serve, served, hostile):
    port = urlsplit(served.address).port
    environment = {**os.environ, "NMTLAB_DATA": str(hostile.data), "NMTLAB_CORPORA": ""}
    command = [sys.executable, "-m", "nmtlab", "dashboards", "--port", str(port), "--warm", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        lines = []
        for raw in process.stderr:
            lines.append(raw.decode())
            if "http://" in lines[-1]:
                break
        while process.poll() is None:  # a signal that comes before its loop begins is lost
            process.terminate()
            time.sleep(0.2)
    assert f":{port}/" not in lines[-1]
    assert answer(served, "/")[0] == 200
