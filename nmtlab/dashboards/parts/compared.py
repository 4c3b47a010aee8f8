"""Two systems side by side, as tables and markup: for the page Compare and for a comparison saved as a file."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from html import escape

import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.comparison.outputs import output_statistics
from nmtlab.analysis.comparison.sentence_scores import (
    CHRF,
    Scale,
    gains_figure,
    marked,
    scales,
    sentence_scores,
    wins_and_losses,
)
from nmtlab.analysis.comparison.words import (
    by_frequency,
    by_kind,
    by_line,
    by_position,
    line_buckets,
    ngram_differences,
    word_accuracy,
    word_accuracy_figure,
    word_matches,
)
from nmtlab.dashboards.frame.saved import saved_page
from nmtlab.dashboards.frame.selection import Line
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Note, heading, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.words import number
from nmtlab.grids.results.score_differences import score_differences, scores_by
from nmtlab.grids.results.summary import in_words, rounded

SCORES = "Scores, with 95 % intervals of the differences to the first system"
UNDERLINED = "underlined: words that the reference does not have"

_MOST_NGRAMS = 200
_MOST_MARKED = 20


def comparison_file(compared: Compared, about: str) -> str:
    """Return a comparison of systems with the first one as one HTML file, figures first.

    Args:
        compared: of two systems or more.
        about: name of the text and its direction.
    """
    than, *others = compared.systems
    matches = word_matches(compared)
    body: list[widgets.Widget] = [_table(SCORES, numbers(score_differences(compared)))]
    if compared.frequency and compared.frequency.about:
        body.append(Note(compared.frequency.about))
    for system in others:
        body += _pair(compared, matches, system, than, about)
    for axis, of_lines in line_buckets(compared).items():
        body.append(_table(f"Scores by {axis}", numbers_by(scores_by(compared, of_lines))))
    body.append(_table("What the translations look like", rounded(output_statistics(compared), 3)))
    return saved_page(f"{', '.join(others)} against {than}", about, {}, body)


def buckets(compared: Compared, matches: pd.DataFrame) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return what words can be put into buckets by, and how; by their training frequency only if that is known.

    Args:
        compared: the translations.
        matches: rows of `word_matches`.
    """
    by_text: dict[str, Callable[[], pd.DataFrame]] = {
        "kind of word": lambda: by_kind(matches, compared.source_words, compared.names),
        "position in the sentence": lambda: by_position(matches),
    }
    by_text |= {axis: partial(by_line, matches, of_lines) for axis, of_lines in line_buckets(compared).items()}
    if (seen := compared.frequency) is None:
        return by_text
    return {
        seen.title: lambda: by_frequency(matches, {word: seen.of(word) for word in set(matches["word"])}),
        **by_text,
    }


def tally(scores: pd.DataFrame, system: str, than: str, scale: Scale) -> str:
    """Return how many sentences a system wins, in words."""
    counts = wins_and_losses(scores, system, than, scale)
    return (
        f"{system} against {than}: {counts['wins']} sentences won, {counts['ties']} ties ({scale.ties}), "
        f"{counts['losses']} lost."
    )


def numbers(scores: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `score_differences` for display."""
    return _shown(scores)[[*_SCORED, "interval covers", "signature"]]


def numbers_by(scores: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `scores_by` for display."""
    return _shown(scores)[["bucket", "sentences", *_SCORED]]


_SCORED = ["metric", "system", "seeds", "score", "difference", "95 % interval", "p"]


def _shown(scores: pd.DataFrame) -> pd.DataFrame:
    ends = [in_words(*one) for one in zip(scores["low"], scores["high"], strict=True)]
    lower = scores["better"] == "lower"
    titles = scores["metric"].where(~lower, scores["metric"] + " (lower is better)")
    named = {"ends": "95 % interval", "covers": "interval covers"}
    return rounded(scores.assign(ends=ends, metric=titles)).rename(columns=named)


def ngrams(compared: Compared, system: str, than: str) -> pd.DataFrame:
    """Return the n-grams that one of two systems generates more often, for display."""
    found = ngram_differences(compared, system, than).head(_MOST_NGRAMS)
    shown = found.assign(right=["yes" if right else "no" for right in found["right"]])[
        ["ngram", "right", "one", "other", "share"]
    ]
    shown.columns = ["n-gram", "correct?", system, f"{than} ", "share (smoothed)"]
    return rounded(
        shown.set_index(pd.Index([f"{n} {r}" for n, r in zip(found["ngram"], shown.iloc[:, 1], strict=True)]))
    )


def sentences(
    compared: Compared, gains: pd.Series, system: str, than: str, lines: Collection[int], scale: Scale
) -> pd.DataFrame:
    """Return the sentences of a pair of systems with the translations of the first seed, the largest wins first."""
    shown = pd.DataFrame(
        {
            "line": gains.index, "difference": gains.round(scale.decimals),
            **({"label": compared.labels} if compared.labels else {}),
            "reference": compared.references[0], than: compared.systems[than][0], system: compared.systems[system][0],
            **({"source": compared.source} if any(compared.source) else {}),
        },
        index=gains.index,
    )  # fmt: skip
    return shown[shown.index.isin(lines)].sort_values("difference", ascending=False, kind="stable")


def marked_sentence(compared: Compared, gain: str, line: int, systems: Sequence[str]) -> str:
    """Return a sentence as markup, with those words of the translations marked that the reference does not have.

    Args:
        compared: the translations, of which the first seed is shown.
        gain: how much better one of the systems translates it.
        line: number of the sentence, from 1.
        systems: names of those to show.
    """
    reference = compared.reference_words[line - 1]
    rows = [("source", escape(compared.source[line - 1]))] if any(compared.source) else []
    rows.append(("reference", escape(compared.references[0][line - 1])))
    for name in dict.fromkeys(systems):
        rows.append((_title(compared, name), _words(marked(compared.words[name][0][line - 1], reference))))
    caption = f"Line {line}, difference {gain}; {UNDERLINED}"
    lines = "".join(f"<tr><th>{escape(name)}</th><td dir='auto'>{words}</td></tr>" for name, words in rows)
    return f"<table class='nmtlab-marked'><caption>{escape(caption)}</caption>{lines}</table>"


def as_tokens(compared: Compared, line: int, systems: Sequence[str]) -> list[Line]:
    """Return a sentence, its reference and its translations as words, with those that the reference does not have.

    Args:
        compared: the translations, of which the first seed is shown.
        line: number of the sentence, from 1.
        systems: names of those to show.
    """
    reference = compared.reference_words[line - 1]
    lines = [Line("source", "source", compared.source_words[line - 1]), Line("reference", "target", reference)]
    for name in dict.fromkeys(systems):
        words = compared.words[name][0][line - 1]
        wrong = [place for place, (_, shared) in enumerate(marked(words, reference)) if not shared]
        lines.append(Line(_title(compared, name), "target", words, wrong))
    return lines


def _title(compared: Compared, name: str) -> str:
    return f"{name}, first seed" if len(compared.words[name]) > 1 else name


def _words(words: Sequence[tuple[str, bool]]) -> str:
    return " ".join(escape(word) if shared else f"<mark>{escape(word)}</mark>" for word, shared in words)


def _pair(compared: Compared, matches: pd.DataFrame, system: str, than: str, about: str) -> list[widgets.Widget]:
    """Return what is shown of a pair of systems: figures, tables, and the sentences that differ most."""
    words_by = buckets(compared, matches[matches["system"].isin([than, system])])
    scored = [(scale, sentence_scores(compared, scale)) for scale in scales(compared).values()]
    body: list[widgets.Widget] = [heading(f"{system} against {than}")]
    for scale, scores in scored:
        gains = scale.gains(scores, system, than)
        body += [Note(tally(scores, system, than, scale)), _chart(gains_figure(gains, system, than, scale))]
    body += [_chart(word_accuracy_figure(word_accuracy(by()), axis, about)) for axis, by in words_by.items()]
    for scale, scores in scored:
        body += _extremes(compared, scale.gains(scores, system, than), system, than, scale)
    return [*body, _table("N-grams one system overuses", ngrams(compared, system, than))]


def _extremes(compared: Compared, gains: pd.Series, system: str, than: str, scale: Scale) -> list[widgets.Widget]:
    """Return the sentences that differ most by a metric, and a table of all."""
    most = gains.sort_values(kind="stable").index
    lines = dict.fromkeys([*most[::-1][: _MOST_MARKED // 2], *most[: _MOST_MARKED // 2]])
    by = "" if scale is CHRF else f" by {scale.metric}"
    return [
        heading(f"Largest wins and losses{by}"),
        *(
            html(marked_sentence(compared, number(gains[line], scale.decimals, sign=True), line, [than, system]))
            for line in lines
        ),
        _table(f"Sentences{by}", sentences(compared, gains, system, than, gains.index, scale)),
    ]


def _table(title: str, frame: pd.DataFrame) -> Table:
    table = Table(title)
    table.show(frame)
    return table


def _chart(figure: go.Figure) -> Chart:
    chart = Chart()
    chart.show(figure)
    return chart
