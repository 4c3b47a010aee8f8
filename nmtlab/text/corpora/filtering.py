"""Filtering the training text of a corpus by rules, each with what it drops."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pandas as pd

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import (
    BLANK,
    COPIED,
    DUPLICATE,
    LANGUAGE,
    RATIO,
    SCRIPT,
    SIMILAR,
    TOO_LONG,
    Limits,
    Marks,
    digest,
    is_copied,
    is_in_other_script,
    rejection_reason,
)
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.corpora.corpus_builder import ImportReport, copy_held_out
from nmtlab.text.corpora.lines import is_blank, new_folder, write_pairs
from nmtlab.text.corpora.similar import Similar

Rule = Callable[[Pair], str]
"""Returns why a pair is dropped, or an empty string."""

IsOther = Callable[[str, str], bool]
"""Whether a sentence is surely in another language than that of a code."""

KEPT = ""

_EXAMPLES = 3


@dataclass(frozen=True)
class Filter:
    """Which training pairs are dropped, by the first of these rules that applies.

    Args:
        limits: drop pairs with a blank side, too long, or with too large a ratio of lengths.
        copies: drop pairs that are the same on both sides, whatever their case and white space.
        scripts: drop pairs with a side whose letters are mostly of another script than its language's.
        is_other: drop pairs with a side in another language; None to keep them. Duplicates come next.
        alike: drop pairs with a side that is `Similar`, to this Jaccard index, to a sentence of dev or test; 0 to keep
            them.
    """

    limits: Limits = Limits()
    copies: bool = True
    scripts: bool = True
    is_other: IsOther | None = None
    alike: float = 0.0

    @property
    def options(self) -> dict[str, object]:
        """The settings, for a report."""
        rules = {"copies": self.copies, "scripts": self.scripts, "languages": self.is_other is not None}
        return {**self.limits.options, **rules, "alike": self.alike}

    @property
    def reasons(self) -> list[str]:
        """The reasons why its rules drop pairs, in their order."""
        ratio, other = bool(self.limits.max_ratio), self.is_other is not None
        active = {BLANK: True, TOO_LONG: True, RATIO: ratio, COPIED: self.copies, SCRIPT: self.scripts}
        active |= {LANGUAGE: other, DUPLICATE: True, SIMILAR: bool(self.alike)}
        return [reason for reason, is_active in active.items() if is_active]

    @contextmanager
    def rules(self, corpus: ParallelCorpus) -> Iterator[list[Rule]]:
        """Yield the rules for a corpus, in order."""
        languages, is_other = corpus.direction, self.is_other
        rules: list[Rule] = [lambda pair: rejection_reason(pair, self.limits)]
        if self.copies:
            rules.append(lambda pair: COPIED * is_copied(pair))
        if self.scripts:
            rules.append(lambda pair: SCRIPT * any(map(is_in_other_script, pair, languages)))
        if is_other:
            rules.append(lambda pair: LANGUAGE * any(map(is_other, pair, languages)))
        with Marks() as seen:
            rules.append(lambda pair: DUPLICATE * (not seen.add(digest("\n".join(pair)))))
            if self.alike:
                splits = [split for split in corpus.splits if split != "train"]
                held_out = [
                    Similar(chain.from_iterable(corpus.lines(split, code) for split in splits), code, self.alike)
                    for code in languages
                ]
                rules.append(lambda pair: SIMILAR * any(map(Similar.has, held_out, pair)))
            yield rules


class Filtered:
    """What a filter read, by the reason why it was dropped, or `KEPT`.

    Args:
        limits: how the ratio of lengths is computed.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.pairs: Counter[str] = Counter()
        """reason -> number of pairs"""
        self.examples: dict[str, list[tuple[int, Pair]]] = defaultdict(list)
        """reason -> line numbers, from 1, and pairs: a few, chosen by a hash"""
        self.lengths: dict[str, Counter[float]] = defaultdict(Counter)
        """reason -> words of the longer side -> number of pairs"""
        self.ratios: dict[str, Counter[float]] = defaultdict(Counter)
        """reason -> ratio of the longer to the shorter side, in tenths -> number of pairs without a blank side"""

    def note(self, number: int, pair: Pair, reason: str) -> None:
        """Count a pair, the `number`-th one."""
        self.pairs[reason] += 1
        self.lengths[reason][max(len(side.split()) for side in pair)] += 1
        if not any(map(is_blank, pair)):
            self.ratios[reason][round(self._limits.ratio(pair), 1)] += 1
        if reason:
            examples = [*self.examples[reason], (number, pair)]
            self.examples[reason] = sorted(examples, key=lambda one: digest("\n".join(one[1])))[:_EXAMPLES]

    def table(self, reasons: Sequence[str]) -> pd.DataFrame:
        """Return a row for each reason, for what was kept, and for each further example of a reason.

        Returns:
            Columns: `rule`, `pairs` and `share` (0 to 1), empty or NaN in rows of further examples; `line`, `source`
            and `target` of the example, NaN or empty without one.
        """
        rows: list[tuple[str, float, float, float, str, str]] = []
        counts: tuple[str, float, float]
        for reason in [*reasons, KEPT]:
            examples: list[tuple[float, Pair]] = [*self.examples.get(reason, ())]
            counts = (reason or "kept", self.pairs[reason], self.pairs[reason] / self.pairs.total())
            for line, (source, target) in examples or [(math.nan, ("", ""))]:
                rows.append((*counts, line, source, target))
                counts = ("", math.nan, math.nan)
        return pd.DataFrame(rows, columns=["rule", "pairs", "share", "line", "source", "target"])


def filtered(corpus: ParallelCorpus, chosen: Filter, found: Filtered) -> Iterator[Pair]:
    """Yield the training pairs that a filter keeps, and note all of them in `found`."""
    with chosen.rules(corpus) as rules:
        for number, pair in enumerate(corpus.pairs("train"), start=1):
            reason = next((reason for rule in rules if (reason := rule(pair))), KEPT)
            found.note(number, pair, reason)
            if not reason:
                yield pair


def filter_corpus(folder: Path | str, corpus: ParallelCorpus, chosen: Filter, found: Filtered) -> ImportReport:
    """Write the corpus `folder` atomically: the training pairs that a filter keeps, dev and test as they are.

    Gold data of dev and test is copied with them.

    Args:
        folder: must not exist.
        corpus: with training text.
        chosen: the rules.
        found: gets what they did.

    Raises:
        CorpusError: `folder` exists, no pair is kept, or the corpus cannot be read.
    """
    report = ImportReport("filter", {"corpus": corpus.name}, *corpus.direction, chosen.options)
    report.inherit(corpus)
    with new_folder(folder) as temporary:
        source, target = (temporary / f"train.{code}" for code in corpus.direction)
        kept = write_pairs(source, target, filtered(corpus, chosen, found))
        if not kept:
            raise CorpusError(
                f"corpus {corpus.name!r}: all {found.pairs.total():,} training pairs would be dropped, "
                f"most as {found.pairs.most_common(1)[0][0]!r}",
                "look at them with --dry-run, and turn off a rule",
            )
        report.kept = {"train": kept, **copy_held_out(corpus, temporary)}
        report.dropped["train"] = Counter({reason: number for reason, number in found.pairs.items() if reason})
        report.save(temporary)
    return report
