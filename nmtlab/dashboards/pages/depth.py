"""Depth and g (thesis Figures 3.6 and 3.7)."""

from nmtlab.analysis.dynamics.depth import G_BY_DEPTH, G_SLOPES, SLOPES_OF_G
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.views import answers
from nmtlab.dashboards.widgets.note import Note
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.workspace import Workspace

PAGE = About(
    place=40,
    group="Why",
    title="Depth and g",
    question=(
        "Does the learned g of ScaleNorm grow with depth, in which sublayers, and how fast? (thesis Figures "
        "3.6 and 3.7)"
    ),
    name="depth",
    needs=G_BY_DEPTH.needs,
    illustrates=(G_BY_DEPTH,),
)

FIRST = ("deep-de-en.pre-scalenorm", "deep-de-en.post-scalenorm")


def depth_page(workspace: Workspace | None = None) -> Page:
    """Return the page: learned g of each sublayer against its depth, for several runs."""
    none = "No run here has ScaleNorm: train one, e.g. with the recipe prenorm-fixnorm-scalenorm."
    runs = RunChooser(workspace or Workspace.find(), PAGE.needs, FIRST, none=none)
    g = answers(G_BY_DEPTH, runs, "Slopes", digits=3)
    hint = Note()

    def explain() -> None:
        if len(g.frame):
            hint.say(
                "g at the best evaluation of each run; a positive slope means that g grows with depth. "
                f"{(g.frame['slope'] > 0).sum()} of {len(g.frame)} slopes are above 0.{_over_seeds()}"
            )

    sections = [g, Section(("runs",), (hint,), explain)]
    body = [
        g.answer, g.chart, hint,
        Fold("training", "Does g come to grow during training?", answers(SLOPES_OF_G, runs)),
        Fold("slopes", "Slope of g per layer, and its correlation with depth", g.table),
    ]  # fmt: skip
    return Page(PAGE, {"runs": runs.table}, sections, body, [runs], runs.refresh)


def _over_seeds() -> str:
    """Return the verdicts on the claims that g grows with depth, if measured."""
    slopes, claims = {metric.label for metric in G_SLOPES}, declared_claims()
    tables = {claim.evidence for claim in claims if claim.metric.label in slopes}
    found = measured_claims(claims=[claim for claim in claims if claim.evidence in tables])
    verdicts = found.loc[found["metric"].isin(slopes), "verdict"].value_counts()
    counts = ", ".join(f"{verdict}: {count}" for verdict, count in verdicts.items())
    return f" Claims that g grows, over seeds: {counts}." if counts else ""
