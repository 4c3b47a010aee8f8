"""Does a change gain, or does it only gain time? Differences over the course of training, from the measured tables."""

import ipywidgets as widgets

from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.parts.effects import Effects
from nmtlab.dashboards.widgets.note import Note
from nmtlab.errors import NmtlabError
from nmtlab.figures.view import View
from nmtlab.grids.trainability import MAP, map_path
from nmtlab.thesis.shown.trainability import trainability_view
from nmtlab.workspace import Workspace

PAGE = About(
    place=54,
    group="Why",
    title="Is it only faster?",
    question="Does a change make a system better in the end, or does it only learn faster?",
    name="gains",
)


class GainsPage(Page):
    """The systems of a measured table against one of them over the course of training; which Transformers learn."""

    def __init__(self, workspace: Workspace) -> None:
        self.effects = Effects(workspace)
        trainings, no_maps = _trainings(workspace)
        self.training = widgets.Dropdown(description="Training", options=trainings, layout={"width": "100%"})
        self.maps = ViewSection(self._map, ("training",))
        body = [
            self.effects.answer, self.effects.chart,
            Fold("ends", "How large are the differences at the end?", self.effects.table),
            Fold("maps", "Which Transformers learn to translate?", self.training, Note(no_maps), self.maps),
        ]  # fmt: skip
        state = {**self.effects.state, "training": self.training}
        super().__init__(PAGE, state, [self.effects], body, [self.effects.text, self.effects.than])

    def _map(self) -> View | None:
        return trainability_view(self.training.value) if self.training.value else None


def gains_page(workspace: Workspace | None = None) -> GainsPage:
    """Return the page."""
    return GainsPage(workspace or Workspace.find())


def _trainings(workspace: Workspace) -> tuple[list[str], str]:
    """Return the training settings of the available maps, and a message if there are none."""
    try:
        maps = MAP.read(map_path(workspace))
    except NmtlabError as error:
        return [], str(error)
    missing = "" if len(maps) else "No trainability map yet: run 'nmtlab trainability'."
    return list(dict.fromkeys(maps["training"])), missing
