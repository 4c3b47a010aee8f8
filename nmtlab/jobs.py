"""Long work in a process of its own, which outlives the page or notebook that started it.

A job is a folder: `job.json` says what was started, `log` has what it printed, and `lock` is locked for as long as it
lives, whatever becomes of who started it.
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
"""As much of the end of a log is looked at: a progress bar without a terminal is one long line."""

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, moves of the cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"  # any other escape
    r"|[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]"
)
_LOCK = "lock"
_SAYS_ERROR = "nmtlab: "
_TRACEBACK = "Traceback (most recent call last):"


@dataclass(frozen=True)
class Job:
    """A command that was started in a folder.

    How it ended is not known, as nobody may have waited for it: `last_error` is what it said, and whether a training
    came to its end its run tells.

    Args:
        folder: its folder.
        command: program and arguments.
        pid: of its process, which leads a session of its own.
        started: when.
        log_start: bytes that were in the log before, from earlier jobs in the folder.
    """

    folder: Path
    command: tuple[str, ...]
    pid: int
    started: datetime
    log_start: int
    _process: subprocess.Popen | None = field(default=None, repr=False, compare=False)

    @classmethod
    def start(cls, folder: Path, command: Sequence[str]) -> "Job":
        """Start a command in a folder, which is made; what it prints is added to the log there.

        Args:
            folder: of this job alone; one that has ended may have been in it before.
            command: program and arguments; it has this process' environment and current folder, and no input.

        Raises:
            NmtlabError: a job is alive there, or the command cannot be started.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder) as held, (folder / "log").open("ab") as log:
                (folder / "job.json").unlink(missing_ok=True)  # its pid may be another process' by now
                return cls._started(folder, command, held, log.fileno(), log.tell())
        except (OSError, ValueError) as error:
            where = getattr(error, "filename", None) or " ".join(command[:1])
            reason = getattr(error, "strerror", None) or error
            raise NmtlabError(
                f"job {folder.name!r}: cannot be started, {os.fsdecode(where)!r}: {reason}",
                "mend that and start it again",
            ) from error

    @classmethod
    def _started(cls, folder: Path, command: Sequence[str], held: TextIO, log: int, log_start: int) -> "Job":
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[held.fileno()],  # the lock is given up when the last process that has it ends
            env={**os.environ, "PYTHONUNBUFFERED": "1"},  # else the log would lag behind
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
        except OSError:  # nobody could find it again
            process.kill()
            process.wait()
            raise
        return job

    @classmethod
    def open(cls, folder: Path) -> "Job":
        """Return the job that was last started in a folder.

        Raises:
            NmtlabError: there is none, or what is noted of it is damaged.
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
        """Whether it goes on: its command, or a process that the command forked."""
        if self._process is not None:
            self._process.poll()  # let it not stay behind as a zombie
        return is_locked(self.folder / _LOCK) and self._is_latest()

    def stop(self) -> None:
        """Ask it to end, and return at once; nothing happens if it has ended.

        `nmtlab train` and `nmtlab reproduce` then save what is needed to go on, as at Ctrl-C; asked a second time,
        they end without saving.
        """
        # Not SIGINT, which a notebook's kernel ignores, and with it what it starts. To the command's own process
        # alone: it is for that one to tell its workers.
        self._signal(os.kill, signal.SIGTERM)

    def kill(self) -> None:
        """End it and the processes it started, whatever they do; nothing happens if it has ended.

        A training can then be resumed from its last checkpoint.
        """
        self._signal(os.killpg, signal.SIGKILL)

    def tail(self, lines: int = 20) -> str:
        """Return the last lines that it printed.

        Args:
            lines: how many at most, 1 or more; progress that was drawn over and over is a line, as it was last.

        Returns:
            Plain text: no colours and no other control sequences, no blank lines at its end.
        """
        return "\n".join(self._log()[-lines:])

    @property
    def last_error(self) -> str | None:
        """The sentence with which it ended badly; None if it has not ended, or without a word, as when killed."""
        if self.alive:
            return None
        lines = self._log()
        if lines and lines[-1].startswith(_SAYS_ERROR):
            return lines[-1].removeprefix(_SAYS_ERROR)
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
        """Return the end of what it printed as lines of plain text."""
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
            lines = lines[1:]  # cut off
        while lines and not lines[-1]:
            lines.pop()
        return lines


def list_jobs(parent: Path) -> tuple[list[Job], list[str]]:
    """Return the jobs whose folders are in `parent`, the newest first, and the names of folders without a whole one."""
    jobs, damaged = [], []
    for folder in sorted(folder for folder in parent.glob("[!.]*") if folder.is_dir()):
        try:
            jobs.append(Job.open(folder))
        except NmtlabError:
            damaged.append(folder.name)
    return sorted(jobs, key=lambda job: job.started, reverse=True), damaged


def _facts(noted: dict[str, Any]) -> dict[str, Any]:
    """Return what was noted of a job as arguments; ValueError, TypeError or KeyError if it cannot be."""
    command, pid, log_start = noted["command"], noted["pid"], noted["log_start"]
    words = type(command) is list and all(type(word) is str for word in command)
    numbers = type(pid) is int and type(log_start) is int
    # 0, 1 and what is below stand for more processes than one
    if not (words and numbers and 1 < pid < 1 << 31 and log_start >= 0):
        raise ValueError(noted)
    started = datetime.fromisoformat(noted["started"]).astimezone(UTC)
    return {"command": tuple(command), "pid": pid, "started": started, "log_start": log_start}


def _locked(folder: Path) -> TextIO:
    """Return the folder's lock, open and locked."""
    held = lock(folder / _LOCK)
    if held is None:
        raise NmtlabError(
            f"job {folder.name!r}: one is alive there", "stop it, wait for its end, or use another folder"
        )
    return held


def _plain(line: str) -> str:
    """Return a line as a terminal would show it in the end: what follows the last carriage return."""
    states = [state.rstrip() for state in _CONTROL.sub("", line).split("\r")]
    return next((state for state in reversed(states) if state), "")
