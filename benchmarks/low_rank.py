"""Memory of one update of low-rank changes, or of all weights, beside what `--estimate` says, for a model of any size.

    python benchmarks/low_rank.py --base bf16
    python benchmarks/low_rank.py --rank 0 --types 62000 --width 512 --layers 6 --batch-tokens 2048

Weights are random, and as many as NLLB-600M has by default. Sentences are of random words, 25 each. `peak RssAnon` is
memory that is not a page of a file, as of `memory.py`.
"""

import argparse
import random
import tempfile
from pathlib import Path

import torch
from memory import phase

from nmtlab.models.build import model_for
from nmtlab.recipe import Recipe, named_recipe
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.cost import estimate_cost
from nmtlab.training.parallel import Group
from nmtlab.training.step import Stepper
from nmtlab.training.transfer import freeze

WORDS = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", type=int, default=256_000, help="of the one table of embeddings (%(default)s)")
    parser.add_argument("--width", type=int, default=1024, help="d_model; feed-forward maps are four times as wide")
    parser.add_argument("--layers", type=int, default=12, help="of encoder and decoder each (%(default)s)")
    parser.add_argument("--rank", type=int, default=16, help="of the changes (%(default)s); 0: fine-tuning")
    parser.add_argument("--base", default="bf16", choices=["bf16", "fp32"], help="format of what is not trained")
    parser.add_argument("--batch-tokens", type=int, default=1024)
    arguments = parser.parse_args()
    recipe = recipe_of(arguments)
    with tempfile.TemporaryDirectory() as folder:
        corpus = random_corpus(Path(folder) / "random", arguments.types)
        pipeline = Pipeline.learn(recipe.text, corpus)
        cost = estimate_cost(recipe, corpus, continued=pipeline)
        print(f"{cost.parameters / 1e6:,.0f} M weights; estimate {cost.memory}")
        print(f"{'phase':<10}{'seconds':>9}{'peak RssAnon MB':>17}")
        encoded = EncodedCorpus.open(Path(folder), pipeline, corpus)
        batch = next(iter(Batches(Mixture([encoded]), arguments.batch_tokens, seed=1).epoch(0)))
        update(recipe, pipeline, batch)


def recipe_of(arguments: argparse.Namespace) -> Recipe:
    size = {
        "model.d_model": arguments.width, "model.d_ff": 4 * arguments.width, "model.heads": 16,
        "model.encoder_layers": arguments.layers, "model.decoder_layers": arguments.layers, "model.norm": "layer",
        "model.fixnorm": False, "text.segmentation": "word", "text.joint": True, "text.min_frequency": 1,
        "text.vocabulary_size": arguments.types, "text.target_vocabulary_mask": False, "text.unk_copy_threshold": 0,
        "training.batch_tokens": arguments.batch_tokens,
    }  # fmt: skip
    changes = {
        "model.lora_rank": arguments.rank, "model.lora_base": arguments.base, "machine.precision": "bf16",
        "transfer.parent": "random", "transfer.continued": True,
    }  # fmt: skip
    if not arguments.rank:
        changes |= {"model.lora_base": "fp32", "machine.precision": "fp32"}
    return named_recipe("transformer-small").with_changes(size | changes)


def random_corpus(folder: Path, types: int) -> ParallelCorpus:
    """Write sentences that have each word once, on both sides."""
    folder.mkdir()
    words = [f"w{number}" for number in range(types)]
    random.Random(1).shuffle(words)
    lines = [" ".join(words[place : place + WORDS]) for place in range(0, types, WORDS)]
    for code in ("de", "en"):
        for split, some in (("train", lines), ("dev", lines[:1]), ("test", lines[:1])):
            write_lines(folder / f"{split}.{code}", some)
    return ParallelCorpus.open(folder)


def update(recipe: Recipe, pipeline: Pipeline, batch: object) -> None:
    with phase("build"):
        model = model_for(recipe, pipeline).train()
        freeze(model, recipe.transfer)
        stepper = Stepper(model, recipe, pipeline, Group.init(torch.device("cpu")))
    with phase("update"):
        stepper.update(1, [batch], rate=1e-4)
    with phase("update 2"):
        stepper.update(2, [batch], rate=1e-4)


if __name__ == "__main__":
    main()
