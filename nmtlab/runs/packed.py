"""Packed runs of the evidence: an archive each, which is written once."""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from nmtlab.errors import CorpusError, NmtlabError, RunError, noting
from nmtlab.reading import parsed
from nmtlab.runs.archive import ENDING, archives, read_archive, read_first
from nmtlab.runs.environment import provenance
from nmtlab.runs.inherited_weights import with_inherited
from nmtlab.runs.pack import check_files, write_files
from nmtlab.runs.run import ENVIRONMENT, Run
from nmtlab.runs.schemas import Environment
from nmtlab.runs.vocabularies import complete
from nmtlab.text.corpora.lines import new_folder
from nmtlab.workspace import EVIDENCE, Workspace

LEFT_OUT = "left_out.txt"
"""Lists the runs of the evidence that a wheel does not contain."""
_PACKED = "packed"  # where archives are opened, in the cache


def packed_archives(workspace: Workspace) -> dict[str, Path]:
    """Return the archives of the packed runs that a workspace shows, by the runs' names."""
    return archives(workspace.evidence / "runs")


def open_packed(name: str, workspace: Workspace) -> Run | None:
    """Return the packed run `name` that a workspace shows; None if there is none.

    Raises:
        RunError: its archive is damaged.
    """
    archive = packed_archives(workspace).get(name)
    return packed_run(archive, workspace) if archive else None


def open_evidence(name: str, workspace: Workspace) -> Run | None:
    """Return the run `name` of the evidence that comes with nmtlab, shown by the workspace or not; None if none is.

    Raises:
        RunError: its archive is damaged.
    """
    archive = archives(EVIDENCE / "runs").get(name)
    return packed_run(archive, workspace) if archive else None


def packed_runs(workspace: Workspace) -> tuple[dict[str, Run], dict[str, str]]:
    """Return the packed runs that a workspace shows, by name, and what cannot be opened: file -> what is wrong."""
    runs: dict[str, Run] = {}
    broken: dict[str, str] = {}
    for name, archive in packed_archives(workspace).items():
        with noting(broken, archive.name):
            runs[name] = packed_run(archive, workspace)
    return runs, broken


def packed_run(archive: Path, workspace: Workspace) -> Run:
    """Return the run in an archive; whatever is measured on it later is stored in the workspace's cache.

    Raises:
        RunError: the archive is damaged, or its run has another name.
    """
    return Run(opened(archive, workspace.cache), workspace.notes)


def workspace_of(run: Run) -> Workspace:
    """Return the workspace that a run was opened in: it is among its runs, or was unpacked into its cache."""
    runs = run.folder.parents[1]
    is_cache = (runs.parent.name, runs.name) == ("cache", _PACKED)
    return Workspace(runs.parents[1] if is_cache else runs)


def machines_in(folder: Path) -> set[tuple[str, str]]:
    """Return the name and the kind of machine of each archive in a folder of the evidence, and what a wheel left out.

    The machine is as `provenance` names it; it is empty for a run that is unreadable or left out.
    """
    found = {(name, machine_of(archive)) for name, archive in archives(folder).items()}
    listed = folder / LEFT_OUT
    return found | ({(name, "") for name in listed.read_text("utf-8").split()} if listed.is_file() else set())


def opened(archive: Path, cache: Path) -> Path:
    """Return the folder of the run in an archive; it is made when it is first asked for.

    Args:
        archive: of one run; it may come from an untrusted source, and nothing in it is executed.
        cache: where to make the folder.

    Raises:
        RunError: the archive is damaged, or contains something else than a packed run of its name; or its vocabulary
            is missing.
    """
    stat, name = archive.stat(), archive.name.removesuffix(ENDING)
    folder = cache / _PACKED / f"{name}-{_digest(archive, stat.st_mtime_ns, stat.st_size)[:12]}"
    if not folder.is_dir():
        _unpack(archive, name, folder)
    return folder / name


def machine_of(path: Path) -> str:
    """Return the kind of machine of a run, an archive or a folder; empty if it is unreadable."""
    try:
        return _machine(path.resolve(), (path if path.is_file() else path / ENVIRONMENT).stat().st_mtime_ns)
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _machine(path: Path, changed: int) -> str:
    """Return the kind of machine of a run, cached until its time of modification differs."""
    try:
        read = read_first(path, ENVIRONMENT) if path.is_file() else (path / ENVIRONMENT).read_bytes()
        return provenance(parsed(read, Environment))["machine"]
    except (NmtlabError, ValueError, RecursionError):
        return ""


def _unpack(archive: Path, name: str, folder: Path) -> None:
    runs = read_archive(archive)
    if list(runs) != [name]:
        raise RunError(f"{archive}: contains no run {name!r}", f"rename it: it contains {', '.join(runs)}")
    check_files(runs[name], archive)
    try:
        with new_folder(folder) as unfinished:
            write_files(unfinished / name, with_inherited(archive, complete(archive, runs[name])))
    except CorpusError:
        if not folder.is_dir():  # else another process unpacked the same bytes first
            raise


@lru_cache(maxsize=4096)
def _digest(file: Path, changed: int, size: int) -> str:
    """Return the digest of a file, cached until its time of modification or its size differs."""
    return sha256(file.read_bytes()).hexdigest()
