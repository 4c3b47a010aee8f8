"""New words of a document: those that are in no training text, whatever their case (Kothur et al. 2018).

Words are Moses tokens for every system.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import pandas as pd

from nmtlab.alignment.aligner import WordAligner
from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import Direction, Pair, ParallelCorpus
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.tokenizers import Words

SYSTEMS = ("unadapted", "adapted")
"""Names of the translations of a document without and with adaptation."""

_RIGHT = [f"{name} right" for name in SYSTEMS]

Entry = tuple[str, str, str]
"""A document, a word, and its translation."""


def training_text(texts: Sequence[ParallelCorpus], max_words: int) -> list[Pair]:
    """Return the training pairs of some texts, without those that training leaves out."""
    return [pair for text in texts for pair in usable_pairs(text, max_words)]


def document_lines(corpus: ParallelCorpus, split: str, documents: Sequence[str]) -> pd.DataFrame:
    """Return `document`, `line` (from 1), `source` and `reference` of each sentence of a text.

    Args:
        corpus: the text.
        split: train, dev or test.
        documents: the id of each line's document.

    Raises:
        CorpusError: no such split, or there is not one id for each line.
    """
    pairs = corpus.count(split)
    if len(documents) != pairs:
        raise CorpusError(f"documents of {len(documents):,} lines, but {split} has {pairs:,} pairs", "name each")
    sources, references = zip(*corpus.pairs(split), strict=True)
    lines = range(1, len(documents) + 1)
    return pd.DataFrame({"document": documents, "line": lines, "source": sources, "reference": references})


def new_words(
    found: pd.DataFrame, training: Sequence[Pair], languages: Direction, systems: Sequence[str] = SYSTEMS
) -> pd.DataFrame:
    """Return the new words of documents, with their translations as a word aligner (eflomal, symmetrised) links them.

    Args:
        found: `document`, `line`, `source` and `reference` of each sentence, and some of its translations.
        training: all pairs that the run was trained on.
        languages: of source and target.
        systems: names of the translations.

    Returns:
        A row for each new word that is linked to a word of the reference: `document`, `line`, `word`; `reference`, the
        words linked to it there; `copied`, whether they are the same word; for each system, the words linked to it in
        its translation, empty if none are, and `NAME right`, whether the translation has all words of `reference`.
    """
    split_source, split_target = (Words(code).split for code in languages)
    systems = [name for name in systems if name in found]
    learned = [(split_source(source), split_target(target)) for source, target in training]
    known = {word.casefold() for words, _ in learned for word in words}
    sources = [split_source(line) for line in found["source"]]
    sides = {name: [split_target(line) for line in found[name]] for name in ("reference", *systems)}
    pairs = [*learned, *zip(sources, sides["reference"], strict=True)]
    aligner = _aligner(tuple((tuple(source), tuple(target)) for source, target in pairs))
    links = {name: aligner.align(zip(sources, lines, strict=True)) for name, lines in sides.items()}
    rows = []
    for index, (document, line) in enumerate(zip(found["document"], found["line"], strict=True)):
        words = {name: lines[index] for name, lines in sides.items()}
        for place, word in enumerate(sources[index]):
            linked = {name: [words[name][t] for s, t in sorted(links[name][index]) if s == place] for name in sides}
            wanted = linked["reference"]
            if wanted and word.casefold() not in known:
                right = {f"{name} right": set(wanted) <= set(words[name]) for name in systems}
                shown = {name: " ".join(some) for name, some in linked.items()}
                rows.append(
                    {"document": document, "line": line, "word": word, "copied": [word] == wanted} | shown | right
                )
    columns = ["document", "line", "word", "copied", *sides, *(f"{name} right" for name in systems)]
    return pd.DataFrame(rows, columns=columns)


@lru_cache(maxsize=2)
def _aligner(pairs: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]) -> WordAligner:
    """Return an aligner of some pairs, which takes seconds to learn and is asked for again and again."""
    return WordAligner.train(pairs)


def dictionary_of(words: pd.DataFrame) -> list[Entry]:
    """Return the most frequent translation of each of the `new_words` of a document in its references."""
    return [
        (document, word, Counter(of_word["reference"]).most_common(1)[0][0])
        for (document, word), of_word in words.groupby(["document", "word"], sort=False)
    ]


def reference_dictionary(corpus: ParallelCorpus, split: str) -> list[Entry]:
    """Return the translations that the new words of each document of a text have in its references."""
    lines = document_lines(corpus, split, corpus.documents(split))
    return dictionary_of(new_words(lines, list(corpus.pairs("train")), corpus.direction))


def dictionary_for(found: pd.DataFrame, entries: Mapping[str, str], language: str) -> list[Entry]:
    """Return the entries of a dictionary, word -> translation, whose word is in a document, for each document."""
    split = Words(language).split
    of_document = {
        name: {word for line in lines for word in split(line)}
        for name, lines in found.groupby("document", sort=False)["source"]
    }
    return [
        (name, word, translation)
        for name, words in of_document.items()
        for word, translation in entries.items()
        if word in words
    ]


def new_word_accuracy(words: pd.DataFrame) -> pd.DataFrame:
    """Return how many of the `new_words` are right: a row for `all`, those `copied` in the reference, and the others.

    Returns:
        `words`, their kind; `occurrences`; `unadapted` and `adapted`, the shares that are right, NaN without any.
    """
    copied = words["copied"].astype(bool)
    kinds = {"all": words, "copied": words[copied], "translated": words[~copied]}
    shares = [{name: of_kind[f"{name} right"].astype(float).mean() for name in SYSTEMS} for of_kind in kinds.values()]
    counts = [len(of_kind) for of_kind in kinds.values()]
    return pd.DataFrame({"words": list(kinds), "occurrences": counts} | pd.DataFrame(shares).to_dict("list"))


def types_per_token(words: pd.DataFrame, least: int = 3) -> dict[str, float]:
    """Return how consistent translations are: the different ones of a new word in a document, per occurrence.

    Args:
        words: of `new_words`.
        least: occurrences in its document that a word has to have.

    Returns:
        `reference`, `unadapted` and `adapted` -> the ratio over all words; NaN if none is so frequent.
    """
    groups = [of_word for _, of_word in words.groupby(["document", "word"]) if len(of_word) >= least]
    tokens = sum(map(len, groups))
    return {
        name: sum(of_word[name].nunique() for of_word in groups) / tokens if tokens else math.nan
        for name in ("reference", *SYSTEMS)
    }


def word_table(words: pd.DataFrame) -> pd.DataFrame:
    """Return the different `new_words` of each document with their translations, the most frequent ones first."""
    rows = [
        {
            "document": document, "word": word, "occurrences": len(of_word),
            **{name: Counter(of_word[name]).most_common(1)[0][0] for name in ("reference", *SYSTEMS)},
            **{f"{name} right": int(of_word[f"{name} right"].sum()) for name in SYSTEMS},
        }
        for (document, word), of_word in words.groupby(["document", "word"], sort=False)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["document", "word", "occurrences", "reference", *SYSTEMS, *_RIGHT])
    return table.sort_values("occurrences", ascending=False, kind="stable", ignore_index=True)
