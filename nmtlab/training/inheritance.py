"""What a child takes over from its parent, as logged and shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_DONE = {"tune": "copied", "freeze": "copied and frozen", "reset": "drawn"}


@dataclass(frozen=True)
class Inherited:
    """What was done with one parameter of a child.

    Args:
        use: tune, freeze or reset.
        types: number of types that have a row in it, except special types and control tokens; None without such rows.
        kept: how many of these rows were copied, the others were drawn; without such rows, 1 if it was copied.
    """

    name: str
    part: str
    use: str
    types: int | None
    kept: int


@dataclass(frozen=True)
class Inheritance:
    """What a child takes over from its parent, parameter by parameter.

    `weights` is the digest of the parent's, and `origin` says what a continued parent was trained or imported from.
    """

    parent: str
    weights: str | None
    parameters: tuple[Inherited, ...]
    origin: str = ""

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Inheritance":
        """Return the inheritance that `Run.inheritance` has stored."""
        names = ("name", "part", "use", "types", "kept")
        parameters = (Inherited(**{name: one[name] for name in names}) for one in facts["parameters"])
        return cls(facts["parent"], facts["weights"], tuple(parameters))

    def summary(self) -> str:
        """Return what was copied, drawn and frozen, and a warning if no source type is shared, without a full stop."""
        parts = []
        for part in dict.fromkeys(one.part for one in self.parameters):
            first = next(one for one in self.parameters if one.part == part)
            share = f" ({first.kept:,} of {first.types:,} types)" if first.types and first.use != "reset" else ""
            parts.append(f"{part.replace('_', ' ')} {_DONE[first.use]}{share}")
        warning = "; warning: parent and child share no source type" if self._shares_nothing else ""
        return f"parent {self.parent}: {', '.join(parts)}{warning}"

    @property
    def _shares_nothing(self) -> bool:
        return any(one.part == "source_embedding" and one.use != "reset" and not one.kept for one in self.parameters)
