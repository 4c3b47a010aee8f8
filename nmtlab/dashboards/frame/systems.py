"""Cached systems, and what pages can show of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.languages.movement import MOVEMENT
from nmtlab.analysis.search.beams import OUTCOME
from nmtlab.analysis.search.lengths import PLANNED_LENGTHS
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import Direction
from nmtlab.translation import Translator

_MAX_OPEN = 8
_MAX_PARAMETERS = 50_000_000


def system_of(run: Run) -> Translator:
    """Return the best checkpoint of a run as a translator in its direction, cached.

    Raises:
        RunError: a phrase-based run, or one without weights.
    """
    return _open(run.folder, run.best_step, run.direction if run.other_direction else None)


def is_neural(run: Run) -> bool:
    """Return whether a run has a decoder with word vectors."""
    return run.recipe.model.neural


def has_norms(run: Run) -> bool:
    """Return whether a run is neural and its weights, or the norms logged in training, are available."""
    return is_neural(run) and (run.has_weights() or bool(run.embedding_norm_files))


def has_lexicon(run: Run) -> bool:
    """Return whether a run has a lexical module and its weights are available."""
    model = run.recipe.model
    return can_decode(run) and model.family == "rnn" and model.lexicon == "module"


def has_g(run: Run) -> bool:
    """Return whether a run has logged the g of ScaleNorm."""
    return not run.g_values().empty


def has_searches(run: Run) -> bool:
    """Return whether a run can decode or has stored measures of its searches."""
    return can_decode(run) or any(analysis.answers(run) for analysis in (OUTCOME, SEARCH_ERRORS, PLANNED_LENGTHS))


def has_parent(run: Run) -> bool:
    """Return whether a run is a child whose movement can be shown: its parent is here, or the answer is stored."""
    if run.inheritance is None:
        return False
    return bool(MOVEMENT.answers(run)) or (can_decode(run) and _is_here(run.folder.parent / run.inheritance["parent"]))


def is_multilingual(run: Run) -> bool:
    """Return whether a run is neural and was trained in several directions."""
    return is_neural(run) and len(run.directions) > 1


def has_relatives(run: Run) -> bool:
    """Return whether a run has a parent whose weights it began with, or several directions."""
    return is_multilingual(run) or has_parent(run)


def has_translations(run: Run) -> bool:
    """Return whether a run has stored translations of a text."""
    return bool(run.translations())


def can_decode(run: Run) -> bool:
    """Return whether a run is neural and its weights are available."""
    return is_neural(run) and run.has_weights()


def has_quick_gradients(run: Run) -> bool:
    """Return whether integrated gradients of a run take seconds, and not minutes in which a page would not answer."""
    return sum(parameter.numel() for parameter in system_of(run).model.parameters()) <= _MAX_PARAMETERS


def lack(run: Run, accepts: Callable[[Run], bool]) -> str:
    """Return, in a few words, why a page cannot show a run.

    Args:
        run: one that the page does not accept.
        accepts: the page's test, one of those above.
    """
    if not is_neural(run) and accepts is not has_translations:
        return "phrase-based"
    return _LACKS.get(accepts, "not for this page")


_LACKS: Mapping[Callable[[Run], bool], str] = {
    can_decode: "no weights",
    has_norms: "neither weights nor logged norms",
    has_lexicon: "no lexical module with weights",
    has_g: "no values of g",
    has_searches: "neither weights nor stored searches",
    has_relatives: "neither a parent nor several directions",
    has_translations: "no stored translations",
}


def of_one_pair(runs: Sequence[Run], pair: Direction | None = None) -> list[Run]:
    """Return the runs that translate a language pair, in this direction; that of the first run if not given."""
    return [run.directed(*(pair or runs[0].direction)) for run in runs if run.translates(*(pair or runs[0].direction))]


def of_one_source(runs: Sequence[Run]) -> list[Run]:
    """Return the runs with the same source language as the first."""
    return [run for run in runs if run.direction[0] == runs[0].direction[0]]


def mentioned(runs: Iterable[Run]) -> str:
    """Return the labels of runs for a sentence, those with commas in quotation marks."""
    return ", ".join(f"“{run.label}”" if "," in run.label else run.label for run in runs)


def left_out(runs: Sequence[Run], shown: Sequence[Run]) -> str:
    """Describe which runs are not shown because of their languages; empty if all are shown.

    Args:
        runs: the chosen runs.
        shown: those of them that are shown.
    """
    names = {run.name for run in shown}
    omitted: dict[str, list[Run]] = {}
    for run in runs:
        if run.name not in names:
            omitted.setdefault("-".join(run.direction), []).append(run)
    reasons = "; ".join(
        f"{mentioned(group)} {'translates' if len(group) == 1 else 'translate'} {pair}"
        for pair, group in omitted.items()
    )
    return f"{len(shown)} of {len(runs)} shown: {reasons}." if reasons else ""


def _is_here(folder: Path) -> bool:
    return folder.is_dir() and Run(folder).has_weights()


@lru_cache(maxsize=_MAX_OPEN)
def _open(folder: Path, step: int | None, direction: Direction | None) -> Translator:
    return opened(Run(folder)) if direction is None else _open(folder, step, None).directed(*direction)
