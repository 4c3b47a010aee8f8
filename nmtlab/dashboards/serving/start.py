"""The start page, answered without a kernel: another process makes its content, which is kept until it is old."""

import asyncio
import json
import os
from pathlib import Path
from subprocess import PIPE

from tornado import web
from voila.handler import BaseVoilaHandler

from nmtlab.dashboards.frame.headings import headings
from nmtlab.dashboards.serving.kernels import CONTENT, FORKED, python
from nmtlab.runs.index import changes
from nmtlab.runs.kept import read_kept, trace, write_kept
from nmtlab.workspace import PUBLISHED, RESULTS, Workspace

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
        self._file = workspace.cache / "start.json"
        self._making = asyncio.Lock()
        self._kept: tuple[object, str] = None, ""

    async def content(self) -> str:
        """Return the content, or that it could not be made."""
        async with self._making:
            shown = self._shown()
            if self._kept[0] != shown or not self._kept[1]:
                self._kept = shown, self._stored(shown) or await self._made(shown)
            return self._kept[1] or _FAILED

    def _shown(self) -> dict[str, object]:
        """Return what differs once results, claims or runs have changed."""
        files = {path.name: trace([path]) for folder in (RESULTS, PUBLISHED) for path in (folder, *folder.glob("*"))}
        return {"files": files, "runs": changes(self._workspace)}

    def _stored(self, shown: dict[str, object]) -> str:
        """Return the content that an earlier server made of the same, if nmtlab has not changed since."""
        kept = read_kept(self._file)
        return kept["content"] if kept.get("shown") == shown else ""

    async def _made(self, shown: dict[str, object]) -> str:
        try:
            content = await self._forked()
        except OSError:  # nothing can be forked here
            content = await _spawned()
        if not content.endswith(_END):  # it was cut off
            return ""
        write_kept(self._file, {"shown": shown, "content": content})
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
