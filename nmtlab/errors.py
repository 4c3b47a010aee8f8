"""Errors that a user can act on, each with what is wrong and what to do."""

import difflib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

DISTRIBUTION = "nmtlab-workbench"
"""nmtlab's name on the package index, where `nmtlab` is another project."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_LONG_WORD = re.compile(r"\S{241,}")
_LONGEST_WORD, _LONGEST_TEXT = 240, 1000
"""Most characters of a word, and of a problem or remedy: quoted input may be as long as a file."""

_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EACCES: "check the permissions",
    errno.EPERM: "check the permissions",
    errno.EROFS: "choose a writable location",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "choose another path",
    errno.EISDIR: "choose another path",
    errno.EEXIST: "choose another path",
    errno.ENOTEMPTY: "choose another path",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.EBADF: "leave it open, or name a file",
}

_NO_MEMORY = re.compile(
    "out of memory|DefaultCPUAllocator|Storage size calculation overflowed|std::bad_alloc|could not create a primitive"
)  # the last is oneDNN's, which found no room for a kernel
_AMOUNT = re.compile(r"allocate (\d+(?:\.\d+)? (?:bytes|[KMGTPE]iB))")
_NO_THREADS = "Resource temporarily unavailable"


class NmtlabError(Exception):
    """A problem that the user can fix, as one line: where, what is wrong, and what to do.

    Args:
        problem: what is wrong, naming the file, line or field.
        remedy: what to do about it.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem, self.remedy = _shortened(problem), _shortened(remedy)
        super().__init__(f"{self.problem}; {self.remedy}")

    def __reduce__(self) -> tuple[type["NmtlabError"], tuple[str, str]]:
        return type(self), (self.problem, self.remedy)  # the default passes the joined message to __init__


class RecipeError(NmtlabError):
    """A recipe or field that does not exist, or a value that is not allowed."""


class CorpusError(NmtlabError):
    """Text that cannot be used: missing, not aligned, not UTF-8, empty, overlapping."""


class RunError(NmtlabError):
    """A run that is missing, incomplete, damaged, in use, or whose name is taken or not allowed."""


@contextmanager
def noting(broken: dict[str, str], name: str) -> Iterator[None]:
    """Do something with files, and note under a name what is wrong with them and what to do, if anything is."""
    try:
        yield
    except NmtlabError as error:
        broken[name] = str(error)
    except OSError as error:
        broken[name] = error.strerror or str(error)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'NAME'? ` with the known name that is most like `name`; nothing if none is."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def missing_package(package: str) -> NmtlabError:
    """Return the error that a library, by its name on the package index, is not installed, with what installs it."""
    return NmtlabError(f"{package} is not installed", how_to_install(package))


def how_to_install(*packages: str) -> str:
    """Return the command that installs libraries in versions that nmtlab accepts: `pip install 'ray>=2.40'`."""
    return f"pip install {' '.join(repr(_requirement(package)) for package in packages)}"


def _requirement(package: str) -> str:
    """Return a library with the versions that pyproject.toml accepts; without them if nmtlab is not installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = [line.partition(";")[0].strip() for line in requires(DISTRIBUTION) or []]
    except PackageNotFoundError:
        return package
    return next((line for line in declared if re.split(r"[^\w.-]", line)[0] == package), package)


def printable(text: str) -> str:
    """Return text with � for each character that could move a terminal's cursor, end the line or turn its direction."""
    return _CONTROL.sub("�", text)


def error_of_the_machine(error: Exception) -> NmtlabError | None:
    """Return an error of disk, memory or threads as an `NmtlabError` with a remedy; None for any other error."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return _no_memory(text)
    if isinstance(error, OSError):
        where = error.filename or ("standard input" if error.errno == errno.EBADF else "a file or standard output")
        where = os.fsdecode(where) if isinstance(where, str | bytes) else where
        remedy = _REMEDIES.get(error.errno or 0, "check it, and the space on its disk")
        return NmtlabError(f"{where}: {error.strerror or text or type(error).__name__}", remedy)
    if isinstance(error, RuntimeError) and _NO_MEMORY.search(text):
        return _no_memory(text)
    if isinstance(error, RuntimeError) and _NO_THREADS in text:
        return NmtlabError("no more threads can be started", "lower --threads (machine.threads)")
    return None


def _no_memory(text: str) -> NmtlabError:
    amount = _AMOUNT.search(text)
    memory = "GPU memory" if "CUDA" in text else "memory"
    needed = f", {_in_gib(amount[1])} more needed" if amount else ""
    return NmtlabError(
        f"out of {memory}{needed}",
        "reduce training.batch_tokens, search.batch_tokens, the beam, --samples or the model's size",
    )


def _in_gib(amount: str) -> str:
    number, unit = amount.split()
    return f"{int(number) / 2**30:,.1f} GiB" if unit == "bytes" else amount


def _shortened(text: str) -> str:
    """Return printable `text` with overlong words, and the text itself if overlong, cut in the middle."""
    return _cut(_LONG_WORD.sub(lambda word: _cut(word[0], _LONGEST_WORD), printable(text)), _LONGEST_TEXT)


def _cut(text: str, longest: int) -> str:
    half = (longest - 3) // 2
    return text if len(text) <= longest else f"{text[:half]}...{text[-half:]}"
