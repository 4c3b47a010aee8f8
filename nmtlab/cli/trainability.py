"""`nmtlab trainability`."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
import typer
from tqdm import tqdm

from nmtlab.cli.options import Set, Source, Target, changed, numbers
from nmtlab.cli.tables import print_table
from nmtlab.device import choose_device
from nmtlab.files import writing
from nmtlab.grids.trainability import MAP, left_to_train, points, with_trained
from nmtlab.grids.trainability import trainability as train_points
from nmtlab.recipe import find_recipe
from nmtlab.runs.environment import environment, provenance
from nmtlab.text.corpora.corpus import open_corpus
from nmtlab.workspace import Workspace


def trainability(
    corpus: Annotated[str, typer.Argument(help="Corpus to train on: its name, or a folder.")],
    recipe: Annotated[
        str, typer.Option(help="Recipe of a Transformer, for its width, norm and batches.")
    ] = "transformer-tiny",
    layers: Annotated[str, typer.Option(help="Depths of encoder and decoder.")] = "1,2,4,6,8,12",
    rates: Annotated[str, typer.Option(help="Learning rates, without warm-up.")] = "3e-4,1e-3,3e-3,1e-2,3e-2",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Trainings per point.")] = 3,
    updates: Annotated[int, typer.Option(min=10, help="Updates per training.")] = 200,
    to: Annotated[
        Path | None,
        typer.Option(
            help="File of the map; points that it has are not trained again. (default: data/results/trainability.csv "
            "of the workspace)"
        ),
    ] = None,
    source: Source = "",
    target: Target = "",
    set_: Set = None,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 1,
) -> None:
    """Map which Transformers learn to translate: PostNorm and PreNorm, Xavier and SmallInit, by depth and rate.

    Each point is a short training. It has converged if its loss is far below that of the unigram distribution, and if
    the sources of other sentences raise it: a model of the target language alone does not count. Ctrl-C keeps the
    points so far, and the same command resumes.
    """
    workspace = Workspace.find()
    to = to or workspace.results / MAP.ending
    text = open_corpus(corpus, workspace, source, target)
    settings = changed(find_recipe(recipe), set_, threads)
    torch.set_num_threads(threads)
    training = ", ".join([recipe, *(set_ or []), f"{updates} updates on {text.name} {text.checksum()[:8]}"])
    maker = provenance(environment([text.checksum()], choose_device(settings.machine)))
    kept = MAP.read(to)
    wanted = points(numbers(layers, int, "--layers", 1), numbers(rates, float, "--rates", 1e-9), range(1, seeds + 1))
    left = left_to_train(wanted, training, kept)
    to.parent.mkdir(parents=True, exist_ok=True)
    with tqdm(total=len(wanted), initial=len(wanted) - len(left), unit=" trainings", disable=None, leave=False) as bar:
        for one in train_points(left, settings, text, workspace, updates):
            kept = with_trained(MAP.read(to), one, training, maker)  # another process may have added some
            with writing(to) as place:
                kept.to_csv(place, index=False)
            bar.update()
    _print_map(kept[kept["training"] == training], training)
    print(f"  written to {to}")


def _print_map(found: pd.DataFrame, training: str) -> None:
    rates = sorted(found["rate"].unique())
    rows = [
        [placement, init, str(layers), *(_share(some[some["rate"] == rate]) for rate in rates)]
        for (placement, init, layers), some in found.groupby(["placement", "init", "layers"])
    ]
    columns = ["placement", "init", "layers", *(f"{rate:g}" for rate in rates)]
    print_table("Converged trainings by learning rate", columns, rows, set(columns[2:]))
    print(f"  {training}")


def _share(trainings: pd.DataFrame) -> str:
    return f"{(trainings['verdict'] == 'converged').sum()} of {len(trainings)}" if len(trainings) else ""
