"""What continued training gains on a child's text, and forgets of its parent's (Khayrallah et al. 2018)."""

from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.errors import NmtlabError
from nmtlab.evaluation.intervals import interval
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import listed, number
from nmtlab.grids.declared.declaration import Scale
from nmtlab.thesis.measured import described_cells, measured_cells
from nmtlab.thesis.tables.transfer_continued import CONTINUED, CONTINUED_TRAINING, PARENT, SIZES_OF_TEXT, TAUGHT
from nmtlab.workspace import PUBLISHED

COLUMNS = ["text", "system", "seeds", "on_parents", "on_parents_margin", "on_childs", "on_childs_margin", "forgotten"]

_FILE = "khayrallah-2018.csv"
_SWEEP = [one.name for one in (CONTINUED, *TAUGHT)]
_HEAD, _PANEL, _FOOT = 65, 380, 170
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")


def forgetting_view(scale: Scale = "small") -> View:
    """Show BLEU on a child's text over BLEU on its parent's, a point for each way to continue a training.

    Beside what was measured at this scale, if anything was, stands what is published. Its table has the numbers.
    """
    printed = published_plane()
    try:
        cells = measured_cells(CONTINUED_TRAINING.name, scale, "test-bleu")
    except NmtlabError:
        return View(printed, with_subtitle(forgetting_figure(printed), "published; not measured here yet"))
    found = plane(cells)
    figure = with_subtitle(forgetting_figure(pd.concat([found, printed])), described_cells(cells))
    return View(found, figure, finding=forgetting_finding(found))


def plane(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of every system on the child's and on the parent's test text.

    Args:
        cells: `cells` of `Results`, of `continued`, of one metric.

    Returns:
        One line per size of the child's text and system with both scores: `text`; `system`; `seeds`; `on_parents` and
        `on_childs`, the means, with their `margin` (95 %, Student's t); `forgotten`, what the parent scores on its
        text above that.
    """
    values = cells.dropna(subset="value").groupby(["row", "column"])["value"].apply(list)
    lines = []
    for pairs, (own, of_parent) in SIZES_OF_TEXT.items():
        for system in CONTINUED_TRAINING.columns:
            try:
                on_childs, on_parents = values[own.name, system.name], values[of_parent.name, system.name]
            except KeyError:
                continue
            (high, high_margin), (wide, wide_margin) = interval(on_childs), interval(on_parents)
            line = (f"{pairs:,} pairs", system.name, len(on_childs), wide, wide_margin, high, high_margin)
            lines.append(line)
    return _with_forgotten(pd.DataFrame(lines, columns=COLUMNS[:-1]))


def published_plane() -> pd.DataFrame:
    """Return the published scores as `plane` does: German to English, medicine (EMEA) and news (newstest2016)."""
    printed = pd.read_csv(PUBLISHED / _FILE)
    of = printed[(printed["direction"] == "de-en") & (printed["domain"] == "EMEA") & (printed["pairs"] == "all")]
    wide = of.drop_duplicates(["system", "test"]).pivot(index="system", columns="test", values="bleu")
    wide = wide.dropna(subset=["newstest2016", "EMEA"])
    lines = [
        ("published (de-en, EMEA)", name, 1, wide.loc[name, "newstest2016"], float("nan"), wide.loc[name, "EMEA"])
        for name in [system.name for system in CONTINUED_TRAINING.columns]
        if name in wide.index
    ]
    return _with_forgotten(pd.DataFrame([(*line, float("nan")) for line in lines], columns=COLUMNS[:-1]))


def forgetting_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw BLEU on the child's text over BLEU on the parent's, a panel for each text: means and 95 % intervals.

    A line goes from continued training without a teacher through the weights of the teacher.

    Args:
        lines: rows of `plane` and `published_plane`.
    """
    texts, named = list(dict.fromkeys(lines["text"])), set()
    names = [system.name for system in CONTINUED_TRAINING.columns]
    figure = make_subplots(cols=len(texts), subplot_titles=[escape(text) for text in texts], horizontal_spacing=0.08)
    for place, text in enumerate(texts, start=1):
        some = lines[lines["text"] == text].set_index("system")
        sweep = some.loc[[name for name in _SWEEP if name in some.index]]
        figure.add_scatter(
            x=sweep["on_parents"], y=sweep["on_childs"], mode="lines", line={"color": FAINT, "width": 1, "dash": "dot"},
            name="weight of the teacher, from 0", showlegend=place == 1, hoverinfo="skip", row=1, col=place,
        )  # fmt: skip
        for name, line in some.iterrows():
            number_of = names.index(name)
            figure.add_scatter(
                x=[line["on_parents"]], y=[line["on_childs"]], mode="markers", name=escape(name), legendgroup=name,
                legendrank=number_of, showlegend=name not in named,
                marker={
                    "size": 10, "color": COLOURS[number_of % len(COLOURS)],
                    "symbol": _SYMBOLS[number_of % len(_SYMBOLS)],
                },
                error_x={"type": "data", "array": [line["on_parents_margin"]], "thickness": 1.5, "width": 4},
                error_y={"type": "data", "array": [line["on_childs_margin"]], "thickness": 1.5, "width": 4},
                hovertemplate="parent's text %{x:.2f}, child's text %{y:.2f}<extra>"
                + escape(f"{text}, {name}") + "</extra>",
                row=1, col=place,
            )  # fmt: skip
            named.add(name)
    figure.update_xaxes(title_text="BLEU (%) on the parent's text", rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="BLEU (%) on the child's text", col=1)
    figure.update_layout(legend=BELOW, margin={"t": _HEAD, "b": _FOOT})
    return dressed(
        figure, "What continued training gains on the child's text, and loses on the parent's", _HEAD + _PANEL + _FOOT
    )


def forgetting_finding(lines: pd.DataFrame) -> str:
    """Say what the child gains and forgets, at each size of its text, without a teacher and with the heaviest.

    Args:
        lines: rows of `plane`.
    """
    said = []
    for text, some in lines.groupby("text", sort=False):
        of = some.set_index("system")
        if not {PARENT.name, CONTINUED.name, TAUGHT[-1].name} <= {*of.index}:
            continue
        parts = [
            f"{name} gains {number(of.loc[name, 'on_childs'] - of.loc[PARENT.name, 'on_childs'], 1)} BLEU and forgets "
            f"{number(of.loc[name, 'forgotten'], 1)}"
            for name in (CONTINUED.name, TAUGHT[-1].name)
        ]
        said.append(f"With {text}, {listed(parts)}.")
    return " ".join(said)


def _with_forgotten(lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines with what the parent scores on its text above each of them."""
    of_parent = lines[lines["system"] == PARENT.name].set_index("text")["on_parents"]
    return lines.assign(forgotten=lines["text"].map(of_parent).astype(float) - lines["on_parents"])
