"""Ask a run a question once: its answer is kept with the run and read from there the next time.

A question is an analysis, which is a function of a module that takes a run and returns a table, in its version; those
of its arguments that differ from their defaults; the weights of the run's best checkpoint; and the text that is asked
about. Arguments may be corpora, ways of searching, numbers, strings, and lists or tuples of these. What does not change
an answer is no part of its question: settings of the machine, `search.batch_tokens` and arguments named `on_...`. Where
there is an argument `split`, corpora count by the text of that split alone: an analysis that reads other parts of a
corpus too has no such argument.

An argument or a setting of search that is added later leaves stored answers where they are, as its default has to mean
what was done before. A corrected formula gets a new version, and so does an analysis whose default changes.
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
from nmtlab.text.corpus import ParallelCorpus

Analysis = Callable[..., pd.DataFrame]
SentenceAnalysis = Callable[..., Iterator[list[Row]]]
F = TypeVar("F", bound=Callable[..., Any])


def versioned(version: int) -> Callable[[F], F]:
    """Mark a function as an analysis whose stored answers are of a version, from 1; others are asked anew."""

    def mark(analysis: F) -> F:
        analysis.version = version  # type: ignore[attr-defined]
        return analysis

    return mark


def measure(run: Run, analysis: Analysis, **arguments: Any) -> pd.DataFrame:
    """Return `analysis(run, **arguments)`, from what is kept with the run if it has been asked before.

    An answer that cannot be stored, as on a disk that may only be read, is returned all the same.

    Args:
        run: trained, or packed with the answer.
        analysis: a function of a module, marked as `versioned`, for example `beams.outcome`.
        arguments: of the analysis.

    Raises:
        NmtlabError: as the analysis; of a run that was packed without its model and without the answer, what it has.
        RunError: the stored answer is damaged.
    """
    question = _question(run, analysis, arguments)
    stored = _stored(run, analysis, question)
    return stored.frame() if stored else _kept(run, question, analysis(run, **arguments))


def measure_by_sentence(
    run: Run, analysis: SentenceAnalysis, on_progress: Callable[[int], None] = lambda sentences: None, **arguments: Any
) -> pd.DataFrame:
    """Return the rows of `analysis(run, start, **arguments)` like `measure`, going on where an earlier call was ended.

    Args:
        run: trained, or packed with the answer.
        analysis: a generator function that yields the rows, with plain values, of sentence `start`, of `start` + 1 and
            so on to the last one; a sentence may have no row.
        on_progress: told how many more sentences are done.
        arguments: of the analysis, but `start`.

    Raises:
        RunError: as `measure`; or another process is measuring the same.
    """
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
    """Return the run's stored answers of one analysis, whatever the arguments; its text need not be at hand.

    Their questions have all arguments, those with their default included.
    """
    defaults = _plain_defaults(analysis)
    return [
        replace(stored, question=replace(stored.question, arguments=_complete(defaults | stored.question.arguments)))
        for stored in _of_this_version(run, analysis)
    ]


def _of_this_version(run: Run, analysis: Callable[..., Any]) -> list[Measure]:
    return [m for m in run.answers(_name(analysis)) if m.question.version == analysis.version]  # type: ignore[attr-defined]


def _stored(run: Run, analysis: Callable[..., Any], question: MeasureKey) -> Measure | None:
    """Return the stored answer of a question, of the original weights if there are several."""
    defaults = _plain_defaults(analysis)
    found = _of_this_version(run, analysis)
    asked = question.arguments
    return next((stored for stored in found if _differing(stored.question.arguments, defaults) == asked), None)


def _kept(run: Run, question: MeasureKey, frame: pd.DataFrame) -> pd.DataFrame:
    """Store an answer and return it; where it cannot be stored, return it as it would be."""
    with suppress(RunError):
        return store_measure(run.notes_folder, question, frame).frame()
    return as_stored(frame)


def _question(run: Run, analysis: Callable[..., Any], arguments: dict[str, Any]) -> MeasureKey:
    bound = inspect.signature(analysis).bind(run, **arguments)
    bound.apply_defaults()
    given = dict(list(bound.arguments.items())[1:])  # all but the run
    corpora = {name: value.name for name, value in given.items() if isinstance(value, ParallelCorpus)}
    return MeasureKey(
        analysis=_name(analysis),
        arguments=_differing(_plain_arguments(given), _plain_defaults(analysis)),
        checkpoint=run.best_step,
        weights=run.weights_digest,
        version=analysis.version,  # type: ignore[attr-defined]
        about={**corpora, "nmtlab": nmtlab.__version__},
    )


def _name(analysis: Callable[..., Any]) -> str:
    """Return what an analysis is known by: function and module, in whatever room that is."""
    if "<" in analysis.__qualname__ or not hasattr(analysis, "version"):
        raise TypeError(f"{analysis.__qualname__}: give a function of a module that is marked as `versioned`")
    return f"{analysis.__module__.rpartition('.')[2]}.{analysis.__qualname__}"


def _plain_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that change an answer, as JSON."""
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
    """Return the arguments that have no default or another value; version 0.1 stored them all."""
    return {name: value for name, value in arguments.items() if name not in defaults or value != defaults[name]}


def _complete(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with every setting of a way of searching."""
    return {
        name: SearchSettings(**value).model_dump(mode="json") if name == "search" and value is not None else value
        for name, value in arguments.items()
    }


def _plain(value: Any, name: str, split: str | None) -> Any:
    """Return an argument as JSON, equal for arguments with equal answers."""
    if isinstance(value, ParallelCorpus):
        languages = f"{value.source}-{value.target}"
        return {"languages": languages, "sha256": _checksum(value, split) if split else value.checksum()}
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
