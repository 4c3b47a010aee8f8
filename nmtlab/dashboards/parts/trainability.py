"""The trainability maps of a workspace."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.frame.page import Note
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import row
from nmtlab.errors import NmtlabError
from nmtlab.experiments.running.trainability import COLUMNS, map_path, read_map
from nmtlab.plots import trainability_figure
from nmtlab.workspace import Workspace


class Maps(widgets.VBox):
    """A trainability map; `training` selects one of the workspace's maps, or of the checkout's if it has none."""

    def __init__(self, workspace: Workspace) -> None:
        self._maps, without = _maps(workspace)
        self.training = widgets.Dropdown(
            description="Training",
            options=list(dict.fromkeys(self._maps["training"])),
            layout={"width": "64em", "max_width": "100%"},
        )
        self._chart = Chart()
        super().__init__([row(self.training), Note(without), self._chart])

    def show(self) -> None:
        """Show the selected map, if any."""
        if self.training.value:
            self._chart.show(trainability_figure(self._maps[self._maps["training"] == self.training.value]))


def _maps(workspace: Workspace) -> tuple[pd.DataFrame, str]:
    """Return the available maps, and a message if there are none."""
    try:
        maps = read_map(map_path(workspace))
    except NmtlabError as error:
        return pd.DataFrame(columns=COLUMNS), str(error)
    return maps, "" if len(maps) else "No trainability map yet: run 'nmtlab trainability'."
