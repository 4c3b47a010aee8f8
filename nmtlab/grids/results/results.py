"""What is known of a table at one scale, in one object: collected from runs, saved, read back, merged, summed up.

found = Results.collect(find_table("table-3.6"), "small", workspace, questions)
whole = found.merge(Results.latest(find_table("table-3.6"), "small", workspace), questions)
print(whole.summary())
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.files import write_text
from nmtlab.grids.declared.declaration import GRID, SCALES, Scale, Table
from nmtlab.grids.results.collected import collected_cells, with_kept
from nmtlab.grids.results.curves import dev_curves
from nmtlab.grids.results.hypotheses import hypotheses
from nmtlab.grids.results.judgement import Question
from nmtlab.grids.results.kept import Kept
from nmtlab.grids.results.measures import with_given
from nmtlab.grids.results.schemas import CELLS, SENTENCES, SIGNATURES, TEXT, Schema, as_stored, version
from nmtlab.grids.results.sentences import sentence_spreads, with_kept_sentences
from nmtlab.grids.results.sheets import Sheet, decisions, results_sheet, row_sheet
from nmtlab.grids.results.signatures import signatures
from nmtlab.grids.results.summary import summary
from nmtlab.workspace import RESULTS, Workspace


class Lines(NamedTuple):
    """What is not in files yet: cells, the part of sentences, and why the text of a row is not available."""

    cells: pd.DataFrame
    sentences: pd.DataFrame
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class Results:
    """What is known of a table at one scale.

    Args:
        table: its declaration.
        scale: the scale at which it was run.
        workspace: contains runs and texts.
        folder: contains its files, or none.
        lines: what was collected; what the files contain, if not given.
    """

    table: Table
    scale: Scale
    workspace: Workspace
    folder: Path
    lines: Lines | None = field(default=None, compare=False, repr=False)

    @classmethod
    def saved(cls, table: Table, scale: Scale, workspace: Workspace) -> "Results":
        """Return what `nmtlab reproduce --save` wrote to a workspace, if anything."""
        return cls(table, scale, workspace, workspace.results)

    @classmethod
    def latest(cls, table: Table, scale: Scale, workspace: Workspace, shipped: Path | None = None) -> "Results":
        """Return what was saved in a workspace, or else what comes with nmtlab, if anything."""
        places = [cls(table, scale, workspace, folder) for folder in (workspace.results, shipped or RESULTS)]
        return next((one for one in places if one.exists), places[0])

    @classmethod
    def measured(cls, table: Table, scale: Scale, workspace: Workspace) -> "Results":
        """Return what was saved in a workspace, or else what comes with nmtlab.

        Raises:
            NmtlabError: the table was not measured at this scale.
        """
        if (found := cls.latest(table, scale, workspace)).exists:
            return found
        remedy = f"run 'nmtlab reproduce {table.name} --scale {scale} --save'"
        raise NmtlabError(f"{table.name}: not measured at the scale {scale}", remedy)

    @classmethod
    def collect(
        cls,
        table: Table,
        scale: Scale,
        workspace: Workspace,
        asked: Sequence[Question] = (),
        left_out: Mapping[str, str] | None = None,
    ) -> "Results":
        """Return what the runs of a workspace say, measuring what was not measured yet.

        Args:
            table, scale, workspace: whose runs.
            asked: what is asked of the table besides the differences to its baseline, such as by claims.
            left_out: why the text of a row is not available.

        Raises:
            RunError: a run with a cell's name is a different training.
        """
        cells = with_given(table, scale, workspace, collected_cells(table, scale, workspace))
        lines = Lines(cells, _spreads(table, scale, workspace, cells, asked), left_out or {})
        return cls(table, scale, workspace, workspace.results, lines)

    @property
    def name(self) -> str:
        """Table and scale, such as `table-3.6.small`."""
        return f"{self.table.name}.{self.scale}"

    @property
    def exists(self) -> bool:
        """Whether its cells are in a file."""
        return self.path().is_file()

    def path(self, kind: Schema = CELLS) -> Path:
        """Return one of its files, which need not exist."""
        return as_stored(self.folder / f"{self.name}{kind.ending}")

    @property
    def files(self) -> list[Path]:
        """Those of its files that exist."""
        return [path for path in map(self.path, (CELLS, SENTENCES, SIGNATURES, TEXT)) if path.is_file()]

    @property
    def version(self) -> object:
        """What differs once the files of cells or sentences have changed."""
        return version(self.path()), version(self.path(SENTENCES))

    @property
    def cells(self) -> pd.DataFrame:
        """The value of each cell and metric (`collected.collected_cells`).

        Raises:
            NmtlabError: the file is damaged.
        """
        return self.lines.cells if self.lines else CELLS.read(self.path())

    @property
    def sentences(self) -> pd.DataFrame:
        """The part that test sentences have in scores and differences (`sentences.sentence_spreads`), as far as known.

        Raises:
            NmtlabError: the file is damaged.
        """
        return self.lines.sentences if self.lines else SENTENCES.read(self.path(SENTENCES))

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why the text of a row is not available; of results from files this is unknown."""
        return self.lines.left_out if self.lines else {}

    @property
    def translations(self) -> pd.DataFrame:
        """What the runs of cells with a value translated (`hypotheses.hypotheses`), archived runs included."""
        return hypotheses(self.table, self.scale, self.workspace, self.cells)

    @property
    def curves(self) -> pd.DataFrame:
        """The evaluations of every cell whose run is there (`curves.dev_curves`)."""
        return dev_curves(self.table, self.scale, self.cells, self.workspace)

    @property
    def signatures(self) -> pd.DataFrame:
        """How the scores of rows with cells are computed (`signatures.signatures`)."""
        rows = set(self.cells["row"])
        return signatures(self.table.only([row.name for row in self.table.rows if row.name in rows]), self.scale)

    @property
    def kept(self) -> Kept:
        """The trainings that are in the workspace or come with nmtlab."""
        return Kept.of(self.workspace)

    def of_metric(self, key: str) -> pd.DataFrame:
        """Return the cells with one of the table's numbers.

        Raises:
            NmtlabError: it was not measured.
        """
        cells = self.cells
        chosen = cells[cells["metric"] == key]
        if chosen.empty:
            keys = ", ".join(cells["metric"].unique())
            raise NmtlabError(f"{self.table.name}: {key!r} was not measured", f"choose from {keys}")
        return chosen

    def merge(self, older: "Results", asked: Sequence[Question] = ()) -> "Results":
        """Return these results, completed with older ones of cells that have none here, and with all their sentences.

        Args:
            older: results of the same table, all of its rows.
            asked: as for `collect`.
        """
        table, cells = older.table, self.cells
        if older.exists:
            cells = with_kept(cells, older.cells, table)
        found = _spreads(table, self.scale, self.workspace, cells, asked)
        without = {row: why for row, why in self.left_out.items() if row not in set(cells["row"])}
        return replace(self, table=table, lines=Lines(cells, with_kept_sentences(found, older.sentences), without))

    def summary(self) -> pd.DataFrame:
        """Return means, intervals and verdicts (`summary.summary`)."""
        return summary(self.cells, self.table, self.sentences, self.kept)

    @property
    def decisions(self) -> list[str]:
        """A sentence for each difference to the baseline."""
        return decisions(self.table, self.scale, self.summary())

    @property
    def command(self) -> str:
        """The command that makes the table."""
        of_thesis = f"nmtlab reproduce {self.table.name} --scale {self.scale}"
        return f"nmtlab grid {self.table.name}.toml" if self.scale == GRID else of_thesis

    @property
    def sheet(self) -> Sheet:
        """The table as it is printed, with its verdicts beside published values."""
        return results_sheet(self.table, self.scale, self.cells, self.summary(), self.left_out)

    def row_sheet(self, row: str) -> Sheet:
        """Return the systems of one row, as they are printed."""
        return row_sheet(self.table, self.scale, self.cells, self.summary(), row)

    def save(self, text: str) -> list[Path]:
        """Write everything to the results of the workspace, with the table as it is printed, and return the files.

        A file of earlier results is removed if there are no lines for it now, or if it is compressed.
        """
        frames = {CELLS: self.cells, SENTENCES: self.sentences, SIGNATURES: self.signatures}
        earlier = [Results.saved(self.table, self.scale, self.workspace).path(kind) for kind in frames]
        texts = {kind: kind.written(frame) for kind, frame in frames.items() if len(frame)} | {TEXT: text}
        written = {self.workspace.results / f"{self.name}{kind.ending}": content for kind, content in texts.items()}
        for path, content in written.items():
            write_text(path, content)
        for path in {*earlier} - {*written}:
            path.unlink(missing_ok=True)
        return [*written]


def stored_results(tables: Iterable[Table], workspace: Workspace, shipped: Path | None = None) -> list[Results]:
    """Return those results of tables that are in files: of a workspace, or else those that come with nmtlab."""
    found = (Results.latest(table, scale, workspace, shipped) for table, scale in product(tables, SCALES))
    return [one for one in found if one.exists]


def _spreads(
    table: Table, scale: Scale, workspace: Workspace, cells: pd.DataFrame, asked: Sequence[Question]
) -> pd.DataFrame:
    return sentence_spreads(table, scale, workspace, hypotheses(table, scale, workspace, cells), asked)
