"""Sentences that show something: a picked one becomes the sentence of the page."""

from collections.abc import Sequence

from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.widgets.table import Table


class Finder(Table):
    """A table of lines of the chosen text; each is chosen by a click.

    Args:
        title: what the lines show.
        sentences: where they are chosen.
    """

    def __init__(self, title: str, sentences: SentenceChooser) -> None:
        super().__init__(title, pick="one")
        self._sentences = sentences
        self.observe(lambda change: self._go(change["new"]), "value")

    def offer(self, lines: Sequence[int], why: str) -> None:
        """Offer lines of the chosen text, in this order.

        Args:
            lines: their numbers, from 1; those that the chooser does not list are left out.
            why: there are none.
        """
        listed = self._sentences.table.frame
        known = [line for line in lines if line in listed.index]
        self.show(listed.reindex(columns=["line", "source", "reference"]).loc[known], why=why)

    def _go(self, line: int | None) -> None:
        if line is not None:
            self.unpick()
            self._sentences.table.choose([line])
