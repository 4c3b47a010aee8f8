"""Which words are close to each other in a system's output embeddings, by cosine?"""

import pandas as pd
import torch

from nmtlab.analysis.access.opened import RunOrSystem, opened, output_type_of
from nmtlab.search.top import stable_topk


def neighbours(system: RunOrSystem, word: str, k: int = 10) -> pd.DataFrame:
    """Return the words whose output vectors are closest in direction to a word's.

    Args:
        system: a run, or a translator.
        word: of the target language.
        k: number of neighbours.

    Returns:
        A row for each, nearest first: `word`; `cos`, -1 to 1; `count` in the training text of the target language;
        `norm` of its vector as stored.

    Raises:
        NmtlabError: the vocabulary has no such word, or the system cannot produce it.
        RunError: a phrase-based run, or one without weights.
    """
    translator = opened(system)
    model, pipeline = translator.model, translator.pipeline
    asked = output_type_of(translator, word)
    with torch.inference_mode():
        vectors = model.embeddings()["output"][model.output_ids].double()
        norms = vectors.norm(dim=1)
        of_word = vectors[model.output_index(torch.tensor([asked], device=vectors.device))[0]]
        cosines = (vectors @ of_word) / (norms * of_word.norm()).clamp_min(1e-12)
        cosines[model.output_ids == asked] = -2  # the word itself
        values, columns = stable_topk(cosines, min(k, len(cosines) - 1))
        types = model.output_ids[columns].tolist()
    return pd.DataFrame(
        {
            "word": pipeline.target.vocabulary.tokens(types),
            "cos": values.tolist(),
            "count": pipeline.target.counts[types],
            "norm": norms[columns].tolist(),
        }
    )
