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
from functools import partial
from itertools import chain, product
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple, TypeVar

import pandas as pd
import torch

from nmtlab.analysis.access.needs import ALONE, check_needs, in_direction
from nmtlab.analysis.search.stored_speed import COLUMNS, MEASURED, SETTING, TIMED
from nmtlab.analysis.search.time_parts import time_parts, time_sentences, time_steps
from nmtlab.evaluation.resampling import Comparison, paired_bootstrap
from nmtlab.evaluation.scores import bleu_metric, chrf_metric, default_tokenizer
from nmtlab.interchange.ctranslate import Precision, write_ctranslate2
from nmtlab.interchange.folding import check_exportable, known_positions
from nmtlab.interchange.served import ServedSystem
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.environment import environment, provenance
from nmtlab.runs.run import MODELS, TABLE, Run
from nmtlab.systems import open_model, open_system
from nmtlab.text.corpora.corpus import Direction, ParallelCorpus
from nmtlab.translation import System, Translator

Engine = Literal["nmtlab", "ctranslate2", "echo"]
Way = tuple[Engine, Precision]
Result = TypeVar("Result")

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
        weights = (self.folder / "checkpoints/best.safetensors", self.folder / TABLE)
        ours = chain((path for path in weights if path.exists()), (self.folder / MODELS).rglob("*"))
        model = self.exported.rglob("*") if self.exported else ours
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
        runs: with their models, of the corpus' direction; a phrase-based one has nmtlab's engine, one thread, and
            stacks as large as the beam.
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
        NmtlabError: CTranslate2 lacks a part of a run or of its search, or the text is of another direction.
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
        translated one by one, with their number of words. CTranslate2 and phrase-based systems have one part and no
        steps.

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


def _systems(runs: Sequence[Run], options: Options, stack: ExitStack) -> Iterator[_System]:
    """Yield every combination; models for CTranslate2 are written to folders that are removed at the end."""
    for run in runs:
        run.origin.check_model()
        check_needs(run, (ALONE,))
        if run.recipe.model.neural:
            yield from _neural(run, options, stack)
            continue
        for beam_size in options.beam_sizes:
            changes = {"beam_size": beam_size, "batch_tokens": options.batch_tokens[0]}
            search = run.recipe.search.with_shortlist(0).model_copy(update=changes)
            yield _System(run.folder, run.direction, "nmtlab", "fp32", search, 1, None)


def _neural(run: Run, options: Options, stack: ExitStack) -> Iterator[_System]:
    for (engine, precision), shortlist in product(options.ways, options.shortlists):
        listed = run.recipe.search.with_shortlist(shortlist)
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
        texts = [translation.text for translation in _opened(system).translate(lines, scored=False)]
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
    ours = partial(open_system, run, search, machine=MachineSettings(device="cpu", threads=threads))
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
