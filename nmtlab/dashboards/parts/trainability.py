"""The trainability maps of a workspace."""

import ipywidgets as widgets

from nmtlab.dashboards.frame.page import Note
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import row
from nmtlab.errors import NmtlabError
from nmtlab.experiments.shown.trainability import trainability_view
from nmtlab.experiments.trainability import MAP, map_path
from nmtlab.workspace import Workspace


class Maps(widgets.VBox):
    """A trainability map; `training` selects one of the workspace's maps, or of the checkout's if it has none."""

    def __init__(self, workspace: Workspace) -> None:
        trainings, without = _trainings(workspace)
        self.training = widgets.Dropdown(
            description="Training", options=trainings, layout={"width": "64em", "max_width": "100%"}
        )
        self._chart = Chart()
        super().__init__([row(self.training), Note(without), self._chart])

    def show(self) -> None:
        """Show the selected map, if any."""
        if self.training.value:
            self._chart.show(trainability_view(self.training.value).figure)


def _trainings(workspace: Workspace) -> tuple[list[str], str]:
    """Return the training settings of the available maps, and a message if there are none."""
    try:
        maps = MAP.read(map_path(workspace))
    except NmtlabError as error:
        return [], str(error)
    missing = "" if len(maps) else "No trainability map yet: run 'nmtlab trainability'."
    return list(dict.fromkeys(maps["training"])), missing
