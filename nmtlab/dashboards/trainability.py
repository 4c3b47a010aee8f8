"""The maps of trainability that are here."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.chart import Chart
from nmtlab.dashboards.columns import row
from nmtlab.dashboards.page import Note
from nmtlab.errors import NmtlabError
from nmtlab.experiments.running.trainability import COLUMNS, map_path, read_map
from nmtlab.plots import trainability_figure
from nmtlab.workspace import Workspace


class Maps(widgets.VBox):
    """A map, and `training`, which chooses among those of the workspace, or of the checkout if it has none."""

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
        """Show the chosen map, if there is any."""
        if self.training.value:
            self._chart.show(trainability_figure(self._maps[self._maps["training"] == self.training.value]))


def _maps(workspace: Workspace) -> tuple[pd.DataFrame, str]:
    """Return the maps that are here, and what is to be said if there is none."""
    try:
        maps = read_map(map_path(workspace))
    except NmtlabError as error:
        return pd.DataFrame(columns=COLUMNS), str(error)
    return maps, "" if len(maps) else "No map yet: nmtlab trainability makes one."
