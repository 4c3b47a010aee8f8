"""What the thesis claims about some numbers, and whether it holds here."""

from collections.abc import Collection

from nmtlab.analysis.access.metric import Metric
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.table import Table
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims, overall


class ClaimsSection(Section):
    """Claims about some numbers in a `table`, each with the texts of every verdict on it.

    Args:
        inputs: names of the page's state after whose change it may be seen first.
        metrics: the numbers.
    """

    def __init__(self, inputs: Collection[str], metrics: Collection[Metric]) -> None:
        self._labels = {metric.label for metric in metrics}
        self.table = Table("Claims, tested over seeds, not on the runs chosen here")
        super().__init__(inputs, (self.table,), self._judge)

    def _judge(self) -> None:
        claims = declared_claims()
        tables = {claim.evidence for claim in claims if claim.metric.label in self._labels}
        found = measured_claims(claims=[claim for claim in claims if claim.evidence in tables])
        about = overall(found[found["metric"].isin(self._labels)])
        self.table.show(about[["claim", "found"]], why="None of the tables that they are about was measured here.")
