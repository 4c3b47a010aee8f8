"""How well does a system choose its words, and what decides the choice? Thesis 3.2.6 in one table of numbers."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Better, Metric
from nmtlab.analysis.access.needs import ATTENDS, COUNTS, Need, in_direction
from nmtlab.analysis.access.reference_links import reference_links
from nmtlab.analysis.access.word_pairs import WordPair, forced_attention, word_pairs
from nmtlab.analysis.attention.shift import attention_shift, error_by_line
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.analysis.lexical.embedding_norms import norm_correlations, word_norms
from nmtlab.analysis.lexical.gold import has_gold
from nmtlab.analysis.lexical.lexicon import gold_translations, precision, system_translations
from nmtlab.analysis.lexical.rare_words import word_counts_by_line
from nmtlab.figures.words import listed
from nmtlab.models.interface import WORD_TERMS
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import check_has_model, open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import Link

_COLUMNS = {
    "line": int, "target_position": int, "target_words": str, "source_position": int, "source_word": str,
    "linked": bool, "correct": bool, "same": bool,
}  # fmt: skip


def reference_unknowns(
    run: Run,
    corpus: ParallelCorpus,
    split: str,
    links: Sequence[Collection[Link]],
    limit: int | None = None,
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda pairs: None,
) -> pd.DataFrame:
    """Return what would be copied for each reference word that a system cannot generate.

    Args:
        links: word links of each pair of the split, as from `gold_links` or a word aligner.
        limit: number of pairs to use, from the first; all if not given.

    Returns:
        A row for each such word: `run`; `line`, from 1; `target_position` in the reference and `target_words`, the word
        there; `source_position` and `source_word`, chosen by attention; `linked`, whether the reference word has a
        link; `correct`, whether it is linked to the chosen word; `same`, whether both words are spelled alike, so that
        the copy matches the reference.

    Raises:
        CorpusError: no such split, other languages, or links that do not belong to it.
    """
    check_has_model(run)
    run = in_direction(run, corpus)
    pairs = [pair for pair in word_pairs(run, corpus, split, links, limit) if pair.unknown.any()]
    weights = forced_attention(open_model(run, machine=machine), pairs, on_progress)
    rows = (row for pair, matrix in zip(pairs, weights, strict=True) for row in in_reference(pair, matrix))
    return _frame(run, rows)


def in_reference(pair: WordPair, weights: np.ndarray) -> Iterator[dict[str, Any]]:
    """Yield the rows of `reference_unknowns` for one pair and the attention in it, (target words, source words)."""
    for j in np.flatnonzero(pair.unknown).tolist():
        i = int(weights[j].argmax())
        word, copied = pair.target_words[j], pair.source_words[i]
        yield {
            "line": pair.line,
            "target_position": j,
            "target_words": word,
            "source_position": i,
            "source_word": copied,
            "linked": any(t == j for _, t in pair.links),
            "correct": (i, j) in pair.links,
            "same": word == copied,
        }


def _frame(run: Run, rows: Iterator[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)
    frame.insert(0, "run", run.label)
    return frame


RARE = 10
"""A word is rare if its training count is below this."""

_OF_TRANSLATIONS = ("rare recall", "frequent recall")
_OF_ATTENTION = ("left shift", "alignment error", "right copies")

Quantity = tuple[str, float, int]


def lexical_choice(run: Run, corpus: ParallelCorpus, part: str = "test") -> pd.DataFrame:
    """Return the measures of a run's lexical choice, one number each.

    Links between words are those of `reference_links`.

    Args:
        run: any; for a phrase-based one, only its translations are measured.
        corpus: in its languages, with its training text.

    Returns:
        A row for each `quantity` that applies to the run and has any items: its `value`, and `count`, the number of
        items measured (of the alignment error: the peaks and the links):

        - `rare recall`, `frequent recall`: share of the reference words that are translated, among those with training
          counts of 1 to 9 and of 10 or more (3.2.6.2);
        - `norm-frequency`: rank correlation of ‖W_e‖, as used in the logit, with frequency (Figure 3.2);
        - `norm decides`: share of the wrong choices at rare words in which ‖W_e‖ had the largest effect (3.2.1);
        - `left shift`: how many words to the left of the linked word the attention peak is, mean (Figure 3.3);
        - `alignment error`: AER of the attention peaks, 0 to 1;
        - `right copies`: share of the words that it cannot generate for which it would copy the linked word (3.2.6.3);
        - `lexicon precision`: share of source types whose first translation in the lexical module is right
          (Table 3.9), for artificial languages.

    Raises:
        CorpusError: no such split, no training text, or other languages.
    """
    run = in_direction(run, corpus)
    sums = LEXICAL_SUMS.of(run, corpus=corpus, part=part).groupby("quantity")[["amount", "of"]].sum()
    quantities = list(_ratios(sums, _OF_TRANSLATIONS))
    if run.recipe.model.neural:
        quantities += [*_norms(run, sums), *_ratios(sums, _OF_ATTENTION), *_lexicon(run, corpus)]
    return pd.DataFrame(quantities, columns=["quantity", "value", "count"])


FREE_NORMS = Need(
    "fixed norms",
    "the norms of its word vectors are fixed",
    "choose a run without fixnorm",
    lambda run: not run.recipe.model.fixnorm,
)


def _quantity(quantity: str, better: Better = "higher", needs: tuple[Need, ...] = ()) -> Metric:
    """Return a number of `lexical_choice`; what sentences add to it, if it is a ratio, is in `lexical_sums`."""
    return Metric(
        quantity.replace(" ", "-"),
        quantity,
        "ratio",
        better=better,
        needs=needs,
        read=lambda found: dict(zip(found["quantity"], found["value"], strict=True)).get(quantity, math.nan),
        stored=lambda run, corpus: LEXICAL_SUMS.stored(run, corpus=corpus),
        amount="amount",
        of="of",
        where=("quantity", quantity),
    )


def choice_finding(found: pd.DataFrame) -> str:
    """Return how many rare and frequent words each run translates, from rows of `lexical_choice` with `run`."""
    table = found.pivot(index="run", columns="quantity", values="value") if len(found) else pd.DataFrame()
    if not {*_OF_TRANSLATIONS} <= {*table.columns}:
        return ""
    shares = (100 * table.loc[found["run"].unique(), list(_OF_TRANSLATIONS)]).dropna().itertuples()
    said = [f"{run} {rare:.0f} % of rare words and {frequent:.0f} % of others" for run, rare, frequent in shares]
    return f"Translated right: {listed(said, '; ')}." if said else ""


LEXICAL_CHOICE = Analysis(
    "How well does a run choose words: rare ones, names, copies?",
    lexical_choice,
    source="thesis 3.2.6",
    needs=(COUNTS,),
    version=1,
    columns=("quantity", "value", "count"),
    finding=choice_finding,
    metrics=(
        _quantity("rare recall"),
        Metric(
            "norm-frequency",
            "norm-frequency",
            better="zero",
            needs=(FREE_NORMS,),
            read=_quantity("norm-frequency").read,
        ),
        _quantity("norm decides", "lower", (FREE_NORMS,)),
        _quantity("left shift", "zero", (ATTENDS,)),
        _quantity("alignment error", "lower", (ATTENDS,)),
        _quantity("right copies", needs=(ATTENDS,)),
        Metric("lexicon-precision", "lexicon precision", read=_quantity("lexicon precision").read),
    ),
)


def lexical_sums(run: Run, corpus: ParallelCorpus, part: str = "test") -> pd.DataFrame:
    """Return what each sentence adds to those numbers of `lexical_choice` that are ratios of two sums.

    Args:
        run, corpus, part: as for `lexical_choice`.

    Returns:
        A row for each `quantity` and `line`, from 1, that has any of its items: `amount`, what it adds to the
        numerator, such as the rare words that are translated, and `of`, what it adds to the denominator, such as the
        rare words.

    Raises:
        CorpusError: no such split, no training text, or other languages.
    """
    run = in_direction(run, corpus)
    found = _translated(run, corpus, part)
    if run.recipe.model.neural:
        found |= _decided(run, corpus, part)
    if run.recipe.model.neural and run.recipe.model.attends:
        found |= _attended(run, corpus, part)
    frames = [sums[sums["of"] > 0].reset_index().assign(quantity=name) for name, sums in found.items()]
    return pd.concat(frames, ignore_index=True)[["quantity", "line", "amount", "of"]].astype({"amount": int, "of": int})


LEXICAL_SUMS = Analysis(
    "What does each sentence add to the ratios of lexical choice?",
    lexical_sums,
    source="thesis 3.2.6",
    needs=(COUNTS,),
    version=1,
    columns=("quantity", "line", "amount", "of"),
)


def _translated(run: Run, corpus: ParallelCorpus, split: str) -> dict[str, pd.DataFrame]:
    counted = word_counts_by_line(run, corpus, split, edges=(0, 1, RARE))
    buckets = list(counted.groupby("frequency", sort=False))[1:]
    return {
        name: _sums(bucket, bucket["matched"], bucket["words"])
        for name, (_, bucket) in zip(_OF_TRANSLATIONS, buckets, strict=True)
    }


def _decided(run: Run, corpus: ParallelCorpus, split: str) -> dict[str, pd.DataFrame]:
    choices = rare_choices(run, corpus, split, below=RARE)
    wrong = choices[~choices["right"]]
    return {"norm decides": _sums(wrong, wrong["largest"].isin([f"{name}_norm" for name in WORD_TERMS]))}


def _attended(run: Run, corpus: ParallelCorpus, split: str) -> dict[str, pd.DataFrame]:
    links = reference_links(run.pipeline, corpus, split)
    shifts = attention_shift(run, corpus, split, links)
    linked, unknowns = shifts.dropna(subset="shift"), reference_unknowns(run, corpus, split, links).query("linked")
    return {
        "left shift": _sums(linked, linked["shift"]),
        "alignment error": error_by_line(shifts, links),
        "right copies": _sums(unknowns, unknowns["correct"]),
    }


def _sums(items: pd.DataFrame, amount: pd.Series, of: pd.Series | int = 1) -> pd.DataFrame:
    """Return `amount` and `of` summed over the items of each line."""
    return items[["line"]].assign(amount=amount.astype(int), of=of).groupby("line").sum()


def _ratios(sums: pd.DataFrame, names: Iterable[str]) -> Iterator[Quantity]:
    for name in names:
        if name in sums.index:
            yield name, sums.loc[name, "amount"] / sums.loc[name, "of"], int(sums.loc[name, "of"])


def _norms(run: Run, sums: pd.DataFrame) -> Iterator[Quantity]:
    correlations = norm_correlations(word_norms(run)).set_index("quantity")
    yield "norm-frequency", *correlations.loc["used_norm", ["spearman", "words"]]
    yield from _ratios(sums, ["norm decides"])


def _lexicon(run: Run, corpus: ParallelCorpus) -> Iterator[Quantity]:
    if not (run.recipe.model.lexical_module and has_gold(corpus)):
        return
    judged = precision(system_translations(run), gold_translations(corpus, run.pipeline)).set_index("frequency")
    yield "lexicon precision", *judged.loc["all", ["precision_at_1", "types"]]
