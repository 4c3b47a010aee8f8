"""Progress events of a training."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nmtlab.training.inheritance import Inheritance


@dataclass(frozen=True)
class Preparing:
    """Work before the first update; `what` names it."""

    what: str


@dataclass(frozen=True)
class Prepared:
    """Training is about to start: sizes of model and data."""

    parameters: int
    pairs: int
    skipped: dict[str, int]
    updates: int


@dataclass(frozen=True)
class Progress:
    """Some updates were made: means over the updates since the last such event, losses per target token.

    `terms` are the contributions of the objective's terms to the loss. `utilisation` is the model FLOPs utilisation of
    the GPU, None if its peak is not known.
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
    """Dev text was decoded and scored.

    With several directions, `bleu` is the mean of `directions`, otherwise empty: direction, such as `gl-en`, -> BLEU.
    `best` is the BLEU of the best checkpoint, and `is_best` whether that is this one. `chrf` is None if not measured.
    """

    step: int
    bleu: float
    perplexity: float
    best: float
    seconds: float
    seconds_left: float
    directions: Mapping[str, float] = field(default_factory=dict)
    is_best: bool = False
    chrf: float | None = None


@dataclass(frozen=True)
class Hint:
    """Advice on a training that does not learn, as a sentence without its full stop."""

    text: str


@dataclass(frozen=True)
class Ended:
    """Training is over: finished, stopped or diverged."""

    status: str
    step: int
    best: float
    seconds: float


Event = Preparing | Inheritance | Prepared | Progress | Validated | Hint | Ended
OnEvent = Callable[[Event], None]


def curves(event: Event) -> dict[str, float]:
    """Return the points that an event adds to curves, by the curve's name: `train/loss`, `dev/bleu`."""
    if isinstance(event, Progress):
        named = ("loss", "perplexity", "tokens_per_second", "gradient_norm", "rate")
        points = {f"train/{name}": getattr(event, name) for name in named}
        return points | {f"train/loss/{name}": value for name, value in event.terms.items()}
    if isinstance(event, Validated):
        points = {"dev/bleu": event.bleu, "dev/perplexity": event.perplexity}
        points |= {} if event.chrf is None else {"dev/chrf": event.chrf}
        return points | {f"dev/bleu/{direction}": value for direction, value in event.directions.items()}
    return {}


def ignore(event: Event) -> None:
    """Ignore an event."""
