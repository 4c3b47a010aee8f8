"""Many languages in one model (thesis 4.2): how well they translate, by what they share and by their text's size."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, plain, styles

_BAR = 34
"""Pixels of a bar."""


def ablation_figure(lines: pd.DataFrame, metric: str = "BLEU", baseline: str = "") -> go.Figure:
    """Draw the mean score of each system, such as one for each component with private units, with 95 % intervals.

    Args:
        lines: `system`, `mean` and `margin`, NaN if not known; from top to bottom.
        metric: what the mean is of.
        baseline: the system with a line across the figure, if any.
    """
    figure = go.Figure(
        go.Bar(
            x=lines["mean"], y=[plain(name) for name in lines["system"]], orientation="h",
            marker_color=[FAINT if name == baseline else COLOURS[0] for name in lines["system"]],
            error_x={"type": "data", "array": lines["margin"], "thickness": 1.5, "width": 4},
            customdata=lines["margin"],
            hovertemplate="%{y}: %{x:.2f} ± %{customdata:.2f}<extra></extra>",
        )
    )  # fmt: skip
    for mean in lines.loc[lines["system"] == baseline, "mean"]:
        figure.add_vline(mean, line={"color": FAINT, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text=f"{metric} (%), mean and 95 % interval", rangemode="tozero")
    figure.update_yaxes(title_text="system", type="category", autorange="reversed", showgrid=False)
    title = f"{metric[:1].upper()}{metric[1:]}, by what is shared and what is private"
    return dressed(figure, title, 150 + _BAR * len(lines))


def gain_figure(gains: pd.DataFrame, about: str) -> go.Figure:
    """Draw what directions gain over separate models by the size of their text: a panel for each set of directions.

    Args:
        gains: rows of `many.gains`: `texts`, `system`, `direction`, `to_english`, `pairs`, `difference`, `margin`.
        about: the group of languages.
    """
    panels = gains[["texts", "to_english"]].drop_duplicates().reset_index(drop=True)
    titles = [f"{one.texts}: {'into' if one.to_english else 'from'} English" for one in panels.itertuples()]
    figure = make_subplots(cols=max(1, len(panels)), shared_yaxes=True, subplot_titles=titles)
    style = styles(gains["system"])
    shown = set()
    for column, panel in enumerate(panels.itertuples(index=False), start=1):
        of_panel = gains[(gains["texts"] == panel.texts) & (gains["to_english"] == panel.to_english)]
        for system, lines in of_panel.groupby("system", sort=False):
            name = plain(str(system))
            figure.add_scatter(
                x=lines["pairs"], y=lines["difference"], mode="lines+markers", name=name, legendgroup=name,
                showlegend=name not in shown, line=style[str(system)], customdata=lines[["direction", "margin"]],
                error_y={"type": "data", "array": lines["margin"], "thickness": 1, "width": 3},
                hovertemplate="%{customdata[0]}: %{y:+.2f} ± %{customdata[1]:.2f}<extra>" + name + "</extra>",
                row=1, col=column,
            )  # fmt: skip
            shown.add(name)
        figure.add_hline(0, line={"color": FAINT, "width": 1, "dash": "dot"}, row=1, col=column)
    sizes = sorted(set(gains["pairs"]))
    ticks = {"tickvals": sizes, "ticktext": [f"{size:,}" for size in sizes]}
    figure.update_xaxes(title_text="training pairs of the direction", type="log", **ticks)
    figure.update_yaxes(title_text="BLEU minus that of a separate model", col=1)
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, f"What a direction gains in one model of many languages: {about}", 480)
