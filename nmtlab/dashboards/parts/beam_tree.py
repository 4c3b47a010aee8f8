"""The search tree of a sentence: a clicked hypothesis is marked with all that it continues, and is continued."""

from collections.abc import Callable
from typing import Any, NamedTuple

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.search.search_tree import continue_from, empty_log_prob, path_to, reference_path, search_tree
from nmtlab.analysis.search.tree_figure import tree_figure
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, columns, show_if
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Guarded
from nmtlab.figures.marks import Token
from nmtlab.figures.theme import with_subtitle
from nmtlab.recipe import SearchSettings
from nmtlab.translation import Translator

TOKENS = "tokens incl. end"
"""The heading of lengths in tokens that count the end."""


class Asked(NamedTuple):
    """A sentence, how it is searched, and what the figure is of, for its subtitle."""

    system: Translator
    source: str
    reference: str | None
    search: SearchSettings
    about: str


class BeamTree(widgets.VBox):
    """The tree of one search, its selected prefix, and what the system makes of that prefix.

    `asked` is what was searched, None before; `tree` holds the rows of `search_tree`, and `reference` those of
    `reference_path`, if there is a reference.

    Args:
        title: of the figure.
        on_token: called with the token of a node that is selected, and with None when it is selected no more.
    """

    asked: Asked | None
    reference: pd.DataFrame | None
    _path: pd.DataFrame | None

    def __init__(self, title: str, guarded: Guarded, on_token: Callable[[Token | None], None]) -> None:
        self._title, self._guarded, self._on_token = title, guarded, on_token
        self.chart = Chart()
        self.hint = Note("Click a node to select its prefix.")
        self.prefix = Table("Selected prefix", pick="one", height="16em")
        about = "Decode on from the selected prefix"
        self.button = button("Continue from here", self._continue, guarded, tooltip=about)
        self.continued = Table("Continued")
        self.chart.on_click(self._clicked)
        super().__init__([self.chart, self.hint, columns(self.prefix, widgets.VBox([self.button, self.continued]))])
        self.clear()

    def search(self, asked: Asked) -> None:
        """Search, and select no prefix; the tree is empty if the only planned length is 0."""
        self.asked = asked
        self.tree = search_tree(asked.system, asked.source, asked.search, asked.reference)
        self.reference, plans = None, asked.system.model.plans_length
        self._empty = None if plans else empty_log_prob(asked.system, asked.source)
        if asked.reference and len(self.tree):
            self.reference = reference_path(asked.system, asked.source, asked.reference, self.tree, asked.search)
        self._select(None)

    def draw(self, until: int) -> None:
        """Draw the steps up to one, from 1."""
        self._until = until
        last = int(self.tree["step"].max())
        shown = self._title, self.reference, self._path, self._empty
        self.chart.show(with_subtitle(tree_figure(self.tree, min(until, last), *shown), self._searched.about))
        self.layout.display = ""
        self.fresh = True

    def clear(self) -> None:
        """Show nothing."""
        self.asked = self.reference = self._empty = None
        self.tree = pd.DataFrame()
        self._until = 1
        self._select(None)
        self.chart.clear()
        self.layout.display = "none"
        self.fresh = False

    @property
    def _searched(self) -> Asked:
        assert self.asked is not None, "nothing was searched"
        return self.asked

    @property
    def best(self) -> dict[str, object]:
        """The beam's best translation, as a row of a table."""
        return result(f"beam of {self._searched.search.beam_size}", self.tree[self.tree["best"]].iloc[-1])

    @property
    def best_tokens(self) -> list[str]:
        """The tokens of the beam's best translation, in the order of the steps."""
        return self.tree.loc[self.tree["best"] & (self.tree["piece"] != ""), "piece"].tolist()

    @property
    def log_prob(self) -> float:
        """The log-probability of the beam's best translation."""
        return float(self.tree.loc[self.tree["best"], "log_prob"].iloc[-1])

    def _clicked(self, content: dict[str, Any]) -> None:
        with self._guarded():
            if len(self.tree) and content["customdata"]:
                node = tuple(content["customdata"])
                self._select(None if node == self._node else node)
                self.draw(self._until)
                self._on_token(None if self._path is None else self._last(self._path))

    def _select(self, node: tuple[int, int] | None) -> None:
        """Select the hypothesis of a step and slot; slot 0 is the reference outside the beam."""
        self._path, self._node = None, node
        self.continued.clear()
        show_if(not node, self.hint)
        show_if(False, self.button)
        if node is None:
            self.prefix.clear()
            return
        step, slot = node
        if slot:
            path = path_to(self.tree, step, slot)
        else:
            assert self.reference is not None  # it alone is outside the beam
            path = self.reference[self.reference["step"] <= step]
        self._path = path
        last = path.iloc[-1]
        planned = self._searched.system.model.plans_length
        where = "" if slot else ", which the beam does not hold"
        length = " (the first token has the log p of the planned length too)" if planned else ""
        self.prefix.title = f"Selected prefix{where}{length}: {legible(last['text'])}"
        self.prefix.show(_by_token(path), pieces=("token",))
        show_if(not (last["ended"] or planned), self.button)

    def _last(self, path: pd.DataFrame) -> Token:
        """Return the last token of a path, at its place in the best translation, or beyond its end."""
        order, step = self._searched.system.pipeline.target.reading_order(self.best_tokens), int(path["step"].iloc[-1])
        return Token("target", 1 + dict(enumerate(order, start=1)).get(step, step - 1), path["piece"].iloc[-1])

    def _continue(self) -> None:
        asked, path = self._searched, self._path
        assert path is not None  # without one, the button is hidden
        found = continue_from(asked.system, asked.source, path["piece"].tolist(), asked.search).iloc[0]
        self.continued.title = f"Continued from: {legible(path['text'].iloc[-1])}"
        self.continued.show(pd.DataFrame([result("from this prefix", found), self.best]))


def result(found_by: str, row: pd.Series) -> dict[str, object]:
    """Return a translation as a row of a table.

    Args:
        found_by: what found it.
        row: with `text`, `log_prob`, which is also its score here, and `scored_length`.
    """
    return {
        "search": found_by,
        "log p": round(float(row["log_prob"]), 2),
        TOKENS: int(row["scored_length"]),
        "translation": legible(row["text"]),
    }


def _by_token(path: pd.DataFrame) -> pd.DataFrame:
    """Return the tokens of a path with their log-probabilities; that of a planned length is in the first."""
    return pd.DataFrame(
        {
            "step": path["step"],
            "token": path["piece"],
            "log p of token": path["log_prob"].diff().fillna(path["log_prob"]).round(2),
            "log p so far": path["log_prob"].round(2),
            "score so far": path["score"].round(2),
            "in the beam": path["slot"].map(lambda slot: f"slot {slot}" if slot else "no"),
        }
    )
