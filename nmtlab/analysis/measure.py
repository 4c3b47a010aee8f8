"""Ask a run a question once: its answer is kept with the run and read from there the next time.

A question is an analysis, which is a function of a module that takes a run and returns a table; its arguments; the
run's best checkpoint; and the text that is asked about. Arguments may be corpora, sections of a recipe, numbers,
strings, and lists or tuples of these. What does not change an answer is no part of its question: settings of the
machine, `search.batch_tokens`, arguments named `on_...`, and those that are None. Where there is an argument `split`,
corpora count by the text of that split alone: an analysis that reads other parts of a corpus too has no such argument.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from typing import Any

import pandas as pd

import nmtlab
from nmtlab.errors import RunError
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.recipe.section import Section
from nmtlab.runs.log import append_lines
from nmtlab.runs.measures import Measure, Question, Row, as_stored, can_write, growing, store_measure
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus

Analysis = Callable[..., pd.DataFrame]
SentenceAnalysis = Callable[..., Iterator[list[Row]]]


def measure(run: Run, analysis: Analysis, **arguments: Any) -> pd.DataFrame:
    """Return `analysis(run, **arguments)`, from what is kept with the run if it has been asked before.

    An answer that cannot be stored, as on a disk that may only be read, is returned all the same.

    Args:
        run: trained, or packed with the answer.
        analysis: a function of a module, for example `norms.word_norms`.
        arguments: of the analysis.

    Raises:
        NmtlabError: as the analysis; of a run that was packed without its model and without the answer, what it has.
        RunError: the stored answer is damaged.
    """
    question = _question(run, analysis, arguments)
    stored = _stored(run, question)
    if not stored.path.exists():
        return _kept(run, question, analysis(run, **arguments))
    return stored.frame()


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
    stored = _stored(run, question)
    if stored.path.exists():
        return stored.frame()
    log = stored.path.with_suffix(".jsonl")
    writable = can_write(log.parent)
    with growing(log) if writable else nullcontext([]) as sentences:
        on_progress(len(sentences))
        for rows in analysis(run, start=len(sentences), **arguments):
            if writable:
                append_lines(log, [{"rows": rows}])
            sentences.append(rows)
            on_progress(1)
        frame = _kept(run, question, pd.DataFrame([row for rows in sentences for row in rows]))
        if stored.path.exists():
            log.unlink()
    return frame


def answers(run: Run, analysis: Callable[..., Any]) -> list[Measure]:
    """Return the run's stored answers of one analysis, whatever the arguments; its text need not be at hand."""
    asked = (_name(analysis), run.best_step)
    return [m for m in run.measures() if (m.question.analysis, m.question.checkpoint) == asked]


def _stored(run: Run, question: Question) -> Measure:
    return Measure(question, run.note(question.path(run.folder).relative_to(run.folder)))


def _kept(run: Run, question: Question, frame: pd.DataFrame) -> pd.DataFrame:
    """Store an answer and return it; where it cannot be stored, return it as it would be."""
    with suppress(RunError):
        return store_measure(run.notes_folder, question, frame).frame()
    return as_stored(frame)


def _question(run: Run, analysis: Callable[..., Any], arguments: dict[str, Any]) -> Question:
    bound = inspect.signature(analysis).bind(run, **arguments)
    bound.apply_defaults()
    given = dict(list(bound.arguments.items())[1:])  # all but the run
    decisive = {
        name: _plain(value, name, given.get("split"))
        for name, value in given.items()
        if not (value is None or isinstance(value, MachineSettings) or name.startswith("on_"))
    }
    corpora = {name: value.name for name, value in given.items() if isinstance(value, ParallelCorpus)}
    return Question(_name(analysis), decisive, run.best_step, {**corpora, "nmtlab": nmtlab.__version__})


def _name(analysis: Callable[..., Any]) -> str:
    if "<" in analysis.__qualname__:
        raise TypeError(f"{analysis.__qualname__}: give a function of a module, which has a name of its own")
    return f"{analysis.__module__}.{analysis.__qualname__}".removeprefix("nmtlab.analysis.")


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
    if isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"argument {name}: a question cannot depend on a {type(value).__name__}")


def _checksum(corpus: ParallelCorpus, split: str) -> str:
    texts = [list(corpus.lines(split, corpus.source)), *corpus.references(split)]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
