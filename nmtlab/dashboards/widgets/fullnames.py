"""The full names of runs, where a page shows their short ones."""

from pathlib import Path

import anywidget
import traitlets

_HERE = Path(__file__).parent


class FullNames(anywidget.AnyWidget):
    """Shows the full name of a run when the pointer is on its short one, in a table, a legend or a title of a page."""

    _esm = _HERE / "fullnames.js"
    names = traitlets.Dict().tag(sync=True)
    """Full names by short ones."""
