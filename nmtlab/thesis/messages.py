"""The messages of the thesis, and what was found of each here: a small figure, a sentence, and the claims about it.

for message in MESSAGES:
    print(message.title, message.show(Stored(measured_claims())).finding)
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from nmtlab.figures.words import number
from nmtlab.grids.declared.labels import text_label
from nmtlab.grids.results.collected import published
from nmtlab.grids.results.statistics import DECIDED
from nmtlab.thesis.message import SCALE, Asked, Message, Shown, Stored, not_measured
from nmtlab.thesis.shown.children import child_sizes
from nmtlab.thesis.shown.prices import prices
from nmtlab.thesis.shown.small import curves_figure, intervals_figure
from nmtlab.thesis.tables.related_text import child

_MOST = 4
"""Texts that a sentence names."""


_NORM = Asked("a longer vector", "lexical-choice", "norm-frequency", "tied")
_BIAS = Asked("a smaller bias", "lexical-choice", "bias-frequency", "tied")
_GAIN = Asked("fixnorm translates better", "table-3.6", "test-bleu", "fixnorm", "tied")


def _norms(stored: Stored) -> Shown:
    norms, biases = stored.of(_NORM), stored.of(_BIAS)
    side = _side(norms["mean"], "longer vectors", "shorter vectors", "longer vectors in some texts only")
    bias = _side(biases["mean"], "larger, too, where the thesis has it smaller", "smaller", "larger in some texts only")
    finding = f"In tied, frequent words have {side}: ρ {_by_text(norms, 2)}. Their bias is {bias}."
    lines = pd.concat([norms.assign(series="norm"), biases.assign(series="bias")])
    figure = intervals_figure(lines, "rank correlation ρ with frequency, tied", {0: ""})
    return Shown(figure, finding, _seeds(lines))


_SINK = Asked("a sink on the first word", "attention-sink", "first-excess", "tied", 0.0)
_SHIFTED = ("tied", "fixnorm", "fixnorm+lex")


def _attention(stored: Stored) -> Shown:
    lines = stored.means("lexical-choice", "left-shift", _SHIFTED)
    tied = lines[lines["series"] == "tied"]
    lexical = lines[lines["series"] == "fixnorm+lex"]
    sink = stored.of(_SINK).iloc[0]
    finding = (
        f"In words, tied attends too far left by {_by_text(tied, 1)}; fixnorm+lex is at most "
        f"{lexical['mean'].abs().max():.1f} off. In {sink['place']} that is a sink: the first word has "
        f"{sink['mean']:.0f} points more of the peaks than of the links."
    )
    figure = intervals_figure(lines, "words too far left, mean", {0: "", 1: "one word"})
    return Shown(figure, finding, _seeds(lines))


_SUBLAYERS = {
    "encoder attention": "g-slope-encoder-attention",
    "encoder feed-forward": "g-slope-encoder-feed-forward",
    "decoder attention": "g-slope-decoder-attention",
    "decoder feed-forward": "g-slope-decoder-feed-forward",
    "cross-attention": "g-slope-cross-attention",
}
_SLOPES = tuple(Asked(name, "figure-3.7", key, "with label smoothing") for name, key in _SUBLAYERS.items())


def _depth(stored: Stored) -> Shown:
    lines = pd.concat([stored.of(asked).assign(place=asked.about) for asked in _SLOPES])
    grows, falls = lines[lines["low"] > 0], lines[lines["high"] < 0]
    finding = (
        f"Of {len(lines)} kinds of sublayer, g clearly grows with depth in {_slopes(grows)}, and clearly falls in "
        f"{_slopes(falls)}."
    )
    return Shown(intervals_figure(lines, "change of g per layer, de-en", {0: ""}), finding, _seeds(lines))


def _slopes(lines: pd.DataFrame) -> str:
    named = [f"{line.place} ({_with_margin(line, 2, sign=True)} per layer)" for line in lines.itertuples()]
    return _joined(named) or "none"


_SMALLER = Asked("PreNorm's is smaller", "figure-3.5", "gradient-norm", "PreNorm + LayerNorm", "PostNorm + LayerNorm")
_NOISE = Asked("PostNorm's is noisier", "figure-3.5", "gradient-noise", "PostNorm + LayerNorm")
_FAILS = Asked("six layers need PreNorm", "table-3.15", "dev-bleu", "PreNorm, 6 layers", "PostNorm, 6 layers")
_PLACED = {
    "PreNorm + LayerNorm": "PreNorm",
    "PostNorm + LayerNorm": "PostNorm",
    "PreNorm + fixnorm + ScaleNorm": "PreNorm + fixnorm + ScaleNorm",
}


def _gradients(stored: Stored) -> Shown:
    lines = stored.means("figure-3.5", "gradient-norm", _PLACED)
    lines = lines.assign(series=lines["series"].map(_PLACED)).sort_values(
        ["row", "series"], key=lambda some: some.map([*_PLACED.values(), *lines["row"]].index), kind="stable"
    )
    ranges = {name: _range(of["mean"], 2) for name, of in lines.groupby("series", sort=False)}
    pre, post, both = (ranges[name] for name in _PLACED.values())
    noisy = stored.of(_NOISE)
    finding = (
        f"PreNorm's gradient norm is {pre}, PostNorm's {post}; with fixnorm and ScaleNorm it is {both}. That "
        f"PostNorm's is noisier is decided on {noisy['verdict'].isin(DECIDED).sum() or 'none'} of {len(noisy)} texts."
    )
    return Shown(intervals_figure(lines, "norm of the gradient after warm-up, median", {}), finding, _seeds(lines))


_HALF = 0.5
_ADDS = Asked("it adds to fixnorm", "table-3.6", "test-bleu", "fixnorm+lex", "fixnorm")
_RIGHT = Asked("most translations are right", "lexical-choice", "lexicon-precision", "fixnorm+lex", _HALF)
_RARE = Asked("more rare words are right", "lexical-choice", "rare-recall", "fixnorm+lex", "tied")


def _lexicon(stored: Stored) -> Shown:
    lines, right = stored.of(_ADDS), stored.of(_RIGHT)
    known = _joined([f"in {line.place}, {100 * (line.mean + _HALF):.0f} %" for line in right.itertuples()])
    finding = (
        f"In BLEU, the lexical module adds to fixnorm {_by_text(lines, 1, sign=True)}. Where all right translations "
        f"are known, {known} of those it learned are right."
    )
    printed = published("table-3.6").query("metric == 'test-bleu'").pivot(index="row", columns="column", values="value")
    numbers = printed.apply(pd.to_numeric, errors="coerce")
    gain = (numbers["fixnorm+lex"] - numbers["fixnorm"]).dropna()
    thesis = {
        place: float(gain[pair]) for place, pair in zip(lines["place"], lines["pair"], strict=True) if pair in gain
    }
    figure = intervals_figure(lines, "BLEU added to fixnorm (◇ thesis, on another text)", {0: ""}, thesis)
    return Shown(figure, finding, _seeds(lines))


_COMBINED = "PreNorm + fixnorm + ScaleNorm"
_EMPTY = Asked("more than half are empty", "search-errors", "empty-global-best", _COMBINED, 50.0)
_EMPTY_LONG = _EMPTY._replace(about="also if trained out", table="search-errors-trained-out")


def _empty(stored: Stored) -> Shown:
    short, long = (_as_shares(stored.of(asked)) for asked in (_EMPTY, _EMPTY_LONG))
    lines = pd.concat([short, long.assign(place=[f"{place}, trained out" for place in long["place"]])])
    above = (lines["low"] > _EMPTY.than).sum()
    finding = (
        f"The most probable translation is empty for {_shares(short)} of the sentences; trained out, for "
        f"{_shares(long)}. It is clearly more than half in {above or 'none'} of them."
    )
    lines = lines.sort_values("mean", ascending=False, kind="stable")
    figure = intervals_figure(lines, "% of sentences whose global best is empty", {50: "half (Stahlberg and Byrne)"})
    return Shown(figure.update_xaxes(range=[-2, 102]), finding, _seeds(lines))


def _as_shares(lines: pd.DataFrame) -> pd.DataFrame:
    """Return differences from half as percentages."""
    return lines.assign(**{name: (lines[name] + _EMPTY.than).clip(0, 100) for name in ("mean", "low", "high")})


def _shares(lines: pd.DataFrame) -> str:
    return _joined([f"{line.mean:.0f} % in {line.place}" for line in lines.itertuples()])


_RELATED = Asked(
    "a related parent helps more", "related-parents", "test-bleu", "BPE + transfer", "BPE + unrelated parent"
)
_ANY = Asked("a parent helps", "table-3.2", "test-bleu", "BPE + transfer", "BPE")
_PARENTS = {"BPE + transfer": "related parent", "BPE + unrelated parent": "unrelated", "BPE": "no parent"}
_CHILD = "gl-en"
_TEXT = text_label(child("gl"))


def _relative(stored: Stored) -> Shown:
    sizes = {row: pairs for row, (pair, pairs) in child_sizes(SCALE).items() if pair == _TEXT}
    lines = stored.means("child-size", "test-bleu", _PARENTS)
    lines = lines[lines["row"].isin(sizes)]
    lines = lines.assign(size=lines["row"].map(sizes), series=lines["series"].map(_PARENTS))
    smallest = lines[lines["size"] == lines["size"].min()].set_index("series")["mean"]
    priced = [
        one
        for one in prices([stored.results("child-size")], SCALE)
        if (one.text, one.technique, one.metric) == (_TEXT, "BPE + transfer", "test-bleu")
    ]
    if not priced:
        raise not_measured("child-size")
    worth = min(priced, key=lambda one: one.pairs)
    finding = (
        f"With {worth.pairs:,} pairs of {_CHILD}, BLEU rises from {smallest['no parent']:.1f} to "
        f"{smallest['related parent']:.1f} with a related parent, {smallest['unrelated']:.1f} with an unrelated one. "
        f"The relative replaces {worth.said(worth.worth)} pairs{f' ({worth.interval})' * bool(worth.interval)}."
    )
    order = [*_PARENTS.values()].index
    lines = lines.sort_values("series", key=lambda some: some.map(order), kind="stable")
    return Shown(curves_figure(lines, (f"pairs of {_CHILD}", "test BLEU")), finding, _seeds(lines))


_SHARED = Asked("one model for all helps", "many-languages", "detokenized-test-bleu", "shared, many-to-one", "separate")
_SHARED_LONG = _SHARED._replace(about="also if trained longer", table="many-languages-trained-out")
_PRIVATE = Asked(
    "private units help",
    "many-languages",
    "detokenized-test-bleu",
    "half private, many-to-many",
    "shared, many-to-many",
)


def _many(stored: Stored) -> Shown:
    short, long = stored.of(_SHARED), stored.of(_SHARED_LONG)
    short = short[short["place"].isin(long["place"])]
    finding = (
        f"With as many updates in all as each separate model, one model changes BLEU by "
        f"{_by_text(short, 1, sign=True)}; with three times as many, by {_by_text(long, 1, sign=True)}."
    )
    lines = pd.concat([short.assign(series="same updates"), long.assign(series="trained longer")])
    figure = intervals_figure(lines, "BLEU, one model − separate models", {0: ""})
    return Shown(figure, finding, _seeds(lines))


_BEAMS = (1, 4, 12, 100)
_PLANNED = {
    beam: Asked(f"better, beam {beam}", "length-planning", f"bleu-log-prob-{beam}", "planned", "ordinary")
    for beam in _BEAMS
}
_SAME = Asked("as good at 12 as at 4", "length-planning", "bleu-log-prob-12", "planned", "bleu-log-prob-4")


def _planned(stored: Stored) -> Shown:
    lines = pd.concat([stored.of(asked).assign(size=beam) for beam, asked in _PLANNED.items()])
    lines = lines.assign(series=lines["place"])
    usual, wide = (lines[lines["size"] == beam] for beam in (4, 100))
    finding = (
        f"At a beam of 4, planning the length changes BLEU by {_by_text(usual, 1, sign=True)}. At 100, where ordinary "
        f"search loses most, it changes it by {_by_text(wide, 1, sign=True)}."
    )
    figure = curves_figure(lines, ("beam size", "BLEU, planned − ordinary"), guide=0)
    return Shown(figure, finding, _seeds(lines))


MESSAGES = (
    Message(
        "norms",
        "Frequent words have longer vectors",
        (_NORM, _BIAS, _GAIN),
        _norms,
        "norms",
        "lexical-choice",
    ),
    Message(
        "attention",
        "Attention falls one word to the left",
        (
            Asked("one word too far left", "attention-sink", "moved-gain", "tied"),
            _SINK,
            Asked("the lexical module aligns better", "lexical-choice", "alignment-error", "fixnorm+lex", "tied"),
        ),
        _attention,
        "attention",
        "lexical-choice",
    ),
    Message("depth", "ScaleNorm's g grows with depth", _SLOPES, _depth, "depth", "normalisation"),
    Message(
        "gradients",
        "PreNorm's gradients are smaller and calmer",
        (_SMALLER, _NOISE, _FAILS),
        _gradients,
        "gradients",
        "normalisation",
    ),
    Message(
        "lexicon",
        "A lexical module translates rare words",
        (_ADDS, _RIGHT, _RARE),
        _lexicon,
        "lexicon",
        "lexical-choice",
    ),
    Message("empty", "The most probable translation is often empty", (_EMPTY, _EMPTY_LONG), _empty, "search", "search"),
    Message(
        "relative", "A relative is worth thousands of sentences", (_RELATED, _ANY), _relative, "languages", "transfer"
    ),
    Message(
        "many",
        "Many languages can share one model",
        (_SHARED, _SHARED_LONG, _PRIVATE),
        _many,
        "many",
        "many-languages",
    ),
    Message(
        "planned", "Planning the length makes search safer", (*_PLANNED.values(), _SAME), _planned, "searches", "search"
    ),
)
"""All messages, in the order of the start page: six of the thesis' results, and three that go beyond them."""


def _seeds(lines: pd.DataFrame) -> tuple[int, int]:
    return int(lines["seeds"].min()), int(lines["seeds"].max())


def _side(values: pd.Series, above: str, below: str, mixed: str) -> str:
    return above if (values > 0).all() else below if (values < 0).all() else mixed


def _by_text(lines: pd.DataFrame, digits: int, sign: bool = False) -> str:
    return _joined([f"{_with_margin(line, digits, sign)} in {line.place}" for line in lines.itertuples()])


def _joined(parts: Sequence[str], most: int = _MOST) -> str:
    """Return parts of a sentence as a list, the last ones as a number if there are too many."""
    more = [f"{len(parts) - most} more"] if len(parts) > most else []
    *first, last = [*parts[:most], *more] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _range(values: pd.Series, digits: int) -> str:
    return f"{number(values.min(), digits)} to {number(values.max(), digits)}"


def _with_margin(line: Any, digits: int, sign: bool = False) -> str:
    shown = number(line.mean, digits, sign)
    margin = (line.high - line.low) / 2
    return f"{shown} ± {margin:.{digits}f}" if margin == margin else shown
