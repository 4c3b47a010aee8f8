"""The stored translations of runs as a comparison: runs that differ in their seed alone are one system."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nmtlab.analysis.access.texts import MOST, Text
from nmtlab.analysis.access.translations import stored_translations, translations_by_text
from nmtlab.analysis.comparison.compared import Compared, Frequency, Given
from nmtlab.analysis.comparison.files import ScoredText, frequency_in, text_of_split
from nmtlab.analysis.lexical.gold import gold_names
from nmtlab.analysis.lexical.rare_words import training_counts
from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe import Recipe, TextSettings
from nmtlab.runs.naming import short_names
from nmtlab.runs.pack import packed_lines
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import Words

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


def sampled_translations(run: Run, text: Text) -> list[str] | None:
    """Return a run's stored translations of a text, None if there are none.

    Those of sentences that were packed with another run may also be in its translations of their whole text. That text
    is the one whose translations by the run with the sentences hold its translations of the sentences.
    """
    found = stored_translations(run, text.corpus, text.split)
    if found is not None or not text.packed or not run.translates(*text.corpus.direction):
        return found
    owner, numbers = Run(text.corpus.folder.parent), packed_lines(text.corpus)
    own = stored_translations(owner, text.corpus, text.split)
    by_run = translations_by_text(run.directed(*text.corpus.direction), text.split)
    for digest, lines in translations_by_text(owner.directed(*text.corpus.direction), text.split).items():
        if digest in by_run and _at(lines, numbers) == own:
            return _at(by_run[digest], numbers)
    return None


def _at(lines: Sequence[str], numbers: Sequence[int]) -> list[str] | None:
    """Return lines by their numbers, from 1; None if there are not so many."""
    return [lines[number - 1] for number in numbers] if max(numbers, default=0) <= len(lines) else None


def stored_comparison(runs: Sequence[Run], text: Text) -> Compared:
    """Return the stored translations of a text by several runs.

    Args:
        runs: that translate in the text's direction; those without stored translations of it are left out.

    Raises:
        RunError: no run has stored translations of this text.
    """
    systems: dict[str, list[list[str]]] = {}
    for name, group in seeds_of(runs).items():
        found = [sampled_translations(run, text) for run in group]
        if seeds := [lines[:MOST] for lines in found if lines is not None]:
            systems[name] = seeds
    if not systems:
        raise RunError(
            f"no translations of {text.name} are stored with these runs",
            "translate it with 'nmtlab translate' or 'nmtlab compare'",
        )
    whole = text_of_split(text.corpus, text.split)
    sample = whole._replace(source=whole.source[:MOST], references=[lines[:MOST] for lines in whole.references])
    return _compared(systems, sample, text.corpus, runs)


def compared_lines(
    lines: Mapping[str, Sequence[str]],
    runs: Mapping[str, Run],
    text: ScoredText,
    corpus: ParallelCorpus | None = None,
    given: Sequence[Given] = (),
) -> Compared:
    """Return translations of a text, by runs or made elsewhere.

    Args:
        lines: by name: of a run, or of a file, which is shortened to its last part where that is clear.
        runs: those that made some of them, by name.
        corpus: that the text is from; without one, words are counted in the references.
        given: scores of the sentences of each name.
    """
    systems = _systems(list(lines), runs)
    made = {system: [lines[name] for name in names] for system, names in systems.items()}
    grouped = [
        one._replace(of={system: [one.of[name][0] for name in names] for system, names in systems.items()})
        for one in given
    ]
    if corpus:
        return replace(_compared(made, text, corpus, list(runs.values())), given=grouped)
    name = "the reference" if len(text.references) == 1 else "the references"
    seen = frequency_in([line for set_ in text.references for line in set_], text.languages[1], name)
    return Compared(text.source, text.references, made, text.languages, seen=seen, given=grouped)


def _systems(names: Sequence[str], runs: Mapping[str, Run]) -> dict[str, list[str]]:
    """Return systems, each with the names of its runs or of its file."""
    labels = {run.name: system for system, seeds in seeds_of(list(runs.values())).items() for run in seeds}
    files = Counter(Path(name).name for name in names if name not in runs)
    systems: dict[str, list[str]] = {}
    for name in names:
        short = Path(name).name
        alone = files[short] == 1 and short not in labels.values()
        system = labels[runs[name].name] if name in runs else short if alone else name
        systems.setdefault(system, []).append(name)
    return systems


def _compared(
    systems: Mapping[str, Sequence[Sequence[str]]], text: ScoredText, corpus: ParallelCorpus, runs: Sequence[Run]
) -> Compared:
    longest = max((run.recipe.text.max_words for run in runs), default=TextSettings().max_words)
    counts, names = word_counts(corpus, longest), known_names(corpus)
    return Compared(text.source, text.references, systems, text.languages, counts, names, vocabulary_frequency(runs))


def vocabulary_frequency(runs: Sequence[Run]) -> Frequency | None:
    """Return how often words were seen by the vocabulary of a run, one of words if there is one.

    The count of a word that is split is that of its rarest piece, which is no less than its own. Words that the
    vocabulary leaves out count as 0.
    """
    known = [run for run in runs if run.recipe.model.neural and run.pipeline.counts_known]
    run = next((run for run in known if isinstance(run.pipeline.target.tokenizer, Words)), next(iter(known), None))
    if run is None:
        return None
    side = run.pipeline.target
    counts = dict(zip(side.vocabulary.types, side.counts.tolist(), strict=True))
    by_words = isinstance(side.tokenizer, Words)
    return Frequency(
        "training frequency" if by_words else "count of the rarest subword",
        lambda word: min((counts.get(piece, 0) for piece in side.tokenizer.split(word)), default=0),
        f"The training text is not here: counts are those of the vocabulary of {run.label}"
        + (", words that it lacks count as 0." if by_words else ", for a word that of its rarest subword."),
    )


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
