"""The kernels of the pages: one for each page that is open, and none for long after that."""

import asyncio
from typing import Any

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado import web
from traitlets import Int

_LEFT = 5 * 60  # seconds without a connection, as of a closed tab, before a kernel is shut down
_UNCLAIMED = 60  # seconds that a browser has to connect to the kernel of a page that it was sent


class Kernels(AsyncMappingKernelManager):
    """Culls idle kernels of pages and those whose tab was closed, but not preheated ones that wait for a page."""

    most = Int(40, config=True, help="Most kernels at once, including preheated ones.")

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)
        self._connected: set[str] = set()

    def notify_connect(self, kernel_id: str) -> None:
        self._connected.add(kernel_id)
        super().notify_connect(kernel_id)

    def notify_disconnect(self, kernel_id: str) -> None:
        super().notify_disconnect(kernel_id)
        asyncio.get_running_loop().call_later(_LEFT, self._cull_if_left, kernel_id)

    def notify_sent(self, kernel_id: str, received: bool) -> None:
        """Cull a kernel if no browser connects to it, now that its page is complete.

        Args:
            kernel_id: the kernel's.
            received: whether the browser was still there at the end.
        """
        asyncio.get_running_loop().call_later(_UNCLAIMED if received else 0, self._cull_if_unclaimed, kernel_id)

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        if kernel_id in self._connected:
            await super().cull_kernel_if_idle(kernel_id)

    @property
    def is_full(self) -> bool:
        """Whether no further page can have a kernel."""
        return len(self._kernels) + len(self._pending_kernels) >= self.most

    def _cull_if_left(self, kernel_id: str) -> None:
        if not self._kernel_connections.get(kernel_id):
            self._cull(kernel_id, "its page was closed")

    def _cull_if_unclaimed(self, kernel_id: str) -> None:
        if kernel_id not in self._connected:
            self._cull(kernel_id, "no browser connected to it")

    def _cull(self, kernel_id: str, why: str) -> None:
        if kernel_id in self:
            self.log.info("Shutting down kernel %s: %s", kernel_id, why)
            self._culling = asyncio.ensure_future(self.shutdown_kernel(kernel_id))


class Request:
    """The kernels as a request for one page sees them.

    Args:
        kernels: all kernels.
    """

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self.kernel_id: str | None = None
        """The kernel that the page got."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernels, name)

    async def start_kernel(self, **arguments: Any) -> str:
        """Start a kernel for the page."""
        self._refuse_if_full()
        self.kernel_id = await self._kernels.start_kernel(**arguments)
        return self.kernel_id

    async def get_rendered_notebook(self, **arguments: object) -> tuple[object, ...]:
        """Take a preheated kernel for the page."""
        self._refuse_if_full()
        rendering = self._kernels.get_rendered_notebook(**arguments)  # type: ignore[attr-defined]  # of Voilà's subclass
        *rendered, self.kernel_id = await rendering
        return *rendered, self.kernel_id

    def get_pool_size(self, notebook: str) -> int:
        """Return how many preheated kernels a page may take; for one that has not started yet, it would wait longer."""
        pool = self._kernels._pools.get(notebook, ())  # type: ignore[attr-defined]  # of Voilà's subclass
        return sum(kernel.done() for kernel in pool)

    async def has_ended(self) -> bool:
        """Return whether the page's kernel is gone, so that nothing more comes from it."""
        return self.kernel_id is not None and not (
            self.kernel_id in self._kernels and await self._kernels.get_kernel(self.kernel_id).is_alive()  # type: ignore[misc]  # an AsyncKernelManager's
        )

    def _refuse_if_full(self) -> None:
        if self._kernels.is_full:
            raise web.HTTPError(503, "%d pages are open, the most that this server runs at once", self._kernels.most)
