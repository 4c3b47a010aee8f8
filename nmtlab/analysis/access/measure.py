"""Run an analysis on a run once: the answer is stored with the run and read back the next time.

A question consists of an analysis (a module-level function that takes a run and returns a table) and its version; the
arguments that differ from their defaults; the weights of the run's best checkpoint; the direction, if it is not the
run's default one; and the text being analysed. With a corpus among its arguments, the run is analysed in the direction
of the corpus.
Arguments may be corpora, other runs, search settings, numbers, strings, and lists or tuples of these. Whatever does not
affect an answer is not part of its question: machine settings, `search.batch_tokens` and arguments named `on_...`. If
an analysis has an argument `split`, only that split of a corpus counts: an analysis that reads other parts of a corpus
must not have such an argument.

Arguments and search settings that are added later leave stored answers valid: their defaults must mean what was done
before. A corrected formula gets a new version, and so does an analysis whose default changes.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, TypeVar

import pandas as pd

import nmtlab
from nmtlab.errors import RunError
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.recipe.section import Section
from nmtlab.runs.log import append_lines
from nmtlab.runs.measures import Measure, MeasureKey, Row, as_stored, can_write, growing, store_measure
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

Analysis = Callable[..., pd.DataFrame]
SentenceAnalysis = Callable[..., Iterator[list[Row]]]
F = TypeVar("F", bound=Callable[..., Any])


def versioned(version: int, *columns: str) -> Callable[[F], F]:
    """Mark a function as an analysis of a version, from 1, whose tables always have some columns.

    Stored answers of other versions, or without one of the columns, are not used.
    """

    def mark(analysis: F) -> F:
        analysis.version, analysis.columns = version, columns  # type: ignore[attr-defined]
        return analysis

    return mark


def measure(run: Run, analysis: Analysis, **arguments: Any) -> pd.DataFrame:
    """Return `analysis(run, **arguments)`, read from the answers stored with the run if it was computed before.

    An answer that cannot be stored, for example on a read-only disk, is still returned.

    Args:
        run: a trained run, or one packed with the answer.
        analysis: a module-level function, marked as `versioned`, for example `beams.outcome`.
        arguments: of the analysis.

    Raises:
        NmtlabError: as raised by the analysis; for a run packed with neither its model nor the answer, it names what
            the run has.
        RunError: the stored answer is damaged.
    """
    run = _in_direction(run, arguments)
    question = _question(run, analysis, arguments)
    stored = _stored(run, analysis, question)
    return stored.frame() if stored else _kept(run, question, analysis(run, **arguments))


def stored_answer(run: Run, analysis: Analysis, **arguments: Any) -> pd.DataFrame | None:
    """Return what `measure` would read from the answers stored with a run; None if it would have to compute it.

    Raises:
        RunError: the stored answer is damaged.
    """
    run = _in_direction(run, arguments)
    stored = _stored(run, analysis, _question(run, analysis, arguments))
    return stored.frame() if stored else None


def measure_by_sentence(
    run: Run, analysis: SentenceAnalysis, on_progress: Callable[[int], None] = lambda sentences: None, **arguments: Any
) -> pd.DataFrame:
    """Return the rows of `analysis(run, start, **arguments)` like `measure`, resuming an earlier call that was cut off.

    Args:
        run: a trained run, or one packed with the answer.
        analysis: a generator function that yields the rows, with plain values, of sentence `start`, of `start` + 1 and
            so on to the last sentence; a sentence may have no rows.
        on_progress: called with the number of sentences just done.
        arguments: of the analysis, except `start`.

    Raises:
        RunError: as for `measure`; or another process is computing the same answer.
    """
    run = _in_direction(run, arguments)
    question = _question(run, analysis, {"start": 0, **arguments})
    if stored := _stored(run, analysis, question):
        return stored.frame()
    log = question.path(run.notes_folder).with_suffix(".jsonl")
    writable = can_write(log.parent)
    with growing(log) if writable else nullcontext([]) as sentences:
        on_progress(len(sentences))
        for rows in analysis(run, start=len(sentences), **arguments):
            if writable:
                append_lines(log, [{"rows": rows}])
            sentences.append(rows)
            on_progress(1)
        frame = _kept(run, question, pd.DataFrame([row for rows in sentences for row in rows]))
        if question.path(run.notes_folder).exists():
            log.unlink()
    return frame


def answers(run: Run, analysis: Callable[..., Any]) -> list[Measure]:
    """Return the run's stored answers of one analysis in its direction, for any arguments, even without the corpora.

    Their questions list all arguments, including those left at their defaults.
    """
    defaults = _plain_defaults(analysis)
    return [
        replace(stored, question=replace(stored.question, arguments=_complete(defaults | stored.question.arguments)))
        for stored in _of_this_version(run, analysis)
    ]


def _of_this_version(run: Run, analysis: Callable[..., Any]) -> list[Measure]:
    """Return the run's stored answers of an analysis, those of other versions and without its columns left out."""
    wanted = analysis.version, run.other_direction  # type: ignore[attr-defined]
    found = run.answers(_name(analysis))
    current = [stored for stored in found if (stored.question.version, stored.question.direction) == wanted]
    return [stored for stored in current if stored.columns.issuperset(analysis.columns)]  # type: ignore[attr-defined]


def _stored(run: Run, analysis: Callable[..., Any], question: MeasureKey) -> Measure | None:
    """Return the stored answer to a question; of several, the one for the original weights."""
    defaults = _plain_defaults(analysis)
    found = _of_this_version(run, analysis)
    asked = question.arguments
    return next((stored for stored in found if _differing(stored.question.arguments, defaults) == asked), None)


def _in_direction(run: Run, arguments: Mapping[str, Any]) -> Run:
    """Return a run in the direction of the first corpus among some arguments, if there is one that it translates."""
    corpora = (value for value in arguments.values() if isinstance(value, ParallelCorpus))
    return next((run.directed(*c.direction) for c in corpora if run.translates(*c.direction)), run)


def _kept(run: Run, question: MeasureKey, frame: pd.DataFrame) -> pd.DataFrame:
    """Store an answer and return it; if it cannot be stored, return it as it would be read back."""
    with suppress(RunError):
        return store_measure(run.notes_folder, question, frame).frame()
    return as_stored(frame)


def _question(run: Run, analysis: Callable[..., Any], arguments: dict[str, Any]) -> MeasureKey:
    bound = inspect.signature(analysis).bind(run, **arguments)
    bound.apply_defaults()
    given = dict(list(bound.arguments.items())[1:])  # all but the run
    named = {name: value.name for name, value in given.items() if isinstance(value, ParallelCorpus | Run)}
    return MeasureKey(
        analysis=_name(analysis),
        arguments=_differing(_plain_arguments(given), _plain_defaults(analysis)),
        checkpoint=run.best_step,
        weights=run.weights_digest,
        version=analysis.version,  # type: ignore[attr-defined]
        direction=run.other_direction,
        about={**named, "nmtlab": nmtlab.__version__},
    )


def _name(analysis: Callable[..., Any]) -> str:
    """Return the name that an analysis is stored under: module and function, without the package."""
    if "<" in analysis.__qualname__ or not hasattr(analysis, "version"):
        raise TypeError(f"{analysis.__qualname__}: give a module-level function that is marked as `versioned`")
    return f"{analysis.__module__.rpartition('.')[2]}.{analysis.__qualname__}"


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
        return {"languages": languages, "sha256": _checksum(value, split) if split else value.checksum()}
    if isinstance(value, Run):
        return {"weights": value.original_digest}
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
    texts = [list(corpus.lines(split, corpus.source)), *corpus.references(split)]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
