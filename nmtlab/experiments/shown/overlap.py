"""How much do the texts of related and unrelated languages share (thesis 3.1.2)?"""

from html import escape

import pandas as pd
import plotly.graph_objects as go

from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import SHADES, dressed
from nmtlab.figures.view import View
from nmtlab.workspace import RESULTS


def overlap_view(segmentation: str = "words not in the target text") -> View:
    """Show how much the texts of related and unrelated languages share (thesis 3.1.2); its table has the shares.

    Args:
        segmentation: one of those of `shared_words.overlap_matrix`.

    Raises:
        NmtlabError: the overlap was not measured, or not with this segmentation.
    """
    path = RESULTS / "overlap-matrix.csv"
    if not path.is_file():
        raise NmtlabError("the overlap of languages was not measured", "run 'nmtlab corpus overlap-matrix --csv'")
    whole = pd.read_csv(path, keep_default_na=False)
    matrix = whole[whole["segmentation"] == segmentation]
    if matrix.empty:
        known = ", ".join(dict.fromkeys(whole["segmentation"]))
        raise NmtlabError(f"segmentation {segmentation!r}: not measured", f"choose one of {known}")
    shown = matrix[["language", "other_language", "types", "shared_types", "type_share", "token_share"]]
    return View(shown, overlap_figure(matrix))


def overlap_figure(matrix: pd.DataFrame) -> go.Figure:
    """Draw the share of each text's source types that each other text has, as a heatmap.

    Args:
        matrix: rows of `shared_words.overlap_matrix`, of one segmentation.
    """
    names = list(dict.fromkeys(matrix["language"]))
    shares = matrix.pivot(index="language", columns="other_language", values="type_share").reindex(names, columns=names)
    figure = go.Figure(
        go.Heatmap(
            x=names, y=names, z=100 * shares, zmin=0, zmax=100, colorscale=SHADES, texttemplate="%{z:.0f}",
            hoverongaps=False, colorbar={"title": {"text": "%"}},
            hovertemplate="%{z:.1f} % of the types of %{y} are in the text of %{x}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title_text="language that has them", type="category")
    figure.update_yaxes(title_text="language", type="category", autorange="reversed")
    (name,) = set(matrix["segmentation"])
    return dressed(figure, f"Source types of a text that another has (%): {escape(name)}", 160 + 34 * len(names))
