"""Schemas of the JSON in a run's folder; fields that are not named here are kept unchanged."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, RootModel

Status = Literal["training", "interrupted", "finished", "stopped", "diverged", "imported"]
"""How a training ended, or whether it is running or was interrupted; an imported model has none."""


class _Facts(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class Environment(_Facts):
    """`environment.json`: what the run was made with."""

    corpus_checksum: str = ""
    processes: int = Field(1, ge=1)
    overlap: dict[str, int] = {}
    code: dict[str, Any] = {}
    machine: dict[str, Any] = {}


class Packed(_Facts):
    """`packed.json`: what was recorded when the run was packed.

    `vocabulary` is the digest of one that it leaves out, and `inherited` names the weights that it leaves out.
    """

    best_step: NonNegativeInt | None = None
    weights: str | None = None
    bundled: bool = False
    vocabulary: Annotated[str, Field(pattern=r"^([0-9a-f]{16})?$")] = ""
    inherited: list[str] = []


class Imported(_Facts):
    """`imported.json`: what an imported model was.

    `counted` is the corpus whose text gave the counts, if any; `notes` are clauses on what is different where it comes
    from.
    """

    model: str
    architecture: str
    counted: str = ""
    notes: list[str] = []


class InheritedFacts(_Facts):
    """Of one parameter of a child."""

    name: str
    part: str
    use: str
    types: NonNegativeInt | None
    kept: NonNegativeInt


class InheritanceFacts(_Facts):
    """`inheritance.json`: what a child has from its parent."""

    parent: str
    weights: str | None
    parameters: list[InheritedFacts]
    origin: str = ""


class BestFacts(_Facts):
    """Facts of the best checkpoint."""

    step: NonNegativeInt


class LastFacts(_Facts):
    """Facts of the last checkpoint: where training resumes."""

    step: NonNegativeInt
    epoch: NonNegativeInt
    batch: NonNegativeInt
    seconds: float = Field(ge=0)
    factor: float
    best: float | None
    best_chrf: float = 0.0
    best_perplexity: float | None = None
    unscheduled: Annotated[list[float], Field(min_length=2, max_length=3)] | None = None
    since_best: NonNegativeInt
    evaluations: NonNegativeInt
    reported: NonNegativeInt | None = None
    pending: list[Annotated[list[float], Field(min_length=5)]] = []


class TranslationFacts(_Facts):
    """`translations/NAME.json`: the text that was translated, the checkpoint and the search settings.

    `corpus` is the name of the text; `made_by` names a way to translate that search settings do not describe, and is
    empty for the usual one; `more_sources` is a digest of the sources that were read together with the first, if any.
    """

    split: str
    text: str
    step: NonNegativeInt | None
    weights: str | None = None
    search: dict[str, Any]
    direction: str = ""
    made_by: str = ""
    more_sources: str = ""
    corpus: str = ""
    schema_: int = Field(1, alias="schema")


class _Train(_Facts):
    kind: Literal["train"]
    step: NonNegativeInt
    loss: float
    terms: dict[str, float] = {}
    perplexity: float
    seconds: float


class _Validation(_Facts):
    kind: Literal["validation"]
    step: NonNegativeInt
    bleu: float
    directions: dict[str, float] = {}
    perplexity: float | None = None
    chrf: float | None = None
    seconds: float


class _MeanOf(_Facts):
    run: str
    steps: list[NonNegativeInt]
    weights: list[str]


class _Pruned(_Facts):
    run: str
    share: float
    blind: bool
    weights: str | None


class _Cut(_Facts):
    run: str
    share: float
    weights: str | None


class _End(_Facts):
    kind: Literal["end"]
    step: NonNegativeInt
    status: Literal["finished", "stopped", "diverged"]
    seconds: float
    mean_of: _MeanOf | None = None
    pruned: _Pruned | None = None
    cut: _Cut | None = None


class MetricsLine(RootModel):
    """A line of `metrics.jsonl`."""

    root: _Train | _Validation | _End = Field(discriminator="kind")


class GradientNormLine(_Facts):
    """A line of `probes/gradient_norm.jsonl`."""

    step: NonNegativeInt
    norm: float


class GLine(_Facts):
    """A line of `probes/g.jsonl`."""

    step: NonNegativeInt
    name: str
    side: str
    kind: str
    depth: NonNegativeInt
    g: float
