"""Tables as CSV and LaTeX, and figures as PDF."""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from nmtlab.errors import NmtlabError, how_to_install

_DIGITS = 4  # significant ones of a number in LaTeX, as on the page


def as_csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV with all digits of its numbers, without its index."""
    return frame.to_csv(index=False)


def as_latex(frame: pd.DataFrame, title: str) -> str:
    """Return a table as a LaTeX tabular with booktabs rules, with its title in a comment, without its index."""
    rows = frame.reset_index(drop=True)
    numbers = {column: _rounded for column in rows.columns if pd.api.types.is_float_dtype(rows[column])}
    style = rows.style.hide(axis="index").format(numbers, na_rep="", precision=_DIGITS, escape="latex")
    tabular = style.format_index(escape="latex", axis="columns").to_latex(hrules=True)
    return f"% {' '.join(title.split())}; needs \\usepackage{{booktabs}}\n{tabular}"


def as_pdf(figure: go.Figure, shown: Mapping[str, Any]) -> bytes:
    """Return a figure as PDF as it stands on a page, drawn without contacting another machine.

    Args:
        figure: as it was first drawn.
        shown: its present `layout`; `visible`, that of each trace; `width` and `height` in pixels; `scale`, of a pixel
            on paper to 1/96 inch.

    Raises:
        NmtlabError: kaleido or a browser for it is missing, or the browser fails.
    """
    try:
        import kaleido
        from kaleido.errors import KaleidoError
    except ImportError as error:
        raise NmtlabError(
            "PDF needs kaleido, which is not installed", f"{how_to_install('kaleido')}, or take the SVG"
        ) from error
    present = go.Figure({"data": figure.data, "layout": shown["layout"]}, skip_invalid=True)
    for trace, visible in zip(present.data, shown["visible"], strict=True):
        trace.visible = visible
    size = {"format": "pdf"} | {name: shown[name] for name in ("width", "height", "scale")}
    try:
        return kaleido.calc_fig_sync(present, size, kopts={"mathjax": False})  # which it would fetch
    except (RuntimeError, KaleidoError) as error:  # those of its browser are all of the first kind
        raise NmtlabError("PDF needs Chrome or Chromium, which did not start", "install it, or take the SVG") from error


def file_name(title: str, ending: str) -> str:
    """Return a file name for a table or figure: the words of its title up to a colon or its second line."""
    words = re.findall(r"\w+", re.sub("<[^>]*>", " ", title.partition("<br>")[0]).partition(":")[0].lower())
    return "-".join(["nmtlab", *words])[:80] + f".{ending}"


def _rounded(value: float) -> str:
    return f"{float(f'{value:.{_DIGITS}g}'):.12g}"
