"""The error log of the pages: a file, since nobody sees what a kernel prints."""

import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

VARIABLE = "NMTLAB_LOG"
"""Environment variable with the path of the log file; unset, as in a notebook, logging is not configured."""

_MAX_BYTES = 1 << 20


def page_log() -> logging.Logger:
    """Return the logger of the pages."""
    log = logging.getLogger("nmtlab.dashboards")
    file = os.environ.get(VARIABLE)
    if file and not log.handlers:
        handler = _LogFile(file, maxBytes=_MAX_BYTES, backupCount=1, encoding="utf-8", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        log.propagate = False
    return log


class _LogFile(RotatingFileHandler):
    """A file that is made for the first error; a disk that is full or read-only loses errors, but stops no page."""

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        pass
