"""Optional TensorBoard event files."""

from pathlib import Path

from nmtlab.errors import missing_package
from nmtlab.training.events import Event, OnEvent, Progress, Validated


def event_writer(folder: Path) -> OnEvent:
    """Return a listener that writes a training's curves as TensorBoard event files.

    Raises:
        NmtlabError: tensorboard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise missing_package("tensorboard") from error
    writers: list[SummaryWriter] = []

    def write(event: Event) -> None:
        if not isinstance(event, Progress | Validated):
            return
        if not writers:  # the run's folder does not exist before the first event
            writers.append(SummaryWriter(str(folder)))
        names = ("loss", "perplexity", "tokens_per_second", "gradient_norm", "rate")
        kind, names = ("train", names) if isinstance(event, Progress) else ("dev", ("bleu", "perplexity"))
        for name in names:
            writers[0].add_scalar(f"{kind}/{name}", getattr(event, name), event.step)
        for name, value in (event.terms if isinstance(event, Progress) else {}).items():
            writers[0].add_scalar(f"train/loss/{name}", value, event.step)
        for direction, value in (event.directions if isinstance(event, Validated) else {}).items():
            writers[0].add_scalar(f"dev/bleu/{direction}", value, event.step)
        writers[0].flush()

    return write
