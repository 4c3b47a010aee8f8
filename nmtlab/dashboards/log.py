"""The error log of the pages: a file, since nobody sees what a kernel prints."""

import logging
import os
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
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=_MAX_BYTES, backupCount=1, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        log.propagate = False
    return log
