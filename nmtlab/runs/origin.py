"""Where a run comes from, and what a packed or imported run cannot do."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from nmtlab.errors import RunError, printable
from nmtlab.reading import parsed, read_json
from nmtlab.runs.answers import notes_folder
from nmtlab.runs.schemas import Imported, Packed
from nmtlab.runs.tensors import checkpoint_path

PACKED, IMPORTED = "packed.json", "imported.json"
REMEDY = "restore it from a backup, or train the run again"


def packed_facts(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return what was recorded when a run was packed, from its files; nothing if that is damaged.

    Whoever opens the run is told what is wrong with it.
    """
    try:
        return parsed(files[PACKED], Packed)
    except (ValueError, RecursionError):
        return {}


class Origin:
    """Whether a run was trained here, packed or imported, and what it cannot do if it was not trained here."""

    def __init__(self, folder: Path, elsewhere: Path | None) -> None:
        self._folder, self._elsewhere = folder, elsewhere

    @cached_property
    def packed(self) -> dict[str, Any] | None:
        """What was recorded when the run was packed, such as the step of its best checkpoint; None if not packed."""
        return self._recorded(PACKED, Packed)

    @cached_property
    def imported(self) -> dict[str, Any] | None:
        """What was recorded when the run was imported from another program: `model`, `architecture`, `counted`."""
        return self._recorded(IMPORTED, Imported)

    @property
    def limitations(self) -> str:
        """What a packed or imported run cannot do, as a sentence without its full stop; empty for any other."""
        clauses = [_limitations_of_imported(self.imported)] if self.imported else []
        if self.packed:
            clauses.append(_with_weights(self.packed) if self._has_model else _without(self.packed, self._analyses))
        return "; ".join(clauses)

    def check_model(self) -> None:
        """Raise `RunError`, naming what it has instead, if the run was packed without its model."""
        if self.packed and not self._has_model:
            raise RunError(f"run {self._folder.name!r}: {self.limitations}", "use these, or train its recipe again")

    def check_trainable(self) -> None:
        """Raise `RunError` if the run was packed or imported."""
        name = self._folder.name
        for kind, facts in (("a packed", self.packed), ("an imported", self.imported)):
            if facts:
                raise RunError(
                    f"run {name!r}: cannot be resumed: {kind} run stays as it is",
                    f"go on from it in a new run: nmtlab train CORPUS --from {name}",
                )

    @property
    def _has_model(self) -> bool:
        return checkpoint_path(self._folder, "best").exists()

    @property
    def _analyses(self) -> set[str]:
        """The analyses that it has answers of, by the names of files: a damaged answer does not hide the others."""
        folders = {self._folder, notes_folder(self._folder, self._elsewhere)}
        return {path.name.rpartition("-")[0] for one in folders for path in (one / "measures").glob("[!.]*.parquet")}

    def _recorded(self, name: str, kind: type) -> dict[str, Any] | None:
        path = self._folder / name
        return read_json(path, kind, REMEDY) if path.exists() else None


def _limitations_of_imported(facts: Mapping[str, Any]) -> str:
    model, counted = facts["model"], facts["counted"]
    counts = f"those of {counted}, not of the text it was trained on" if counted else "unknown"
    limits = (
        f"imported from {model}, it has no log of its training; the counts of its types are {counts}; "
        "'nmtlab train CORPUS --from RUN' goes on from it"
    )
    return printable("; ".join((limits, *facts.get("notes", []))))


def _with_weights(facts: Mapping[str, Any]) -> str:
    return (
        "packed with weights in half precision, it cannot be trained further; new log-probabilities "
        f"may differ by 0.01 from the answers packed with it, which are from the original weights, {_original(facts)}"
    )


def _without(facts: Mapping[str, Any], analyses: Iterable[str]) -> str:
    answers = ", ".join(sorted({name.rpartition(".")[2].replace("_", " ") for name in analyses}))
    bundled = facts.get("bundled", False)
    without = "its model, gradient norms and norms of words" if bundled else "its model"
    has = "training curves, its translations" if bundled else "logs"
    return (
        f"packed without {without}, it can neither translate nor answer new questions; it has its {has}, its "
        f"vocabulary and {f'stored answers ({answers})' if answers else 'no stored answers'}"
        f"{f' from the original weights, {_original(facts)}' if answers else ''}"
    )


def _original(facts: Mapping[str, Any]) -> str:
    """Return the digest of the weights before they were packed, in words."""
    digest = facts.get("weights")
    return f"digest {digest[:12]}" if digest else "whose digest was not recorded"
