"""Can the source language be read off encoder states, and off their shared and private units? (thesis 4.2)"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.languages.similarity import language_probe
from nmtlab.analysis.languages.states import states_by_language
from nmtlab.recipe.transformer import TransformerSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


def language_by_layer(
    run: Run, corpora: Sequence[ParallelCorpus], split: str = "test", sample: int = 500
) -> pd.DataFrame:
    """Return how well a linear probe tells the source language, after the embedding and each encoder layer.

    With shared and private units, the probe also reads either kind alone. Embedding and sublayers add their outputs to
    one stream of d_model units, and the first units of each output, as many as its share, are computed by weights that
    all languages share. A unit of the stream is called shared if this holds for all that was added to it so far, and
    private otherwise. Even a shared unit depends on the language's private units below it, in the embedding through
    FixNorm alone. Adapters write to all units, so that after the first layer none is shared.

    Args:
        run, corpora, split, sample: as of `layers.similarity_by_layer`; 5 sentences or more.

    Returns:
        A row for each layer and kind of units: `layer`, 0 for the embedding; `units`: all, shared or private; `width`,
        their number; `accuracy` of the probe on sentences that it was not trained on, and `chance`, that of always
        guessing the most frequent language, 0 to 1; `languages` and `sentences`, their numbers.

    Raises:
        CorpusError, RunError, NmtlabError: as of `layers.similarity_by_layer`.
    """
    states = states_by_language(run, corpora, split, sample)
    count = len(next(iter(states.values()))[0])
    labels = [language for language in states for _ in range(count)]
    numbers = [*range(count)] * len(states)
    rows = []
    for layer, of_layer in enumerate(zip(*states.values(), strict=True)):
        vectors = np.concatenate(of_layer)
        for units, some in _units(run.recipe.model, layer).items():
            accuracy, chance = language_probe(vectors[:, some], labels, numbers)
            sizes = {"width": vectors[:, some].shape[1], "languages": len(states), "sentences": count}
            rows.append({"layer": layer, "units": units, "accuracy": accuracy, "chance": chance, **sizes})
    return pd.DataFrame(rows)[["layer", "units", "width", "accuracy", "chance", "languages", "sentences"]]


LANGUAGE_BY_LAYER = Analysis(
    "How well can the source language be read off the encoder's states, layer by layer?",
    language_by_layer,
    version=2,
    columns=("layer", "units", "width", "accuracy", "chance", "languages", "sentences"),
)


def _units(model: TransformerSettings, layer: int) -> dict[str, slice]:
    """Return the units of the stream after a layer: all, and the shared and the private ones if there are both."""
    added = [model.embedding_share, *([model.attention_share, model.feed_forward_share] if layer else [])]
    shared = 0 if layer and model.adapter_width else round(min(added) * model.d_model)
    kinds = {"shared": slice(shared), "private": slice(shared, None)}
    return {"all": slice(None), **(kinds if 0 < shared < model.d_model else {})}
