"""nmtlab's speed beside other systems: same text, same size of model, same threads, one after the other.

    python benchmarks/speed.py --corpus path/to/multi30k-de-en

Run it in the checkout's root, on a machine with nothing else to do. Ctrl-C ends it with a table of what has been
measured by then. README.md, beside it, says what makes the systems comparable.
"""

import argparse
import contextlib
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ours
import pandas as pd
from peers import bare, joey, machine
from peers.ctranslate import decode
from peers.measurement import Measurement, peak_memory_mib
from peers.weights import neutral_weights

from nmtlab.interchange.ctranslate import write_ctranslate2
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.vocabulary import BOS

NMTLAB, BF16, BARE = "nmtlab", "nmtlab, bf16", "bare torch.nn.Transformer"
JOEYNMT, CTRANSLATE2 = "joeynmt 2.3", "CTranslate2"
SYSTEMS = {"nmtlab": NMTLAB, "bf16": BF16, "bare": BARE, "joeynmt": JOEYNMT, "ctranslate2": CTRANSLATE2}
CONVERTED = ours.WORKSPACE.data / "ctranslate2"


class Job(NamedTuple):
    """One measurement: a function that another process can call, and its arguments."""

    system: str
    what: str
    measure: Callable[..., Measurement]
    arguments: tuple


def main() -> None:
    arguments = _arguments()
    corpus = ParallelCorpus.open(arguments.corpus)
    measured: list[Measurement] = []
    try:
        limit = matrix_product_limit(arguments.threads)
        alone(ours.prepare, corpus)
        run = None if arguments.only == [BARE] else trained_run(corpus, arguments.train_seconds, arguments.threads)
        for job in jobs(corpus, run, arguments):
            if job.system in arguments.only:
                measured.append(observed(job))
        if NMTLAB in arguments.only:
            limit = max(limit, matrix_product_limit(arguments.threads))
            print(share_of_limit(measured, alone(ours.operations_per_token, corpus), limit))
    except KeyboardInterrupt:
        print("\nstopped")
    finally:
        if measured:
            print(f"\n{table(measured).to_string(na_rep='-')}")


def matrix_product_limit(threads: int) -> float:
    """Print what the machine can do; return its limit with the given threads, in GFLOP/s."""
    found = {count: alone(machine.measure, count) for count in sorted({1, 2, threads})}
    print(f"{found[threads].processor}, {found[threads].cores} cores")
    for count, limit in found.items():
        print(f"fp32 matrix products, {count} threads: {limit.gflops:.0f} GFLOP/s (load {limit.load:.2f} before)")
    return found[threads].gflops


def trained_run(corpus: ParallelCorpus, seconds: int, threads: int) -> Run:
    """Return the run with the weights to decode with, trained if need be, and converted for CTranslate2."""
    if ours.weights(corpus, seconds) is None:
        print(f"training the weights to decode with for {seconds} s", flush=True)
        alone(ours.train_weights, corpus, seconds, threads)
    run = ours.weights(corpus, seconds)
    alone(_convert, run)
    return run


def jobs(corpus: ParallelCorpus, run: Run | None, arguments: argparse.Namespace) -> Iterator[Job]:
    """Yield the measurements in their order: most of them twice, in turn, so that noise can be seen."""
    updates, threads = arguments.updates, arguments.threads
    training = [
        Job(NMTLAB, "training", ours.training, (NMTLAB, "fp32", corpus, updates, threads)),
        Job(BF16, "training", ours.training, (BF16, "bf16", corpus, updates, threads)),
        Job(BARE, "training", bare_training, (corpus, updates, threads)),
    ]
    yield from training
    yield Job(JOEYNMT, "training and decoding", joeynmt, (corpus, run, updates, arguments.sentences, threads))
    yield from training
    lines = list(islice(corpus.lines("test", corpus.source), arguments.sentences))
    for _ in range(2):
        yield Job(NMTLAB, "decoding", ours.decoding, (run, lines, threads))
        yield Job(CTRANSLATE2, "decoding", ctranslate2, (run, lines, threads))


def bare_training(corpus: ParallelCorpus, updates: int, threads: int) -> Measurement:
    """Train the bare loop on nmtlab's batches."""
    batches = ((batch.source, np.insert(batch.target, 0, BOS, axis=1)) for batch in ours.batches(corpus))
    return bare.train(batches, ours.recipe(threads).text.vocabulary_size, updates, threads)


def joeynmt(corpus: ParallelCorpus, run: Run, updates: int, sentences: int, threads: int) -> Measurement:
    """Train joeynmt, and decode by it with nmtlab's weights."""
    return joey.measure(
        joey.Corpus(corpus.folder, corpus.source, corpus.target),
        ours.WORKSPACE.data / "joeynmt",
        updates=updates,
        sentences=sentences,
        threads=threads,
        subwords=run.folder / "vocabulary/joint.model",
        trained=joey.Trained(_weights(run), _types(run)),
    )


def ctranslate2(run: Run, lines: list[str], threads: int) -> Measurement:
    """Decode by CTranslate2 with nmtlab's weights: from subwords to subwords."""
    sources = [run.pipeline.source_pieces(line) for line in lines]
    alpha = SearchSettings().alpha

    def median_rate(beam_size: int) -> tuple[float, list[list[str]]]:
        times = [decode(CONVERTED, sources, beam_size, ours.BATCH_SENTENCES, threads, alpha) for _ in range(3)]
        return len(lines) / statistics.median(seconds for _, seconds in times), times[0][0]

    greedy, _ = median_rate(1)
    beam, translations = median_rate(5)
    return Measurement(
        system=CTRANSLATE2,
        decode_sentences_per_second=beam,
        greedy_sentences_per_second=greedy,
        peak_memory_mib=peak_memory_mib(),
        note=f"{ours.mean_words([run.pipeline.target.tokenizer.join(pieces) for pieces in translations]):.1f} words "
        "a sentence",
    )


def observed(job: Job) -> Measurement:
    """Return a job's measurement, made in a process of its own, and tell what came out."""
    load, start = os.getloadavg()[0], time.perf_counter()
    print(f"{job.system}, {job.what}: ", end="", flush=True)
    result = alone(job.measure, *job.arguments)
    numbers = {
        "target tokens/s": result.train_tokens_per_second,
        "sentences/s with beam 5": result.decode_sentences_per_second,
        "greedily": result.greedy_sentences_per_second,
        "MiB": result.peak_memory_mib,
    }
    said = ", ".join(f"{number:,.0f} {unit}" for unit, number in numbers.items() if number is not None)
    seconds, after = time.perf_counter() - start, os.getloadavg()[0]
    print(f"{said}; {result.note} ({seconds:.0f} s, load {load:.2f} before and {after:.2f} after)", flush=True)
    return result


def table(measured: list[Measurement]) -> pd.DataFrame:
    """Return a row a system: medians of its measurements, their ratios to its peers', and its most memory."""
    systems = pd.DataFrame(map(vars, measured)).groupby("system", sort=False)
    training = systems["train_tokens_per_second"].median()
    beam = systems["decode_sentences_per_second"].median()
    rows = pd.DataFrame(
        {
            "target tokens/s": training,
            "/ joeynmt": training / training.get(JOEYNMT, np.nan),
            "/ bare": training / training.get(BARE, np.nan),
            "beam 5, sentences/s": beam,
            "/ joeynmt ": beam / beam.get(JOEYNMT, np.nan),
            "/ CTranslate2": beam / beam.get(CTRANSLATE2, np.nan),
            "greedy, sentences/s": systems["greedy_sentences_per_second"].median(),
            "peak MiB": systems["peak_memory_mib"].max(),
        }
    )
    rows.index.name = None
    return rows.apply(lambda column: column.map(_form(column.name).format, na_action="ignore"))


def share_of_limit(measured: list[Measurement], operations: float, limit: float) -> str:
    """Say how much of the machine's matrix-product limit nmtlab's training reaches.

    Args:
        measured: nmtlab's trainings among others.
        operations: floating-point operations a target token, as from `ours.operations_per_token`.
        limit: GFLOP/s.
    """
    rates = [m.train_tokens_per_second for m in measured if m.system == NMTLAB and m.train_tokens_per_second]
    gflops = statistics.median(rates) * operations / 1e9
    return (
        f"nmtlab's training does {operations / 1e6:.0f} million operations of matrix products a target token: "
        f"{gflops:.0f} GFLOP/s, {gflops / limit:.0%} of the limit"
    )


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, so that its memory's high-water mark is its own.

    That process is in a group of its own, which Ctrl-C does not reach: it is told once, from here.
    """
    context = get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sending, function, arguments))
    process.start()
    sending.close()
    try:
        return receiving.recv()
    except EOFError:
        raise SystemExit(f"{function.__name__} failed, as said above") from None
    except KeyboardInterrupt:
        os.kill(process.pid, signal.SIGINT)
        raise
    finally:
        process.join()


def _send(sending: Connection, function: Callable[..., Any], arguments: tuple) -> None:
    os.setpgrp()
    with contextlib.suppress(KeyboardInterrupt):
        sending.send(function(*arguments))


def _convert(run: Run) -> None:
    CONVERTED.mkdir(parents=True, exist_ok=True)
    write_ctranslate2(open_model(run, which="last"), run.recipe.model, CONVERTED, "fp32")


def _weights(run: Run) -> dict[str, np.ndarray]:
    return neutral_weights(open_model(run, which="last").model)


def _types(run: Run) -> list[str]:
    return list(run.pipeline.target.vocabulary.types)


def _form(column: str) -> str:
    return "{:.2f}" if column.startswith("/") else "{:,.0f}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of train, dev and test text")
    parser.add_argument("--updates", type=int, default=80, help="of each training, a multiple of 10 (%(default)s)")
    parser.add_argument("--sentences", type=int, default=300, help="of the test text to translate (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each system (%(default)s)")
    parser.add_argument(
        "--train-seconds", type=int, default=150, help="how long to train the weights to decode with (%(default)s)"
    )
    parser.add_argument(
        "--only", type=_systems, default=list(SYSTEMS.values()), metavar="NAMES", help=f"some of {','.join(SYSTEMS)}"
    )
    return parser.parse_args()


def _systems(names: str) -> list[str]:
    unknown = set(names.split(",")) - SYSTEMS.keys()
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown.pop()!r} is none of {', '.join(SYSTEMS)}")
    return [SYSTEMS[name] for name in names.split(",")]


if __name__ == "__main__":
    main()
