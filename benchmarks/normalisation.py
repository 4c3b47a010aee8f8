"""What a normalisation costs: time and memory of the whole training step, as thesis 3.3.3.3 compares them.

    python benchmarks/normalisation.py --corpus path/to/multi30k-de-en

The models take turns of 10 updates on the same batches, so that what else the machine does strikes all of them; the
ratio is the median over the turns of a model's tokens a second by LayerNorm's in the same turn. Memory is the peak of
a process that trains one of them alone, on the same batches. The thesis found
training with ScaleNorm to be "around 5% faster" than with LayerNorm.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import ours
import pandas as pd
from peers.measurement import peak_memory_mib

from nmtlab.device import choose_device
from nmtlab.runs.environment import environment
from nmtlab.runs.run import Run
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.events import Event, Progress
from nmtlab.training.loop import Trainer
from nmtlab.training.parallel import Group

NORMS = {
    "LayerNorm": {"model.norm": "layer", "model.fixnorm": False},
    "RMSNorm": {"model.norm": "rms", "model.fixnorm": False},
    "ScaleNorm": {"model.norm": "scale", "model.fixnorm": False},
    "ScaleNorm + FixNorm": {"model.norm": "scale", "model.fixnorm": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of train, dev and test text")
    parser.add_argument("--turns", type=int, default=5, help="of each model, after one to warm up (%(default)s)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alone", choices=NORMS, help="only say how much memory training it takes")
    arguments = parser.parse_args()
    corpus = ParallelCorpus.open(arguments.corpus)
    if arguments.alone:
        print(memory_alone(corpus, arguments.alone, arguments.threads))
        return
    rates: dict[str, list[float]] = {name: [] for name in NORMS}
    with tempfile.TemporaryDirectory() as folder:
        trainers = make_trainers(corpus, arguments.threads, Path(folder))
        try:
            for turn in range(arguments.turns + 1):
                take_turn(trainers, turn, rates)
        except KeyboardInterrupt:
            print("\nstopped")
    if rates["LayerNorm"]:
        print(f"\n{table(rates).assign(**{'peak MiB': memory(arguments)}).to_string()}")


def memory(arguments: argparse.Namespace) -> list[float]:
    """Return the peak memory of each training in a process of its own, in MiB."""
    command = [sys.executable, __file__, "--corpus", str(arguments.corpus), "--threads", str(arguments.threads)]
    runs = (subprocess.run([*command, "--alone", name], capture_output=True, text=True, check=True) for name in NORMS)
    return [float(run.stdout) for run in runs]


def memory_alone(corpus: ParallelCorpus, name: str, threads: int) -> float:
    """Return the peak memory of this process once it has trained with one norm for `2 * LOG_EVERY` updates."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainers(corpus, threads, Path(folder), [name])[name]
        for _ in range(2):
            train_a_little(trainer)
    return peak_memory_mib()


def make_trainers(
    corpus: ParallelCorpus, threads: int, folder: Path, names: Iterable[str] = NORMS
) -> dict[str, Trainer]:
    """Return a training of each norm, all on the same batches, in runs under `folder`."""
    recipe = ours.recipe(threads)
    device = choose_device(recipe.machine)
    pipeline = Pipeline.learn(recipe.text, corpus)
    mixture = Mixture([EncodedCorpus.open(ours.WORKSPACE.cache, pipeline, corpus)])
    about = environment([corpus.checksum()], device)
    trainers = {}
    for name in names:
        changed = recipe.with_changes(NORMS[name])
        run = Run.create(folder / name, changed, about, pipeline)
        trainers[name] = Trainer(run, changed, mixture, {}, device, Group())
    return trainers


def take_turn(trainers: dict[str, Trainer], turn: int, rates: dict[str, list[float]]) -> None:
    """Let every training go on a little, in another order each turn; the first turn is to warm up and not noted."""
    names = list(trainers)
    first = turn % len(names)
    load = os.getloadavg()[0]
    found = {name: train_a_little(trainers[name]) for name in names[first:] + names[:first]}
    said = ", ".join(f"{name} {found[name]:,.0f}" for name in names)
    print(f"turn {turn}: {said} target tokens/s (load {load:.2f} before, {os.getloadavg()[0]:.2f} after)", flush=True)
    for name in names if turn else ():
        rates[name].append(found[name])


def train_a_little(trainer: Trainer) -> float:
    """Train for `LOG_EVERY` updates, and return target tokens per second."""
    seen: list[Progress] = []

    def watch(event: Event) -> None:
        if isinstance(event, Progress):
            seen.append(event)

    trainer.train(watch, should_stop=lambda: bool(seen))
    return seen[0].tokens_per_second


def table(rates: dict[str, list[float]]) -> pd.DataFrame:
    """Return a row a norm: the median rate, and the median and range of its ratio to LayerNorm in the same turn."""
    turns = pd.DataFrame(rates)
    ratios = turns.div(turns["LayerNorm"], axis=0)
    return pd.DataFrame(
        {
            "target tokens/s": turns.median().round().astype(int),
            "/ LayerNorm": ratios.median().round(3),
            "least": ratios.min().round(3),
            "most": ratios.max().round(3),
        }
    )


if __name__ == "__main__":
    main()
