"""How fast, how large and how good is a system? The efficiency task of WNMT 2018 (Birch et al. 2018).

Each measurement runs in a separate process: its seconds count from its start to its end, so a second process with an
empty input tells how many of them went into loading, and only the difference counts. Processes take turns: all settings
once, then all once more, so that a moment's disturbance is seen as a difference between rounds.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import chain, product
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple, TypeVar

import pandas as pd
import torch

from nmtlab.analysis.access.needs import in_direction
from nmtlab.analysis.search.time_parts import time_parts, time_sentences, time_steps
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.resampling import Comparison, paired_bootstrap
from nmtlab.evaluation.scores import bleu_metric, chrf_metric, default_tokenizer
from nmtlab.interchange.ctranslate import Precision, write_ctranslate2
from nmtlab.interchange.folding import check_exportable, known_positions
from nmtlab.interchange.served import ServedSystem
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.environment import environment, provenance
from nmtlab.runs.run import TABLE, Run
from nmtlab.systems import check_has_model, open_model
from nmtlab.text.corpora.corpus import Direction, ParallelCorpus
from nmtlab.translation import System, Translator
from nmtlab.workspace import PUBLISHED, RESULTS, Workspace

FOLDER = "efficiency"
"""Folder of the files, in a folder of results."""

_SENTENCES = 2169  # of newstest2015 (Khayrallah et al. 2018, Table 3, of the same volume)
_WORDS = 62_954  # of the source of newstest2014 (Junczys-Dowmunt et al. 2018, of the same volume)

PRICES = {"cpu": 0.102, "gpu": 3.259}
"""US dollars an hour of the task's machines, m5.large and p3.2xlarge."""

Engine = Literal["nmtlab", "ctranslate2", "echo"]
Way = tuple[Engine, Precision]
Result = TypeVar("Result")

SETTING = ["run", "engine", "precision", "beam_size", "shortlist", "batch_tokens", "threads"]
PLACE = ["corpus", "split", "sentences", "machine"]
MEASURED = [
    "seconds", "processor_seconds", "load_seconds", "words_per_second", "memory_mib", "size_mib", "bleu", "bleu_margin",
    "chrf", "chrf_margin",
]  # fmt: skip
COLUMNS = [*SETTING, "round", *PLACE, "words", *MEASURED, "signature", "load_average", "commit"]
_ADDED = {"shortlist": 0, "bleu_margin": math.nan, "chrf": math.nan, "chrf_margin": math.nan}
"""Columns that older files lack, with what stands for them."""

TIMED = [*SETTING, *PLACE, "kind", "item", "count", "seconds", "load_average", "commit"]
_TIMES = ".times.csv"
_ALONE = 100  # sentences that are translated one by one


class Options(NamedTuple):
    """What is varied; every combination is measured.

    Args:
        ways: engines, each with a precision; nmtlab's is fp32.
        beam_sizes, batch_tokens: of the search.
        threads: of the CPU.
        shortlists: most frequent target types to choose from; 0 for all.
    """

    ways: Sequence[Way]
    beam_sizes: Sequence[int]
    batch_tokens: Sequence[int]
    threads: Sequence[int]
    shortlists: Sequence[int] = (0,)


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
        search, run = self.search, "echo" if self.engine == "echo" else self.folder.name
        sizes = search.beam_size, search.fixed_shortlist, search.batch_tokens
        return run, self.engine, self.precision, *sizes, self.threads

    def __str__(self) -> str:
        run, engine, precision, beam, shortlist, batch, threads = self.setting
        if engine == "echo":
            return "echo, the source copied"
        types = f", {shortlist:,} types" if shortlist else ""
        return f"{run}, {engine} {precision}, beam {beam}{types}, batches of {batch:,} tokens, threads {threads}"

    def size_mib(self) -> float:
        """Return the size of the files that are needed to translate."""
        if self.engine == "echo":
            return 0.0
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
    """Measure systems on a text, and what copies its lines.

    Args:
        runs: neural, with their models, of the corpus' direction.
        on_measured: called with a line on each measurement.

    Returns:
        A row for each setting and round, with the settings and `corpus`, `split`, `sentences`, kind of `machine`,
        `words` (of the source, separated by white space), `seconds` and `processor_seconds` (of all threads), both
        without loading, `load_seconds`, `words_per_second` (NaN if loading alone seems to have taken longer, as it can
        where other work disturbs it), `memory_mib` (the peak of the process, with some 200 MiB of
        torch for either engine), `size_mib` (model and vocabulary), `bleu` and its `signature`, `chrf`, `bleu_margin`
        and `chrf_margin` (half the width of the 95 % interval of resampled test sets), `load_average`
        (processes that wanted to run in the minute before the first measurement: 0 on an idle machine) and `commit` of
        nmtlab. The system that copies the source, as in the task, has the run and the engine `echo`.

    Raises:
        NmtlabError: CTranslate2 lacks a part of a run or of its search, the text is of another direction, or a run is
            phrase-based.
    """
    lines, references, rows = list(corpus.lines(split, corpus.source)), corpus.references(split), []
    words, place = sum(len(line.split()) for line in lines), _place(corpus, split, len(lines))
    metrics = bleu_metric(default_tokenizer(corpus.target)), chrf_metric()
    with ExitStack() as stack:
        systems = list(_systems([in_direction(run, corpus) for run in runs], options, stack))
        systems.append(systems[0]._replace(engine="echo", precision="fp32", exported=None))
        for number, system in product(range(1, rounds + 1), systems):
            empty, whole = (_measured(system, text) for text in ([], lines))
            scores = [_score(paired_bootstrap({"": whole.texts}, references, metric)) for metric in metrics]
            (score, margin, signature), (chrf, chrf_margin, _) = scores
            seconds, processor = whole.seconds - empty.seconds, whole.processor_seconds - empty.processor_seconds
            speed = words / seconds if seconds > 0 else math.nan
            numbers = seconds, processor, empty.seconds, speed, whole.memory_mib, system.size_mib()
            setting = dict(zip(SETTING, system.setting, strict=True)) | {"round": number, "signature": signature}
            measured = zip(MEASURED, (*numbers, score, margin, chrf, chrf_margin), strict=True)
            rows.append(setting | place | {"words": words} | dict(measured))
            took = f"{seconds:.1f} s ({processor:.1f} s of processor time) after {empty.seconds:.1f} s of loading"
            on_measured(f"{system}: {took}, BLEU {score:.2f}")
    return pd.DataFrame(rows, columns=COLUMNS)


def where_time_goes(
    runs: Sequence[Run],
    corpus: ParallelCorpus,
    options: Options,
    split: str = "test",
    on_measured: Callable[[str], None] = lambda line: None,
) -> pd.DataFrame:
    """Measure where the time of systems goes on a text, each in a separate process, with one thread.

    Args:
        runs, on_measured: as of `efficiency`.
        options: the first of `batch_tokens` counts, and not `threads`.

    Returns:
        Rows with the settings, the place of `efficiency`, `kind`, `item`, `count` and `seconds` of processor time. Of
        the kind `part` are the parts of the network (`time_parts`), with their number of calls; of the kind `step` the
        steps of one batch (`time_steps`), with the number of rows; of the kind `sentence` the first 100 sentences,
        translated one by one, with their number of words. CTranslate2 has one part and no steps.

    Raises:
        NmtlabError: as of `efficiency`.
    """
    lines, found = list(corpus.lines(split, corpus.source)), []
    options, place = (
        options._replace(batch_tokens=options.batch_tokens[:1], threads=[1]),
        _place(corpus, split, len(lines)),
    )
    with ExitStack() as stack:
        for system in _systems([in_direction(run, corpus) for run in runs], options, stack):
            times = _in_process(_times, system, lines)
            found.append(times.assign(**dict(zip(SETTING, system.setting, strict=True)), **place))
            parts = times[times["kind"] == "part"].set_index("item")["seconds"]
            on_measured(f"{system}: {parts.max() / parts.sum():.0%} of the time in: {parts.idxmax()}")
    return pd.concat(found, ignore_index=True)[TIMED]


def _place(corpus: ParallelCorpus, split: str, sentences: int) -> dict[str, object]:
    """Return what is the same in all rows of a measurement."""
    maker = provenance(environment([corpus.checksum()], torch.device("cpu")))
    place = {"corpus": corpus.name, "split": split, "sentences": sentences, "load_average": os.getloadavg()[0]}
    return place | {name: maker[name] for name in ("machine", "commit")}


def _score(compared: Sequence[Comparison]) -> tuple[float, float, str]:
    """Return score, margin and signature of the only system."""
    (one,) = compared
    return one.score, one.margin, one.signature


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


def marked(found: pd.DataFrame, cost: str, score: str = "bleu") -> pd.DataFrame:
    """Return rows of `medians` with `frontier`, a lead of up to `NOISE` counting as none; a copy is never on it."""
    systems = found[found["engine"] != "echo"]
    return found.assign(frontier=frontier(systems, cost, score, NOISE).reindex(found.index, fill_value=False))


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


def _systems(runs: Sequence[Run], options: Options, stack: ExitStack) -> Iterator[_System]:
    """Yield every combination; models for CTranslate2 are written to folders that are removed at the end."""
    for run, (engine, precision), shortlist in product(runs, options.ways, options.shortlists):
        check_has_model(run)
        listed = run.recipe.search.model_copy(update={"shortlist": shortlist, "shortlist_translations": 0})
        exported = _exported(run, precision, listed, stack) if engine == "ctranslate2" else None
        for beam_size, tokens, threads in product(options.beam_sizes, options.batch_tokens, options.threads):
            search = listed.model_copy(update={"beam_size": beam_size, "batch_tokens": tokens})
            yield _System(run.folder, run.direction, engine, precision, search, threads, exported)


def _exported(run: Run, precision: Precision, search: SearchSettings, stack: ExitStack) -> Path:
    settings = check_exportable(run.name, run.recipe)
    folder = Path(stack.enter_context(TemporaryDirectory()))
    write_ctranslate2(open_model(run, search), settings, folder, precision)
    return folder


def _measured(system: _System, lines: list[str]) -> _Process:
    """Translate in a separate process."""
    start = time.perf_counter()
    texts, processor, memory = _in_process(_translated, system, lines)
    return _Process(time.perf_counter() - start, processor, memory, texts)


def _in_process(work: Callable[[_System, list[str]], Result], system: _System, lines: list[str]) -> Result:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, system, lines).result()


def _translated(system: _System, lines: list[str]) -> tuple[list[str], float, float]:
    """Return translations, and the processor time and peak memory of this process."""
    texts = lines
    if system.engine != "echo":
        texts = [translation.text for translation in _opened(system).translate(lines)]
    return texts, time.process_time(), _peak_memory_mib()


def _times(system: _System, lines: list[str]) -> pd.DataFrame:
    """Return where the time goes: rows of `where_time_goes` without what all have in common."""
    opened = _opened(system)
    opened.translate(lines[:_ALONE])  # the first batch includes start-up work
    parts = pd.DataFrame([(part, *spent) for part, spent in time_parts(opened, lines).items()])
    parts.columns = pd.Index(["item", "count", "seconds"])
    sentences = time_sentences(opened, lines[:_ALONE]).rename(columns={"words": "count"})
    found = [parts.assign(kind="part"), sentences.assign(kind="sentence")]
    if isinstance(opened, Translator):
        found.append(time_steps(opened, lines).rename(columns={"rows": "count"}).assign(kind="step"))
    return pd.concat([one.assign(item=one.get("item", pd.Series(one.index + 1))) for one in found])


def _opened(system: _System) -> System:
    run, search, threads = Run(system.folder).directed(*system.direction), system.search, system.threads
    ours = partial(open_model, run, search, machine=MachineSettings(device="cpu", threads=threads))
    if not system.exported:
        return ours()
    positions, pipeline = known_positions(check_exportable(run.name, run.recipe)), run.pipeline
    pipeline = pipeline.shortlisted(search.shortlist).with_length_bin(search.length_bin)
    return ServedSystem(system.exported, pipeline, search, system.precision, positions, threads, ours)


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


def times_file(measured: Path) -> Path:
    """Return the file of `where_time_goes`, beside that of `efficiency`."""
    return measured.with_name(measured.name.removesuffix(".csv") + _TIMES)


def stored_efficiency(workspace: Workspace) -> tuple[pd.DataFrame, list[Path]]:
    """Return all rows that were measured in a workspace or come with nmtlab, and the files that are damaged.

    Returns:
        Rows as of `nmtlab.analysis.search.translation_speed.efficiency`; none if nothing was measured. What older files
        lack is NaN.
    """
    return _stored([path for path in _files(workspace) if not path.name.endswith(_TIMES)], COLUMNS, MEASURED)


def stored_times(workspace: Workspace) -> tuple[pd.DataFrame, list[Path]]:
    """Return all that is stored of `where_time_goes`, and the files that are damaged; as `stored_efficiency`.

    Returns:
        Of what was measured several times, the medians, and the highest `load_average`.
    """
    paths = [path for path in _files(workspace) if path.name.endswith(_TIMES)]
    times, damaged = _stored(paths, TIMED, ["count", "seconds", "load_average"])
    groups = times.assign(item=times["item"].astype(str)).groupby([*SETTING, *PLACE, "kind", "item"], sort=False)
    how = {"count": "median", "seconds": "median", "load_average": "max", "commit": "last"}
    return groups.agg(how).reset_index()[TIMED], damaged


def _files(workspace: Workspace) -> list[Path]:
    folders = {(folder / FOLDER).resolve() for folder in (workspace.data / "results", RESULTS)}
    return sorted(path for folder in folders for path in folder.glob("*.csv"))


def _stored(paths: Sequence[Path], columns: list[str], numbers: list[str]) -> tuple[pd.DataFrame, list[Path]]:
    found, damaged = [pd.DataFrame(columns=columns)], []
    for path in paths:
        try:
            read = pd.read_csv(path)
            read = read.assign(**{name: value for name, value in _ADDED.items() if name not in read})
            found.append(read[columns].astype(dict.fromkeys(numbers, float)))
        except (ValueError, KeyError, OSError):
            damaged.append(path)
    return pd.concat(found[1:] or found, ignore_index=True), damaged


def words_per_dollar(words_per_second: float, dollars_per_hour: float) -> float:
    """Return how many words a US dollar translates (Junczys-Dowmunt et al. 2018).

    Raises:
        NmtlabError: the price is not above 0.
    """
    if not 0 < dollars_per_hour < math.inf:
        raise NmtlabError(f"price {dollars_per_hour:g}: no price of an hour", "give US dollars an hour, above 0")
    return words_per_second * 3600 / dollars_per_hour


def priced(found: pd.DataFrame, dollars_per_hour: float) -> pd.DataFrame:
    """Return rows of `medians` with `dollars`, the price of a million words of the source; NaN if it has none.

    Raises:
        NmtlabError: as of `words_per_dollar`.
    """
    speed = found["words_per_second"]
    return found.assign(dollars=1e6 / (speed.where(speed > 0) * words_per_dollar(1.0, dollars_per_hour)))


def published_efficiency() -> pd.DataFrame:
    """Return the systems of the efficiency task of WNMT 2018 (Birch et al. 2018, Tables 1 to 5).

    Returns:
        Rows for each system and kind of `processor`, without the system that copies its input, with `bleu`.
        Those of the `test` newstest2015 have `milliseconds` (per sentence), `processor_milliseconds`
        (the same for those on a CPU, of which one core was used: as printed, the two differ by less than 1 %; missing
        for those on a GPU), `memory_mib` (of the host) and `size_mib` (of the image of its container); those of
        newstest2014, whose number of words is known, have `words_per_second` and `dollars`, the price of a million
        words at `PRICES`.
    """
    printed = pd.read_csv(PUBLISHED / "wnmt-2018-efficiency.csv")
    systems = printed[printed["system"] != "echo"].reset_index(drop=True)
    first, priced, on_cpu = (
        systems["test"] == "newstest2014",
        systems["processor"].map(PRICES),
        systems["processor"] == "cpu",
    )
    milliseconds = (1000 * systems["seconds"] / _SENTENCES).mask(first)
    speed = (_WORDS / systems["seconds"]).where(first)
    costs = {
        "milliseconds": milliseconds, "processor_milliseconds": milliseconds.where(on_cpu),
        "memory_mib": systems["memory_mib"].mask(first), "size_mib": systems["image_mib"].mask(first),
        "words_per_second": speed, "dollars": 1e6 / (speed * 3600 / priced),
    }  # fmt: skip
    return systems.assign(**costs)[["processor", "system", "test", *costs, "bleu"]]
