"""The trainability maps of a workspace."""

import ipywidgets as widgets

from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import row
from nmtlab.dashboards.widgets.note import Note
from nmtlab.errors import NmtlabError
from nmtlab.experiments.running.trainability import map_path, read_map
from nmtlab.experiments.shown.trainability import trainability_view
from nmtlab.workspace import Workspace


class Maps(widgets.VBox):
    """A trainability map; `training` selects one of the workspace's maps, or of the checkout's if it has none.

    `state` holds the widget that an address stores, and `section` shows the map.
    """

    def __init__(self, workspace: Workspace) -> None:
        trainings, without = _trainings(workspace)
        self.training = widgets.Dropdown(
            description="Training", options=trainings, layout={"width": "64em", "max_width": "100%"}
        )
        self._chart = Chart()
        self.state = {"training": self.training}
        self.section = Section(self.state, (self._chart,), self._show)
        super().__init__([row(self.training), Note(without), self._chart])

    def _show(self) -> None:
        if self.training.value:
            self._chart.show(trainability_view(self.training.value).figure)


def _trainings(workspace: Workspace) -> tuple[list[str], str]:
    """Return the training settings of the available maps, and a message if there are none."""
    try:
        maps = read_map(map_path(workspace))
    except NmtlabError as error:
        return [], str(error)
    missing = "" if len(maps) else "No trainability map yet: run 'nmtlab trainability'."
    return list(dict.fromkeys(maps["training"])), missing
