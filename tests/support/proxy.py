"""A reverse proxy that passes on what it gets as it is, except for what a test wants changed."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread


@contextmanager
def proxy(target: int, change: tuple[bytes, bytes] = (b"", b"")) -> Iterator[int]:
    """Serve another port of this machine, and return the proxy's.

    Args:
        target: the port that it passes requests on to.
        change: bytes of what a browser sends, and what it passes on instead.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=_accept, args=[listener, target, change], daemon=True).start()
        yield listener.getsockname()[1]


def _accept(listener: socket.socket, target: int, change: tuple[bytes, bytes]) -> None:
    while True:
        try:
            browser, _ = listener.accept()
        except OSError:  # the test has ended
            return
        server = socket.create_connection(("127.0.0.1", target))
        Thread(target=_pass_on, args=[browser, server, change], daemon=True).start()
        Thread(target=_pass_on, args=[server, browser, (b"", b"")], daemon=True).start()


def _pass_on(sender: socket.socket, receiver: socket.socket, change: tuple[bytes, bytes]) -> None:
    old, new = change
    try:
        while sent := sender.recv(1 << 16):
            receiver.sendall(sent.replace(old, new) if old else sent)
        receiver.shutdown(socket.SHUT_WR)
    except OSError:
        pass
