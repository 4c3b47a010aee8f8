"""How many parameters does a model of many languages have? Counted three ways (thesis 4.2)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import NEURAL
from nmtlab.models.build import model_for
from nmtlab.models.interface import TranslationModel
from nmtlab.models.parts import has_one_table, part, vocabulary_side
from nmtlab.nn.private import private_language
from nmtlab.runs.run import Run
from nmtlab.text.segmentation.pipeline import Pipeline

_COUNTS = ("stored", "used", "trained")


def parameter_counts(run: Run) -> pd.DataFrame:
    """Return `counted_parameters` of a run's model in its direction; its weights are not needed."""
    with torch.random.fork_rng(devices=()):
        model = model_for(run.recipe, run.pipeline, run.model_table)
    return counted_parameters(model, run.pipeline)


PARAMETER_COUNTS = Analysis(
    "How many parameters does a run store, use in a direction, and train?",
    parameter_counts,
    source="thesis 4.2",
    needs=(NEURAL,),
    version=1,
    columns=("count", "embeddings", "body", "total"),
)


def costs(run: Run) -> pd.DataFrame:
    """Return what a run costs: its parameters, counted three ways, and what its log records of the training.

    Returns:
        A row: parameters `stored`, `used` and `trained` (see `counted_parameters`), in millions; the `target tokens` it
        was trained on, in millions; and `tokens/s`, the median, which depends on the machine and what else ran there.
    """
    counts = PARAMETER_COUNTS.of(run).set_index("count")["total"] / 1e6
    log = run.log.metrics("train")
    tokens = (log["tokens_per_second"] * log["seconds"].diff().fillna(log["seconds"])).sum() / 1e6
    return pd.DataFrame([{**counts, "target tokens": tokens, "tokens/s": round(log["tokens_per_second"].median())}])


def by_system(found: pd.DataFrame) -> pd.DataFrame:
    """Return the answers of several runs with the label of each, `system`, in front."""
    return found[["run", *found.columns.drop("run")]].rename(columns={"run": "system"})


COSTS = Analysis("What does a run cost?", costs, source="thesis 4.2", needs=(NEURAL,), table=by_system)


def counted_parameters(model: TranslationModel, pipeline: Pipeline) -> pd.DataFrame:
    """Return the number of parameters of a model, trained or not, counted three ways.

    Args:
        model: its default languages are the direction that `used` counts.
        pipeline: the model's.

    Returns:
        A row for each way of counting: `count`, which is one of

        - stored: all parameters;
        - used: those that translate in one direction, shared or of its languages: in the encoder and the table of
          source types of the source language, elsewhere of the target language, in a table of both sides of either;
        - trained: as stored, but of tables with a row for each type only the rows of types that occur in training text:
          for a shared table in any language, for a private one in its own, on the sides that have the table (neither
          BOS nor, in one language, tags occur in text);

        `embeddings`, the parameters in tables with a row for each type, output biases included; `body`, the others;
        `total`.
    """
    common = has_one_table(model)
    numbers = {"embeddings": np.zeros(len(_COUNTS), dtype=int), "body": np.zeros(len(_COUNTS), dtype=int)}
    for name, parameter in model.named_parameters():
        side, is_source = vocabulary_side(name), part(name) == "source_embedding"
        sides = _sides(name.startswith(("encoder", "more_encoder")) or is_source, common and is_source)
        language = private_language(name)
        stored = parameter.numel()
        used = _used(model, name, language, sides) * stored
        trained = stored if side is None else _seen(pipeline, language, sides) * stored // len(parameter)
        numbers["body" if side is None else "embeddings"] += stored, round(used), trained
    total = numbers["embeddings"] + numbers["body"]
    return pd.DataFrame({"count": _COUNTS, **numbers, "total": total})


def _sides(source: bool, both: bool) -> Sequence[int]:
    """Return the sides on which a parameter is used: 0 for source, 1 for target."""
    if both:
        return 0, 1
    return (0,) if source else (1,)


def _used(model: TranslationModel, name: str, language: str, sides: Sequence[int]) -> float:
    """Return the share of a parameter that is used in the model's direction, 0 to 1."""
    if name == "languages":  # a vector for each source language and each target language
        return 2 / sum(max(1, len(codes)) for codes in model.language_codes)
    return float(not language or language in [model.default_languages[side] for side in sides])


def _seen(pipeline: Pipeline, language: str, sides: Sequence[int]) -> int:
    """Return how many types occur in the training text of some sides, in one language or, if it is empty, in any.

    Of an imported model whose text is unknown, all types count.
    """
    texts = [(pipeline.source, pipeline.target)[side] for side in sides]
    texts = [side for side in texts if not language or language in side.languages]
    counts = [side.language_counts.get(language, side.vocabulary.counts) for side in texts]
    return int(np.any([count != 0 for count in counts], axis=0).sum())
