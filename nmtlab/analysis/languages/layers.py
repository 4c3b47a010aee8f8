"""How alike are the encoder states of several languages, layer by layer?"""

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.languages.similarity import cka_with_null, retrieval
from nmtlab.analysis.languages.states import states_by_language
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


def similarity_by_layer(
    run: Run, corpora: Sequence[ParallelCorpus], split: str = "test", sample: int = 500, permutations: int = 200
) -> pd.DataFrame:
    """Return how alike two languages' encoder states of the same sentences are, after the embedding and each layer.

    A sentence's vector is the mean of its states (see `states_by_language`), in the model that translates into the
    target language of the run's direction.

    Args:
        run: of a Transformer.
        corpora: of two or more source languages; line n of all means the same, as in a text from `nmtlab corpus join`.
        split: train, dev or test.
        sample: number of sentences to draw (`states_by_language`), 4 or more.
        permutations: number of shuffles behind the null distribution, 1 or more.

    Returns:
        A row for each layer and pair of languages: `layer`, 0 for the embedding; `language`, `other_language`;
        `sentences`; `cka`, debiased; `null_mean` and `null_95`, its mean and 95th percentile when the sentences of one
        side are shuffled, and `p`, the share of shuffles that reach it; `precision`, the share of sentences whose
        nearest neighbour in the other language is their translation, and `precision_back`, from there; `chance` of it.

    Raises:
        CorpusError: no such split, fewer than two languages, or texts that are not parallel to each other.
        RunError: the run is not a Transformer, has no weights, or does not translate from one of the languages.
        NmtlabError: fewer than 4 sentences.
    """
    states = states_by_language(run, corpora, split, sample)
    rows = []
    for (language, ours), (other, theirs) in combinations(states.items(), 2):
        for layer, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            alike, found = cka_with_null(x, y, permutations), retrieval(x, y)
            rows.append(
                {
                    "layer": layer,
                    "language": language,
                    "other_language": other,
                    "sentences": len(x),
                    "cka": alike.value,
                    "null_mean": alike.null_mean,
                    "null_95": alike.null_95,
                    "p": alike.p,
                    "precision": found.forward,
                    "precision_back": found.backward,
                    "chance": 1 / len(x),
                }
            )
    return pd.DataFrame(rows)


SIMILARITY_BY_LAYER = Analysis(
    "How alike are two languages' encoder states of the same sentences, layer by layer?",
    similarity_by_layer,
    version=2,
    columns=(
        "layer",
        "language",
        "other_language",
        "sentences",
        "cka",
        "null_mean",
        "null_95",
        "p",
        "precision",
        "precision_back",
        "chance",
    ),
)
