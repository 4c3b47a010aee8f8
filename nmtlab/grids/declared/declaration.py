"""The declaration of a table: rows and columns as changes of recipes, corpora, seeds, metrics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.corpora import Corpus, Side

Scale = Literal["tiny", "small", "thesis", "grid"]
"""tiny: for tests, minutes in all; small: minutes a cell on 2 CPU cores; thesis: its sizes, on corpora you provide;
grid: of a person's grid (`nmtlab.grids.declared.grid_file`), which has no other."""

GRID: Scale = "grid"

SCALES: tuple[Scale, ...] = tuple(scale for scale in get_args(Scale) if scale != GRID)
"""Those of the tables of the thesis."""

Changes = Mapping[str, Any]
"""Changes to fields of a recipe: `{"model.radius": 3.0}`."""

Distillation = Literal["word", "sequence", "interpolated"]
"""What a student learns of a teacher (Kim and Rush 2016): its distributions on the text, its translations of the text,
or those of its beams that are nearest to the references."""

WORD_LEVEL: Changes = {"training.teacher": "teacher", "training.teacher_weight": 0.5}
"""Changes to the recipe of a student that learns distributions; the run is named when it is known."""

SEEDS: Mapping[Scale, tuple[int, ...]] = {"tiny": (1, 2), "small": (1, 2, 3), "thesis": (1,)}
"""Three seeds where affordable; the thesis has one run of each system."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        name: as in the published table.
        recipe: name of a recipe, or path of a TOML file.
        changes: changes to the recipe.
        seeded: whether training is random; if not, one training stands for every seed.
        at: scale -> further changes at that scale only.
        instead: scale -> changes in place of the table's, for a system of another family; None for the table's.
        parent: the row's parent that it starts from; empty for none. Parent and child have the same seed.
        texts: name of the row's set of texts that it is trained on; empty for the row's text alone.
        base: the system from whose training, with the same seed if it has one, this one starts; None for none.
        teacher: the system from whose training, with the same seed if it has one, this one learns; None for none.
        distillation: what it learns of its teacher.
        ensemble: whether the teacher's trainings with all seeds translate for it together, as an ensemble.
        after: the system whose trainings, of all seeds, are there before it is measured, as it is compared with them.
        label: what it is called where a person sees it; its name if empty.
        kind: what it is, whatever the texts that it is trained on, among systems on several sets of texts.
        caveat: what it lacks, compared with the system of that name in the published table.
    """

    name: str
    recipe: str
    changes: Changes = field(default_factory=dict)
    seeded: bool = True
    at: Mapping[Scale, Changes] = field(default_factory=dict)
    instead: Mapping[Scale, Changes] | None = None
    parent: str = ""
    texts: str = ""
    base: "Column | None" = None
    teacher: "Column | None" = None
    distillation: Distillation = "sequence"
    ensemble: bool = False
    after: "Column | None" = None
    label: str = ""
    kind: str = ""
    caveat: str = ""


@dataclass(frozen=True)
class Made:
    """Monolingual text with its translations by a run of the row, for systems that are trained on it too.

    Args:
        by: the system whose training on the row's text, with the same seed if it has one, translates.
        of: pairs, one side of which is the monolingual text; the other side is not read.
        side: side that has the translations; source is back-translation, by a training in the other direction.
        samples: translations of each line that are sampled from the model, each a pair with a weight of 1 / samples; 0
            to search for the best.
        temperature: of sampling, above 0.
        turns: texts that are sampled with different seeds, and which epochs read in turn; 1 for one text.
    """

    by: Column
    of: Corpus
    side: Side = "source"
    samples: int = 0
    temperature: float = 1.0
    turns: int = 1


@dataclass(frozen=True)
class Texts:
    """The texts of a training on several corpora or in several directions.

    Args:
        name: its name, with which the names of runs begin.
        corpora: one or more; the first is the recipe's `corpus`.
        made: further text, which runs of the row make.
    """

    name: str
    corpora: tuple[Corpus, ...]
    made: tuple[Made, ...] = ()


@dataclass(frozen=True)
class Parent:
    """The text of a parent.

    Args:
        corpus: corpus that the parent is trained on.
        also: the largest text of its children, from which its subwords are learned too; None for none.
        changes: changes to the child's recipe.
    """

    corpus: Corpus
    also: Corpus | None = None
    changes: Changes = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    """A row at one scale.

    Args:
        corpus: corpus to train on, and to score on unless there is another.
        changes: this row's changes to the recipe of every system.
        parents: the texts of parents, by the name that systems have for them.
        texts: sets of texts to train on instead, by the name that systems have for them.
        tested: corpus to score on; None for the one that is trained on.
    """

    corpus: Corpus
    changes: Changes = field(default_factory=dict)
    parents: Mapping[str, Parent] = field(default_factory=dict)
    texts: Mapping[str, Texts] = field(default_factory=dict)
    tested: Corpus | None = None

    @property
    def scores_training_text(self) -> bool:
        """Whether systems are scored on the test part of a corpus that they are trained on, in its direction."""
        trained = [corpus for some in self.texts.values() for corpus in some.corpora] or [self.corpus]
        return self.tested is None and self.corpus in trained


@dataclass(frozen=True)
class Row:
    """A row of a table, usually a language pair.

    Args:
        name: as in the published table.
        at: scale -> the setup to run, or the reason why the row is not run.
        seeds: seeds of its cells; the table's if none are given.
        note: what tells it apart from rows of the same languages, such as ` (500)`.
    """

    name: str
    at: Mapping[Scale, Setup | str]
    seeds: tuple[int, ...] = ()
    note: str = ""


NOT_TINY = "the tiny scale has only an artificial language"
NOT_PUBLISHED = "not among the thesis' pairs"


def language_pair(
    name: str, thesis: Setup | str, small: Corpus | str, tiny: Corpus | str = NOT_TINY, note: str = ""
) -> Row:
    """Return a row with the table's settings on the text of each scale, or with the reason why it is not run there."""
    given: dict[Scale, Corpus | str] = {"small": small, "tiny": tiny}
    texts = {scale: text if isinstance(text, str) else Setup(text) for scale, text in given.items()}
    return Row(name, {"thesis": thesis, **texts}, note=note)


@dataclass(frozen=True)
class Scores:
    """Scores of test sentences from elsewhere, such as COMET's.

    Args:
        name: of the metric.
        better: which scores are better.
        files: name of a row -> path of the file with the scores of its runs.
    """

    name: str
    better: Literal["higher", "lower"]
    files: Mapping[str, str]


@dataclass(frozen=True)
class Gain:
    """What a system gains over another one in a table.

    Args:
        table: the table.
        system: one of its columns.
        than: another one.
    """

    table: "Table"
    system: str
    than: str


Subject = Literal[
    "transfer", "lexical choice", "normalisation", "out of domain", "search", "many languages", "anything else"
]
"""What tables are about, in the order in which they are listed."""


@dataclass(frozen=True)
class Table:
    """A table as a grid of runs. Rows are pairs and columns are systems, even if it was printed the other way round.

    Args:
        name: its name, as in `data/evidence/published` if published.
        title: what it shows.
        rows: the rows, in printed order.
        columns: the systems.
        metrics: keys of the numbers reported for each cell (`nmtlab.analysis.metrics`).
        baseline: name of the system that the others are compared with; empty for none.
        changes: scale -> changes to the recipe of every cell.
        exceptions: (row, system) -> changes to that cell only.
        left_out: (row, system) -> why that cell is not run at any scale.
        seeds: scale -> seeds of each cell.
        failing: names of systems that are expected not to converge, whose seeds therefore do not vary like the others'.
        short: the table whose systems it trains for longer, until dev BLEU stops rising; None for none.
        gain: what its systems take apart, measured in another table with the same rows.
        given: scores of sentences from elsewhere.
        published: whether the table was published.
        marks: meaning of the marks beside the published numbers.
        subject: what it is about, under which it is listed.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    metrics: tuple[str, ...]
    baseline: str = ""
    changes: Mapping[Scale, Changes] = field(default_factory=dict)
    exceptions: Mapping[tuple[str, str], Changes] = field(default_factory=dict)
    left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)
    seeds: Mapping[Scale, tuple[int, ...]] = field(default_factory=lambda: SEEDS)
    failing: tuple[str, ...] = ()
    short: "Table | None" = None
    gain: Gain | None = None
    given: tuple[Scores, ...] = ()
    published: bool = True
    marks: str = "† not significant"
    subject: Subject = "anything else"

    @property
    def converging(self) -> tuple[str, ...]:
        """Names of the systems that are expected to converge."""
        return tuple(system.name for system in self.columns if system.name not in self.failing)

    def leaves_out(self, row: Row, system: Column, scale: Scale) -> bool:
        """Return whether a row does without a system: by declaration, or for lack of the texts that it needs."""
        if (row.name, system.name) in self.left_out:
            return True
        setup = row.at[scale]
        return isinstance(setup, Setup) and not (
            system.parent in ("", *setup.parents) and system.texts in ("", *setup.texts)
        )

    def only(self, names: Iterable[str]) -> "Table":
        """Return the table with some of its rows.

        Raises:
            NmtlabError: the table has no row with one of the names.
        """
        known = {row.name: row for row in self.rows}
        for name in names:
            if name not in known:
                raise NmtlabError(f"{self.name}: no pair {name!r}", f"choose from {', '.join(known)}")
        return replace(self, rows=tuple(known[name] for name in names))

    def with_seeds(self, rows: Iterable[str], seeds: int) -> "Table":
        """Return the table with seeds 1 to `seeds` of every system of some rows, instead of the declared ones."""
        chosen, counted = set(rows), tuple(range(1, seeds + 1))
        return replace(
            self, rows=tuple(replace(row, seeds=counted) if row.name in chosen else row for row in self.rows)
        )
