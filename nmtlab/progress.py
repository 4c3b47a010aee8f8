"""Training progress in a terminal or a notebook."""

import math

from tqdm.auto import tqdm

from nmtlab.training.events import Ended, Event, Hint, Prepared, Preparing, Progress, Validated
from nmtlab.training.inheritance import Inheritance


class ProgressBar:
    """Draws training events; pass it to `train` as `on_event`.

    Args:
        label: what is being trained.
        quiet: draw only the bar, no line for each evaluation.
    """

    def __init__(self, label: str = "", quiet: bool = False) -> None:
        self.label = label
        self.quiet = quiet
        self.bar: tqdm | None = None
        self.best = -math.inf

    def __call__(self, event: Event) -> None:
        if isinstance(event, Preparing):
            self._write(f"{event.what} ...")
        elif isinstance(event, Inheritance):
            self._write(event.summary())
        elif isinstance(event, Prepared):
            self._begin(event)
        elif isinstance(event, Progress):
            self._advance(event)
        elif isinstance(event, Validated):
            self._validated(event)
        elif isinstance(event, Hint):
            self._write(event.text)
        elif isinstance(event, Ended):
            self._end(event)

    def _begin(self, event: Prepared) -> None:
        skipped = ", ".join(f"{count:,} {reason}" for reason, count in event.skipped.items() if count)
        self._write(
            f"{event.parameters:,} parameters; {event.pairs:,} training pairs"
            + (f" (left out: {skipped})" if skipped else "")
            + f"; at most {event.updates:,} updates"
        )
        self.best = -math.inf
        layout = "{desc}{percentage:3.0f}%|{bar:12}| {n_fmt}/{total_fmt}{postfix}"
        self.bar = tqdm(total=event.updates, bar_format=layout, dynamic_ncols=True, mininterval=0.5, disable=None)

    def _advance(self, event: Progress) -> None:
        if self.bar is None:
            return
        best = f"{self.best:.1f}" if self.best > -math.inf else "-"
        used = "" if event.utilisation is None else f" {event.utilisation:.0%} MFU"
        self.bar.set_description_str(f"{self.label} ", refresh=False)
        self.bar.set_postfix_str(
            f"loss {event.loss:.2f} ppl {event.perplexity:.1f} {event.tokens_per_second:,.0f} tok/s{used} "
            f"grad {event.gradient_norm:.2f} lr {event.rate:.0e} BLEU {best} {clock(event.seconds_left)} left",
            refresh=False,
        )
        self.bar.update(event.step - self.bar.n)

    def _validated(self, event: Validated) -> None:
        mark = " *" if event.is_best else ""
        self.best = event.best
        if not self.quiet:
            chrf = "" if event.chrf is None else f"chrF {event.chrf:5.2f}  "
            each = ", ".join(f"{direction} {bleu:.1f}" for direction, bleu in event.directions.items())
            self._write(
                f"update {event.step:>6,}  {clock(event.seconds)}  dev BLEU {event.bleu:5.2f}  "
                f"{f'({each})  ' if each else ''}{chrf}"
                f"perplexity {event.perplexity:8.2f}{mark}"
            )

    def _end(self, event: Ended) -> None:
        if self.bar is not None:
            self.bar.close()
        best = f"best dev BLEU {event.best:.2f}" if event.best > -math.inf else "no evaluation yet"
        self._write(f"{event.status} after {event.step:,} updates and {clock(event.seconds)}; {best}")

    def _write(self, text: str) -> None:
        tqdm.write(f"{self.label}: {text}" if self.label else text)


def clock(seconds: float) -> str:
    """Return a duration as `1:02:03` or `2:03`."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
