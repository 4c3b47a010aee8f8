"""Kernels forked from one process: they answer, run their own environment, and end with what started them."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from unittest.mock import Mock

import psutil
import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from support.shown import eventually
from tornado.web import HTTPError

from nmtlab.dashboards.serving import culling
from nmtlab.dashboards.serving import kernels as kernels_module
from nmtlab.dashboards.serving.culling import Kernels, Request
from nmtlab.dashboards.serving.kernels import forks, kernel_spec, launch


@pytest.fixture
def address() -> Iterator[Path]:
    with TemporaryDirectory(prefix="nmtlab-") as folder:
        yield Path(folder) / "socket"


@contextmanager
def listening(address: Path) -> Iterator[None]:
    """Run the process that kernels are forked from; a kernel that is started before it listens is an ordinary one."""
    with forks(address):
        eventually(address.exists, True)
        with socket.socket(socket.AF_UNIX) as connection:  # it answers when it has imported everything
            connection.connect(str(address))
            assert connection.recv(1) == kernels_module.FORKED
        yield


class Kernel:
    """A kernel and what it answers."""

    def __init__(self, address: Path, **environment: str) -> None:
        self.manager = KernelManager()
        self.manager._kernel_spec = KernelSpec(**kernel_spec(address))
        self.manager.start_kernel(env={**os.environ, **environment})
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=90)

    def ask(self, expression: str) -> str:
        told: list[str] = []

        def hear(message: dict) -> None:
            told.extend([message["content"]["text"]] if message["msg_type"] == "stream" else [])

        self.client.execute_interactive(f"print({expression})", timeout=90, output_hook=hear)
        return "".join(told).strip()

    def process(self) -> psutil.Process:
        return psutil.Process(int(self.ask("__import__('os').getpid()")))

    def end(self, **how: bool) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(**how)


@pytest.mark.full
def test_forked_kernels_share_what_is_imported_but_neither_widgets_nor_their_environment(address):
    with listening(address):
        kernels = [Kernel(address, NMTLAB_SOME=str(number)) for number in range(2)]
        processes = [kernel.process() for kernel in kernels]
        assert processes[0].ppid() == processes[1].ppid() != os.getpid()
        for number, kernel in enumerate(kernels):
            assert kernel.ask("__import__('os').environ['NMTLAB_SOME']") == str(number)
            assert kernel.ask("'nmtlab.dashboards.pages.attention' in __import__('sys').modules") == "True"
            # a browser asks there for the state of all widgets at once
            assert kernel.ask("'jupyter.widget.control' in __import__('comm').get_comm_manager().targets") == "True"
            assert kernel.ask("len(__import__('sys').modules['ipywidgets.widgets.widget']._instances)") == "0"
        kernels[0].end()
        kernels[1].end(now=True)
        eventually(lambda: [process.is_running() for process in processes], [False, False])


@pytest.mark.full
def test_kernels_end_with_the_process_that_they_are_forked_from(address):
    with listening(address):
        kernel = Kernel(address)
        process = kernel.process()
    eventually(lambda: process.is_running() and process.status() != psutil.STATUS_ZOMBIE, False)
    kernel.end(now=True)


def test_where_nothing_can_be_forked_a_kernel_is_an_ordinary_one(address):
    kernel = Kernel(address)
    assert kernel.process().ppid() == os.getpid()
    assert kernel.ask("'torch' in __import__('sys').modules") == "False"
    kernel.end(now=True)


def test_a_kernel_whose_fork_fails_is_an_ordinary_one(address):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        Thread(target=lambda: listener.accept()[0].close()).start()
        kernel = Kernel(address)
    assert kernel.process().ppid() == os.getpid()
    kernel.end(now=True)


def test_a_kernel_whose_fork_takes_long_becomes_an_ordinary_one(address, monkeypatch):
    monkeypatch.setattr(kernels_module, "_PATIENCE", 0.1)
    become = Mock()
    monkeypatch.setattr(os, "execv", become)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()  # and accept nothing
        launch(str(address), "file.json")
    assert become.call_args.args[1][-1] == "file.json"


@pytest.mark.full
def test_the_kernel_of_a_page_is_shut_down_if_no_browser_connects_to_it(monkeypatch):
    monkeypatch.setattr(culling, "_UNCLAIMED", 0.1)

    async def main() -> tuple[bool, ...]:
        kernels = Kernels()
        unclaimed, gone, claimed, preheated = [await kernels.start_kernel() for _ in range(4)]
        kernels.notify_connect(claimed)
        for kernel in (unclaimed, claimed):
            kernels.notify_sent(kernel, received=True)
        kernels.notify_sent(gone, received=False)
        for _ in range(600):
            await asyncio.sleep(0.1)
            if unclaimed not in kernels and gone not in kernels:
                break
        there = tuple(kernel in kernels for kernel in (unclaimed, gone, claimed, preheated))
        await kernels.shutdown_all()
        return there

    assert asyncio.run(main()) == (False, False, True, True)


def test_a_page_beyond_the_limit_is_refused_and_one_within_it_knows_whether_its_kernel_has_ended():
    async def main() -> None:
        kernels = Kernels(most=1)
        first, second = Request(kernels), Request(kernels)
        assert not await first.has_ended()
        starting = asyncio.ensure_future(first.start_kernel())
        await asyncio.sleep(0)
        with pytest.raises(HTTPError, match="1 pages are open"):  # before the first has started
            await second.start_kernel()
        await starting
        with pytest.raises(HTTPError, match="1 pages are open"):
            await second.get_rendered_notebook()
        assert not await first.has_ended()
        await kernels.shutdown_kernel(first.kernel_id)
        assert await first.has_ended()

    asyncio.run(main())


def test_a_page_does_not_wait_for_a_preheated_kernel_that_is_yet_to_be_started():
    async def main() -> list[int]:
        kernels = Kernels()
        ready, waiting = (asyncio.ensure_future(asyncio.sleep(seconds)) for seconds in (0, 60))
        await ready
        kernels._pools = {"norms.ipynb": [ready, waiting], "tables.ipynb": [waiting]}  # as Voilà's subclass has them
        sizes = [Request(kernels).get_pool_size(name) for name in ("norms.ipynb", "tables.ipynb", "index.ipynb")]
        waiting.cancel()
        return sizes

    assert asyncio.run(main()) == [1, 0, 0]


def test_the_kernel_of_a_closed_tab_is_shut_down_and_that_of_an_open_one_is_not(monkeypatch):
    monkeypatch.setattr(culling, "_LEFT", 0.1)

    async def main() -> tuple[bool, bool]:
        kernels = Kernels()
        left, kept = [await kernels.start_kernel() for _ in range(2)]
        for kernel in (left, kept):
            kernels.notify_connect(kernel)
            kernels.notify_disconnect(kernel)
        kernels.notify_connect(kept)  # as after a moment without a network
        for _ in range(600):
            await asyncio.sleep(0.1)
            if left not in kernels:
                break
        there = (left in kernels, kept in kernels)
        await kernels.shutdown_all()
        return there

    assert asyncio.run(main()) == (False, True)
