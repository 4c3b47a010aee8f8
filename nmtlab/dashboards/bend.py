"""Moving an attention weight by hand, and decoding again from there."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.attention.bent import decode_again
from nmtlab.dashboards.columns import row
from nmtlab.dashboards.page import Note, heading
from nmtlab.translation import Translator


class Bend(widgets.VBox):
    """Controls that move attention at one token of a translation, and what is said then.

    Args:
        guarded: the page's, which tells of errors.
    """

    def __init__(self, guarded: Callable[[], AbstractContextManager[None]]) -> None:
        self._guarded = guarded
        self._system: Translator | None = None
        self._source = self._target = ""
        self.fresh = False
        self.position = widgets.Dropdown(description="Before", options=[])
        self.place = widgets.Dropdown(description="look at", options=[])
        self.weight = widgets.FloatSlider(
            description="with", value=1.0, min=0, max=1, step=0.05, continuous_update=False
        )
        self.button = widgets.Button(
            description="Decode again", tooltip="Keep what stands before, and go on from there"
        )
        self.button.on_click(lambda _: self._decode())
        self.said = Note()
        controls = row(self.position, self.place, self.weight, self.button)
        super().__init__([heading("What if it looked elsewhere?"), controls, self.said])
        self.layout.display = "none"

    def offer(self, system: Translator, source: str, target: str, weights: pd.DataFrame) -> None:
        """Offer the tokens of a translation and of its source.

        Args:
            system: whose attention is moved.
            source, target: the sentence and its translation.
            weights: rows of `analysis.attention.attention_of` of both.
        """
        self.fresh = True
        asked = (system, source, target)
        if asked == (self._system, self._source, self._target):
            return
        self._system, self._source, self._target = asked
        self.layout.display = "none" if system.model.plans_length else ""
        for control, side in ((self.position, "target"), (self.place, "source")):
            pieces = weights.drop_duplicates(f"{side}_position").sort_values(f"{side}_position")
            places = zip(pieces[f"{side}_piece"], pieces[f"{side}_position"].tolist(), strict=True)
            control.options = [(f"{place + 1}: {piece}", place) for piece, place in places]
            control.value = 0
        self.said.say("")

    def clear(self) -> None:
        """Offer nothing."""
        self._system = None
        self.layout.display = "none"

    def _decode(self) -> None:
        with self._guarded():
            bent = decode_again(
                self._system, self._source, self._target, self.position.value, self.place.value, self.weight.value
            )
            token = self.position.label.partition(": ")[2]
            self.said.say(f"{bent.text or '(nothing)'}  —  p({token}) was {bent.before:.3f} and is {bent.after:.3f}.")
