"""Which words and subwords do related languages share, and do they mean the same? (thesis 3.1.2, Table 3.3)

Transfer rests on two assumptions: the source vocabularies of parent and child overlap, and a word of both often has a
similar meaning in both. The first is a matter of counts, the second of translations into the common target language.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import permutations
from typing import TypedDict

import pandas as pd
import plotly.graph_objects as go

from nmtlab.alignment.aligner import AlignmentModel, translation_table
from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import parent_of
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import SHADES, dressed
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.text.checks.overlap import Segmentation, segmentations, shares
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.learning import sample
from nmtlab.text.segmentation.vocabulary import most_frequent

KINDS = ("shared", "lookalike", "unclear", "only here")
"""Kinds of a child's words, as in `word_lists`."""

_Translations = Mapping[str, list[tuple[str, float]]]


class _Meanings(TypedDict):
    translation: str
    probability: float
    parent_translation: str
    parent_probability: float
    agreement: float


class _Word(_Meanings):
    """A row of `word_lists`, without its kind."""

    word: str
    count: int
    parent_count: int
    in_target: bool


def overlap_matrix(
    corpora: Sequence[ParallelCorpus], sizes: Sequence[int] = (8000,), transliteration: str = "none"
) -> pd.DataFrame:
    """Count the source types and tokens of each language that each other language's source text has.

    Words are counted as they are written, in all training text. A word that occurs on the target side of any of the
    texts, such as a name, a number or a product, is no evidence of relation: they are counted once with and once
    without these words, compared without case.

    Args:
        corpora: two or more, into one target language, with training text.
        sizes: vocabulary sizes of subwords learned on source and target of all texts together.
        transliteration: of all sources before they are segmented, as `text.transliteration`; words are never.

    Returns:
        A row for each segmentation (`words`, `words not in the target text`, `bpe SIZE`) and ordered pair of corpora:
        `segmentation`; `corpus` and `language`; `other_corpus` and `other_language`; `types` of the first text,
        `shared_types`, those of them in the other, and `type_share`; `tokens`, `shared_tokens` and `token_share`.

    Raises:
        CorpusError: fewer than two corpora, several target languages, or a corpus without training text.
        RecipeError: a size does not fit the text.
    """
    _check_target(corpora)
    words, *subwords = segmentations(corpora, sizes, transliteration)
    counts = [words.source_counts(corpus) for corpus in corpora]
    target = {word for corpus in corpora for word in _target_words(words, corpus)}
    others = [Counter({word: count for word, count in one.items() if word.lower() not in target}) for one in counts]
    rows = _matrix("words", corpora, counts) + _matrix("words not in the target text", corpora, others)
    for segmentation in subwords:
        rows += _matrix(segmentation.name, corpora, [segmentation.source_counts(corpus) for corpus in corpora])
    return pd.DataFrame(rows)


def overlap_figure(matrix: pd.DataFrame) -> go.Figure:
    """Draw the share of each text's source types that each other text has, as a heatmap.

    Args:
        matrix: rows of `overlap_matrix`, of one segmentation.
    """
    names = list(dict.fromkeys(matrix["language"]))
    shares = matrix.pivot(index="language", columns="other_language", values="type_share").reindex(names, columns=names)
    figure = go.Figure(
        go.Heatmap(
            x=names, y=names, z=100 * shares, zmin=0, zmax=100, colorscale=SHADES, texttemplate="%{z:.0f}",
            hoverongaps=False, colorbar={"title": {"text": "%"}},
            hovertemplate="%{z:.1f} % of the types of %{y} are in the text of %{x}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title_text="language that has them", type="category")
    figure.update_yaxes(title_text="language", type="category", autorange="reversed")
    (name,) = set(matrix["segmentation"])
    return dressed(figure, f"Source types of a text that another has (%): {escape(name)}", 160 + 34 * len(names))


def shared_types(run: Run, corpus: ParallelCorpus, parent: Run) -> pd.DataFrame:
    """Count the types and tokens of a child's source text that occur in its parent's source training text.

    Args:
        run: a child; its segmentation is used.
        corpus: its text.
        parent: its parent.

    Returns:
        A row for train and dev: `split`; `types`, `shared_types` and `type_share`; `tokens`, `shared_tokens` and
        `token_share`. In train, only types of the vocabulary count; in dev, all words or subwords do.
    """
    ours, theirs = run.pipeline.source, parent.pipeline.source.vocabulary
    known = {word for word, count in zip(theirs.types, theirs.counts.tolist(), strict=True) if count}
    vocabulary = ours.vocabulary
    counted = zip(vocabulary.types, ours.counts_in(corpus.source).tolist(), vocabulary.is_text, strict=True)
    train = Counter({word: count for word, count, is_text in counted if is_text and count})
    dev = Counter(piece for line in corpus.lines("dev", corpus.source) for piece in ours.tokenizer.split(line))
    texts = {"train": train, "dev": dev}
    return pd.DataFrame([{"split": split, **shares(counts, list(counts), known)} for split, counts in texts.items()])


def types_finding(found: pd.DataFrame) -> str:
    """Return how much of each child's dev text is made of its parent's types, from `shared_types` with `run`."""
    dev = found[found["split"] == "dev"]
    said = [f"{run} {100 * share:.0f} %" for run, share in zip(dev["run"], dev["token_share"], strict=True)]
    return f"Tokens of the dev text whose type the parent has: {listed(said)}." if said else ""


TYPES_OF_PARENT = Analysis(
    "How much of a child's source text is made of types of its parent's?",
    shared_types,
    source="thesis Table 3.3",
    version=1,
    columns=("split", "types", "shared_types", "type_share", "tokens", "shared_tokens", "token_share"),
    finding=types_finding,
    stored_as="shared_types.shared_types",
    follows=(("parent", parent_of),),
    metrics=tuple(
        Metric(
            f"types-in-parent-{split}",
            f"source types in parent, {split} (%)",
            "count",
            "%",
            split="",
            read=lambda found, split=split: 100 * found.set_index("split")["type_share"][split],
        )
        for split in ("train", "dev")
    ),
)


def word_lists(
    parent: ParallelCorpus,
    child: ParallelCorpus,
    min_count: int = 5,
    min_agreement: float = 0.5,
    max_pairs: int = 50_000,
    model: AlignmentModel = "eflomal",
) -> pd.DataFrame:
    """Return every word of the child's source text with its meaning there and in the parent's text.

    The meaning of a word is its translations, learned by word alignment from each training text alone. A word has the
    same meaning in both texts if the most probable translations are equal, or if much of the probability mass is
    common: related texts differ in the translation that they prefer, such as `specify` or `indicate`. Words are Moses
    words in lower case, as written, not transliterated.

    Args:
        parent, child: corpora into one target language, with training text.
        min_count: a word with another meaning is a lookalike only if each text has it this often.
        min_agreement: probability mass in common that makes the meaning the same, 0 to 1; at 1 only the most probable
            translations count.
        max_pairs: most pairs of each text that are aligned, sampled from all; counts are those of the whole text.
            Eflomal takes about a second for 1,000 pairs, IBM 4 fifteen times as long.
        model: word aligner from whose table translations are taken.

    Returns:
        A row for each word, the most frequent first, ties in alphabetical order: `word`; `count` and `parent_count`;
        `translation` and `parent_translation`, empty without one, with `probability` and `parent_probability`;
        `agreement`, the probability mass that both translation distributions have in common, 0 to 1; `in_target`,
        whether the word is also on the target side of either text, like names and numbers, which are no evidence of
        relation; `kind`: `shared` (in both texts, with the same meaning), `lookalike` (with another: a false friend, or
        an error of the alignment), `unclear` (in both, but too rare to judge, or without translation), `only here`.

    Raises:
        CorpusError: several target languages, or a corpus without training text.
    """
    _check_target([parent, child])
    words = segmentations([child], sizes=())[0]
    here, there = (_read(words, corpus, max_pairs, model) for corpus in (child, parent))
    target = here.target_words | there.target_words
    rows: list[_Word] = [
        {
            "word": word,
            "count": here.counts[word],
            "parent_count": there.counts[word],
            **_meanings(here.translations.get(word, []), there.translations.get(word, [])),
            "in_target": word in target,
        }
        for word in most_frequent(here.counts)
    ]
    frame = pd.DataFrame(rows)
    frame["kind"] = [_kind(row, min_count, min_agreement) for row in rows]
    return frame


def words_of_parent(run: Run, child: ParallelCorpus, parent: ParallelCorpus) -> pd.DataFrame:
    """Return `word_lists` of a child's text and its parent's, stored with the child; `run` is the child's."""
    return word_lists(parent, child)


def kinds_finding(lists: pd.DataFrame) -> str:
    """Return how much of a child's text its parent's has, of words that no target text has, from `word_lists`."""
    found = word_kinds(lists).query("words != 'all'").set_index("kind")
    if lists.empty:
        return ""
    said = {kind: f"{100 * found.loc[kind, 'type_share']:.0f} %" for kind in KINDS}
    return (
        f"Of the words that are not also target words, {said['shared']} mean the same in the parent's text, "
        f"{said['lookalike']} are lookalikes, and {said['only here']} are not in it."
    )


WORDS_OF_PARENT = Analysis(
    "Which words of a child's text occur in its parent's?",
    words_of_parent,
    source="thesis 3.1.2",
    version=1,
    columns=tuple(
        "word count parent_count translation probability parent_translation parent_probability agreement in_target "
        "kind".split()
    ),
    finding=kinds_finding,
)


def word_kinds(lists: pd.DataFrame) -> pd.DataFrame:
    """Count the words of each kind, with and without those that are also target words, from rows of `word_lists`.

    Returns:
        Two rows for each of `KINDS`: `words` (`all`, `not in the target text`); `kind`; `types` and `type_share`,
        `tokens` and `token_share`, of all words so named.
    """
    rows = []
    for name, some in (("all", lists), ("not in the target text", lists[~lists["in_target"]])):
        for kind in KINDS:
            counts = some.loc[some["kind"] == kind, "count"]
            tokens = counts.sum() / max(1, some["count"].sum())
            row = {"types": len(counts), "type_share": len(counts) / max(1, len(some))}
            rows.append({"words": name, "kind": kind, **row, "tokens": int(counts.sum()), "token_share": tokens})
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class _Text:
    """A training text in lower case: the counts of its source words, its target words, and their translations."""

    counts: Counter[str]
    target_words: set[str]
    translations: _Translations


def _read(words: Segmentation, corpus: ParallelCorpus, max_pairs: int, model: AlignmentModel) -> _Text:
    pairs = [(_lower(source), _lower(target)) for source, target in words.training_pairs(corpus)]
    counts = Counter(word for source, _ in pairs for word in source)
    target_words = most_frequent(Counter(word for _, target in pairs for word in target))
    aligned = list(sample(pairs, len(pairs), max_pairs))
    return _Text(counts, set(target_words), _translations(aligned, most_frequent(counts), target_words, model))


def _translations(
    pairs: Sequence[tuple[list[str], list[str]]], sources: list[str], targets: list[str], model: AlignmentModel
) -> _Translations:
    """Return the translations of each source word with their probabilities, the most probable first."""
    source_ids, target_ids = ({word: number for number, word in enumerate(side)} for side in (sources, targets))
    ids = [([source_ids[word] for word in s], [target_ids[word] for word in t]) for s, t in pairs]
    table = translation_table(ids, len(sources), model)
    return {
        word: [(targets[target], probability) for target, probability in table.top(number, len(targets))]
        for number, word in enumerate(sources)
    }


def _meanings(here: list[tuple[str, float]], there: list[tuple[str, float]]) -> _Meanings:
    other = dict(there)
    (translation, probability), (parent_translation, parent_probability) = (
        best[0] if best else ("", 0.0) for best in (here, there)
    )
    return {
        "translation": translation,
        "probability": probability,
        "parent_translation": parent_translation,
        "parent_probability": parent_probability,
        "agreement": sum(min(probability, other.get(word, 0.0)) for word, probability in here),
    }


def _kind(row: _Word, min_count: int, min_agreement: float) -> str:
    if not row["parent_count"]:
        return "only here"
    if not (row["translation"] and row["parent_translation"]):
        return "unclear"
    if row["translation"] == row["parent_translation"] or row["agreement"] >= min_agreement:
        return "shared"
    return "lookalike" if min(row["count"], row["parent_count"]) >= min_count else "unclear"


def _matrix(
    segmentation: str, corpora: Sequence[ParallelCorpus], counts: Sequence[Counter[str]]
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for (corpus, here), (other, there) in permutations(zip(corpora, counts, strict=True), 2):
        names = {"corpus": corpus.name, "language": corpus.source}
        names |= {"other_corpus": other.name, "other_language": other.source}
        rows.append({"segmentation": segmentation, **names, **shares(here, list(here), there.keys())})
    return rows


def _target_words(words: Segmentation, corpus: ParallelCorpus) -> set[str]:
    return {word.lower() for _, target in words.training_pairs(corpus) for word in target}


def _lower(words: list[str]) -> list[str]:
    # Python writes the small form of Turkish İ with a combining dot, which no other text has.
    return [word.replace("İ", "i").lower() for word in words]


def _check_target(corpora: Sequence[ParallelCorpus]) -> None:
    if len(corpora) < 2:
        raise CorpusError(f"shared words: {len(corpora)} corpus given", "give two or more")
    if len(targets := {corpus.target for corpus in corpora}) > 1:
        raise CorpusError(
            f"shared words: the target languages are {', '.join(sorted(targets))}",
            "give corpora into one target language",
        )
