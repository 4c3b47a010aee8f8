"""Depth and g (thesis Figures 3.6 and 3.7)."""

from nmtlab.analysis.dynamics.depth import G_BY_DEPTH, G_SLOPES, SLOPES_OF_G
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.views import answers
from nmtlab.dashboards.parts.claims import ClaimsSection
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
    title = "At the checkpoint with the best dev score; a positive slope means that g grows with depth"
    g = answers(G_BY_DEPTH, runs, title)
    body = [
        g.answer, g.chart,
        Fold("training", "Does g come to grow during training?", answers(SLOPES_OF_G, runs)),
        Fold("slopes", "What is the slope of g per layer, and its correlation with depth?", g.table),
        Fold("claims", "What do the claims that g grows say, over seeds?", ClaimsSection(("runs",), G_SLOPES)),
    ]  # fmt: skip
    return Page(PAGE, {"runs": runs.table}, [g], body, [runs], runs.refresh)
