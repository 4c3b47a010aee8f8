"""What the server answers to a browser: a page, or why there is none."""

from collections.abc import Callable
from functools import cached_property

from tornado import web
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.routing import Matcher, Rule
from voila.handler import BaseVoilaHandler
from voila.tornado.handler import TornadoVoilaHandler

from nmtlab.dashboards.serving.culling import Request

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Host names that always refer to this machine."""

_ALL_INTERFACES = ("0.0.0.0", "::", "")

_FOREIGN_HOST = (
    "nmtlab does not answer to this host name: open the address that 'nmtlab dashboards' printed. Behind a proxy, "
    "start it with --base-url and the address that the proxy serves.\n"
)
_STRIPPED = (
    "nmtlab dashboards runs with --base-url {0}, and the path of this request does not begin with it: let the proxy "
    "pass it on.\n"
)
_CROSS_SITE = "Another web site asked for this page without opening it in a tab."
_ENDED = "The page could not be created: its process ended. Reload it, and see the output of nmtlab dashboards."


class Page(TornadoVoilaHandler):
    """A page with its kernel; only a browser that shows it in a tab, or a program, gets one."""

    @cached_property
    def kernel_manager(self) -> Request:
        return Request(self.settings["kernel_manager"])

    @web.authenticated
    async def get(self, path: str) -> None:
        if not is_opened(self.request.headers):
            raise web.HTTPError(403, _CROSS_SITE)
        try:
            async for part in self.get_generator(path=path):
                self.write(part)
                self.flush()
                if await self.kernel_manager.has_ended():
                    break
            else:
                return
        except Exception:
            if not self._headers_written:
                raise
            self.log.exception("Page %s failed", path)
        self.write(f"<script>nmtlabSay({_ENDED!r})</script>")

    def on_finish(self) -> None:
        if self.kernel_manager.kernel_id:
            received = not self.request.connection.stream.closed()
            self.settings["kernel_manager"].notify_sent(self.kernel_manager.kernel_id, received)


def is_opened(headers: HTTPHeaders) -> bool:
    """Return whether a browser asks for a page to show it in a tab, and not, say, as an image of another web site."""
    if headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return True
    return headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"


class NoPage(BaseVoilaHandler):
    """Answers that there is no such page."""

    @web.authenticated
    def get(self) -> None:
        raise web.HTTPError(404)


def refusals(ip: str, public_host: str, base_url: str) -> list[Rule]:
    """Return the rules for requests that nothing may answer.

    One is for host names other than the server's, against DNS rebinding: otherwise a web site whose name resolves to
    this machine's address could read and control the pages. The other is for paths outside the server's prefix.

    Args:
        ip: address of the interface that the server listens on; if it is all interfaces, every name is accepted, and
            the token protects the pages.
        public_host: name by which a proxy is reached; empty for none.
        base_url: prefix of all paths, with a slash at both ends.
    """
    names = {*LOCAL, ip.lower(), public_host.lower()}
    foreign = _Matching(lambda request: ip not in _ALL_INTERFACES and request.host_name.strip("[]") not in names)
    outside = _Matching(lambda request: not request.path.startswith(base_url))
    return [
        Rule(foreign, _Refused, {"status": 403, "text": _FOREIGN_HOST}),
        Rule(outside, _Refused, {"status": 404, "text": _STRIPPED.format(base_url)}),
    ]


class _Matching(Matcher):
    """Matches the requests that satisfy a condition."""

    def __init__(self, condition: Callable[[HTTPServerRequest], bool]) -> None:
        self._condition = condition

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        return {} if self._condition(request) else None


class _Refused(web.RequestHandler):
    def initialize(self, status: int, text: str) -> None:
        self._answer = status, text

    def prepare(self) -> None:
        status, text = self._answer
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(text)
