"""Which lines of a text to train on: those most like other text, or those that one or two runs find likely."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmtlab.errors import CorpusError, RunError
from nmtlab.language_model import NgramModel
from nmtlab.languages import is_without_spaces
from nmtlab.reading import read_json, reading
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.corpora.cleaning import BLANK, BLANK_LINE
from nmtlab.text.corpora.corpus import Direction, Pair, ParallelCorpus
from nmtlab.text.corpora.corpus_builder import MONOLINGUAL, REPORT, ImportReport, copy_held_out
from nmtlab.text.corpora.lines import is_blank, new_folder, write_lines, write_pairs
from nmtlab.text.corpora.monolingual import MonolingualCorpus, sampled
from nmtlab.text.segmentation.tokenizers import Words, plain
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace

DIFFERENCE = "cross-entropy difference"
DUAL = "dual conditional cross-entropy"
CONDITIONAL = "conditional cross-entropy"
NOT_SELECTED = "not selected"
COSTS = "costs.npy"
"""File in the folder of selected text: the costs of all lines, also of those that were not selected."""

_ORDER = 3
"""Tokens of the longest n-gram of the language models."""
_FEW_LINES = 50
"""Fewer lines than these are a poor language model."""
_LINES_AT_ONCE = 4096
"""Pairs that are scored before the next are read: they are sorted by length, and all held in memory."""

Text = MonolingualCorpus | ParallelCorpus
Progress = Callable[[int], None]
"""Is called with the number of lines just scored."""


class Costs(NamedTuple):
    """The cost of each line of a text, and where it is from.

    Args:
        values: (lines,) in nats per token; the lines with the lowest ones are the best. NaN for a line without words.
        by: `DIFFERENCE`, `DUAL` or `CONDITIONAL`.
        origin: what they were computed with, for a report.
    """

    values: np.ndarray
    by: str
    origin: Mapping[str, object]


def languages_of(text: Text) -> tuple[str, ...]:
    """Return the codes of the languages of a text: one, or source and target."""
    return (text.language,) if isinstance(text, MonolingualCorpus) else text.direction


def lines_of(text: Text) -> int:
    """Return the number of lines or training pairs of a text; raises as its `count`."""
    return text.count() if isinstance(text, MonolingualCorpus) else text.count("train")


def cross_entropy_differences(
    text: Text, like: Sequence[MonolingualCorpus], seed: int = 1, on_progress: Progress = lambda lines: None
) -> Costs:
    """Return how much less likely each line is in a domain than in general (Moore and Lewis 2010).

    The cost is H_in - H_general by two trigram models with the words that occur twice in the domain, `<unk>` for all
    others. Both are of equally many lines: those of the domain, or as many of them as half of the text has, and lines
    of the text, drawn at random. The general one would find likely what it was learned on: these lines are scored by a
    third model, of other lines. Words have no case; in a language written without spaces they are letters. Of pairs,
    the differences of both sides are added (Axelrod et al. 2011), and those with a blank side have no cost.

    Args:
        text: lines, or the training pairs of a corpus; streamed.
        like: text of the domain in each language that counts.
        seed: of the draw of lines.
        on_progress: called for each language.

    Raises:
        CorpusError: a domain is in another language than the text, or has too few words; or a text cannot be read, or
            has one line.
    """
    languages, total = languages_of(text), lines_of(text)
    if total < 2:
        raise CorpusError(f"text {text.name}: has a single line", "give more text")
    for one in like:
        if one.language not in languages:
            raise CorpusError(
                f"text {one.name}: in {one.language}, but {text.name} is in {' and '.join(languages)}",
                f"name text in {' or '.join(languages)}",
            )
    sides = [MonolingualCorpus(text.folder, one.language) for one in like]
    differences = [_differences(side, total, one, seed, on_progress) for side, one in zip(sides, like, strict=True)]
    costs = np.sum(differences, axis=0)
    if isinstance(text, ParallelCorpus):
        costs[[any(map(is_blank, pair)) for pair in text.pairs("train")]] = np.nan
    domains = [{"text": one.name, "language": one.language, "checksum": one.checksum()} for one in like]
    return Costs(costs, DIFFERENCE, {"like": domains, "order": _ORDER, "seed": seed})


def _differences(
    text: MonolingualCorpus, total: int, like: MonolingualCorpus, seed: int, on_progress: Progress
) -> np.ndarray:
    tokens = _tokenizer(text.language)
    vocabulary = _vocabulary(like, tokens)
    if (size := like.count()) < _FEW_LINES:
        warnings.warn(f"text {like.name}: {size:,} lines are few to learn its domain from", stacklevel=3)

    def model(lines: Iterable[str]) -> NgramModel:
        return NgramModel.learn(filter(None, map(tokens, lines)), _ORDER, vocabulary)

    number = min(size, total // 2)
    inside = model(compress(like.lines(), _drawn(size, number, seed, part=2)))
    draws = [_drawn(total, number, seed, part) for part in (0, 1)]
    general = [model(compress(text.lines(), drawn)) for drawn in draws]
    found = np.full(total, np.nan)
    for place, words in enumerate(map(tokens, text.lines())):
        if words:
            found[place] = inside.cross_entropy(words) - general[draws[0][place]].cross_entropy(words)
        on_progress(1)
    return found


def _tokenizer(language: str) -> Callable[[str], list[str]]:
    """Return what splits a line into words without case."""
    if is_without_spaces(language):
        return lambda line: list(plain(line).casefold().replace(" ", ""))
    words = Words(language)
    return lambda line: [word.casefold() for word in words.split(line)]


def _vocabulary(text: MonolingualCorpus, tokens: Callable[[str], list[str]]) -> list[str]:
    """Return the words of a text that occur more than once."""
    counts: Counter[str] = Counter()
    for line in text.lines():
        counts.update(tokens(line))
    found = [word for word, count in counts.items() if count > 1]
    if not found:
        raise CorpusError(f"text {text.name}: no word occurs twice", "give more text of the domain")
    return found


def _drawn(total: int, size: int, seed: int, part: int) -> list[bool]:
    """Return which of all lines are in a draw."""
    chosen = np.zeros(total, dtype=bool)
    chosen[list(sampled(range(total), total, size, seed, part))] = True
    return chosen.tolist()


def costs_by_runs(
    corpus: ParallelCorpus,
    forward: Run,
    backward: Run | None = None,
    machine: MachineSettings | None = None,
    on_progress: Progress = lambda lines: None,
) -> Costs:
    """Return how unlikely a run finds each training pair; of two, of opposite directions, also how much they disagree.

    The cost by one run is H_A, the cross-entropy of the target given the source. By two, it is
    |H_A - H_B| + (H_A + H_B) / 2, with H_B of the source given the target; exp(-cost) is the weight of
    Junczys-Dowmunt (2018).

    Args:
        corpus: with training pairs, which are streamed.
        forward: with weights; translates from source to target.
        backward: with weights; translates from target to source; None for the cost by one run.
        machine: where to compute, as of `open_model`.
        on_progress: called for each part of the text.

    Raises:
        RunError: a run does not translate in its direction, reads more than a sentence, is phrase-based, or has no
            weights.
        CorpusError: the corpus cannot be read.
    """
    forth = _scorer(forward, corpus.direction, machine)
    back = _scorer(backward, corpus.direction[::-1], machine) if backward else None
    parts = []
    for sources, targets in _in_parts(corpus.pairs("train")):
        costs = conditional_cross_entropies(forth, sources, targets)
        if back:
            other = conditional_cross_entropies(back, targets, sources)
            costs = np.abs(costs - other) + (costs + other) / 2
        parts.append(costs)
        on_progress(len(sources))
    origin = {"run": forward.name, "weights": forward.checkpoints.original_digest}
    if backward:
        origin |= {"back": backward.name, "back_weights": backward.checkpoints.original_digest}
    return Costs(np.concatenate(parts), DUAL if backward else CONDITIONAL, origin)


def _scorer(run: Run, direction: Direction, machine: MachineSettings | None) -> Translator:
    """Return a run's model for pairs in a direction; raises if it does not score them."""
    if not run.translates(*direction):
        known = ", ".join(f"{source} to {target}" for source, target in run.directions)
        problem = f"run {run.name!r}: translates {known}, not {' to '.join(direction)}"
        raise RunError(problem, "choose runs in the languages of the corpus, a second one of the opposite direction")
    if run.recipe.text.context or run.recipe.corpus.also_sources:
        raise RunError(f"run {run.name!r}: reads more than a sentence", "choose a run of one source, without context")
    return open_model(run.directed(*direction), machine=machine)


def conditional_cross_entropies(system: Translator, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
    """Return the cross-entropy of each target given its source, in nats per token with EOS; NaN if a side is blank."""
    pairs = list(zip(system.pipeline.encode_source(sources), system.pipeline.encode_target(targets), strict=True))
    filled = [place for place, pair in enumerate(pairs) if min(map(len, pair)) > 1]
    found = np.full(len(pairs), np.nan)
    given, wanted = ([pairs[place][side] for place in filled] for side in (0, 1))
    for index, forced in forced_decode_all(system.model, given, wanted, record=False):
        found[filled[index]] = -forced.log_prob / len(forced.log_probs)
    return found


def _in_parts(pairs: Iterator[Pair]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield the sources and targets of pairs, a part of the text at a time."""
    while together := list(islice(pairs, _LINES_AT_ONCE)):
        sources, targets = zip(*together, strict=True)
        yield sources, targets


def number_kept(keep: float, lines: int) -> int:
    """Return how many of some lines are kept.

    Args:
        keep: share of the lines if below 1, else their number.
        lines: their number.

    Raises:
        CorpusError: `keep` is neither, is less than a line, or more than there are.
    """
    if not 0 < keep < np.inf or (keep > 1 and keep != int(keep)):
        raise CorpusError(f"keep is {keep:g}", "give a share above 0 and below 1, or a whole number of lines")
    number = round(keep * lines) if keep < 1 else int(keep)
    if not number:
        raise CorpusError(f"a share of {keep:g} of {lines:,} lines is less than a line", "raise --keep")
    if number > lines:
        raise CorpusError(f"{number:,} lines wanted, {lines:,} there", "lower --keep")
    return number


def best(costs: np.ndarray, keep: float) -> np.ndarray:
    """Return which lines have the lowest costs, (lines,) of Boolean; of equal ones, the first.

    Args:
        costs: of each line; one with NaN is never chosen, and does not count.
        keep: as of `number_kept`, which may raise.
    """
    order = ranked(costs)
    chosen = np.zeros(len(costs), dtype=bool)
    chosen[order[: number_kept(keep, len(order))]] = True
    return chosen


def ranked(costs: np.ndarray) -> np.ndarray:
    """Return the places of the lines from the lowest to the highest cost, without those of NaN; equal ones in order."""
    return np.argsort(costs, kind="stable")[: np.isfinite(costs).sum()]


def select(folder: Path | str, text: Text, costs: Costs, keep: float) -> ImportReport:
    """Write the corpus `folder` atomically: the best lines of a text in their order; of a corpus also dev and test.

    Args:
        folder: must not exist.
        text: as scored; streamed.
        costs: of its lines.
        keep: as of `number_kept`.

    Raises:
        CorpusError: `folder` exists, or as `number_kept`.
    """
    chosen = best(costs.values, keep)
    report = _report(text, costs)
    with new_folder(folder) as temporary:
        if isinstance(text, ParallelCorpus):
            source, target = (temporary / f"train.{code}" for code in text.direction)
            kept = write_pairs(source, target, compress(text.pairs("train"), chosen))
            report.kept = {"train": kept, **copy_held_out(text, temporary)}
        else:
            report.kept = {"train": write_lines(temporary / f"train.{text.language}", compress(text.lines(), chosen))}
        blank = int(np.isnan(costs.values).sum())
        reason = BLANK if report.target else BLANK_LINE
        report.dropped["train"] += Counter({NOT_SELECTED: int((~chosen).sum()) - blank, reason: blank})
        report.options = {"by": costs.by, "keep": keep, "highest": float(costs.values[chosen].max())}
        np.save(temporary / COSTS, costs.values)
        report.save(temporary)
    return report


def stored_costs(folder: Path) -> Costs:
    """Return the costs by which the lines of a corpus were selected.

    Raises:
        RunError: they are missing or damaged.
    """
    remedy = "select its lines again"
    report = read_json(folder / REPORT, dict, remedy)
    with reading(folder / COSTS, remedy):
        return Costs(np.load(folder / COSTS, allow_pickle=False), report["options"]["by"], report["origin"])


def selected_from(folder: Path, workspace: Workspace) -> Text | None:
    """Return the text whose lines were selected into a corpus; None if it is not here as it was."""
    report = read_json(folder / REPORT, dict, "select its lines again")
    origin = report["origin"]
    with suppress(CorpusError):
        if "text" in origin:
            text: Text = MonolingualCorpus(workspace.corpus_folder(origin["text"]), report["source"])
        else:
            folder = workspace.corpus_folder(origin["corpus"])
            text = ParallelCorpus.open(folder, report["source"], report["target"])
        return text if text.checksum() == origin["checksum"] else None
    return None


def _report(text: Text, costs: Costs) -> ImportReport:
    """Return the report of a selection, without what it kept."""
    origin = {"checksum": text.checksum(), **costs.origin}
    if isinstance(text, MonolingualCorpus):
        return ImportReport(MONOLINGUAL, {"text": text.name, "language": text.language, **origin}, text.language, "")
    report = ImportReport("select", {"corpus": text.name, **origin}, *text.direction)
    report.inherit(text)
    return report
