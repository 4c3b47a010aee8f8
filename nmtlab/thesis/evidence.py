"""Adds to the evidence, which no other module changes: a run is a file written once, a vocabulary likewise."""

import lzma
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from nmtlab.analysis.access.translations import store_translations
from nmtlab.analysis.metrics import scored_text, stored_lines
from nmtlab.errors import NmtlabError, RunError
from nmtlab.files import replacing
from nmtlab.grids.declared.declaration import Scale, Table
from nmtlab.grids.results.collected import made_rows
from nmtlab.grids.results.hypotheses import scores_of
from nmtlab.grids.results.results import Results
from nmtlab.grids.results.schemas import CELLS, COMPRESSED, SENTENCES
from nmtlab.runs.archive import ENDING, write_archive
from nmtlab.runs.inherited_weights import leave_out_inherited
from nmtlab.runs.pack import FIRST, fill, fill_small, thin_log
from nmtlab.runs.run import Run
from nmtlab.runs.vocabularies import store_apart
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace


class Added(NamedTuple):
    """What a table added to the evidence.

    Args:
        results: files of its cells.
        runs: new archives.
        present: runs that the evidence had before, which stay as they are.
    """

    results: list[Path]
    runs: list[Path]
    present: list[str]


def add_run(run: Run, workspace: Workspace, weights: bool = False, sentences: ParallelCorpus | None = None) -> Path:
    """Add a run to the evidence, with everything that `nmtlab.runs.pack.pack` packs.

    Raises:
        RunError: the evidence has a run of that name; or as `pack`.
    """
    if (target := _target(run.name, workspace)).exists():
        raise RunError(f"{target}: already exists", "a packed run is written once; remove it to write another")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / run.name
        folder.mkdir()
        fill(folder, run, weights, sentences)
        return _write(folder, target)


def add_table(table: Table, scale: Scale, workspace: Workspace) -> Added:
    """Add the saved cells of a table and its runs that have ended, packed small with all translations that it scores.

    Raises:
        NmtlabError: the table was not saved in this workspace, or without a cell that the evidence has.
        RunError: a run is damaged, or one with a cell's name is a different training.
    """
    saved = Results.saved(table, scale, workspace)
    if not saved.exists:
        remedy = f"run 'nmtlab reproduce {table.name} --scale {scale} --save' first"
        raise NmtlabError(f"{saved.path()}: not found", remedy)
    before = Results(table, scale, workspace, workspace.evidence / "results")
    if before.exists and (lost := _measured(before) - _measured(saved)):
        problem = f"{saved.path()}: lacks cells of the evidence ({len(lost)}), such as {', '.join(min(lost))}"
        raise NmtlabError(problem, f"measure them here, too, or remove {before.path()}")
    texts: dict[str, list[ParallelCorpus]] = {}
    runs: dict[str, Run] = {}
    for _, text, made in made_rows(table, scale, workspace):
        runs |= made
        for name in made:
            texts.setdefault(name, []).append(text)
    present = [name for name in runs if _target(name, workspace).exists()]
    added = [_add_small(run, texts[name], table, workspace) for name, run in runs.items() if name not in present]
    large = {f"{saved.name}{kind.ending}" for kind in (CELLS, SENTENCES)}
    results = [_copied(path, workspace.evidence / "results", path.name in large) for path in saved.files]
    return Added(results, added, present)


def _measured(results: Results) -> set[tuple[str, ...]]:
    """Return the row, system, metric and seed of each cell with a value."""
    cells = results.cells.dropna(subset="value")
    return set(cells[["row", "column", "metric", "seed"]].astype(str).itertuples(index=False, name=None))


def _add_small(run: Run, texts: list[ParallelCorpus], table: Table, workspace: Workspace) -> Path:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / run.name
        folder.mkdir()
        fill_small(folder, run)
        for text in texts:
            _add_translations(folder, run, text, table)
        return _write(folder, _target(run.name, workspace))


def _add_translations(folder: Path, run: Run, text: ParallelCorpus, table: Table) -> None:
    """Add the translations that are in answers of analyses, which are too large to be packed with the run."""
    for score in scores_of(table):
        lines = stored_lines(score, run, text) if score.scored.made_by else None
        if lines is not None:
            sources = scored_text(score, text, run).sources
            store_translations(folder, run.directed(*text.direction), score.split, sources, lines, score.scored.made_by)


def _write(folder: Path, target: Path) -> Path:
    thin_log(folder)
    leave_out_inherited(folder, target.parent)
    store_apart(folder, target.parents[1] / "vocabularies")
    write_archive(folder, target, FIRST)
    return target


def _target(name: str, workspace: Workspace) -> Path:
    return workspace.evidence / "runs" / f"{name}{ENDING}"


def _copied(path: Path, folder: Path, compress: bool) -> Path:
    content = path.read_bytes()
    target = folder / (f"{path.name}{COMPRESSED}" if compress else path.name)
    with replacing(target) as temporary:
        temporary.write_bytes(lzma.compress(content) if compress else content)
    return target
