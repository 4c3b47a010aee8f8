"""What a training tells whoever watches it."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Preparing:
    """Work before the first update: what is being done."""

    what: str


@dataclass(frozen=True)
class Prepared:
    """Everything is ready: sizes of the model and the data."""

    parameters: int
    pairs: int
    skipped: dict[str, int]
    updates: int


@dataclass(frozen=True)
class Progress:
    """Some updates further; means over the updates since the last such event, of losses a target token.

    `terms` are what each term of the objective adds to the loss. `utilisation` is the share of the GPU's arithmetic
    that is used, None where its peak is not known.
    """

    step: int
    updates: int
    loss: float
    perplexity: float
    tokens_per_second: float
    gradient_norm: float
    rate: float
    seconds: float
    seconds_left: float
    utilisation: float | None = None
    terms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Validated:
    """Dev text was decoded and scored."""

    step: int
    bleu: float
    perplexity: float
    best: float
    seconds: float
    seconds_left: float


@dataclass(frozen=True)
class Ended:
    """Training is over: finished, stopped or diverged."""

    status: str
    step: int
    best: float
    seconds: float


Event = Preparing | Prepared | Progress | Validated | Ended
OnEvent = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Watch nothing."""
