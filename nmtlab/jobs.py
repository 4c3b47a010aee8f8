"""Long-running commands as processes that outlive the page or notebook that started them.

A job is a folder: `job.json` describes the command, `log` has its output, and `lock` is locked while the job is alive,
even if the process that started it ends.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from nmtlab.errors import NmtlabError
from nmtlab.files import write_text
from nmtlab.locks import is_locked, lock

_MAX_BYTES = 256 << 10
"""Bytes to read from the end of a log: without a terminal, a progress bar is one long line."""

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, moves of the cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"  # any other escape
    r"|[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]"
)
_LOCK = "lock"
_ERROR_PREFIX = "nmtlab: "
_TRACEBACK = "Traceback (most recent call last):"


@dataclass(frozen=True)
class Job:
    """A command that was started in a folder.

    Its exit status is unknown, because no process may have waited for it: `last_error` has its error message, and the
    status of a training is that of its run.

    Args:
        folder: its folder.
        command: program and arguments.
        pid: of its process, which leads a new session.
        started: start time, UTC.
        log_start: bytes already in the log when it started, from earlier jobs in the folder.
    """

    folder: Path
    command: tuple[str, ...]
    pid: int
    started: datetime
    log_start: int
    _process: subprocess.Popen | None = field(default=None, repr=False, compare=False)

    @classmethod
    def start(cls, folder: Path, command: Sequence[str]) -> "Job":
        """Start a command in a folder, which is created if missing, and append its output to the log there.

        Args:
            folder: for this job alone; it may hold an earlier job that has ended.
            command: program and arguments; it inherits the environment and working directory, and gets no input.

        Raises:
            NmtlabError: a job is running there, or the command cannot be started.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder) as held, (folder / "log").open("ab") as log:
                (folder / "job.json").unlink(missing_ok=True)  # its pid may have been reused by now
                return cls._started(folder, command, held, log.fileno(), log.tell())
        except (OSError, ValueError) as error:
            where = getattr(error, "filename", None) or " ".join(command[:1])
            reason = getattr(error, "strerror", None) or error
            raise NmtlabError(
                f"job {folder.name!r}: cannot be started: {os.fsdecode(where)!r}: {reason}",
                "fix that and start it again",
            ) from error

    @classmethod
    def _started(cls, folder: Path, command: Sequence[str], held: TextIO, log: int, log_start: int) -> "Job":
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[held.fileno()],  # the lock is released when the last process that holds it ends
            env={**os.environ, "PYTHONUNBUFFERED": "1"},  # otherwise the log lags behind
        )
        job = cls(folder, tuple(command), process.pid, datetime.now(UTC), log_start, process)
        facts = {
            "command": job.command,
            "pid": job.pid,
            "started": job.started.isoformat(),
            "log_start": job.log_start,
        }
        try:
            write_text(folder / "job.json", json.dumps(facts, indent=1) + "\n")
        except OSError:  # without job.json it could not be found again
            process.kill()
            process.wait()
            raise
        return job

    @classmethod
    def open(cls, folder: Path) -> "Job":
        """Return the job that was last started in a folder.

        Raises:
            NmtlabError: there is no job, or its job.json is damaged.
        """
        path = folder / "job.json"
        try:
            return cls(folder, **_facts(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise NmtlabError(
                f"job {folder.name!r}: job.json is missing or damaged", "start it again, or remove its folder"
            ) from error

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def alive(self) -> bool:
        """Whether its command, or a process that the command forked, is still running."""
        # poll reaps it, so that it does not remain a zombie; where the disk has no locks, it alone knows
        running = self._process is not None and self._process.poll() is None
        return (running or is_locked(self.folder / _LOCK)) and self._is_latest()

    def stop(self) -> None:
        """Ask it to end, and return at once; does nothing if it has ended.

        `nmtlab train` and `nmtlab reproduce` then save what they need to resume, as on Ctrl-C; on a second request
        they end without saving.
        """
        # Not SIGINT: a notebook's kernel ignores it, and so do the processes it starts. Only the command's main process
        # gets the signal, because stopping the workers is its task.
        self._signal(os.kill, signal.SIGTERM)

    def kill(self) -> None:
        """Kill it and the processes it started; does nothing if it has ended.

        A training can then be resumed from its last checkpoint.
        """
        self._signal(os.killpg, signal.SIGKILL)

    def tail(self, lines: int = 20) -> str:
        """Return the last lines of its output.

        Args:
            lines: how many at most, 1 or more; a progress bar counts as one line, in its last state.

        Returns:
            Plain text without control sequences or trailing blank lines.
        """
        return "\n".join(self._log()[-lines:])

    @property
    def last_error(self) -> str | None:
        """The error message it ended with; None if it is alive or ended without one, as when killed."""
        if self.alive:
            return None
        lines = self._log()
        if lines and lines[-1].startswith(_ERROR_PREFIX):
            return lines[-1].removeprefix(_ERROR_PREFIX)
        return lines[-1] if _TRACEBACK in lines else None

    def _is_latest(self) -> bool:
        with suppress(NmtlabError):
            return Job.open(self.folder) == self
        return False

    def _signal(self, send: Callable[[int, int], None], number: signal.Signals) -> None:
        if self.alive:
            with suppress(ProcessLookupError):
                send(self.pid, number)

    def _log(self) -> list[str]:
        """Return the end of its output as lines of plain text."""
        path = self.folder / "log"
        if not path.exists():
            return []
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(self.log_start, size - _MAX_BYTES)
            file.seek(start)
            raw = file.read()
        lines = [_plain(line) for line in raw.decode("utf-8", errors="replace").split("\n")]
        if start > self.log_start and len(lines) > 1:
            lines = lines[1:]  # the first is incomplete
        while lines and not lines[-1]:
            lines.pop()
        return lines


def list_jobs(parent: Path) -> tuple[list[Job], list[str]]:
    """Return the jobs in the subfolders of `parent`, newest first, and the names of subfolders without a valid job."""
    jobs, damaged = [], []
    for folder in sorted(folder for folder in parent.glob("[!.]*") if folder.is_dir()):
        try:
            jobs.append(Job.open(folder))
        except NmtlabError:
            damaged.append(folder.name)
    return sorted(jobs, key=lambda job: job.started, reverse=True), damaged


def _facts(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the content of job.json as arguments of `Job`; ValueError, TypeError or KeyError if it is invalid."""
    command, pid, log_start = stored["command"], stored["pid"], stored["log_start"]
    words = type(command) is list and all(type(word) is str for word in command)
    numbers = type(pid) is int and type(log_start) is int
    # a signal to a pid of 1 or less may reach many processes
    if not (words and numbers and 1 < pid < 1 << 31 and log_start >= 0):
        raise ValueError(stored)
    started = datetime.fromisoformat(stored["started"]).astimezone(UTC)
    return {"command": tuple(command), "pid": pid, "started": started, "log_start": log_start}


def _locked(folder: Path) -> TextIO:
    """Return the folder's lock, open and locked."""
    held = lock(folder / _LOCK)
    if held is None:
        raise NmtlabError(f"job {folder.name!r}: already running", "stop it, wait for it to end, or use another folder")
    return held


def _plain(line: str) -> str:
    """Return a line in the final state a terminal would show: the text after the last carriage return."""
    states = [state.rstrip() for state in _CONTROL.sub("", line).split("\r")]
    return next((state for state in reversed(states) if state), "")
