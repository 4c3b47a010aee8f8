"""What training derives from a recipe and its texts: model, translation table, seeds."""

import numpy as np

from nmtlab.alignment.table import LexicalTable
from nmtlab.models.build import build_model
from nmtlab.models.interface import TranslationModel
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.segmentation.pipeline import Pipeline


def model_for(recipe: Recipe, pipeline: Pipeline, table: LexicalTable | None = None) -> TranslationModel:
    """Build the recipe's model for a pipeline, with initial weights from torch's random stream.

    Args:
        recipe: of a family that is trained by gradient descent.
        pipeline: has the vocabularies; its direction is the model's default.
        table: p(target | source), if the recipe's lexicon is a table.
    """
    languages = pipeline.source.languages, pipeline.target.languages
    model = build_model(
        recipe.model,
        pipeline.source.size,
        pipeline.allowed_by_language,
        pipeline.joint,
        table,
        languages,
        pipeline.first_tokens,
        pipeline.reads_start,
    )
    first = tuple(codes[0] for codes in languages)
    return model if pipeline.languages == first else model.directed(*pipeline.languages)


def needs_table(run: Run) -> bool:
    """Return whether a run's model needs a translation table that has not been learned yet."""
    return run.recipe.model.lexical_table and run.translation_table is None


def learned_table(run: Run, mixture: Mixture) -> LexicalTable:
    """Return p(target | source) of a run's types, from word alignment of its training pairs, each counted once."""
    from nmtlab.alignment.aligner import translation_table  # its library takes a second to load

    pairs = (
        (text.source(n)[:-1].tolist(), text.target(n)[:-1].tolist()) for text in mixture.texts for n in range(len(text))
    )
    return translation_table(pairs, run.pipeline.source.size)


def step_seed(seed: int, step: int, rank: int) -> int:
    """Return the seed of one update's dropout in one process.

    It depends on nothing else, so a resumed training draws what an uninterrupted one would have drawn.
    """
    return int(np.random.SeedSequence((seed, step, rank)).generate_state(1)[0])
