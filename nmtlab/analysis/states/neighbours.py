"""Which words, and which states of the training text, are nearest to one, by cosine?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import DECODING, in_direction
from nmtlab.analysis.access.opened import RunOrSystem, opened, output_type_of, source_vectors, type_of
from nmtlab.analysis.states.token_states import TokenStates, Where, token_states
from nmtlab.errors import NmtlabError
from nmtlab.models.parts import part
from nmtlab.nn.private import private_language
from nmtlab.runs.run import Run
from nmtlab.search.topk import stable_topk
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import known_counts
from nmtlab.translation import Translator


def neighbours(system: RunOrSystem, word: str, k: int = 10) -> pd.DataFrame:
    """Return the words whose output vectors are closest in direction to a word's.

    Returns:
        A row for each, nearest first: `word`; `cos`, -1 to 1; `count` in the training text of the target language;
        `norm` of its vector as stored.

    Raises:
        NmtlabError: the vocabulary has no such word, or the system cannot produce it.
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

    Returns:
        A row for each, nearest first: `word`; with private units of several languages, `language`, whose vector it is;
        `cos`, -1 to 1; `count` in the source side of the run's training text, of the language if there is one, 0 for a
        type that it has from its parent alone, and missing if the text is unknown.

    Raises:
        NmtlabError: the vocabulary has no such type.
    """
    translator = opened(system)
    side, languages = translator.pipeline.source, _languages(translator)
    several, asked = len(languages) > 1, type_of(side, word)
    counts = np.stack([side.counts_in(code) for code in languages] if several else [side.vocabulary.counts])
    compared = counts > 0 if several else np.ones_like(counts, dtype=bool)  # (languages, types)
    compared[:, ~side.vocabulary.is_text] = False
    compared[languages.index(side.language), asked] = False
    with torch.inference_mode():
        cosines = _cosines(translator, languages, asked)
        cosines[~torch.from_numpy(compared)] = -2
        values, places = stable_topk(cosines.flatten(), min(k, int(compared.sum())))
    rows, types = np.unravel_index(places.cpu().numpy(), compared.shape)
    found = {"word": side.vocabulary.tokens(types), "language": [languages[row] for row in rows]}
    frame = pd.DataFrame({**found, "cos": values.tolist(), "count": known_counts(counts[rows, types])})
    return frame if several else frame.drop(columns="language")


def _languages(system: Translator) -> tuple[str, ...]:
    """Return the source languages if a type has a vector in each of them, else the one in use."""
    side, names = system.pipeline.source, (name for name, _ in system.model.named_parameters())
    private = any(private_language(name) for name in names if part(name) == "source_embedding")
    return side.languages if private else (side.language,)


def _cosines(system: Translator, languages: Sequence[str], asked: int) -> Tensor:
    """Return the cosines of all types' vectors in some languages with one in that in use: (languages, types)."""
    vectors = {code: source_vectors(system, code).double() for code in languages}
    units = {code: normalize(table) for code, table in vectors.items()}
    return torch.stack([table @ units[system.languages[0]][asked] for table in units.values()])


SAMPLE = 500
"""Sentences of the training text that are compared, if no other number is given."""

_AROUND = 6  # tokens before and after the one in question


def state_neighbours(
    run: Run,
    corpus: ParallelCorpus,
    source: str,
    target: str,
    position: int,
    where: Where = "decoder",
    k: int = 10,
    sample: int = SAMPLE,
) -> pd.DataFrame:
    """Return the states of a sample of the training text that are nearest to the state at a position of a sentence.

    Args:
        corpus: that it was trained on, or any other in its languages with a training text.
        target: its translation, the system's or any other.
        position: of the token, from 0: of the target at the decoder, of the source at the encoder.
        sample: number of training sentences, drawn as in `nmtlab.text.corpora.sample`.

    Returns:
        As `nearest_states`, with `line`, the number of the sentence in the training text, from 1.

    Raises:
        CorpusError: no training text, or other languages.
        NmtlabError: no such position.
    """
    system = opened(in_direction(run, corpus))
    drawn = draw_sample(corpus, "train", sample)
    asked = token_states(system, [(source, target)], where)
    states = token_states(system, drawn.pairs, where)
    found = nearest_states(states, drawn.pairs, asked, position, k, (source, target))
    found.insert(0, "line", [drawn.lines[place] for place in found.pop("sentence")])
    return found


STATE_NEIGHBOURS = Analysis(
    "Which training sentences have a state nearest to this one?",
    state_neighbours,
    needs=DECODING,
    version=1,
    stored_as="state_neighbours.state_neighbours",
    columns=("line", "position", "piece", "cos", "context", "source", "target"),
)


def nearest_states(
    states: TokenStates,
    pairs: Sequence[tuple[str, str]],
    asked: TokenStates,
    position: int,
    k: int = 10,
    left_out: tuple[str, str] = ("", ""),
) -> pd.DataFrame:
    """Return the states nearest to one of another sentence, by cosine.

    Args:
        states: of the sentences compared.
        pairs: these sentences and their translations.
        asked: the states of the sentence in question.
        position: of its state, from 0.
        k: number of neighbours, from 1; fewer if there are no more.
        left_out: a pair whose states do not count, such as the one asked about.

    Returns:
        A row for each, nearest first: `sentence`, the index of its pair; `position` from 0; `piece`; `cos`, -1 to 1;
        `context`, the token in ⟦ ⟧ with those around it; `source` and `target`, the pair.

    Raises:
        NmtlabError: no such position.
    """
    if not 0 <= position < len(asked.vectors):
        last = len(asked.vectors) - 1
        raise NmtlabError(
            f"position {position}: the sentence has {last + 1} states", f"choose a number from 0 to {last}"
        )
    cosines = _units(states.vectors) @ _units(asked.vectors[position : position + 1])[0]
    itself = [index for index, pair in enumerate(pairs) if tuple(pair) == left_out]
    cosines[states.tokens["sentence"].isin(itself).to_numpy()] = -np.inf
    order = np.argsort(-cosines, kind="stable")[:k]
    order = order[np.isfinite(cosines[order])]
    found = states.tokens.iloc[order].reset_index(drop=True)
    places = zip(found["sentence"], found["position"], strict=True)
    pieces = {sentence: rows["piece"].tolist() for sentence, rows in states.tokens.groupby("sentence")}
    return pd.DataFrame(
        {
            "sentence": found["sentence"],
            "position": found["position"],
            "piece": found["piece"],
            "cos": cosines[order].astype(float),
            "context": [_marked(pieces[sentence], place) for sentence, place in places],
            "source": [pairs[index][0] for index in found["sentence"]],
            "target": [pairs[index][1] for index in found["sentence"]],
        }
    )


def _units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)


def _marked(pieces: Sequence[str], position: int) -> str:
    """Return a token in brackets, with those around it."""
    before, after = pieces[:position], pieces[position + 1 :]
    words = [*before[-_AROUND:], f"⟦{pieces[position]}⟧", *after[:_AROUND]]
    begun, goes_on = len(before) > _AROUND, len(after) > _AROUND
    return f"{'… ' if begun else ''}{' '.join(words)}{' …' if goes_on else ''}"
