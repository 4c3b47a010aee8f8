"""The stored translations of runs as a comparison: runs that differ in their seed alone are one system."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from nmtlab.analysis.access.texts import MOST, Text
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.lexical.gold import gold_names
from nmtlab.analysis.lexical.rare_words import training_counts
from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe import Recipe, TextSettings
from nmtlab.runs.naming import short_names
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

_SEED = re.compile(r"[.]s[0-9]+$")
"""The end of the names of runs that `nmtlab reproduce` makes."""


def seeds_of(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return runs by system: those whose recipes differ in the seed alone (theirs or the parent's) are one.

    The names of systems are short (`short_names`).
    """
    groups: list[list[Run]] = []
    for run in runs:
        alike = next((group for group in groups if _seedless(group[0]) == _seedless(run)), None)
        if alike is None:
            groups.append([run])
        else:
            alike.append(run)
    names = short_names([group[0] for group in groups], {group[0].name for group in groups if len(group) > 1})
    return {_with_seeds(names[group[0].name], group): group for group in groups}


def stored_comparison(runs: Sequence[Run], text: Text, most: int = MOST) -> Compared:
    """Return the stored translations of a text by several runs.

    Args:
        runs: that translate in the text's direction; those without stored translations of it are left out.

    Raises:
        RunError: no run has stored translations of this text.
    """
    systems: dict[str, list[Sequence[str]]] = {}
    for name, group in seeds_of(runs).items():
        found = [stored_translations(run, text.corpus, text.split) for run in group]
        if seeds := [lines[:most] for lines in found if lines is not None]:
            systems[name] = seeds
    if not systems:
        raise RunError(
            f"no translations of {text.name} are stored with these runs",
            "translate it with 'nmtlab translate' or 'nmtlab compare'",
        )
    return _compared(systems, text.corpus, text.split, runs[0].recipe.text.max_words, most)


def compared_lines(
    lines: Mapping[str, Sequence[str]], runs: Mapping[str, Run], corpus: ParallelCorpus, split: str
) -> Compared:
    """Return translations of a split, by runs or made elsewhere.

    Args:
        lines: by name: of a run, or of a file, which is shortened to its last part where that is clear.
        runs: those that made some of them, by name.
        corpus: the text.
        split: train, dev or test.
    """
    labels = {run.name: system for system, seeds in seeds_of(list(runs.values())).items() for run in seeds}
    files = Counter(Path(name).name for name in lines if name not in runs)
    systems: dict[str, list[Sequence[str]]] = {}
    for name, translated in lines.items():
        short = Path(name).name
        alone = files[short] == 1 and short not in labels.values()
        system = labels[runs[name].name] if name in runs else short if alone else name
        systems.setdefault(system, []).append(translated)
    longest = max((run.recipe.text.max_words for run in runs.values()), default=TextSettings().max_words)
    return _compared(systems, corpus, split, longest)


def _compared(
    systems: dict[str, list[Sequence[str]]], corpus: ParallelCorpus, split: str, longest: int, most: int | None = None
) -> Compared:
    source = list(corpus.lines(split, corpus.source))[:most]
    references = [list(lines)[:most] for lines in corpus.references(split)]
    return Compared(source, references, systems, corpus.direction, word_counts(corpus, longest), known_names(corpus))


def word_counts(corpus: ParallelCorpus, max_words: int) -> Counter[str]:
    """Return the word counts of the target side of a corpus' training text; empty if it is not here."""
    try:
        return training_counts(corpus, max_words)
    except CorpusError:
        return Counter()


def known_names(corpus: ParallelCorpus) -> frozenset[str]:
    """Return the target words that are names in an artificial language; empty for any other corpus."""
    try:
        return frozenset(gold_names(corpus)["target"])
    except CorpusError:
        return frozenset()


def _seedless(run: Run) -> Recipe:
    return run.recipe.with_changes({"training.seed": 1, "transfer.parent": _SEED.sub("", run.recipe.transfer.parent)})


def _with_seeds(name: str, group: Sequence[Run]) -> str:
    return name if len(group) == 1 else f"{_SEED.sub('', name)} ({len(group)} seeds)"
