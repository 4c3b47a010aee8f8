"""What packed and imported runs cannot do, in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from nmtlab.errors import printable


def imported_limitations(facts: Mapping[str, Any]) -> str:
    """Return what a run imported from another program cannot do, as a clause.

    Args:
        facts: of `Run.imported`.
    """
    model, counted = facts["model"], facts["counted"]
    counts = f"those of {counted}, not of the text it was trained on" if counted else "unknown"
    limits = (
        f"imported from {model}, it cannot be trained further and has no log of its training; the counts of its "
        f"types are {counts}"
    )
    return printable("; ".join((limits, *facts.get("notes", []))))


def packed_limitations(facts: Mapping[str, Any], weights: bool, analyses: Iterable[str], digest: str | None) -> str:
    """Return what a packed run cannot do, as a clause.

    Args:
        facts: of `Run.packed`.
        weights: whether it was packed with them.
        analyses: names of the analyses that it has stored answers of.
        digest: of its original weights; None if not recorded.
    """
    original = f"digest {digest[:12]}" if digest else "whose digest was not recorded"
    if weights:
        return (
            "packed with weights in half precision, it cannot be trained further; new log-probabilities "
            f"may differ by 0.01 from the answers packed with it, which are from the original weights, {original}"
        )
    answers = ", ".join(sorted({name.rpartition(".")[2].replace("_", " ") for name in analyses}))
    bundled = facts.get("bundled", False)
    without = "its model, gradient norms and norms of words" if bundled else "its model"
    has = "training curves, its translations" if bundled else "logs"
    return (
        f"packed without {without}, it can neither translate nor answer new questions; it has its {has}, its "
        f"vocabulary and {f'stored answers ({answers})' if answers else 'no stored answers'}"
        f"{f' from the original weights, {original}' if answers else ''}"
    )
