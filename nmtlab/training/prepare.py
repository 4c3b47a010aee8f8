"""From a corpus and a recipe to everything that training needs."""

import numpy as np

from nmtlab.alignment.table import LexicalTable
from nmtlab.models.build import build_model
from nmtlab.models.interface import TranslationModel
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.text.encoded import EncodedCorpus
from nmtlab.text.pipeline import Pipeline


def model_for(recipe: Recipe, pipeline: Pipeline, table: LexicalTable | None = None) -> TranslationModel:
    """Build the recipe's model for a pipeline, with initial weights from torch's random stream.

    Args:
        recipe: of a family that is trained by gradient.
        pipeline: gives the vocabularies.
        table: p(target | source), where the recipe's lexicon is a table.
    """
    return build_model(
        recipe.model, pipeline.source_size, pipeline.target_allowed, pipeline.joint, table, pipeline.languages
    )


def needs_table(run: Run) -> bool:
    """Return whether a run's model has a translation table that is still to be learned."""
    model = run.recipe.model
    return model.family == "rnn" and model.lexicon == "table" and run.translation_table is None


def learned_table(run: Run, encoded: EncodedCorpus) -> LexicalTable:
    """Return p(target | source) of the types of a run, from word alignment of its training pairs."""
    from nmtlab.alignment.aligner import translation_table  # its library takes a second to load

    pairs = ((encoded.source(n)[:-1].tolist(), encoded.target(n)[:-1].tolist()) for n in range(len(encoded)))
    return translation_table(pairs, run.pipeline.source_size)


def step_seed(seed: int, step: int, rank: int) -> int:
    """Return the seed of one update's dropout in one process.

    It depends on nothing else, so a resumed training draws what an uninterrupted one would have drawn.
    """
    return int(np.random.SeedSequence((seed, step, rank)).generate_state(1)[0])
