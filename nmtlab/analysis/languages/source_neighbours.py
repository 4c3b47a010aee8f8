"""Which source types of parent and child are close to each other in a child's vectors, by cosine?"""

import pandas as pd
import torch

from nmtlab.analysis.access.opened import RunOrSystem, opened, type_of
from nmtlab.search.top import stable_topk


def source_neighbours(system: RunOrSystem, word: str, k: int = 10) -> pd.DataFrame:
    """Return the source types whose vectors are closest in direction to a type's.

    Args:
        system: a run, or a translator; a child with its parent's subwords has vectors of both languages.
        word: of the source side, one type.
        k: number of neighbours.

    Returns:
        A row for each, nearest first: `word`; `cos`, -1 to 1; `count` in the source side of the run's training text, 0
        for a type that it has from its parent alone.

    Raises:
        NmtlabError: the vocabulary has no such type.
        RunError: a phrase-based run, or one without weights.
    """
    translator = opened(system)
    side = translator.pipeline.source
    asked = type_of(side, word)
    with torch.inference_mode():
        vectors = translator.model.embeddings()["source"].double()
        unit = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-12)
        cosines = unit @ unit[asked]
        cosines[: side.vocabulary.reserved] = -2
        cosines[asked] = -2
        values, types = stable_topk(cosines, min(k, len(cosines) - side.vocabulary.reserved - 1))
    found = types.tolist()
    return pd.DataFrame(
        {"word": side.vocabulary.tokens(found), "cos": values.tolist(), "count": side.vocabulary.counts[found]}
    )
