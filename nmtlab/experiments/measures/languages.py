"""Numbers in the tables on related languages."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from nmtlab.analysis.access.measure import measure
from nmtlab.analysis.languages.shared_types import parent_of, shared_types
from nmtlab.experiments.measures.quality import OfSeedsAlone
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus


@dataclass(frozen=True)
class SharedTypes(OfSeedsAlone):
    """Share of a child's source types that occur in its parent's source text, in percent (Table 3.3).

    Args:
        part: the child's text whose types count.
    """

    part: Literal["train", "dev"]
    split: ClassVar[None] = None
    lower_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return f"source types in parent, {self.part} (%)"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the percentage."""
        shares = measure(run, shared_types, corpus=corpus, parent=parent_of(run)).set_index("split")["type_share"]
        return 100 * float(shares[self.part])


SHARED_TYPES = (SharedTypes("train"), SharedTypes("dev"))
