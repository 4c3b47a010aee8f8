"""Which words are close to each other in a system's vectors, by cosine: of the output, or of the source?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from nmtlab.analysis.access.opened import RunOrSystem, opened, output_type_of, source_vectors, type_of
from nmtlab.models.parts import part
from nmtlab.nn.private import private_language
from nmtlab.search.topk import stable_topk
from nmtlab.text.segmentation.vocabulary import known_counts
from nmtlab.translation import Translator


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


def source_neighbours(system: RunOrSystem, word: str, k: int = 10) -> pd.DataFrame:
    """Return the source types whose vectors are closest in direction to a type's, in the source language in use.

    With private units (thesis 4.2) a type has a vector in each source language, its shared units and those of the
    language. Those of all languages are compared, each with the types that occur in the training text of the language:
    no other type's private units were trained.

    Args:
        system: a run, or a translator; a child with its parent's subwords has vectors of both languages.
        word: of the source side, one type.
        k: number of neighbours.

    Returns:
        A row for each, nearest first: `word`; with private units of several languages, `language`, whose vector it is;
        `cos`, -1 to 1; `count` in the source side of the run's training text, of the language if there is one, 0 for a
        type that it has from its parent alone, and missing if the text is unknown.

    Raises:
        NmtlabError: the vocabulary has no such type.
        RunError: a phrase-based run, or one without weights.
    """
    translator = opened(system)
    side, languages = translator.pipeline.source, _languages(translator)
    several, asked = len(languages) > 1, type_of(side, word)
    counts = np.stack([side.counts_in(code) for code in languages] if several else [side.vocabulary.counts])
    compared = counts > 0 if several else np.ones_like(counts, dtype=bool)  # (languages, types)
    compared[:, : side.vocabulary.reserved] = False
    compared[languages.index(side.language), asked] = False
    with torch.inference_mode():
        cosines = _cosines(translator, languages, asked)
        cosines[~torch.from_numpy(compared)] = -2
        values, places = stable_topk(cosines.flatten(), min(k, int(compared.sum())))
    rows, types = np.unravel_index(places.cpu().numpy(), compared.shape)
    found = {"word": side.vocabulary.tokens(types), "language": [languages[row] for row in rows]}
    frame = pd.DataFrame({**found, "cos": values.tolist(), "count": known_counts(counts[rows, types])})
    return frame if several else frame.drop(columns="language")


def unit(vectors: Tensor) -> Tensor:
    """Return vectors, (N, D), at length 1; a zero vector stays one."""
    return vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-12)


def _languages(system: Translator) -> tuple[str, ...]:
    """Return the source languages if a type has a vector in each of them, else the one in use."""
    side, names = system.pipeline.source, (name for name, _ in system.model.named_parameters())
    private = any(private_language(name) for name in names if part(name) == "source_embedding")
    return side.languages if private else (side.language,)


def _cosines(system: Translator, languages: Sequence[str], asked: int) -> Tensor:
    """Return the cosines of all types' vectors in some languages with one in that in use: (languages, types)."""
    vectors = {code: source_vectors(system, code).double() for code in languages}
    units = {code: unit(table) for code, table in vectors.items()}
    return torch.stack([table @ units[system.languages[0]][asked] for table in units.values()])
