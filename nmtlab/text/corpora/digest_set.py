"""A set of digests that may be larger than memory."""

import sqlite3
from types import TracebackType

from nmtlab.errors import CorpusError

_CACHE_KIB = 64 << 10  # held in memory; the rest is in a private file in the system's temporary folder


class Marks:
    """A set of digests of equal size, as a context manager that discards them at its end."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for command in (
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            f"PRAGMA cache_size = -{_CACHE_KIB}",
            "CREATE TABLE marks (mark BLOB PRIMARY KEY) WITHOUT ROWID",
            "BEGIN",
        ):
            self._database.execute(command)

    def add(self, mark: bytes) -> bool:
        """Add a digest and return whether it is new.

        Raises:
            CorpusError: the disk with the temporary files is full.
        """
        try:
            return self._database.execute("INSERT OR IGNORE INTO marks VALUES (?)", (mark,)).rowcount == 1
        except sqlite3.OperationalError as error:
            raise CorpusError(
                f"temporary folder: {error}", "free some space, or set SQLITE_TMPDIR to another folder"
            ) from error

    def __len__(self) -> int:
        return self._database.execute("SELECT COUNT(*) FROM marks").fetchone()[0]

    def smallest(self, rank: int) -> bytes:
        """Return the `rank`-th smallest digest, from 1."""
        return self._database.execute("SELECT mark FROM marks ORDER BY mark LIMIT 1 OFFSET ?", (rank - 1,)).fetchone()[
            0
        ]

    def __enter__(self) -> "Marks":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._database.close()
