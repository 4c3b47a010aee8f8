"""Attention interventions: set an attention weight by hand and decode again from there."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.attention.intervention import redecode
from nmtlab.dashboards.widgets.controls import button, row, show_if
from nmtlab.dashboards.widgets.note import Note, heading
from nmtlab.dashboards.widgets.work import Guarded
from nmtlab.figures.marks import Token
from nmtlab.translation import Translator


class InterventionControls(widgets.VBox):
    """Controls that move attention at one token of a translation, and the resulting translation."""

    def __init__(self, guarded: Guarded) -> None:
        self._system: Translator | None = None
        self._source = self._target = ""
        self.fresh = False
        self.position = widgets.Dropdown(description="At token", options=[])
        self.place = widgets.Dropdown(description="attend to", options=[])
        self.weight = widgets.FloatSlider(
            description="weight", value=1.0, min=0, max=1, step=0.05, continuous_update=False
        )
        about = "Keep the tokens before it and decode the rest"
        self.button = button("Decode again", self._decode, guarded, tooltip=about)
        self.said = Note()
        controls = row(self.position, self.place, self.weight, self.button)
        super().__init__([heading("What if it attended elsewhere?"), controls, self.said])
        self.layout.display = "none"

    def offer(self, system: Translator, source: str, target: str, weights: pd.DataFrame) -> None:
        """Offer the tokens of a translation and of its source.

        Args:
            system: system whose attention is moved.
            source, target: the sentence and its translation.
            weights: attention weights of the pair, as returned by `analysis.attention.weights.attention`.
        """
        self.fresh = True
        offered = (system, source, target)
        if offered == (self._system, self._source, self._target):
            return
        self._system, self._source, self._target = offered
        show_if(not system.model.plans_length, self)
        for control, side in ((self.position, "target"), (self.place, "source")):
            pieces = weights.drop_duplicates(f"{side}_position").sort_values(f"{side}_position")
            positions = zip(pieces[f"{side}_piece"], pieces[f"{side}_position"].tolist(), strict=True)
            control.options = [(f"{position + 1}: {piece}", position) for piece, position in positions]
            control.value = 0
        self.said.say("")

    def follow(self, token: Token | None) -> None:
        """Offer a selected token."""
        for control, side in ((self.position, "target"), (self.place, "source")):
            pieces = [label.partition(": ")[2] for label, _ in control.options]
            places = token.places(side, pieces) if token and token.position else []
            control.value = next(iter(places), control.value)

    def clear(self) -> None:
        """Offer nothing."""
        self._system = None
        self.layout.display = "none"

    def _decode(self) -> None:
        result = redecode(
            self._system, self._source, self._target, self.position.value, self.place.value, self.weight.value
        )
        token = self.position.label.partition(": ")[2]
        self.said.say(
            f"{result.text or '(empty)'}  —  p({token}): {result.before:.3f} before, {result.after:.3f} after."
        )
