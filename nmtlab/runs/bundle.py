"""The runs of a table, packed small in one file that opens like the folders of the gallery.

A bundle has every seed of every system, about 15 kB each: runs of one text have the same vocabulary, and compressed
together they share it. What takes most of a packed run is left out: the model, the norms of gradients and of words, and
large answers.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from nmtlab.errors import CorpusError
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.migrate import migrate_section
from nmtlab.runs.archive import ENDING, read_archive, write_archive
from nmtlab.runs.log import round_log
from nmtlab.runs.pack import check_files, copy_into, describe, write_files
from nmtlab.runs.run import G_VALUES, METRICS, Run
from nmtlab.text.lines import new_folder

_MAX_ANSWER = 10 << 10  # bytes


def bundle(runs: Iterable[Run], target: Path) -> None:
    """Pack runs into one file, replacing an earlier one.

    Each has its recipe, environment and vocabulary; the log of its training, with numbers of four digits except at
    evaluations; g; its translations of dev and test with its recipe's search settings; and answers of at most 10 KiB.

    Args:
        runs: any runs, packed ones included.
        target: ends in `.tar.xz`.

    Raises:
        RunError: a run is damaged.
    """
    with TemporaryDirectory() as temporary:
        for run in runs:
            folder = Path(temporary) / run.name
            folder.mkdir()
            _fill(folder, run)
        write_archive(Path(temporary).iterdir(), target)


def bundles(gallery: Path) -> list[Path]:
    """Return the bundles in a gallery, by name."""
    return sorted(gallery.glob(f"[!.]*{ENDING}"))


def bundled_runs(files: Iterable[Path], cache: Path) -> dict[str, Path]:
    """Return the folders of all runs in some bundles, by name; of two with one name, the first.

    Raises:
        RunError: a bundle is damaged.
    """
    found: dict[str, Path] = {}
    for file in files:
        found = {**opened_bundle(file, cache), **found}
    return found


def opened_bundle(file: Path, cache: Path) -> dict[str, Path]:
    """Return the folders of the runs in a bundle, by name; they are made when they are first asked for.

    Args:
        file: written by `bundle`; it may come from an untrusted source, and nothing in it is executed.
        cache: where to make the folders.

    Raises:
        RunError: the file is damaged, or contains something else than packed runs.
    """
    stat = file.stat()
    digest = _digest(file, stat.st_mtime_ns, stat.st_size)
    folder = cache / "bundles" / f"{file.name.removesuffix(ENDING)}-{digest[:12]}"
    if not folder.is_dir():
        _unpack(file, folder)
    return dict(_folders(folder, folder.stat().st_mtime_ns))


@lru_cache(maxsize=256)
def _folders(folder: Path, changed: int) -> dict[str, Path]:
    """Return the folders in a folder by name, cached until its time of modification differs."""
    return {path.name: path for path in sorted(folder.iterdir())}


def _unpack(file: Path, folder: Path) -> None:
    runs = read_archive(file)
    for files in runs.values():
        check_files(files, file)
    try:
        with new_folder(folder) as unfinished:
            for name, files in runs.items():
                write_files(unfinished / name, files)
    except CorpusError:
        if not folder.is_dir():  # else another process unpacked the same bytes first
            raise


@lru_cache(maxsize=256)
def _digest(file: Path, changed: int, size: int) -> str:
    """Return the digest of a file, cached until its time of modification or its size differs."""
    return sha256(file.read_bytes()).hexdigest()


def _fill(folder: Path, run: Run) -> None:
    describe(folder, run, bundled=True)
    round_log(run.folder / METRICS, folder / METRICS, lambda line: line["kind"] != "train")
    round_log(run.folder / G_VALUES, folder / G_VALUES, lambda line: False)
    for measure in run.answers():
        if measure.path.stat().st_size <= _MAX_ANSWER:
            copy_into(measure.path, folder / "measures")
    usual = run.recipe.search.decisive()
    for facts, lines in run.translations():
        search = SearchSettings(**migrate_section("search", facts["search"], facts.get("schema", 1))).decisive()
        if facts["split"] in ("dev", "test") and search == usual:
            copy_into(lines.with_suffix(".json"), folder / "translations")
            copy_into(lines, folder / "translations")
