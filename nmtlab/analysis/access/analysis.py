"""An analysis: a question about a run, with all that is needed to ask it, store it, show it and quote it.

An answer that is stored with a run is found again by its question: the analysis and its version; the arguments that
differ from their defaults; the weights of the run's best checkpoint; the direction, if it is not the run's default one;
and the text being analysed. With a corpus among its arguments, the run is analysed in the direction of the corpus.
Arguments may be corpora, other runs, search settings, numbers, strings, and lists or tuples of these. Whatever does not
affect an answer is not part of its question: machine settings, arguments named `on_...`, and `search.batch_tokens`
unless each batch has a shortlist. If an analysis has an argument `split`, only that split of a corpus counts: an
analysis that reads other parts of a corpus must not have such an argument.

Arguments and search settings that are added later leave stored answers valid: their defaults must mean what was done
before. A corrected formula gets a new version, and so does an analysis whose default changes.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go

import nmtlab
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import ALONE, ONE_SOURCE, Need, check_needs, unmet
from nmtlab.errors import RunError
from nmtlab.figures.view import Numbers, View
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.recipe.section import Section
from nmtlab.runs.answers import AnswerKey, Row, StoredAnswer, as_stored, can_write, growing, store_answer
from nmtlab.runs.log import append_lines
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

_CORPORA = {"corpus", "corpora"}
_OF_TEXT = {*_CORPORA, "source", "sentence"}
"""Arguments of analyses that read text."""


@dataclass(frozen=True)
class Analysis:
    """A question about a run.

    Args:
        question: in a sentence, as a reader would ask it.
        compute: module-level function of a run and arguments that returns a table; or a generator function that also
            takes `start`, and yields the rows, with plain values, of sentence `start`, of `start` + 1 and so on to the
            last: it resumes a call that was cut off.
        source: where the question is from, such as a figure of the thesis.
        needs: what a run must have for `compute`.
        version: from 1; answers stored by another version are not used. 0: answers are not stored.
        columns: that every answer has; stored answers without one of them are not used.
        table: from answers to the few numbers that are shown.
        figure: from answers to what is drawn.
        finding: from answers to what they show, in a sentence or two with its numbers.
        digits: decimals of the numbers that are shown, few enough to be the same on every machine.
        absent: if nothing is to be shown where no run has a row: the problem and what to do.
        stored_as: name of stored answers, if it is not that of `compute`'s module and function.
        metrics: numbers that tables quote from its answers.
        follows: arguments of `compute` that follow from the run unless they are given, each with how to find it.
        several_sources: whether it reads all sources of a run that has several; an analysis of text that does not
            needs a run of one.
        in_context: whether it reads a corpus as the run does that reads each sentence after the one before it; an
            analysis of corpora that does not needs a run that reads them alone.
    """

    question: str
    compute: Callable[..., Any]
    source: str = ""
    needs: tuple[Need, ...] = ()
    version: int = 0
    columns: tuple[str, ...] = ()
    table: Callable[..., pd.DataFrame] = lambda found: found
    figure: Callable[..., go.Figure] | None = None
    finding: Callable[..., str] = lambda found: ""
    digits: int = 2
    absent: tuple[str, str] | None = None
    stored_as: str = ""
    metrics: tuple[Metric, ...] = ()
    follows: tuple[tuple[str, Callable[[Run], Any]], ...] = ()
    several_sources: bool = False
    in_context: bool = False

    def __post_init__(self) -> None:
        arguments = inspect.signature(self.compute).parameters
        of_one = not _OF_TEXT.isdisjoint(arguments) and not self.several_sources and ONE_SOURCE not in self.needs
        alone = not _CORPORA.isdisjoint(arguments) and not self.in_context
        object.__setattr__(self, "needs", (*self.needs, *[ONE_SOURCE] * of_one, *[ALONE] * alone))

    @property
    def key(self) -> str:
        """The name that answers are stored under: module and function, without the package."""
        if self.stored_as:
            return self.stored_as
        if "<" in self.compute.__qualname__:
            raise TypeError(f"{self.compute.__qualname__}: an analysis is computed by a module-level function")
        return f"{self.compute.__module__.rpartition('.')[2]}.{self.compute.__qualname__}"

    def fits(self, run: Run) -> bool:
        """Return whether a run has an answer or can be asked for one."""
        return unmet(run, self.needs) is None or bool(self.answers(run))

    def of(self, run: Run, on_progress: Callable[[int], None] | None = None, **arguments: Any) -> pd.DataFrame:
        """Return the answer for a run: the stored one, or else a new one, which is stored.

        An answer that cannot be stored, for example on a read-only disk, is still returned.

        Args:
            run: a trained run, or one packed with the answer.
            on_progress: called with the number of sentences or lines just done.
            arguments: of `compute`.

        Raises:
            NmtlabError: as raised by `compute`; for a run packed with neither its model nor the answer, it names what
                the run has.
            RunError: the run lacks what is needed; the stored answer is damaged; or another process is computing it.
        """
        run, arguments = _as_read(run, arguments)
        for name, find in self.follows:
            if name not in arguments:
                if (kept := self.any_stored(run, **arguments)) is not None:
                    return kept
                arguments = {**arguments, name: find(run)}
        resumed = inspect.isgeneratorfunction(self.compute)
        question = self._question(run, {"start": 0, **arguments} if resumed else arguments) if self.version else None
        if question and (stored := self._stored(run, question)):
            return stored.frame()
        given = arguments.get("corpus") is not None
        check_needs(run, [need for need in self.needs if not (given and need.packed_text)])
        if question and resumed:
            return _last(self._by_sentence(run, question, arguments), on_progress or (lambda sentences: None))
        watched = {"on_progress": on_progress} if on_progress else {}
        found = self.compute(run, **arguments, **watched)
        return _kept(run, question, found) if question else found

    def steps(self, run: Run, **arguments: Any) -> Iterator[int]:
        """Compute and store the answer of a generator function unless it is stored; yield how many sentences are new.

        Arguments and errors as of `of`.
        """
        run, arguments = _as_read(run, arguments)
        question = self._question(run, {"start": 0, **arguments})
        if not self._stored(run, question):
            check_needs(run, self.needs)
            yield from self._by_sentence(run, question, arguments)

    def stored(self, run: Run, **arguments: Any) -> pd.DataFrame | None:
        """Return the stored answer for a run; None if it would have to be computed.

        Raises:
            RunError: the stored answer is damaged.
            CorpusError: the run reads in context, and the documents of a text are not known.
        """
        run, arguments = _as_read(run, arguments)
        start = {"start": 0} if inspect.isgeneratorfunction(self.compute) else {}
        stored = self._stored(run, self._question(run, {**start, **arguments}))
        return stored.frame() if stored else None

    def any_stored(self, run: Run, **arguments: Any) -> pd.DataFrame | None:
        """Return the stored answer about whatever text; None without one.

        Of the arguments that are left out, those without a default, and the split, may have been any.

        Raises:
            RunError: the stored answer is damaged.
            CorpusError: the run reads in context, and the documents of a text are not known.
        """
        run, arguments = _as_read(run, arguments)
        defaults = _plain_defaults(self.compute)
        asked = {**defaults, **_plain_arguments({"split": defaults.get("split"), **arguments})}
        if "split" not in arguments:
            del asked["split"]
        every = self._of_this_version(run)
        found = (one for one in every if asked.items() <= {**defaults, **one.question.arguments}.items())
        return next((one.frame() for one in found), None)

    def answers(self, run: Run) -> list[StoredAnswer]:
        """Return a run's stored answers in its direction, for any arguments, even without the corpora.

        Their questions list all arguments, including those left at their defaults.
        """
        defaults = _plain_defaults(self.compute)
        return [
            replace(one, question=replace(one.question, arguments=_complete({**defaults, **one.question.arguments})))
            for one in self._of_this_version(run)
        ]

    def among(self, runs: Sequence[Run], **arguments: Any) -> pd.DataFrame:
        """Return the answers for several runs, one below the other, with the label of each in a column `run`.

        If the text is left out, they are the stored ones, about whatever text.

        Raises:
            NmtlabError: as of `of`.
            RunError: the text is left out, and a run has no stored answer.
        """
        answer = self._about_any_text if self.version and self._left_out(arguments) else self.of
        found = [answer(run, **arguments).assign(run=run.label) for run in runs]
        some = [one for one in found if len(one)] or found  # one without rows would change the types of columns
        return pd.concat(some, ignore_index=True) if some else pd.DataFrame()

    def view(self, runs: Run | Sequence[Run], **arguments: Any) -> View:
        """Show the answers for one run or several as a table and a figure.

        Args:
            runs: one or more.
            arguments: of `compute`, `table`, `figure` and `finding`, each by its name.

        Raises:
            NmtlabError: as of `among`.
            RunError: no run has a row, and it is `absent`.
        """
        if self.figure is None:
            raise TypeError(f"{self.key}: nothing is drawn of it")
        found = self._among(runs, arguments)
        table, figure = (shown(found, **named(shown, arguments)) for shown in (self.table, self.figure))
        return View(table, figure, self.digits, self.finding(found, **named(self.finding, arguments)))

    def numbers(self, runs: Run | Sequence[Run], **arguments: Any) -> Numbers:
        """Show the answers for one run or several as a table; arguments and errors as of `view`."""
        found = self._among(runs, arguments)
        return Numbers(self.table(found, **named(self.table, arguments)), self.digits)

    def _among(self, runs: Run | Sequence[Run], arguments: Mapping[str, Any]) -> pd.DataFrame:
        """Return `among`, given arguments that are also those of `table` and `figure`, or say that all is `absent`."""
        known = [named(one, arguments) for one in (self.compute, self.table, self.figure) if one]
        if unknown := arguments.keys() - {name for some in known for name in some}:
            raise TypeError(f"{self.key}: has no argument {', '.join(sorted(unknown))}")
        runs = [runs] if isinstance(runs, Run) else runs
        found = self.among(runs, **known[0])
        if found.empty and self.absent:
            problem, remedy = self.absent
            raise RunError(f"runs {', '.join(run.name for run in runs)}: {problem}", remedy)
        return found

    def _left_out(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether an argument of `compute` is not given that has no default and does not follow from the run."""
        _, *others = inspect.signature(self.compute).parameters.values()
        required = {one.name for one in others if one.default is one.empty}
        return bool(required - {"start", *dict(self.follows), *arguments})

    def _about_any_text(self, run: Run, **arguments: Any) -> pd.DataFrame:
        found = self.any_stored(run, **arguments)
        if found is None:
            problem = f"run {run.name!r}: has no stored answer of {self.compute.__name__}"
            raise RunError(problem, "name texts to measure it on")
        return found

    def _by_sentence(
        self, run: Run, question: AnswerKey, arguments: Mapping[str, Any]
    ) -> Generator[int, None, pd.DataFrame]:
        """Compute an answer, with the sentences of an earlier call that was cut off; yield how many are new."""
        log = question.path(run.notes.folder).with_suffix(".jsonl")
        writable = can_write(log.parent)
        held: AbstractContextManager[list[list[Row]]] = growing(log) if writable else nullcontext([])
        with held as sentences:
            yield len(sentences)
            for rows in self.compute(run, start=len(sentences), **arguments):
                if writable:
                    append_lines(log, [{"rows": rows}])
                sentences.append(rows)
                yield 1
            frame = _kept(run, question, pd.DataFrame([row for rows in sentences for row in rows]))
            if question.path(run.notes.folder).exists():
                log.unlink()
        return frame

    def _of_this_version(self, run: Run) -> list[StoredAnswer]:
        """Return a run's stored answers, those of other versions and without a column left out."""
        wanted = self.version, run.other_direction
        found = run.notes.answers(self.key)
        current = [stored for stored in found if (stored.question.version, stored.question.direction) == wanted]
        return [stored for stored in current if stored.columns.issuperset(self.columns)]

    def _stored(self, run: Run, question: AnswerKey) -> StoredAnswer | None:
        """Return the stored answer to a question; of several, the one for the original weights."""
        defaults, asked = _plain_defaults(self.compute), question.arguments
        found = self._of_this_version(run)
        return next((stored for stored in found if _differing(stored.question.arguments, defaults) == asked), None)

    def _question(self, run: Run, arguments: Mapping[str, Any]) -> AnswerKey:
        bound = inspect.signature(self.compute).bind(run, **arguments)
        bound.apply_defaults()
        also = run.recipe.corpus.also_sources  # other text of these is another question
        given = {
            name: replace(value, also=also) if isinstance(value, ParallelCorpus) else value
            for name, value in list(bound.arguments.items())[1:]  # all but the run
        }
        named = {name: value.name for name, value in given.items() if isinstance(value, ParallelCorpus | Run)}
        return AnswerKey(
            analysis=self.key,
            arguments=_differing(_plain_arguments(given), _plain_defaults(self.compute)),
            checkpoint=run.checkpoints.best_step,
            weights=run.checkpoints.digest,
            version=self.version,
            direction=run.other_direction,
            about={**named, "nmtlab": nmtlab.__version__},
        )


def _last(steps: Generator[int, None, pd.DataFrame], on_progress: Callable[[int], None]) -> pd.DataFrame:
    """Return what a generator returns at its end."""
    while True:
        try:
            on_progress(next(steps))
        except StopIteration as end:
            return end.value


def named(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a function has."""
    return {name: value for name, value in arguments.items() if name in inspect.signature(function).parameters}


def _as_read(run: Run, arguments: Mapping[str, Any]) -> tuple[Run, dict[str, Any]]:
    """Return a run in the direction of the first corpus that it translates, and the arguments with corpora as read."""
    read = {name: run.as_read(one) if isinstance(one, ParallelCorpus) else one for name, one in arguments.items()}
    corpora = (one for one in read.values() if isinstance(one, ParallelCorpus))
    return next((run.directed(*c.direction) for c in corpora if run.translates(*c.direction)), run), read


def _kept(run: Run, question: AnswerKey, frame: pd.DataFrame) -> pd.DataFrame:
    """Store an answer and return it; if it cannot be stored, return it as it would be read back."""
    with suppress(RunError):
        return store_answer(run.notes.folder, question, frame).frame()
    return as_stored(frame)


def _plain_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that affect an answer, as JSON."""
    return {
        name: _plain(value, name, given.get("split"))
        for name, value in given.items()
        if not (isinstance(value, MachineSettings) or name.startswith("on_"))
    }


def _plain_defaults(analysis: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(analysis).parameters.values()
    given = {parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty}
    return _plain_arguments(given)


def _differing(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that have no default or differ from it; version 0.1 stored them all."""
    return {name: value for name, value in arguments.items() if name not in defaults or value != defaults[name]}


def _complete(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with every search setting filled in."""
    return {
        name: SearchSettings(**value).model_dump(mode="json") if name == "search" and value is not None else value
        for name, value in arguments.items()
    }


def _plain(value: Any, name: str, split: str | None) -> Any:
    """Return an argument as JSON, equal for arguments with equal answers."""
    if isinstance(value, ParallelCorpus):
        languages = f"{value.source}-{value.target}"
        if split:
            return {"languages": languages, "sha256": _checksum(value, split)}
        documents = {"documents": value.documents_checksum()} if value.context else {}
        return {"languages": languages, "sha256": value.checksum(), **documents}
    if isinstance(value, Run):
        return {"weights": value.checkpoints.original_digest or value.checkpoints.digest}
    if isinstance(value, SearchSettings):
        return value.decisive()
    if isinstance(value, Section):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_plain(item, name, split) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"argument {name}: a question cannot depend on a {type(value).__name__}")


def _checksum(corpus: ParallelCorpus, split: str) -> str:
    texts = [*(list(corpus.lines(split, one)) for one in corpus.sources), *corpus.references(split)]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
