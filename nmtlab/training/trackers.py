"""Optional logging to trackio or to Weights & Biases, whose functions have the same names and arguments.

Except that Weights & Biases knows a run that is resumed by its id, and trackio by its name.
"""

from importlib import import_module
from typing import Any, Literal

from nmtlab.errors import missing_package
from nmtlab.training.events import Ended, Event, OnEvent, Prepared, Progress, Validated, curves

Tracker = Literal["trackio", "wandb"]


def tracker_writer(package: Tracker, name: str, settings: dict[str, Any]) -> OnEvent:
    """Return a listener that logs a training's curves to the project `nmtlab` of a tracker.

    Args:
        package: the tracker's Python package; its own environment variables say where to log to.
        name: of the run.
        settings: of the training, shown beside the curves.

    Raises:
        NmtlabError: the package is not installed.
    """
    try:
        tracker = import_module(package)
    except ImportError as error:
        raise missing_package(package) from error

    is_open = False
    known_by = {"id": name} if package == "wandb" else {}

    def write(event: Event) -> None:
        nonlocal is_open
        if isinstance(event, Prepared):
            tracker.init(project="nmtlab", name=name, config=settings, resume="allow", **known_by)
            is_open = True
        elif isinstance(event, Progress | Validated):
            tracker.log(curves(event), step=event.step)
        elif isinstance(event, Ended) and is_open:  # a phrase-based training has no updates to log
            tracker.finish()

    return write
