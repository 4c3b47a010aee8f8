"""A table of two small systems on a small corpus, for tests of what is done with tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmtlab.grids.declared.declaration import Column, Row, Setup, Table
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.recipe import Recipe

SYSTEMS: Mapping[str, Mapping[str, Any]] = {"tied": {}, "fixnorm": {"model.norm": "layer"}}


def little_table(
    folder: Path,
    recipe: Recipe,
    systems: Mapping[str, Mapping[str, Any]] = SYSTEMS,
    seeds: tuple[int, ...] = (1, 2),
    **fields: Any,
) -> Table:
    """Return a table under a published name, whose one row is the corpus `tiny`, and save its recipe in `folder`."""
    path = folder / "little.toml"
    recipe.save(path)
    return Table(
        name="table-3.4",
        title="Two small systems",
        rows=(
            Row(
                "ha-en",
                {"tiny": Setup(ExternalCorpus("tiny", "de", "en")), "small": "too large", "thesis": "too large"},
            ),
            Row("hu-en", {"tiny": "no such text", "small": "too large", "thesis": "too large"}),
        ),
        columns=tuple(Column(name, str(path), changes) for name, changes in systems.items()),
        **{"metrics": ("dev-bleu",), "baseline": "tied", "seeds": {"tiny": seeds}, **fields},
    )
