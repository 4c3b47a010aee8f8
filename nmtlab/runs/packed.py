"""Packed runs, found by name: in `data/evidence` an archive each; in an older `data/gallery` also folders and bundles.

A bundle is an archive of several runs, rewritten whenever one was added. An archive of one run is written once.
"""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from nmtlab.errors import CorpusError, NmtlabError, RunError, noting
from nmtlab.reading import parsed
from nmtlab.runs.archive import ENDING, archives, read_archive, read_first
from nmtlab.runs.environment import provenance
from nmtlab.runs.pack import check_files, write_files
from nmtlab.runs.run import ENVIRONMENT, Run
from nmtlab.runs.schemas import Environment
from nmtlab.runs.vocabularies import complete
from nmtlab.text.corpora.lines import new_folder
from nmtlab.workspace import EVIDENCE, Workspace

LEFT_OUT = "left_out.txt"
"""Lists the runs of the evidence that a wheel does not contain."""


def open_packed(name: str, workspace: Workspace) -> Run | None:
    """Return the packed run `name` that a workspace shows; None if there is none.

    Raises:
        RunError: its archive, or a bundle, is damaged.
    """
    archive = archives(workspace.evidence / "runs").get(name)
    if archive:
        return packed_run(name, archive, workspace)
    if (workspace.gallery / name).is_dir():
        return _run(workspace.gallery / name, workspace)
    for bundle in archives(workspace.gallery).values():
        if name in (folders := opened(bundle, workspace.cache)):
            return _run(folders[name], workspace)
    return None


def packed_run(name: str, place: Path, workspace: Workspace) -> Run:
    """Return a packed run of a workspace by its name and where it is: a folder, or an archive with it.

    Raises:
        RunError: the archive is damaged, or has no such run.
    """
    if place.is_dir():
        return _run(place, workspace)
    if name not in (folders := opened(place, workspace.cache)):
        raise RunError(f"{place}: contains no run {name!r}", f"rename it: it contains {', '.join(folders)}")
    return _run(folders[name], workspace)


def open_evidence(name: str, workspace: Workspace) -> Run | None:
    """Return the run `name` of the evidence that comes with nmtlab, shown by the workspace or not; None if none is.

    Raises:
        RunError: its archive is damaged.
    """
    archive = archives(EVIDENCE / "runs").get(name)
    return packed_run(name, archive, workspace) if archive else None


def packed_runs(workspace: Workspace) -> tuple[dict[str, Run], dict[str, str]]:
    """Return the packed runs that a workspace shows, by name, and what cannot be opened: name -> what is wrong."""
    found: dict[str, Path] = {}
    broken: dict[str, str] = {}
    for archive in (*archives(workspace.evidence / "runs").values(), *archives(workspace.gallery).values()):
        with noting(broken, archive.name):
            found = opened(archive, workspace.cache) | found
    folders = {folder.name: folder for folder in workspace.gallery.glob("[!.]*") if folder.is_dir()}
    evidence = archives(workspace.evidence / "runs").keys()
    found |= {name: folder for name, folder in folders.items() if name not in evidence}
    runs: dict[str, Run] = {}
    for name in sorted(found):
        with noting(broken, name):
            runs[name] = _run(found[name], workspace)
    return runs, broken


def packed_names(workspace: Workspace) -> set[str]:
    """Return the names of the packed runs that a workspace shows, without opening the archives of single runs."""
    names = {folder.name for folder in workspace.gallery.glob("[!.]*") if folder.is_dir()}
    for bundle in archives(workspace.gallery).values():
        with noting({}, bundle.name):
            names |= opened(bundle, workspace.cache).keys()
    return names | archives(workspace.evidence / "runs").keys()


def packed_machines(workspace: Workspace) -> set[tuple[str, str]]:
    """Return the name and the kind of machine of each packed run that a workspace shows; empty if it is unreadable."""
    folders = [folder for folder in workspace.gallery.glob("[!.]*") if folder.is_dir()]
    for bundle in archives(workspace.gallery).values():
        with noting({}, bundle.name):
            folders += opened(bundle, workspace.cache).values()
    found = {(folder.name, machine_of(folder)) for folder in folders}
    return found | machines_in(workspace.evidence / "runs")


def machines_in(folder: Path) -> set[tuple[str, str]]:
    """Return the name and the kind of machine of each archive in a folder of the evidence, and what a wheel left out.

    The machine is as `provenance` names it; it is empty for a run that is unreadable or left out.
    """
    found = {(name, machine_of(archive)) for name, archive in archives(folder).items()}
    listed = folder / LEFT_OUT
    return found | ({(name, "") for name in listed.read_text("utf-8").split()} if listed.is_file() else set())


def opened(archive: Path, cache: Path) -> dict[str, Path]:
    """Return the folders of the runs in an archive, by name; they are made when they are first asked for.

    Args:
        archive: of one run, or a bundle; it may come from an untrusted source, and nothing in it is executed.
        cache: where to make the folders.

    Raises:
        RunError: it is damaged, contains something else than packed runs, or its vocabulary is missing.
    """
    stat, name = archive.stat(), archive.name.removesuffix(ENDING)
    folder = cache / "packed" / f"{name}-{_digest(archive, stat.st_mtime_ns, stat.st_size)[:12]}"
    if not folder.is_dir():
        _unpack(archive, folder)
    return dict(_folders(folder, folder.stat().st_mtime_ns))


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


def _run(folder: Path, workspace: Workspace) -> Run:
    """Return a packed run; whatever is measured on it later is stored in the cache."""
    return Run(folder, workspace.cache / "gallery")


@lru_cache(maxsize=4096)
def _folders(folder: Path, changed: int) -> dict[str, Path]:
    """Return the folders in a folder by name, cached until its time of modification differs."""
    return {path.name: path for path in sorted(folder.iterdir())}


def _unpack(archive: Path, folder: Path) -> None:
    runs = read_archive(archive)
    for files in runs.values():
        check_files(files, archive)
    try:
        with new_folder(folder) as unfinished:
            for name, files in runs.items():
                write_files(unfinished / name, complete(archive, files))
    except CorpusError:
        if not folder.is_dir():  # else another process unpacked the same bytes first
            raise


@lru_cache(maxsize=4096)
def _digest(file: Path, changed: int, size: int) -> str:
    """Return the digest of a file, cached until its time of modification or its size differs."""
    return sha256(file.read_bytes()).hexdigest()
