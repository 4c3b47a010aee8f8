"""Optional TensorBoard event files."""

from pathlib import Path

from nmtlab.errors import missing_package
from nmtlab.training.events import Event, OnEvent, Progress, Validated, curves


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
        for name, value in curves(event).items():
            writers[0].add_scalar(name, value, event.step)
        writers[0].flush()

    return write
