"""nmtlab itself, at the size and with the settings of the benchmarks; what it makes is kept in `WORKSPACE`."""

import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path

from peers.measurement import CLIP, LABEL_SMOOTHING, SIZE, Measurement, after_warm_up, peak_memory_mib
from torch.utils.flop_counter import FlopCounterMode

from nmtlab.models.interface import on_device
from nmtlab.recipe import MachineSettings, Recipe, SearchSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.batching.batch import Batch
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.events import Event, Progress
from nmtlab.training.loop import LOG_EVERY
from nmtlab.training.objective import training_objective
from nmtlab.training.prepare import model_for
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

WORKSPACE = Workspace(Path("data/cache/benchmark"))

BATCH_SENTENCES = 64
"""Sentences that are decoded together, for nmtlab on average."""


def recipe(threads: int) -> Recipe:
    """Return the benchmarks' recipe: PreNorm + LayerNorm, trained without validation until it is stopped."""
    return named_recipe("prenorm").with_changes(
        {
            "text.vocabulary_size": 8000,
            "model.encoder_layers": SIZE.layers,
            "model.decoder_layers": SIZE.layers,
            "model.d_model": SIZE.d_model,
            "model.d_ff": SIZE.feed_forward,
            "model.heads": SIZE.heads,
            "model.dropout": SIZE.dropout,
            "training.batch_tokens": 4096,
            "training.label_smoothing": LABEL_SMOOTHING,
            "training.clip_norm": CLIP,
            "training.warmup_updates": 200,
            "training.lr_scale": 0.3,
            "training.validate_every": 1_000_000,
            "machine.device": "cpu",
            "machine.threads": threads,
        }
    )


def prepare(corpus: ParallelCorpus) -> None:
    """Learn the vocabulary and encode the corpus, which is not to count as anyone's time or memory."""
    pipeline = Pipeline.learn(recipe(threads=1).text, corpus)
    pipeline.save(_vocabulary())
    EncodedCorpus.open(WORKSPACE.cache, pipeline, corpus)


def batches(corpus: ParallelCorpus) -> Iterator[Batch]:
    """Yield the batches that nmtlab trains on, epoch after epoch; after `prepare`."""
    encoded = EncodedCorpus.open(WORKSPACE.cache, Pipeline.load(_vocabulary()), corpus)
    settings = recipe(threads=1).training
    for epoch in count():
        yield from Batches(Mixture([encoded]), settings.batch_tokens, settings.seed).epoch(epoch)


def training(system: str, precision: str, corpus: ParallelCorpus, updates: int, threads: int) -> Measurement:
    """Train for some updates (a multiple of 10) and measure target tokens per second, as `nmtlab train` shows them."""
    seen: list[Progress] = []
    settings = recipe(threads).with_changes({"machine.precision": precision})
    _train("speed", settings, corpus, seen, lambda: len(seen) * LOG_EVERY >= updates)
    return Measurement(
        system=system,
        train_tokens_per_second=after_warm_up([progress.tokens_per_second for progress in seen]),
        peak_memory_mib=peak_memory_mib(),
        note=f"{seen[-1].step} updates",
    )


def operations_per_token(corpus: ParallelCorpus, updates: int = 10) -> float:
    """Return the floating-point operations of a training step's matrix products, for each target token.

    They are counted as torch executes them, forwards and backwards: 2 for a weight and position forwards and 4
    backwards, hence 6 in all, and as many for the products of attention (queries with keys, weights with values).
    Padded positions count, as they are computed; the output layer has target tokens and allowed types only. Norms,
    softmax, dropout and the optimiser are no matrix products: they are why a step cannot reach the machine's limit.
    """
    objective = training_objective(model_for(recipe(threads=1), Pipeline.load(_vocabulary())), LABEL_SMOOTHING).train()
    tokens = 0
    with FlopCounterMode(display=False) as counter:
        for batch in islice(batches(corpus), updates):
            loss = objective(on_device(batch)).total
            loss.backward()
            tokens += batch.target_tokens
    return counter.get_total_flops() / tokens


def weights(corpus: ParallelCorpus, seconds: int) -> Run | None:
    """Return the run that `train_weights` made, if it did."""
    folder = _weights_folder(corpus, seconds)
    run = Run(folder) if folder.exists() else None
    return run if run and run.checkpoints.has_weights("last") else None


def train_weights(corpus: ParallelCorpus, seconds: int, threads: int) -> None:
    """Train a model for so long, to decode with: with small batches and little dropout, to learn soon."""
    seen: list[Progress] = []
    name = _weights_folder(corpus, seconds).name
    settings = recipe(threads).with_changes({"model.dropout": 0.1, "training.batch_tokens": 1024})
    _train(name, settings, corpus, seen, lambda: bool(seen) and seen[-1].seconds >= seconds)


def decoding(run: Run, lines: list[str], threads: int) -> Measurement:
    """Translate lines greedily and with beam 5, from string to string, and measure sentences per second."""
    greedy, _ = _decode(run, lines, threads, beam_size=1)
    rate, texts = _decode(run, lines, threads, beam_size=5)
    return Measurement(
        system="nmtlab",
        decode_sentences_per_second=rate,
        greedy_sentences_per_second=greedy,
        peak_memory_mib=peak_memory_mib(),
        note=f"{mean_words(texts):.1f} words a sentence",
    )


def median_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return how long `work` takes, the median of some times."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def mean_words(texts: list[str]) -> float:
    """Return the words of a text, between white space, on average."""
    return statistics.mean(len(text.split()) for text in texts)


def _train(
    name: str, settings: Recipe, corpus: ParallelCorpus, seen: list[Progress], should_stop: Callable[[], bool]
) -> None:
    """Train a run in place of a former one of the name; what it reports is added to `seen`."""

    def watch(event: Event) -> None:
        if isinstance(event, Progress):
            seen.append(event)

    shutil.rmtree(WORKSPACE.run_folder(name), ignore_errors=True)
    train(name, settings, corpus, WORKSPACE, on_event=watch, should_stop=should_stop)


def _decode(run: Run, lines: list[str], threads: int, beam_size: int) -> tuple[float, list[str]]:
    tokens = sum(map(len, run.pipeline.encode_source(lines))) / len(lines)
    search = SearchSettings(beam_size=beam_size, batch_tokens=round(BATCH_SENTENCES * tokens * beam_size))
    translator = open_system(run, search, "last", MachineSettings(device="cpu", threads=threads))
    texts = [translation.text for translation in translator.translate(lines)]  # the warm-up, too
    return len(lines) / median_seconds(lambda: translator.translate(lines)), texts


def _vocabulary() -> Path:
    return WORKSPACE.data / "vocabulary"


def _weights_folder(corpus: ParallelCorpus, seconds: int) -> Path:
    return WORKSPACE.run_folder(f"{corpus.name}-{seconds}s")
