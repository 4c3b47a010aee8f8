"""A disk that is full, without filling one."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


def limit_files(size: int) -> None:
    """Let writing fail in this process once a file has this many bytes; what was there before stays."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Do so for a while. Python ignores the signal that comes with it, so that writing raises an OSError."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit_files(size)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
