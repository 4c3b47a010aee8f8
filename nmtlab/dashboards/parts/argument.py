"""The start page's content: what the thesis says and how it fared here, from stored results alone.

It is one piece of markup with its style, script and numbers, which the server sends without a kernel, JupyterLab shows
as a widget, and the book includes.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, cast

import anywidget
import pandas as pd
import traitlets
from plotly.offline import get_plotlyjs

from nmtlab.dashboards.frame.about import pages
from nmtlab.dashboards.frame.links import link_to_line, links_to, pages_about
from nmtlab.dashboards.widgets.chart import SCHEME
from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.declaration import Row, Setup
from nmtlab.grids.declared.labels import pair_label, text_title
from nmtlab.grids.results.judgement import NOT_KEPT, RULE
from nmtlab.grids.results.summary import in_words, rounded
from nmtlab.runs.listing import list_runs
from nmtlab.runs.run import Run
from nmtlab.thesis.claims.declared import ORIGINS, Claim, declared_claims
from nmtlab.thesis.claims.verdicts import COLUMNS, measured_claims, not_measured
from nmtlab.thesis.message import Asked, Message, Shown, Stored
from nmtlab.thesis.messages import MESSAGES
from nmtlab.workspace import RESULTS, Workspace

_HERE = Path(__file__).parent
_STYLE = (_HERE / "argument.css").read_text(encoding="utf-8")
_SCRIPT = SCHEME + (_HERE / "argument.js").read_text(encoding="utf-8")

_WHOSE = (
    "The thesis claims some things from its results; what it proposes, expects or conjectures, it did not measure; "
    "other things it quotes, as the survey does; and what it leaves open is asked here. A claim has a line per text."
)
_NOTHING = (
    "No results are here, so nothing can be said of the thesis. A clone of the repository has them in "
    "data/evidence/results, which is all that this page reads."
)


class Verdict(NamedTuple):
    """A verdict on a page: its kind, by which the page filters; its mark; its name for one line and for many."""

    kind: str
    mark: str
    name: str
    many: str


VERDICTS: Mapping[str, Verdict] = {
    "reproduced here": Verdict("same", "●", "same result", "the same result"),
    "contradicted here": Verdict("opposite", "✕", "opposite result", "the opposite result"),
    "equivalent": Verdict("equivalent", "=", "equivalent", "equivalent"),
    "underpowered": Verdict("open", "○", "too few seeds to tell", "open"),
    "inconclusive": Verdict("open", "○", "open", "open"),
    NOT_KEPT: Verdict("lost", "–", "runs not kept", "runs not kept"),
}
"""The verdicts of `measured_claims` in the order of the page."""

_KINDS = {verdict.kind: verdict for verdict in VERDICTS.values()}
_WHO = {"claimed": "The thesis claims", "proposed": "it proposes", "quoted": "others say", "asked here": "asked here"}
_TEXTS = {"natural": "natural text", "artificial": "artificial text"}
_SECTIONS = {
    "thesis 3.1": "Transfer from a related language (3.1)",
    "thesis 3.2": "Lexical choice (3.2)",
    "thesis 3.3": "Normalisation (3.3)",
    "thesis 4.1": "Search and planned lengths (4.1)",
    "thesis 4.2": "Many languages in one model (4.2)",
    "survey 11.3": "Label smoothing (survey, 11.3)",
}
"""What sections are called, by the beginning of a claim's source."""

_NUMBERS = {
    "verdict": "verdict", "effect": "effect", "bounds": "95 % interval", "reason": "why undecided", "metric": "metric",
    "direction": "effect of", "q": "q", "detectable": "detectable effect", "seeds": "seeds",
    "seeds_needed": "seeds to detect the effect asked about", "bound": "equivalence bound",
    "interval": "interval covers", "mark": "interval without", "budget": "budget", "late_gain": "still rising by",
    "p": "p", "pooled_p": "p, pooled variance", "runs": "runs",
}  # fmt: skip
"""The numbers of a line of `measured_claims`, and what they are called."""


class Argument(anywidget.AnyWidget):
    """The content in a page of JupyterLab."""

    _esm = _SCRIPT + "\nexport default { render({ model, el }) { el.innerHTML = model.get('markup'); argue(el); } };"
    markup = traitlets.Unicode().tag(sync=True)

    def as_html(self) -> str:
        """Return it for a saved page, with plotly's script."""
        return f"{self.markup}<script>{get_plotlyjs()}</script>{_script()}"


def argument(workspace: Workspace, linked: bool = True) -> str:
    """Return the content for a page that loads plotly: markup, style, numbers and script.

    Args:
        workspace: contains the runs that its links lead to.
        linked: whether the pages are there; if not, as in the book, links lead to chapters, and claims are folded.
    """
    return argument_markup(workspace, linked=linked) + _script()


def argument_markup(workspace: Workspace, folder: Path = RESULTS, linked: bool = True) -> str:
    """Return the content without its script, as `argument` does, of the results in a folder.

    What a damaged file is about is left out, and its error is in the content.
    """
    found, problems = _found(workspace, folder)
    runs = {run.name: run for run in list_runs(workspace)[0]} if linked else {}
    content = _Content(found, Stored(found, folder), _Links(runs) if linked else None)
    said = [f"<p role='alert'>{escape(problem)}</p>" for problem in problems]
    body = [*said, *content.parts()] if len(found) else [*(said or [f"<p>{escape(_NOTHING)}</p>"])]
    body += [_runs(len(runs))] if linked else []
    return f"<div class='nmtlab-argument'><style>{_STYLE}</style>{''.join(body)}</div>"


def _runs(count: int) -> str:
    page = next(page for page in pages() if page.name == "runs")
    link = f"<a href='{page.name}.ipynb'>{escape(page.question)}</a>"
    return f"<details class='section'><summary>Runs: {count:,} here</summary><p>{link}</p></details>"


def _script() -> str:
    begin = "document.querySelectorAll('.nmtlab-argument').forEach((one) => argue(one))"
    return f"<script type='module'>{_SCRIPT}\n{begin}</script>"


def _found(workspace: Workspace, folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the measured claims, and the errors of damaged files."""
    try:
        return measured_claims(folder, workspace=workspace), []
    except NmtlabError:
        tables: dict[str, list[Claim]] = {}
        for claim in declared_claims():
            tables.setdefault(claim.stored, []).append(claim)
        frames, problems = [], []
        for claims in tables.values():
            try:
                frames.append(measured_claims(folder, claims, workspace))
            except NmtlabError as error:
                problems.append(str(error))
        known = [frame for frame in frames if len(frame)]
        return pd.concat(known, ignore_index=True) if known else pd.DataFrame(columns=COLUMNS), problems


class _Links:
    """Links to the pages that can show runs; the same runs are asked for again and again."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._runs, self._known = runs, dict[tuple[tuple[str, ...], tuple[str, ...]], str]()

    def to(self, names: Iterable[str], named: Iterable[str]) -> str:
        key = (tuple(name for name in names if name in self._runs), tuple(named))
        if key not in self._known:
            try:
                self._known[key] = links_to([self._runs[name] for name in key[0]], key[1])
            except NmtlabError:  # a file of a run is damaged
                self._known[key] = ""
        return self._known[key]


@dataclass
class _Content:
    """The parts of the content.

    Args:
        found: of `measured_claims`.
        stored: the results.
        links: to pages; None in the book.
    """

    found: pd.DataFrame
    stored: Stored
    links: _Links | None

    def __post_init__(self) -> None:
        self._claims = {claim.text: claim for claim in declared_claims()}
        self._numbers = {text: number for number, text in enumerate(self.found["claim"].unique())}
        self._lines = [*self.found.itertuples()]
        self._shown = {name: column.tolist() for name, column in _numbers(self.found).items()}
        self._figures: dict[str, str] = {}

    def _of(self, lines: pd.DataFrame) -> list[Any]:
        """Return some of the lines as tuples."""
        return [self._lines[number] for number in lines.index]

    def parts(self) -> Iterator[str]:
        """Yield what was found in all, the messages, the claims, and their numbers."""
        yield self._bar()
        yield f"<div class='messages'>{''.join(map(self._message, MESSAGES))}</div>"
        yield f"<h2>All claims, by section and text</h2><p class='hint'>{_HINT}</p>"
        yield from (self._section(title, lines) for title, lines in self._by_section())
        data = {"figures": self._figures, "claims": [*map(self._claim, self._numbers)]}
        written = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")  # which would end the script
        yield f"<script type='application/json'>{written}</script>"

    def _bar(self) -> str:
        found, counts = self.found, _counts(self.found)
        kinds = [kind for kind in _KINDS if kind in counts]
        bar = "".join(
            f"<button type='button' class='{kind}' data-filter='kind' data-value='{kind}' "
            f"style='flex-grow:{counts[kind]}' aria-label='{counts[kind]} {_KINDS[kind].many}'></button>"
            for kind in kinds
        )
        marks = "".join(
            _toggle("kind", kind, f"<i class='{kind}'>{_KINDS[kind].mark}</i> {_KINDS[kind].many}", counts[kind])
            for kind in kinds
        )
        natural = found["artificial"].map({False: "natural", True: "artificial"})
        whose = "".join(
            _toggle("origin", origin, name, (found["origin"] == origin).sum()) for origin, name in _WHO.items()
        )
        texts = "".join(_toggle("text", kind, name, (natural == kind).sum()) for kind, name in _TEXTS.items())
        unmeasured = " ".join(_waiting(not_measured(found)))
        return (
            f"<p class='sum'>{found['claim'].nunique()} claims, tested on {found['text'].nunique()} texts, "
            f"{len(found)} results:</p><div class='bar' role='group' aria-label='Verdicts'>{bar}</div>"
            f"<div class='toggles' role='group' aria-label='Filter the claims'>{marks}</div>"
            f"<div class='toggles' role='group' aria-label='Filter the claims'>{whose}<span></span>{texts}</div>"
            f"<details class='how'><summary>How to read this</summary><p>{escape(_WHOSE)}</p><p>{escape(RULE)} "
            f"Effects are in points of the measure. {escape(unmeasured)}</p></details>"
        )

    def _message(self, message: Message) -> str:
        """Return a figure with its finding, the verdicts on its claims and a link, or why there is none."""
        try:
            shown = message.show(self.stored)
        except NmtlabError as error:
            return f"<section><h3>{escape(message.title)}</h3><p>Not here: {escape(str(error))}</p></section>"
        self._figures[message.key] = cast("str", shown.figure.to_json())
        finding = escape(shown.finding).replace(" ± ", "\u00a0±\u00a0")  # or lines would end there
        label = escape(f"{message.title}. {shown.finding}", quote=True)
        chips = "".join(map(self._chips, message.asked))
        tally = _tally(pd.concat(map(self.stored.lines, message.asked)))
        return (
            f"<section><h3>{escape(message.title)} <span>{tally}</span></h3><p class='finding'>{finding}</p>"
            f"<div class='figure' role='img' aria-label='{label}' data-figure='{message.key}'></div>"
            f"<div class='chips'>{chips}</div><p class='more'>{_seeds(shown)} · {self._more(message)}</p></section>"
        )

    def _chips(self, asked: Asked) -> str:
        """Return the verdicts on a claim: one a text, or, of a claim about one text, one with what it claims."""
        lines = self.stored.lines(asked)
        if len(lines) == 1:
            return _chip(self._of(lines)[0], asked.about)
        chips = "".join(_chip(line, self._pair(line)) for line in self._of(lines))
        return f"<div><span>{escape(asked.about)}:</span> {chips}</div>" if chips else ""

    def _more(self, message: Message) -> str:
        """Return the link to the page that shows a message, with runs that it can show, or to a chapter of the book."""
        if self.links is None:
            return f"<a href='results/{message.chapter}.html'>more in the results</a>"
        for line in self._of(pd.concat(map(self.stored.lines, message.asked))):
            if link := self.links.to(line.runs, [message.page]):
                return f"see it in {link}"
        page = next(page for page in pages() if page.name == message.page)
        return f"see it in <a href='{page.name}.ipynb'>{escape(page.title)}</a>"

    def _by_section(self) -> Iterator[tuple[str, pd.DataFrame]]:
        sections = self.found["source"].map(_section_of)
        for title in [*_SECTIONS.values(), *sorted({*sections} - {*_SECTIONS.values()})]:
            if (sections == title).any():
                yield title, self.found[sections == title]

    def _section(self, title: str, found: pd.DataFrame) -> str:
        """Return the claims of a section as a matrix: a row for each, a column for each text, artificial ones last."""
        texts = found.drop_duplicates("text")
        texts = texts.assign(title=[self._title(line) for line in self._of(texts)])
        titles = [*dict.fromkeys(texts.sort_values("artificial", kind="stable")["title"])]
        columns = self._of(texts.sort_values("title", key=lambda some: some.map(titles.index), kind="stable"))
        head = "".join(
            f"<th scope='colgroup' colspan='{(texts['title'] == one).sum()}'>{escape(one)}</th>" for one in titles
        )
        pairs = "".join(
            f"<th scope='col'{_ground(line)} title='{_quoted(line.text)}'><span>{escape(self._pair(line))}</span></th>"
            for line in columns
        )
        rows = "".join(self._row(str(claim), lines, columns) for claim, lines in found.groupby("claim", sort=False))
        summary = f"{escape(title)} <span>{found['claim'].nunique()} claims: {_tally(found)}</span>"
        heads = f"<tr><td></td>{head}<td></td></tr><tr><td></td>{pairs}<td></td></tr>"
        return (
            f"<details class='section'{' open' if self.links else ''}><summary>{summary}</summary><div class='scroll'>"
            f"<table><thead>{heads}</thead><tbody>{rows}</tbody></table></div></details>"
        )

    def _row(self, claim: str, lines: pd.DataFrame, columns: Sequence[Any]) -> str:
        marks: dict[str, str] = {}
        for line in self._of(lines):
            marks[line.text] = marks.get(line.text, "") + _mark(line)
        cells = "".join(f"<td{_ground(column)}>{marks.get(column.text, '')}</td>" for column in columns)
        return f"<tr data-claim='{self._numbers[claim]}'><th scope='row'>{escape(claim)}</th>{cells}<td></td></tr>"

    def _claim(self, text: str) -> dict[str, object]:
        """Return a claim with the numbers of its lines."""
        lines = [line for line in self._lines if line.claim == text]
        numbers = [(name, [column[line.Index] for line in lines]) for name, column in self._shown.items()]
        return {
            "claim": text,
            "about": f"{ORIGINS[lines[0].origin].capitalize()}: {lines[0].source}",
            "lines": [line.Index for line in lines],
            "texts": [line.text for line in lines],
            "numbers": [(name, values) for name, values in numbers if any(values)],
            "links": [self._linked(line) for line in lines] if self.links else [],
        }

    def _linked(self, line: Any) -> str:
        """Return the links to a line's evidence and to the pages with its runs, as markup."""
        claim = self._claims[line.claim]
        evidence = link_to_line(claim.stored, claim.metric.key, line.pair, line.system)
        shown = self.links.to(line.runs, pages_about(claim.metric)) if self.links else ""
        return f"evidence in {evidence}" + (f"; runs in {shown}" if shown else "")

    def _pair(self, line: Any) -> str:
        return pair_label(self._row_of(line), self._claims[line.claim].scale)

    def _title(self, line: Any) -> str:
        setup = self._row_of(line).at[self._claims[line.claim].scale]
        return text_title(setup.corpus) if isinstance(setup, Setup) else ""

    def _row_of(self, line: Any) -> Row:
        return next(row for row in self._claims[line.claim].table.rows if row.name == line.pair)


_HINT = (
    "A mark is a verdict: ● the same result as claimed, ✕ the opposite, = no difference, ○ not decided, – runs not "
    "kept; larger where the effect is large for its interval. Select one for its numbers."
)


def _waiting(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield how many claims have no numbers, and which of them need text that nobody may have here."""
    if here := [claim for claim in claims if claim.scale != "thesis"]:
        yield f"Claims not measured yet: {len(here)}."
    if tables := sorted({claim.table.name for claim in claims if claim.scale == "thesis"}):
        yield f"Not testable here, since they need the text of the thesis: those of {', '.join(tables)}."


def _toggle(of: str, value: str, name: str, count: int) -> str:
    return (
        f"<button type='button' data-filter='{of}' data-value='{value}' aria-pressed='false' "
        f"title='Show only these claims'><b>{count}</b> {name}</button>"
    )


def _counts(found: pd.DataFrame) -> pd.Series:
    """Return how many lines have which kind of verdict."""
    return found["verdict"].map(lambda verdict: VERDICTS[verdict].kind).value_counts()


def _tally(found: pd.DataFrame) -> str:
    counts = _counts(found)
    marked = (
        f"<span title='{counts[kind]} {verdict.many}'><i class='{kind}'>{verdict.mark}</i>\u202f{counts[kind]}</span>"
        for kind, verdict in _KINDS.items()
        if kind in counts
    )
    return " ".join(marked)


def _section_of(source: str) -> str:
    found = re.match(r"\w+ \d+\.\d+", source)
    return _SECTIONS.get(found[0], found[0]) if found else "Other claims"


def _mark(line: Any) -> str:
    verdict, text = VERDICTS[line.verdict], "artificial" if line.artificial else "natural"
    return (
        f"<button type='button' class='mark {verdict.kind}' style='font-size:{_size(line)}px' data-line='{line.Index}' "
        f"data-kind='{verdict.kind}' data-origin='{line.origin}' data-text='{text}' title='{_about(line)}' "
        f"aria-label='{_about(line)}'>{verdict.mark}</button>"
    )


def _chip(line: Any, name: str) -> str:
    verdict, about = VERDICTS[line.verdict], _about(line)
    mark = f"<i class='{verdict.kind}'>{verdict.mark}</i>"
    return f"<button type='button' class='chip' data-line='{line.Index}' title='{about}'>{mark} {escape(name)}</button>"


def _size(line: Any) -> int:
    """Return the pixels of a mark, by the effect over half its interval."""
    half = (line.high - line.low) / 2
    certain = abs(line.effect) / half if half > 0 else 0.0
    return round(11 + 3 * math.log2(1 + min(certain, 15))) if math.isfinite(certain) else 11


def _about(line: Any) -> str:
    """Return what a mark stands for: the text, the verdict, the effect with its interval."""
    effect = "" if math.isnan(line.effect) else f", {_in_cell(float(f'{line.effect:.3g}'))}"
    bounds = f" ({in_words(line.low, line.high)})" if effect and in_words(line.low, line.high) else ""
    return _quoted(f"{line.text}: {VERDICTS[line.verdict].name}{effect}{bounds}")


def _ground(line: Any) -> str:
    return " class='artificial'" if line.artificial else ""


def _seeds(shown: Shown) -> str:
    fewest, most = shown.seeds
    return f"{most} seed{'s' * (most > 1)}" if fewest == most else f"{fewest} to {most} seeds"


def _numbers(found: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of lines as text."""
    shown = rounded(found).assign(
        bounds=[in_words(low, high) for low, high in zip(found["low"], found["high"], strict=True)],
        runs=[", ".join(names) for names in found["runs"]],
        verdict=[VERDICTS[verdict].name for verdict in found["verdict"]],
    )
    return shown[list(_NUMBERS)].rename(columns=_NUMBERS).map(_in_cell)


def _in_cell(value: object) -> str:
    if pd.isna(value):
        return ""
    if not isinstance(value, float):
        return str(value)
    number, _, power = f"{value:.6g}".replace("-", "−").partition("e")
    return number + (f"×10{str(int(power.replace('−', '-'))).translate(_RAISED)}" if power else "")


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _quoted(text: str) -> str:
    return escape(text, quote=True)
