"""The maps of trainability that are here."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.chart import Chart
from nmtlab.dashboards.columns import row
from nmtlab.dashboards.page import Note
from nmtlab.errors import NmtlabError
from nmtlab.experiments.stored import RESULTS
from nmtlab.experiments.trainability import COLUMNS, read_map
from nmtlab.plots import trainability_figure


class Maps(widgets.VBox):
    """A map, and `training`, which chooses among those of the file."""

    def __init__(self) -> None:
        self._maps, without = _maps()
        self.training = widgets.Dropdown(
            description="Training", options=list(dict.fromkeys(self._maps["training"])), layout={"width": "50em"}
        )
        self._chart = Chart()
        super().__init__([row(self.training), Note(without), self._chart])

    def show(self) -> None:
        """Show the chosen map, if there is any."""
        if self.training.value:
            self._chart.show(trainability_figure(self._maps[self._maps["training"] == self.training.value]))


def _maps() -> tuple[pd.DataFrame, str]:
    """Return the maps that are here, and what is to be said if there is none."""
    try:
        maps = read_map(RESULTS / "trainability.csv")
    except NmtlabError as error:
        return pd.DataFrame(columns=COLUMNS), str(error)
    return maps, "" if len(maps) else "No map yet: nmtlab trainability makes one."
