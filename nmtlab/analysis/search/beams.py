"""How do translations change as the beam grows? (thesis 4.1; Koehn and Knowles 2017)"""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.needs import DECODING, END, NEURAL, in_direction
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, falls_short
from nmtlab.analysis.search.search_tree import LOG_PROB
from nmtlab.errors import NmtlabError
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.figures.theme import BELOW, DASHES, SOLID, dressed, spaced, styles
from nmtlab.figures.words import listed, number
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.answers import StoredAnswer
from nmtlab.runs.run import Run
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample


def decoded(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings | None = None,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text, or a sample of its sentences.

    Returns:
        A row for each: `line` in the text, from 1; `text`; `length`, in tokens without EOS; `log_prob`; `score`;
        `finished`, whether it ended before the length limit. A blank line stays blank and has no probability.
    """
    run = in_direction(run, corpus)
    asked = draw_sample(corpus, split, sample)
    found = open_system(run, search, machine=machine).translate(asked.sources, on_progress=on_progress)
    blank = Hypothesis((), math.nan, math.nan, finished=True)
    hypotheses = ((one.text, one.hypotheses[0] if one.hypotheses else blank) for one in found)
    rows = [
        (line, text, len(best.tokens), best.log_prob, best.score, best.finished)
        for line, (text, best) in zip(asked.lines, hypotheses, strict=True)
    ]
    return pd.DataFrame(rows, columns=["line", "text", "length", "log_prob", "score", "finished"])


DECODED = Analysis(
    "Which translations does a search find?",
    decoded,
    needs=DECODING,
    version=1,
    columns=("line", "text", "length", "log_prob", "score", "finished"),
    in_context=True,
)


def outcome(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings | None = None,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Summarise the translations of one search setting; arguments as for `decoded`, whose answer is stored too.

    Returns:
        One row: `beam_size`, `score`, `alpha`, `gamma`, `coverage`, as requested (for a run that plans lengths the
        score is `planned`, and its parameters have no effect); `split`, `sentences`; `bleu` (sacrebleu, over all
        references); `length_ratio` to the closest reference, in words; `empty`, the share of empty translations of
        lines that are not blank; `cut_off`, the share that did not end; `log_prob`, the mean.
    """
    search = search or run.recipe.search
    asked = {"corpus": corpus, "split": split, "search": search, "sample": sample, "machine": machine}
    found = DECODED.of(run, on_progress=on_progress, **asked)
    drawn = draw_sample(corpus, split, sample)
    references = [drawn.of(lines) for lines in corpus.references(split)]
    bleu = bleu_metric(default_tokenizer(corpus.target)).corpus_score(found["text"].tolist(), references)
    row = {
        **{name: getattr(search, name) for name in ("beam_size", "score", "alpha", "gamma", "coverage")},
        **({"score": "planned"} if run.recipe.model.plans_length else {}),
        "split": split,
        "sentences": len(found),
        "bleu": bleu.score,
        "length_ratio": bleu.sys_len / bleu.ref_len,
        "empty": (found.loc[found["log_prob"].notna(), "length"] == 0).mean(),
        "cut_off": 1 - found["finished"].mean(),
        "log_prob": found["log_prob"].mean(),
    }
    return pd.DataFrame([row])


OUTCOME = Analysis(
    "How good, how long and how often empty are the translations of a search?",
    outcome,
    needs=(NEURAL,),
    version=1,
    columns=tuple(
        "beam_size score alpha gamma coverage split sentences bleu length_ratio empty cut_off log_prob".split()
    ),
    in_context=True,
)


def sweep(
    run: Run,
    corpus: ParallelCorpus,
    searches: Sequence[SearchSettings],
    split: str = "test",
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text with several search settings in turn; stored answers are read from the run.

    Returns:
        A row of `outcome` for each.
    """
    outcomes = [
        OUTCOME.of(run, on_progress, corpus=corpus, split=split, sample=sample, machine=machine, search=search)
        for search in searches
    ]
    return pd.concat(outcomes, ignore_index=True)


def learned_reward(
    run: Run,
    corpus: ParallelCorpus,
    updates: int,
    split: str = "dev",
    search: SearchSettings | None = None,
    rate: float = 0.2,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Learn the reward γ of a token from how much too short translations are (Murray and Chiang 2018): a perceptron.

    γ ← γ + η mean(|y*| - |ŷ|), over the sentences of the text; η is halved whenever the sign of that mean changes, so
    that γ comes to rest.

    Args:
        updates: of γ, from 1.
        search: its γ is the first one; the score is a word reward or a bounded one.
        rate: η.
        split, sample, machine: as for `outcome`, whose answers are stored.

    Returns:
        A row of `outcome` for each γ, the learned one last, with `gap`, that mean, in tokens; of several references,
        |y*| is of the first.
    """
    drawn = draw_sample(corpus, split, sample)
    references = drawn.of(next(iter(corpus.references(split))))
    wanted = np.array([len(ids) - 1 for ids in run.pipeline.encode_target(references)])
    search = search or run.recipe.search.model_copy(update={"score": "word-reward"})
    asked: dict[str, Any] = {"corpus": corpus, "split": split, "sample": sample, "machine": machine}
    rows: list[pd.DataFrame] = []
    before = 0.0
    for _ in range(updates + 1):
        row = OUTCOME.of(run, on_progress, search=search, **asked)
        found = DECODED.of(run, search=search, **asked)
        found_any = found["log_prob"].notna()
        if not found_any.any():
            raise NmtlabError(f"run {run.name!r}: no line of {split} has a translation", "choose another text")
        gap = float((wanted - found["length"])[found_any].mean())
        rows.append(row.assign(gap=gap))
        rate *= 0.5 if gap * before < 0 else 1
        before = gap
        search = search.model_copy(update={"gamma": search.gamma + rate * gap})
    return pd.concat(rows, ignore_index=True)


def missed_by_beams(
    run: Run,
    corpus: ParallelCorpus,
    beams: Sequence[int],
    split: str = "test",
    search: SearchSettings = LOG_PROB,
    budget: int = 20_000,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Return how often beams miss the best translation that exact search finds; stored answers are not recomputed.

    Args:
        run, corpus, split, search, budget, sample, machine: as for `search_errors`.
        beams: their sizes; all other settings are those of `search`.
        on_progress: called with the number of sentences just translated.

    Returns:
        A row for each beam: `beam_size`; `sentences`, those whose exact search was complete; `errors`, the share of
        them whose translation scores below the best.
    """
    asked: dict[str, Any] = {"corpus": corpus, "split": split, "sample": sample, "machine": machine}
    exact = SEARCH_ERRORS.of(run, search=search, budget=budget, **asked)
    best = exact[exact["complete"]].set_index("line")["exact_score"]
    rows = []
    for one in varied(search, "beam_size", beams):
        found = DECODED.of(run, search=one, on_progress=on_progress, **asked).set_index("line")["score"]
        both = pd.DataFrame({"best": best, "found": found}).dropna()
        rows.append((one.beam_size, len(both), falls_short(both["found"], both["best"]).mean()))
    return pd.DataFrame(rows, columns=["beam_size", "sentences", "errors"])


MISSED_BY_BEAMS = Analysis(
    "How often do beams miss the best translation that exact search finds?",
    missed_by_beams,
    needs=(NEURAL, END),
    version=1,
    columns=("beam_size", "sentences", "errors"),
    in_context=True,
)


def varied(search: SearchSettings, field: str, values: Sequence[float]) -> list[SearchSettings]:
    """Return search settings with several values of one field: `varied(search, "beam_size", [1, 4, 100])`."""
    return [SearchSettings.model_validate({**search.model_dump(), field: value}) for value in values]


def way_of(run: Run, answer: StoredAnswer) -> str:
    """Return how an answer was searched for, except for the beam size: `length-normalised, α 0.6`."""
    asked = answer.question.arguments.get("search")
    return described(run, SearchSettings.model_validate(asked) if asked else run.recipe.search)


def text_of(answer: StoredAnswer) -> str:
    """Return the text that an answer is about: `200 sampled sentences of multi30k-de-en test`.

    Version 0.1 took the first sentences, which are no sample; their answers say so.
    """
    question = answer.question
    part = question.arguments.get("split") or question.arguments["part"]
    text = f"{question.about.get('corpus', '')} {part}"
    text += f", {question.direction}" if question.direction else ""
    size, first = question.arguments.get("sample"), question.arguments.get("limit")
    part = f"{size} sampled sentences of " if size else f"the first {first} of " if first else ""
    return f"{part}{text}"


def described(run: Run, search: SearchSettings) -> str:
    """Return a description of a run's search, except for the beam size.

    Args:
        run: whether it plans lengths decides which settings count.
    """
    usual = SearchSettings()
    more = [
        f"up to {search.extra_length} tokens more" if search.extra_length != usual.extra_length else "",
        "" if search.allow_empty else "never empty",
    ]
    if run.recipe.model.plans_length:
        weight = f"w {search.length_weight:g}" if search.length_weight != usual.length_weight else ""
        how = [f"planned, {search.length_candidates} lengths", weight]
    else:
        reward = f"γ {search.gamma:g}"
        numbers = {
            "length-normalised": f"α {search.alpha:g}", "word-reward": reward,
            "bounded-reward": f"{reward} up to {search.reward_ratio:g} of the source",
        }  # fmt: skip
        coverage = f"coverage {search.coverage:g}" if search.coverage else ""
        how = [search.score, numbers.get(search.score, ""), coverage]
    return ", ".join(part for part in (*how, *more) if part)


_CURVES = {
    "bleu": "BLEU (%)", "length_ratio": "length ratio to the reference", "empty": "empty translations (share)",
    "log_prob": "mean log-probability", "errors": "search errors (share)",
}  # fmt: skip
_LEGEND_LINE = 28
"""Pixels per long name in a legend."""


def stored_sweeps(run: Run) -> pd.DataFrame:
    """Return the curves over beam size that are stored with a run, for any text.

    Returns:
        Rows of `outcome`, with `run`; `text`; `way`, the search and the text; `name`, the run and the way, each with
        two beam sizes or more; `errors`, of `missed_by_beams`, where it was computed.
    """
    outcomes, missed = _stored(run, OUTCOME), _stored(run, MISSED_BY_BEAMS)
    if outcomes.empty:
        return outcomes
    curves = outcomes[outcomes.groupby("name")["beam_size"].transform("nunique") > 1]
    if missed.empty:
        return curves.assign(errors=math.nan).reset_index(drop=True)
    errors = missed.drop_duplicates(["name", "beam_size"], keep="last")[["name", "beam_size", "errors"]]
    return curves.merge(errors, how="left", on=["name", "beam_size"])


def _stored(run: Run, analysis: Analysis) -> pd.DataFrame:
    found = [_named(run, answer) for answer in analysis.answers(run)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _named(run: Run, answer: StoredAnswer) -> pd.DataFrame:
    text = text_of(answer)
    way = f"{way_of(run, answer)}, {text}"
    return answer.frame().assign(run=run.label, text=text, way=way, name=f"{run.label}, {way}")


_ACROSS = 3  # panels in a row


def sweep_figure(outcomes: pd.DataFrame, over: str = "beam_size") -> go.Figure:
    """Draw the results of search over beam size or another search setting: a panel for each measure.

    Args:
        outcomes: rows of `stored_sweeps`, of one run or several: a line for each `name`, a colour for each `way`, a
            dash for each `run`; no panel for `errors` if there are none.
        over: `beam_size`, on a logarithmic axis, `alpha` or `gamma`.
    """
    curves = {column: title for column, title in _CURVES.items() if outcomes[column].notna().any()}
    rows = math.ceil(len(curves) / _ACROSS)
    figure = make_subplots(
        rows=rows, cols=_ACROSS, subplot_titles=list(curves.values()),
        horizontal_spacing=0.08, vertical_spacing=0.27 / rows,
    )  # fmt: skip
    colours, runs = styles(outcomes["way"], SOLID), list(dict.fromkeys(outcomes["run"]))
    for place, column in enumerate(curves):
        at = {"row": place // _ACROSS + 1, "col": place % _ACROSS + 1}
        if place >= len(curves) - _ACROSS:
            figure.update_xaxes(title_text=over.replace("_", " "), **at)
        for (name, way, run), curve in outcomes.groupby(["name", "way", "run"], sort=False):
            curve = curve.sort_values(over)
            figure.add_scatter(
                x=curve[over], y=curve[column], mode="lines+markers", name=escape(str(name)), legendgroup=str(name),
                showlegend=not place, line={**colours[way], "dash": DASHES[runs.index(run) % len(DASHES)]},
                hovertemplate=f"{over.replace('_', ' ')} %{{x}}: %{{y:.3f}}<extra>{escape(str(name))}</extra>", **at,
            )  # fmt: skip
    if over == "beam_size":
        sizes = spaced(outcomes["beam_size"])
        figure.update_xaxes(
            type="log", tickvals=sizes, ticktext=[f"{size:g}" for size in sizes], tickangle=0, tickfont_size=11
        )
    foot = 90 + _LEGEND_LINE * outcomes["name"].nunique()
    figure.update_layout(legend={**BELOW, "yref": "paper", "y": -0.32 / rows, "yanchor": "top"}, margin_b=foot)
    title = f"BLEU, length and search errors by {over.replace('_', ' ')}"
    return dressed(figure, title, 260 * rows + foot)


def _by_beam(outcomes: pd.DataFrame) -> pd.DataFrame:
    ordered = outcomes.sort_values(["name", "beam_size"])
    shown = ordered[["name", "beam_size", "bleu", "length_ratio", "empty", "log_prob", "errors"]]
    return shown.dropna(axis=1, how="all")


def _said(outcomes: pd.DataFrame) -> str:
    """Say what the widest beam of each search costs, and how often it is empty."""
    parts = []
    for (run, way, text), curve in outcomes.groupby(["run", "way", "text"], sort=False) if len(outcomes) else ():
        best, widest = curve.loc[curve["bleu"].idxmax()], curve.loc[curve["beam_size"].idxmax()]
        empty = f", {percent(widest['empty'])} empty" if widest["empty"] else ""
        scores = (
            f"{number(best['bleu'], 1)} at {best['beam_size']}, {number(widest['bleu'], 1)} at {widest['beam_size']}"
        )
        who = f"{run}, " if outcomes["run"].nunique() > 1 else ""
        parts.append(f"{who}{way.removesuffix(f', {text}')}: {scores}{empty}")
    return f"BLEU at the best beam and at the widest: {listed(parts, '; ')}." if parts else ""


SWEEPS = Analysis(
    "How do translations change as the beam grows?",
    stored_sweeps,
    source="thesis 4.1",
    table=_by_beam,
    figure=sweep_figure,
    finding=_said,
    absent=("no beam sweep is stored with them", "make one with 'nmtlab beam-sweep'"),
)
