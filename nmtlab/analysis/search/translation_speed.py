"""How fast, how large and how good is a system? The efficiency task of WNMT 2018 (Birch et al. 2018).

Each measurement runs in a separate process: its seconds count from its start to its end, so a second process with an
empty input tells how many of them went into loading, and only the difference counts. Processes take turns: all settings
once, then all once more, so that a moment's disturbance is seen as a difference between rounds.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import chain, product
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.needs import in_direction
from nmtlab.evaluation.scores import bleu, default_tokenizer
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, SOLID, dressed, log_axis, name_in_lines, styles
from nmtlab.interchange.ctranslate import Precision, write_ctranslate2
from nmtlab.interchange.folding import check_exportable, known_positions
from nmtlab.interchange.served import ServedSystem
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.environment import environment, provenance
from nmtlab.runs.run import TABLE, Run
from nmtlab.systems import check_has_model, open_model
from nmtlab.text.corpora.corpus import Direction, ParallelCorpus
from nmtlab.translation import System
from nmtlab.workspace import PUBLISHED, RESULTS, Workspace

FOLDER = "efficiency"
"""Folder of the files, in a folder of results."""

_TEST, _SENTENCES = "newstest2015", 2169  # the number is that of Khayrallah et al. (2018, Table 3), of the same volume

Engine = Literal["nmtlab", "ctranslate2"]
Way = tuple[Engine, Precision]

SETTING = ["run", "engine", "precision", "beam_size", "batch_tokens", "threads"]
PLACE = ["corpus", "split", "sentences", "machine"]
MEASURED = [
    "seconds", "processor_seconds", "load_seconds", "words_per_second", "memory_mib", "size_mib", "bleu",
]  # fmt: skip
COLUMNS = [*SETTING, "round", *PLACE, "words", *MEASURED, "signature", "load_average", "commit"]


class Options(NamedTuple):
    """What is varied; every combination is measured.

    Args:
        ways: engines, each with a precision; nmtlab's is fp32.
        beam_sizes, batch_tokens: of the search.
        threads: of the CPU.
    """

    ways: Sequence[Way]
    beam_sizes: Sequence[int]
    batch_tokens: Sequence[int]
    threads: Sequence[int]


class _System(NamedTuple):
    """What a process opens and translates with.

    Args:
        exported: folder of the model for CTranslate2, if that is the engine.
    """

    folder: Path
    direction: Direction
    engine: Engine
    precision: Precision
    search: SearchSettings
    threads: int
    exported: Path | None

    @property
    def setting(self) -> tuple:
        search = self.search
        return self.folder.name, self.engine, self.precision, search.beam_size, search.batch_tokens, self.threads

    def size_mib(self) -> float:
        """Return the size of the files that are needed to translate."""
        ours = (self.folder / "checkpoints/best.safetensors", self.folder / TABLE)
        model = self.exported.rglob("*") if self.exported else (path for path in ours if path.exists())
        files = chain(model, (self.folder / "vocabulary").rglob("*"))
        return sum(path.stat().st_size for path in files) / 2**20


class _Process(NamedTuple):
    """What a process needed, and its translations."""

    seconds: float
    processor_seconds: float
    memory_mib: float
    texts: list[str]


def efficiency(
    runs: Sequence[Run],
    corpus: ParallelCorpus,
    options: Options,
    split: str = "test",
    rounds: int = 2,
    on_measured: Callable[[str], None] = lambda line: None,
) -> pd.DataFrame:
    """Measure systems on a text.

    Args:
        runs: neural, with their models, of the corpus' direction.
        on_measured: called with a line on each measurement.

    Returns:
        A row for each setting and round, with the settings and `corpus`, `split`, `sentences`, kind of `machine`,
        `words` (of the source, separated by white space), `seconds` and `processor_seconds` (of all threads), both
        without loading, `load_seconds`, `words_per_second` (NaN if loading alone seems to have taken longer, as it can
        where other work disturbs it), `memory_mib` (the peak of the process, with some 200 MiB of
        torch for either engine), `size_mib` (model and vocabulary), `bleu` and its `signature`, `load_average`
        (processes that wanted to run in the minute before the first measurement: 0 on an idle machine) and `commit` of
        nmtlab.

    Raises:
        NmtlabError: CTranslate2 lacks a part of a run or of its search, the text is of another direction, or a run is
            phrase-based.
    """
    lines, references, rows = list(corpus.lines(split, corpus.source)), corpus.references(split), []
    words = sum(len(line.split()) for line in lines)
    maker = provenance(environment([corpus.checksum()], torch.device("cpu"))) | {"load_average": os.getloadavg()[0]}
    place = {"corpus": corpus.name, "split": split, "sentences": len(lines), "words": words}
    with ExitStack() as stack:
        systems = list(_systems([in_direction(run, corpus) for run in runs], options, stack))
        for number, system in product(range(1, rounds + 1), systems):
            empty, whole = (_measured(system, text) for text in ([], lines))
            score = bleu(whole.texts, references, default_tokenizer(corpus.target))
            seconds, processor = whole.seconds - empty.seconds, whole.processor_seconds - empty.processor_seconds
            speed = words / seconds if seconds > 0 else math.nan
            numbers = seconds, processor, empty.seconds, speed, whole.memory_mib, system.size_mib(), score.value
            setting = dict(zip(SETTING, system.setting, strict=True)) | {"round": number, "signature": score.signature}
            rows.append(setting | place | dict(zip(MEASURED, numbers, strict=True)) | maker)
            run, engine, precision, beam, batch, threads = system.setting
            named = f"{run}, {engine} {precision}, beam {beam}, batches of {batch:,} tokens, threads {threads}"
            took = f"{seconds:.1f} s ({processor:.1f} s of processor time) after {empty.seconds:.1f} s of loading"
            on_measured(f"{named}: {took}, BLEU {score.value:.2f}")
    return pd.DataFrame(rows, columns=COLUMNS)


def medians(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the medians of each setting over its rounds.

    Args:
        measured: rows of `efficiency`, also of several measurements.

    Returns:
        A row for each setting on each text and kind of machine, with the medians of what was measured,
        `milliseconds` and `processor_milliseconds` (per sentence), the number of `rounds`, the `signature` of BLEU and
        the highest `load_average`.
    """
    groups = measured.groupby([*PLACE, *SETTING], sort=False)
    others = groups.agg(
        rounds=("round", "size"), signature=("signature", "first"), load_average=("load_average", "max")
    )
    found = groups[MEASURED].median().join(others).reset_index()
    each = 1000 / found["sentences"]
    return found.assign(milliseconds=each * found["seconds"], processor_milliseconds=each * found["processor_seconds"])


NOISE = 0.5
"""Difference in BLEU below which two systems count as equally good: on 1,000 sentences it may be chance."""


def frontier(frame: pd.DataFrame, cost: str, score: str = "bleu", margin: float = 0.0) -> pd.Series:
    """Return which rows are worth their cost: better, by more than a margin, than those that cost less.

    Args:
        frame: a row for each system.
        cost: column that is better the lower; a row where it is below 0 is not on the frontier.
        score: column that is better the higher.
        margin: difference in score that counts as none, at least 0.
    """
    ordered = frame[frame[cost] >= 0].sort_values([cost, score], ascending=[True, False], kind="stable")
    best, worth = -math.inf, []
    for value in ordered[score]:
        worth.append(value > best + margin)
        best = value if worth[-1] else best
    return pd.Series(worth, ordered.index, dtype=bool).reindex(frame.index, fill_value=False)


COSTS: Mapping[str, str] = {
    "processor_milliseconds": "processor time per sentence, ms", "milliseconds": "time per sentence, ms",
    "memory_mib": "peak memory, MiB", "size_mib": "model and vocabulary on disk, MiB",
}  # fmt: skip
"""Columns that are better the lower, with their names."""

_SYMBOLS = {"cpu": "circle-open", "gpu": "diamond-open"}


def efficiency_figure(
    measured: pd.DataFrame, cost: str, title: str, published: pd.DataFrame | None = None, chosen: str = ""
) -> go.Figure:
    """Draw BLEU against a cost, on a logarithmic axis, with the Pareto front.

    Args:
        measured: rows of `medians` on one text and machine, with a column `frontier`; the index holds their keys.
        cost: column of `COSTS`.
        title: what was measured.
        published: systems measured elsewhere, as of `published_efficiency`, drawn after a click in the legend.
        chosen: key of the row to mark.
    """
    figure = go.Figure()
    faint = pd.DataFrame(columns=["processor", cost]) if published is None else published.dropna(subset=cost)
    for processor, systems in faint.groupby("processor"):
        figure.add_scatter(
            x=systems[cost], y=systems["bleu"], mode="markers", name=f"WNMT 2018, {processor.upper()}",
            marker={"symbol": _SYMBOLS[processor], "size": 8, "color": FAINT}, text=systems["system"],
            visible="legendonly",
            hovertemplate="%{text}: BLEU %{y:.2f}, %{x:,.4~g}<br>on another text and machine"
            f"<extra>WNMT 2018, {processor.upper()}</extra>",
        )  # fmt: skip
    front = measured[measured["frontier"]].sort_values(cost)
    figure.add_scatter(
        x=front[cost], y=front["bleu"], mode="lines", name="Pareto front", hoverinfo="skip",
        line={"color": COLOURS[6], "width": 1, "shape": "hv"},
    )  # fmt: skip
    _add_systems(figure, measured, cost)
    ring = measured[measured.index == chosen]
    figure.add_scatter(
        x=ring[cost], y=ring["bleu"], mode="markers", name="selected", showlegend=False, hoverinfo="skip",
        marker={"symbol": "circle-open", "size": 20, "color": COLOURS[6], "line": {"width": 2}},
    )  # fmt: skip
    axes = [log_axis(costs) for costs in ([*measured[cost], *faint[cost]], measured[cost])]
    ticks = {value: text for axis in axes for value, text in zip(axis["tickvals"], axis["ticktext"], strict=True)}
    figure.update_xaxes(
        title_text=COSTS[cost], type="log", tickmode="array", tickvals=[*ticks], ticktext=[*ticks.values()]
    )
    figure.update_yaxes(title_text="BLEU")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, title, 520)


def efficiency_finding(measured: pd.DataFrame, cost: str) -> str:
    """Return what reaches the best BLEU at the least cost, and what the cheapest setting loses.

    Args:
        measured: rows of `medians` on one text and machine, with a column `frontier`.
        cost: column of `COSTS`.
    """
    good = measured[measured["bleu"] > measured["bleu"].max() - NOISE]
    chosen, cheapest = good.loc[good[cost].idxmin()], measured.loc[measured[cost].idxmin()]
    best = f"{_setting(chosen)}: the best BLEU, {chosen['bleu']:.1f}, at the least cost, {_cost(chosen, cost)}."
    if cheapest["bleu"] > chosen["bleu"] - NOISE:
        return best
    lost = f"{chosen['bleu'] - cheapest['bleu']:.1f} BLEU less at {_cost(cheapest, cost)}"
    return f"{best} {_setting(cheapest)}: {lost}."


def _setting(row: pd.Series) -> str:
    return f"{row['engine']} {row['precision']} with beam {row['beam_size']}"


def _cost(row: pd.Series, cost: str) -> str:
    name, _, unit = COSTS[cost].rpartition(", ")
    return f"{row[cost]:.3g} {unit} of {name}"


def _add_systems(figure: go.Figure, measured: pd.DataFrame, cost: str) -> None:
    """Add a trace for each run, engine and precision: its points on the front are filled."""
    way = measured["engine"] + " " + measured["precision"]
    names = measured["run"] + ", " + way if measured["run"].nunique() > 1 else way
    colours = styles(names, SOLID)
    for name, rows in measured.groupby(names, sort=False):
        on_front = rows["frontier"]
        figure.add_scatter(
            x=rows[cost], y=rows["bleu"], mode="markers+text", name=name_in_lines(name),
            text="beam " + rows["beam_size"].astype(str), textposition="top center",
            marker={
                "symbol": on_front.map({True: "circle", False: "circle-open"}).tolist(), "size": 11,
                "color": colours[name]["color"], "line": {"width": 2, "color": colours[name]["color"]},
            },
            customdata=[[key, _described(row)] for key, row in rows.iterrows()],
            hovertemplate=f"%{{customdata[1]}}<extra>{name_in_lines(name)}</extra>",
        )  # fmt: skip


def _described(row: pd.Series) -> str:
    """Return what a point is and what it was measured to be, in lines."""
    threads = "1 thread" if row["threads"] == 1 else f"{row['threads']} threads"
    front = "<br>on the Pareto front" if row["frontier"] else ""
    return (
        f"{name_in_lines(row['run'])}<br>beam {row['beam_size']}, batches of {row['batch_tokens']:,} tokens, {threads}"
        f"<br>BLEU {row['bleu']:.2f}, {row['milliseconds']:,.3g} ms per sentence "
        f"({row['processor_milliseconds']:,.3g} ms of processor time), {row['words_per_second']:,.0f} words/s"
        f"<br>{row['memory_mib']:,.0f} MiB of memory, {row['size_mib']:,.1f} MiB on disk{front}"
    )


def _systems(runs: Sequence[Run], options: Options, stack: ExitStack) -> Iterator[_System]:
    """Yield every combination; models for CTranslate2 are written to folders that are removed at the end."""
    for run, (engine, precision) in product(runs, options.ways):
        check_has_model(run)
        exported = _exported(run, precision, stack) if engine == "ctranslate2" else None
        for beam_size, tokens, threads in product(options.beam_sizes, options.batch_tokens, options.threads):
            search = run.recipe.search.model_copy(update={"beam_size": beam_size, "batch_tokens": tokens})
            yield _System(run.folder, run.direction, engine, precision, search, threads, exported)


def _exported(run: Run, precision: Precision, stack: ExitStack) -> Path:
    settings = check_exportable(run.name, run.recipe)
    folder = Path(stack.enter_context(TemporaryDirectory()))
    write_ctranslate2(open_model(run), settings, folder, precision)
    return folder


def _measured(system: _System, lines: list[str]) -> _Process:
    """Translate in a separate process."""
    start = time.perf_counter()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        texts, processor, memory = pool.submit(_translated, system, lines).result()
    return _Process(time.perf_counter() - start, processor, memory, texts)


def _translated(system: _System, lines: list[str]) -> tuple[list[str], float, float]:
    """Return translations, and the processor time and peak memory of this process."""
    run, search, threads = Run(system.folder).directed(*system.direction), system.search, system.threads
    ours = partial(open_model, run, search, machine=MachineSettings(device="cpu", threads=threads))
    if system.exported:
        positions = known_positions(check_exportable(run.name, run.recipe))
        opened: System = ServedSystem(system.exported, run.pipeline, search, system.precision, positions, threads, ours)
    else:
        opened = ours()
    texts = [translation.text for translation in opened.translate(lines)]
    return texts, time.process_time(), _peak_memory_mib()


def _peak_memory_mib() -> float:
    """Return the highest resident memory of this process; NaN where the system does not tell.

    Unlike `getrusage`, /proc does not count the memory of the process that this one was started from.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), float("nan"))


def new_file(workspace: Workspace, corpus: str, split: str) -> Path:
    """Return the file of a new measurement on a text, named by the time in UTC."""
    when = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return workspace.data / "results" / FOLDER / f"{corpus}.{split}.{when}.csv"


def stored_efficiency(workspace: Workspace) -> tuple[pd.DataFrame, list[Path]]:
    """Return all rows that were measured in a workspace or come with nmtlab, and the files that are damaged.

    Returns:
        Rows as of `nmtlab.analysis.search.translation_speed.efficiency`; none if nothing was measured.
    """
    folders = {(folder / FOLDER).resolve() for folder in (workspace.data / "results", RESULTS)}
    found, damaged = [pd.DataFrame(columns=COLUMNS)], []
    for path in sorted(path for folder in folders for path in folder.glob("*.csv")):
        try:
            found.append(pd.read_csv(path)[COLUMNS].astype(dict.fromkeys(MEASURED, float)))
        except (ValueError, KeyError, OSError):
            damaged.append(path)
    return pd.concat(found[1:] or found, ignore_index=True), damaged


def published_efficiency() -> pd.DataFrame:
    """Return the systems of the efficiency task of WNMT 2018 (Birch et al. 2018, Tables 1 to 5) on newstest2015.

    Returns:
        A row for each system and kind of `processor`, with `milliseconds` (per sentence), `processor_milliseconds` (the
        same for those on a CPU, of which one core was used: as printed, the two differ by less than 1 %; missing for
        those on a GPU), `memory_mib` (of the host), `size_mib` (of the image of its container) and `bleu`; without the
        one that copies its input.
    """
    printed = pd.read_csv(PUBLISHED / "wnmt-2018-efficiency.csv")
    systems = printed[(printed["test"] == _TEST) & (printed["system"] != "echo")]
    milliseconds, on_cpu = 1000 * systems["seconds"] / _SENTENCES, systems["processor"] == "cpu"
    times = {"milliseconds": milliseconds, "processor_milliseconds": milliseconds.where(on_cpu)}
    columns = ["processor", "system", *times, "memory_mib", "size_mib", "bleu"]
    return systems.assign(size_mib=systems["image_mib"], **times)[columns].reset_index(drop=True)
