"""A workspace with texts that bite, the pages served from it, and a browser that cannot get outside."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.hostile import BROKEN, TINY, write_hostile_corpus
from support.packed import link_packed

from nmtlab.dashboards.widgets.chart import SERVED
from nmtlab.recipe import named_recipe
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

pytest.register_assert_rewrite("support.shown")

ROOT = Path(__file__).parents[2]
GALLERY = (
    "small-tr-en.tied.s1", "small-tr-en.fixnorm.s1", "small-tr-en.fixnorm-lex.s1", "small-tr-en.arthur.s1",
    "child-gl-en.4000.transfer-bpe.related-parent.s1",
)  # fmt: skip
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip
PATIENCE = 90
"""Seconds that a page has for an answer: the machine may be busy."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests that need a server or a browser out of the quick tier."""
    for item in items:
        if {"serve", "browser"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.full)


@pytest.fixture(autouse=True)
def _unserved(monkeypatch):
    monkeypatch.delenv(SERVED, raising=False)


def workspace_of(data: Path, runs: Sequence[str]) -> Workspace:
    """Return a new workspace with nothing but some of the gallery's runs."""
    for name in runs:
        link_packed(name, Workspace(data))
    return Workspace(data)


@pytest.fixture(scope="session")
def gallery(tmp_path_factory) -> Workspace:
    """A workspace with packed runs that have their weights."""
    return workspace_of(tmp_path_factory.mktemp("gallery") / "data", GALLERY)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Workspace:
    """Such a workspace with a corpus that bites, a run on it, a folder that is no run and one that is no job."""
    workspace = workspace_of(tmp_path_factory.mktemp("hostile") / "data", GALLERY)
    corpus = write_hostile_corpus(workspace.data / "corpora" / "hostile")
    train("hostile", named_recipe("prenorm-fixnorm-scalenorm").with_settings(TINY), corpus, workspace)
    (workspace.runs / BROKEN).mkdir()
    (workspace.data / "jobs" / BROKEN).mkdir(parents=True)
    return workspace


class Served(NamedTuple):
    """Pages that are served."""

    address: str
    workspace: Workspace
    process: subprocess.Popen
    log: Path
    """What the server prints."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def serve(tmp_path_factory) -> Iterator[Callable[..., Served]]:
    """Start `nmtlab dashboards` on a workspace, with more options; all are ended at the end."""
    started = []

    def start(workspace: Workspace, *options: str) -> Served:
        port = free_port()
        host = "127.0.0.2" if "127.0.0.2" in options else "127.0.0.1"
        log = tmp_path_factory.mktemp("server") / "log"
        command = [sys.executable, "-m", "nmtlab", "dashboards", "--port", str(port), "--warm", "0", *options]
        environment = {**os.environ, "NMTLAB_DATA": str(workspace.data), "NMTLAB_CORPORA": ""}
        with log.open("w") as file:
            process = subprocess.Popen(command, env=environment, cwd=log.parent, stdout=file, stderr=file)
        started.append(process)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex((host, port)) == 0:
                    return Served(f"http://{host}:{port}", workspace, process, log)
            time.sleep(0.2)
        raise AssertionError(log.read_text(encoding="utf-8"))

    yield start
    for process in started:
        process.terminate()
    for process in started:
        process.wait(timeout=30)


@pytest.fixture(scope="session")
def served(serve, hostile) -> Served:
    return serve(hostile)


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = (os.environ.get("NMTLAB_CHROMIUM"), *map(shutil.which, names))
    return next((path for path in found if path), None)


@pytest.fixture(scope="module")  # as long as it is open, its event loop is that of all tests
def browser() -> Iterator[Any]:
    """Chromium, if it and playwright are here."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacks = "the package playwright is not installed"
    else:
        lacks = "" if _chromium() else "no Chromium here: install one, or name it in NMTLAB_CHROMIUM"
    if lacks:
        (pytest.fail if os.environ.get("NMTLAB_NEEDS_BROWSER") else pytest.skip)(lacks)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def show(browser, served) -> Iterator[Callable[..., Any]]:
    """Open pages, each in a tab of its own; in none of them may anything go wrong."""
    from support.shown import Shown

    context = browser.new_context(viewport={"width": 1500, "height": 1300}, accept_downloads=True)
    pages = []

    def new(name: str, query: str = "") -> Shown:
        pages.append(Shown(context.new_page(), served.address))
        return pages[-1].open(name, query)

    yield new
    for page in pages:
        page.check()
    for page in pages:
        if not page.page.is_closed():
            page.page.close(run_before_unload=True)  # which ends its kernel
    context.close()


@pytest.fixture
def start(browser, served) -> Iterator[Callable[..., Any]]:
    """Open the start page with a query; nothing may go wrong in it."""
    context = browser.new_context(viewport={"width": 1500, "height": 1300})
    troubles: list[str] = []

    def new(query: str = "") -> Any:
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(f"{served.address}/{query}", timeout=1000 * PATIENCE)
        page.locator(".figure .main-svg").last.wait_for(timeout=1000 * PATIENCE)
        return page

    yield new
    context.close()
    assert troubles == []
