"""`nmtlab corpus select`."""

from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from tqdm import tqdm

from nmtlab.cli.answer import Answer, Json, Part, print_answer
from nmtlab.cli.corpus_import import Name, print_report
from nmtlab.cli.options import Source, Target, Threads, check_belongs, sentence_bar
from nmtlab.cli.tables import print_table
from nmtlab.errors import NmtlabError
from nmtlab.recipe import MachineSettings
from nmtlab.runs.listing import open_run
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.text.corpora.corpus_builder import ImportReport
from nmtlab.text.corpora.monolingual import MonolingualCorpus, is_monolingual, open_monolingual
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.selection import Costs, Text

_EXAMPLES = 10
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


class RankedLine(Part):
    """A line of the text, in `Selection`."""

    line: int
    """Its number, from 1."""
    cost: float
    """In nats per token."""
    text: list[str]
    """The line; of a pair, source and target."""


class Selection(Answer):
    """What `nmtlab corpus select --json` prints."""

    name: str
    """Of the new corpus."""
    source: str
    """Code of the source language, or of that of monolingual text."""
    target: str | None
    """Code of the target language."""
    by: str
    """What a cost is: the cross-entropy difference, or the conditional cross-entropy by one run or, dual, by two."""
    lines: int
    """Lines or pairs of the text, blank ones included."""
    kept: int
    """Of the lines, those with the lowest costs."""
    highest: float
    """The highest cost of a line that is kept, in nats per token."""
    quantiles: dict[str, float]
    """Share of the lines, blank ones left out -> the cost that so many do not exceed."""
    best: list[RankedLine]
    """Lines with the lowest costs, lowest first."""
    worst: list[RankedLine]
    """Lines with the highest costs, highest first."""


def select(
    name: Name,
    text: Annotated[
        str, typer.Option(metavar="CORPUS", help="Text to choose from: a corpus, or one language of it as NAME:en.")
    ],
    keep: Annotated[float, typer.Option(help="What to keep: a share below 1, such as 0.2, or a number of lines.")],
    like: Annotated[
        str,
        typer.Option(
            metavar="CORPUS", help="Text of the domain that is wanted; as NAME:en, only this side of pairs counts."
        ),
    ] = "",
    run: Annotated[
        str, typer.Option(metavar="RUN", help="Instead: a run that has learned to translate such pairs.")
    ] = "",
    back: Annotated[str, typer.Option(metavar="RUN", help="With --run: a run of the opposite direction.")] = "",
    seed: Annotated[
        int | None, typer.Option(min=0, help="With --like: seed of the draw of lines. (default: 1)")
    ] = None,
    source: Source = "",
    target: Target = "",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Keep the best lines of a text, in their order: a new corpus; of pairs with the same dev and test.

    With --like, the best lines are those most like text of a domain: by their cross-entropy difference under a language
    model of the domain and one of the text itself (Moore and Lewis 2010), added over both sides of pairs.

        nmtlab corpus select news-like --text crawl:en --like news:en --keep 0.2

    With --run, the best pairs are those of which the run finds the target likely; with --back, too, those that two runs
    find likely in both directions, and about equally (dual conditional cross-entropy: Junczys-Dowmunt 2018). Train the
    runs on clean pairs that are not in the text.

        nmtlab corpus select crawl-clean --text crawl --run forth --back back --keep 0.8
    """
    workspace = Workspace.find()
    folder = workspace.new_corpus_folder(name)
    if bool(like) == bool(run):
        raise NmtlabError("one way to choose lines is needed", "give either --like or --run")
    check_belongs("--like", like, {"--seed": seed})
    check_belongs("--run", run, {"--back": back or None, "--threads": threads})
    if like:
        opened, costs = _by_domain(text, like, 1 if seed is None else seed, keep, (source, target), workspace)
    else:
        machine = MachineSettings(threads=threads) if threads else MachineSettings()
        opened, costs = _by_runs(text, run, back, keep, (source, target), machine, workspace)

    from nmtlab.selection import select as write_selected

    report = write_selected(folder, opened, costs, keep)
    found = _answer(name, opened, costs, report)
    if as_json:
        print_answer(found)
    else:
        _print(found, report)


def _by_domain(
    text: str, like: str, seed: int, keep: float, direction: tuple[str, str], workspace: Workspace
) -> "tuple[Text, Costs]":
    """Return the text, and the costs of its lines by their likeness to a domain."""
    opened: Text
    if is_monolingual(text, workspace):
        source, target = (code or None for code in direction)
        check_belongs("a text in two languages", False, {"--source": source, "--target": target})
        opened = open_monolingual(text, workspace)
        languages: tuple[str, ...] = (opened.language,)
    else:
        opened = open_corpus(text, workspace, *direction)
        languages = opened.direction
    if is_monolingual(like, workspace):
        domains = [open_monolingual(like, workspace)]
    else:
        domains = [MonolingualCorpus(workspace.corpus_folder(like), language) for language in languages]

    from nmtlab.selection import cross_entropy_differences  # after the names are checked: it loads torch

    with _bar(opened, keep, len(domains)) as bar:
        return opened, cross_entropy_differences(opened, domains, seed, bar.update)


def _by_runs(
    text: str,
    run: str,
    back: str,
    keep: float,
    direction: tuple[str, str],
    machine: MachineSettings,
    workspace: Workspace,
) -> "tuple[Text, Costs]":
    """Return the pairs, in the direction of the first run if no other is asked for, and their costs by the runs."""
    forward = open_run(run, workspace)
    backward = open_run(back, workspace) if back else None
    source, target = (asked or code for asked, code in zip(direction, forward.direction, strict=True))
    opened = open_corpus(text, workspace, source, target)

    from nmtlab.selection import costs_by_runs

    with _bar(opened, keep) as bar:
        return opened, costs_by_runs(opened, forward, backward, machine, bar.update)


def _bar(text: "Text", keep: float, times: int = 1) -> tqdm:
    """Return a progress bar over the lines of a text, each read so many times, if as many can be kept."""
    from nmtlab.selection import lines_of, number_kept

    lines = lines_of(text)
    number_kept(keep, lines)  # which may refuse, before the scoring
    return sentence_bar(lines * times)


def _answer(name: str, text: "Text", costs: "Costs", report: ImportReport) -> Selection:
    from nmtlab.selection import ranked

    order = ranked(costs.values).tolist()
    best, worst = order[:_EXAMPLES], order[::-1][:_EXAMPLES]
    lines = _lines(text, {*best, *worst})
    examples = {
        end: [RankedLine(line=place + 1, cost=costs.values[place], text=lines[place]) for place in places]
        for end, places in (("best", best), ("worst", worst))
    }
    quantiles = np.quantile(costs.values[order], _SHARES, method="inverted_cdf").tolist()
    return Selection.of(
        {"target": "monolingual text"},
        name=name, source=report.source, target=report.target or None, by=costs.by, lines=len(costs.values),
        kept=report.kept["train"], highest=report.options["highest"],
        quantiles={f"{share:g}": cost for share, cost in zip(_SHARES, quantiles, strict=True)}, **examples,
    )  # fmt: skip


def _lines(text: "Text", places: set[int]) -> dict[int, list[str]]:
    """Return lines by their places, from 0; a pair as source and target."""
    if isinstance(text, ParallelCorpus):
        return {place: [*pair] for place, pair in enumerate(text.pairs("train")) if place in places}
    return {place: [line] for place, line in enumerate(text.lines()) if place in places}


def _print(found: Selection, report: ImportReport) -> None:
    """Print how many lines are kept, and the costs of the best and worst."""
    languages = [found.source, *([found.target] if found.target else [])]
    print_report(found.name, " to ".join(languages), report, "pairs" if found.target else "lines")
    rows = [
        [end, f"{one.line:,}", f"{one.cost:.2f}", *one.text]
        for end, examples in (("best", found.best), ("worst", found.worst))
        for one in examples
    ]
    quantiles = ", ".join(f"{cost:.2f} ({float(share):.0%})" for share, cost in found.quantiles.items())
    notes = [f"kept: costs of at most {found.highest:.2f}", f"quantiles of the costs: {quantiles}"]
    print_table(f"{found.by}, in nats per token", ["", "line", "cost", *languages], rows, {"line", "cost"}, notes)
