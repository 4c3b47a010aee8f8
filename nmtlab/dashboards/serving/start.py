"""The start page, answered without a kernel: another process makes its content, which is kept until it is old."""

import asyncio
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

from tornado import web
from voila.handler import BaseVoilaHandler

from nmtlab.dashboards.frame.headings import headings
from nmtlab.dashboards.serving.kernels import CONTENT, FORKED, python
from nmtlab.errors import NmtlabError
from nmtlab.files import write_text
from nmtlab.runs.index import changes
from nmtlab.workspace import PUBLISHED, RESULTS, Workspace

_CODE = Path(__file__).parents[2]
_KINDS = (".py", ".js", ".css", ".toml")
_HERE = "<!-- content -->"
_END = "</script>"
_FAILED = "<p role='alert'>What was found cannot be shown: see the output of nmtlab dashboards.</p>"


class StartPage:
    """The content of the start page, made when it is first asked for, and again once what it shows has changed.

    Args:
        workspace: whose runs it links to; the content is kept in its cache.
        socket: of the process that kernels are forked from, which makes the content.
    """

    def __init__(self, workspace: Workspace, socket: Path) -> None:
        self._workspace, self._socket = workspace, socket
        self._file = workspace.cache / "start.html"
        self._making = asyncio.Lock()
        self._code = [*_traced(path for path in sorted(_CODE.rglob("*")) if path.suffix in _KINDS)]
        self._kept = "", ""

    async def content(self) -> str:
        """Return the content, or that it could not be made."""
        async with self._making:
            version = self._version()
            if self._kept[0] != version or not self._kept[1]:
                self._kept = version, self._stored(version) or await self._made(version)
            return self._kept[1] or _FAILED

    def _version(self) -> str:
        """Return what differs once results, claims, runs or nmtlab have changed."""
        data = self._workspace
        files = (path for folder in (RESULTS, PUBLISHED) for path in (folder, *sorted(folder.glob("*"))))
        traces = [*self._code, *_traced(files), changes(data)]
        return hashlib.sha256(json.dumps(traces).encode()).hexdigest()

    def _stored(self, version: str) -> str:
        """Return the content that an earlier server made, if it is still of this version."""
        try:
            kept, content = self._file.read_text(encoding="utf-8").split("\n", 1)
        except (OSError, ValueError):
            return ""
        return content if kept == f"<!-- {version} -->" and content.endswith(_END) else ""

    async def _made(self, version: str) -> str:
        try:
            content = await self._forked()
        except OSError:  # nothing can be forked here
            content = await _spawned()
        if not content.endswith(_END):  # it was cut off
            return ""
        with suppress(OSError, NmtlabError):  # the workspace cannot be written to
            write_text(self._file, f"<!-- {version} -->\n{content}")
        return content

    async def _forked(self) -> str:
        """Return the content from a fork of the process that has already read everything."""
        if not hasattr(asyncio, "open_unix_connection"):
            raise ConnectionError
        reader, writer = await asyncio.open_unix_connection(self._socket)
        request = {"environment": dict(os.environ), "folder": os.getcwd(), "file": CONTENT}
        writer.write(json.dumps(request).encode() + b"\n")
        forked, content = await reader.read(1), await reader.read()
        writer.close()
        if forked != FORKED:
            raise ConnectionError
        return content.decode(errors="replace")


async def _spawned() -> str:
    process = await asyncio.create_subprocess_exec(*python("print_content"), stdout=PIPE)
    content, _ = await process.communicate()
    return content.decode(errors="replace")


def _traced(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    """Yield the name, size and time of change of each path that is there."""
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            continue
        yield path.name, found.st_size, found.st_mtime_ns


class Start(BaseVoilaHandler):
    """Sends the start page: its head at once, then its content."""

    def initialize(self, start: StartPage, **arguments: object) -> None:
        super().initialize(**arguments)
        self._start = start

    @web.authenticated
    async def get(self) -> None:
        page = self.render_template("start.html", pages=[page._asdict() for page in headings()])
        before, after = page.split(_HERE)
        self.write(before)
        await self.flush()
        self.finish(await self._start.content() + after)
