"""How fast the recurrent recipes train, beside a bare model of torch's own modules of the same size.

    python benchmarks/recurrent.py --corpus path/to/multi30k-de-en

All train on nmtlab's batches of 32 sentences with Adadelta, and take turns of 20 updates, so that what else the machine
does strikes all of them; the ratio is the median over the turns of target tokens a second by the bare model's in the
same turn. The vocabularies are words seen five times or more; nmtlab leaves the columns of PAD and BOS out.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path

import ours
import pandas as pd
import torch.nn.functional as F
from peers.bare_recurrent import BareRecurrent
from torch import Tensor, nn

from nmtlab.device import choose_device
from nmtlab.models.build import model_for
from nmtlab.models.interface import on_device
from nmtlab.recipe import MachineSettings, named_recipe
from nmtlab.text.batching.batch import Batch
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import PAD
from nmtlab.training.objective import training_objective
from nmtlab.training.optimisers import optimiser_for

BARE = "bare torch, tied"
UPDATES = 20
RECIPES = ("tied", "fixnorm", "fixnorm-lex")
Loss = Callable[[Batch], Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of train, dev and test text")
    parser.add_argument("--width", type=int, default=128, help="of embeddings and states (%(default)s)")
    parser.add_argument("--turns", type=int, default=5, help="of each model, after one to warm up (%(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    choose_device(MachineSettings(device="cpu", threads=arguments.threads))
    corpus = ParallelCorpus.open(arguments.corpus)
    pipeline = Pipeline.learn(named_recipe("tied").text, corpus)
    models = make_models(pipeline, arguments.width)
    source = batches(corpus, pipeline)
    rates: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(arguments.turns + 1):
        pairs = list(islice(source, UPDATES))
        load = os.getloadavg()[0]
        found = {name: tokens_per_second(*model, pairs) for name, model in models.items()}
        said = ", ".join(f"{name} {rate:,.0f}" for name, rate in found.items())
        print(
            f"turn {turn}: {said} target tokens/s (load {load:.2f} before, {os.getloadavg()[0]:.2f} after)", flush=True
        )
        for name in models if turn else ():
            rates[name].append(found[name])
    print(f"\n{table(rates).to_string()}")


def make_models(pipeline: Pipeline, width: int) -> dict[str, tuple[nn.Module, Loss]]:
    """Return the models and what each minimises."""
    bare = BareRecurrent(pipeline.source.size, pipeline.target.size, width, dropout=0.2)
    models: dict[str, tuple[nn.Module, Loss]] = {BARE: (bare, lambda pairs: bare_loss(bare, pairs))}
    for name in RECIPES:
        objective = training_objective(
            model_for(named_recipe(name).with_changes({"model.d_model": width}), pipeline), 0.0
        )
        models[f"nmtlab, {name}"] = (objective, lambda pairs, objective=objective: objective(pairs).total)
    return models


def bare_loss(model: BareRecurrent, pairs: Batch) -> Tensor:
    """Return the summed loss of the bare model."""
    wanted = pairs.target != PAD
    return F.cross_entropy(model(pairs.source, pairs.target_input, wanted), pairs.target[wanted], reduction="sum")


def batches(corpus: ParallelCorpus, pipeline: Pipeline) -> Iterator[Batch]:
    """Yield the recipes' batches, epoch after epoch."""
    encoded = EncodedCorpus.open(ours.WORKSPACE.cache, pipeline, corpus)
    settings = named_recipe("tied").training
    cut = Batches(Mixture([encoded]), settings.batch_tokens, settings.seed, max_sentences=settings.batch_sentences)
    for epoch in count():
        yield from (on_device(batch) for batch in cut.epoch(epoch))


def tokens_per_second(model: nn.Module, loss: Loss, pairs: list[Batch]) -> float:
    """Train on batches with a fresh optimiser and return target tokens, EOS counted, per second."""
    parameters = list(model.parameters())
    optimiser, _ = optimiser_for(named_recipe("tied").training, parameters)
    start = time.perf_counter()
    for batch in pairs:
        loss(batch).backward()
        nn.utils.clip_grad_norm_(parameters, 5.0)
        optimiser.step()
        optimiser.zero_grad()
    seconds = time.perf_counter() - start
    return sum(int((batch.target != PAD).sum()) for batch in pairs) / seconds


def table(rates: dict[str, list[float]]) -> pd.DataFrame:
    """Return a row a model: the median rate, and the median and range of its ratio to the bare model's."""
    turns = pd.DataFrame(rates)
    ratios = turns.div(turns[BARE], axis=0)
    return pd.DataFrame(
        {
            "target tokens/s": turns.median().round().astype(int),
            "/ bare": ratios.median().round(2),
            "least": ratios.min().round(2),
            "most": ratios.max().round(2),
        }
    )


if __name__ == "__main__":
    main()
