"""What a table of the seeds is made of: rows and columns as changes of recipes, corpora, seeds, measures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from nmtlab.errors import NmtlabError
from nmtlab.experiments.measures.quality import Measure
from nmtlab.experiments.tables.corpora import Corpus

Scale = Literal["tiny", "small", "thesis"]
"""How large: for tests, minutes in all; for 2 CPU cores, minutes a cell; the thesis' sizes, on corpora brought."""

SCALES: tuple[Scale, ...] = get_args(Scale)

Changes = Mapping[str, Any]
"""Fields of a recipe that are changed: `{"model.radius": 3.0}`."""

SEEDS: Mapping[Scale, tuple[int, ...]] = {"tiny": (1, 2), "small": (1, 2, 3), "thesis": (1,)}
"""Three seeds where they can be had; the thesis has one run of each system."""


@dataclass(frozen=True)
class System:
    """A column of a table.

    Args:
        name: as in the published table.
        recipe: name of a recipe, or path of a TOML file.
        changes: what differs from it.
        seeded: whether anything is drawn at random; if not, one training stands for every seed.
        at: scale -> what differs there alone.
    """

    name: str
    recipe: str
    changes: Changes = field(default_factory=dict)
    seeded: bool = True
    at: Mapping[Scale, Changes] = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    """A row at one scale.

    Args:
        corpus: what is learned from.
        changes: what this row changes in the recipe of every system.
    """

    corpus: Corpus
    changes: Changes = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A row of a table: mostly a language pair.

    Args:
        name: as in the published table.
        at: scale -> what is run there, or in words why nothing is.
    """

    name: str
    at: Mapping[Scale, Setup | str]


NOT_TINY = "the tiny scale has a controlled language only"
NOT_PUBLISHED = "not among the pairs of the thesis"


def language_pair(name: str, thesis: Setup | str, small: Corpus | str, tiny: Corpus | str = NOT_TINY) -> Row:
    """Return a row that is run as the table has it on its text of each scale, or the reason why it is not run there."""
    own: dict[Scale, Corpus | str] = {"small": small, "tiny": tiny}
    texts = {scale: text if isinstance(text, str) else Setup(text) for scale, text in own.items()}
    return Row(name, {"thesis": thesis, **texts})


@dataclass(frozen=True)
class Table:
    """A table of the seeds as a grid of runs. Rows are pairs and columns systems, whichever way it was printed.

    Args:
        name: as in `data/published`, if it is there.
        title: what it shows.
        rows: in the order of printing.
        systems: the columns.
        measures: what is reported of each cell.
        baseline: name of the system that the others are compared with; empty for none.
        changes: scale -> what is changed in the recipe of every cell.
        exceptions: (row, system) -> what is changed there alone.
        left_out: (row, system) -> why that cell is not run at any scale.
        seeds: scale -> seeds of each cell.
        published: whether it was printed anywhere.
        marks: what the marks beside the published numbers say.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    systems: tuple[System, ...]
    measures: tuple[Measure, ...]
    baseline: str = ""
    changes: Mapping[Scale, Changes] = field(default_factory=dict)
    exceptions: Mapping[tuple[str, str], Changes] = field(default_factory=dict)
    left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)
    seeds: Mapping[Scale, tuple[int, ...]] = field(default_factory=lambda: SEEDS)
    published: bool = True
    marks: str = "† not significant"

    def only(self, names: Iterable[str]) -> "Table":
        """Return the table with some of its rows.

        Raises:
            NmtlabError: there is no row of a name.
        """
        known = {row.name: row for row in self.rows}
        for name in names:
            if name not in known:
                raise NmtlabError(f"{self.name}: no pair {name!r}", f"choose from {', '.join(known)}")
        return replace(self, rows=tuple(known[name] for name in names))
