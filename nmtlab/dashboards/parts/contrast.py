"""What heatmaps show: attention, or contributions of source words, also to one target word instead of another."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.attribution.agreement import EXPLANATIONS, Explanation
from nmtlab.analysis.attribution.contributions import SLOW, Instead, Method
from nmtlab.dashboards.frame.systems import has_quick_gradients
from nmtlab.dashboards.widgets.controls import show_if
from nmtlab.errors import NmtlabError
from nmtlab.figures.marks import Token
from nmtlab.runs.run import Run


class ContrastControls(widgets.HBox):
    """A target token and a word to compare it with, beside a choice of `shown`: why this one, and not that one?"""

    def __init__(self) -> None:
        self.shown = widgets.Dropdown(description="Show", options=EXPLANATIONS, layout={"width": "18em"})
        self._position = widgets.Dropdown(description="Explain", options=[("", 0)], layout={"width": "18em"})
        self._word = widgets.Text(
            description="rather than", placeholder="another word, then Enter", continuous_update=False
        )
        self._pieces: dict[str, list[str]] = {}
        self.state = {"show": self.shown, "position": self._position, "instead": self._word}
        super().__init__([self._position, self._word])
        self.add_class("nmtlab-row")

    @property
    def method(self) -> Explanation:
        """The chosen method."""
        return self.shown.value

    @property
    def is_attention(self) -> bool:
        """Whether the heatmaps show attention, which knows no contrast."""
        return self.method == "attention"

    def offer(self, weights: pd.DataFrame) -> None:
        """Offer the target tokens of the first run, if the heatmaps show contributions.

        Args:
            weights: attention of all runs, with their `run`, as from `ATTENTION.among`.
        """
        show_if(not self.is_attention, self)
        if self.is_attention:
            return
        tokens = weights.drop_duplicates(["run", "target_position"])
        self._pieces = {run: rows["target_piece"].tolist() for run, rows in tokens.groupby("run", sort=False)}
        first = next(iter(self._pieces.values()))
        options = tuple((f"{place + 1}: {piece}", place) for place, piece in enumerate(first))
        if options != tuple(self._position.options):
            self._position.options, self._word.value = options, ""

    def follow(self, token: Token | None) -> None:
        """Ask for a selected target token of the first run, if the heatmaps show contributions."""
        first = next(iter(self._pieces.values()), [])
        places = token.places("target", first) if token and not self.is_attention else []
        if places:
            self._position.value = places[0]

    def asked(self, run: Run) -> tuple[Method, Instead | None]:
        """Return the method, not attention, and what to compare if the run has the chosen token at the same position.

        Raises:
            NmtlabError: the run is too large for the method.
        """
        method = self.method
        assert method != "attention"
        if method == SLOW and not has_quick_gradients(run):
            problem = f"{self.method} of {run.label}: they would take minutes"
            raise NmtlabError(problem, "choose another method, or use nmtlab.analysis.attribution in a notebook")
        word, place = self._word.value.strip(), self._position.value
        first, pieces = next(iter(self._pieces.values())), self._pieces[run.label]
        return method, Instead(place, word) if word and pieces[place : place + 1] == [first[place]] else None
