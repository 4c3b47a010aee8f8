"""Attention interventions: set an attention weight by hand and decode again from there."""

import ipywidgets as widgets
import numpy as np
import pandas as pd

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.attention.heatmap import shown_weights
from nmtlab.analysis.attention.intervention import redecode
from nmtlab.dashboards.widgets.controls import button, row, show_if
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.work import Guarded
from nmtlab.figures.marks import Token
from nmtlab.figures.theme import readable
from nmtlab.translation import Translator


class InterventionControls(widgets.VBox):
    """Controls that move attention at one token of a translation, and the resulting translation."""

    def __init__(self, guarded: Guarded) -> None:
        self._system: Translator | None = None
        self._source = self._target = ""
        self._pieces: dict[str, list[str]] = {}
        self.fresh = False
        self.position = widgets.Dropdown(description="For token", options=[])
        self.place = widgets.Dropdown(description="to", options=[])
        self.weight = widgets.FloatSlider(
            description="with weight", value=1.0, min=0, max=1, step=0.05, continuous_update=False
        )
        about = "Keep the tokens before it and decode the rest"
        self.button = button("Decode again", self._decode, guarded, tooltip=about)
        self.said = Note()
        controls = row(widgets.Label("Move attention:"), self.position, self.place, self.weight, self.button)
        super().__init__([controls, self.said])
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
            rows = weights.drop_duplicates(f"{side}_position").sort_values(f"{side}_position")
            self._pieces[side] = rows[f"{side}_piece"].tolist()
            control.options = [(f"{n + 1}: {piece}", n) for n, piece in enumerate(readable(self._pieces[side]))]
        self.position.value, self.place.value = telling_move(weights)
        self.said.say("")

    def follow(self, token: Token | None) -> None:
        """Offer a selected token."""
        for control, side in ((self.position, "target"), (self.place, "source")):
            places = token.places(side, self._pieces.get(side, [])) if token and token.position else []
            control.value = next(iter(places), control.value)

    def clear(self) -> None:
        """Offer nothing."""
        self._system = None
        self.layout.display = "none"

    def _decode(self) -> None:
        assert self._system is not None  # without one, the controls are hidden
        result = redecode(
            self._system, self._source, self._target, self.position.value, self.place.value, self.weight.value
        )
        token = self.position.label.partition(": ")[2]
        self.said.say(f"{legible(result.text)}  —  p({token}): {result.before:.3f} before, {result.after:.3f} after.")


def telling_move(weights: pd.DataFrame) -> tuple[int, int]:
    """Return where moved attention can tell most: the token with the flattest attention, and its second source word.

    Args:
        weights: rows of `attention` of one run; the ends of both sentences are left out if there is anything else.
    """
    drawn = shown_weights(weights)
    words = drawn[: max(1, len(drawn) - 1), : max(1, drawn.shape[1] - 1)]
    position = words.max(axis=1).argmin()
    return int(position), int(np.argsort(-words[position], kind="stable")[:2][-1])
