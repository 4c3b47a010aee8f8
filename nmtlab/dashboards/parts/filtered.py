"""What the rules of a filter drop from a corpus, saved as a file."""

from collections import Counter
from collections.abc import Mapping

import plotly.graph_objects as go

from nmtlab.dashboards.frame.saved import saved_page
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.theme import COLOURS, FAINT, dressed
from nmtlab.text.corpora.filtering import KEPT, Filter, Filtered

_BARS = 60
_FORMS = {"pairs": "{:,.0f}", "share": "{:.1%}", "line": "{:,.0f}"}


def filter_file(about: str, chosen: Filter, found: Filtered) -> str:
    """Return histograms of lengths and ratios, and a table with examples, as one HTML file.

    Args:
        about: name of the text and its direction.
        chosen: the rules.
        found: what they did.
    """
    limits = chosen.limits
    lengths = f"{'characters' if limits.by_characters else 'words'} of the longer to the shorter side"
    charts = [
        _histogram("Lengths of the pairs", "words of the longer side", found.lengths, limits.max_words),
        _histogram("Ratios of the lengths", lengths, found.ratios, limits.max_ratio),
    ]
    table = Table("Pairs dropped by each rule, each under the first that applies, with examples")
    frame = found.table(chosen.reasons)
    texts = {
        name: ["" if value != value else form.format(value) for value in frame[name]] for name, form in _FORMS.items()
    }
    table.show(frame.assign(**texts))
    return saved_page("What the rules drop", about, {}, [*charts, table])


def _histogram(title: str, axis: str, counts: Mapping[str, Counter[float]], limit: float) -> Chart:
    """Return the numbers of pairs that were kept and dropped, and the limit; the last bar is of all longer ones."""
    figure = go.Figure()
    last = 1.5 * limit or max((value for counter in counts.values() for value in counter), default=1.0)
    width = last / _BARS
    for name, colour in (("kept", COLOURS[0]), ("dropped", COLOURS[1])):
        bars = Counter[float]()
        for reason, counter in counts.items():
            if (reason == KEPT) == (name == "kept"):
                for value, number in counter.items():
                    bars[(min(value, last) // width + 0.5) * width] += number
        figure.add_bar(x=[*bars], y=[*bars.values()], width=width, name=name, marker={"color": colour}, opacity=0.6)
    if limit:
        figure.add_vline(x=limit, line={"color": FAINT, "dash": "dash"}, annotation_text=f"limit {limit:g}")
    figure.update_layout(barmode="overlay", xaxis_title=axis, yaxis={"title": "pairs", "type": "log"})
    chart = Chart()
    chart.show(dressed(figure, title))
    return chart
