"""Corpora of several languages into one, joined line by line: multi-parallel text, with a direction for any two."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import DUPLICATE, Limits, digest, rejection_reason, sentence_digests, without_leaks
from nmtlab.text.corpora.concatenation import SURPLUS, UNCOMMON, sizes
from nmtlab.text.corpora.corpus import SPLITS, Pair, ParallelCorpus
from nmtlab.text.corpora.corpus_builder import ImportReport
from nmtlab.text.corpora.lines import MAX_WORDS, new_folder, write_lines

Line = tuple[str, ...]
"""A sentence in each language, in the order of the corpora, the common one last."""


def join_languages(
    folder: Path | str,
    parts: Sequence[ParallelCorpus],
    most: Mapping[str, int] | None = None,
    allow_missing: bool = False,
) -> ImportReport:
    """Write the corpus `folder` atomically: the sentences whose target side all parts have, in every language.

    Line n means the same in all files, so that `ParallelCorpus.open(folder, "gl", "pt")` is a direction that no part
    has. Target sentences are compared verbatim, test with test, dev with dev and train with train, in the order of the
    first part. Of several translations in one part, the first is taken. Lines of dev with a sentence of test in any
    language are dropped, and lines of train with a sentence of either. If more lines remain than wanted, a hash of the
    target sentence decides which to keep: a smaller selection is always part of a larger one. Further references
    (`dev.en.1` ...) are left out.

    Args:
        folder: must not exist.
        parts: corpora in different source languages, with the same target language.
        most: split -> maximum number of lines (0 or missing: all).
        allow_missing: also write the sentences that only some parts have, with a blank line in the other languages;
            those of the first part come first.

    Returns:
        Target sentences kept and dropped, each counted once, by split and reason. `options` has `languages`, the
        numbers wanted, and under `dropped_pairs` the blank and repeated pairs of each part and split.

    Raises:
        CorpusError: `folder` exists, there are fewer than two parts, their languages do not fit, no sentence is in all,
            a number wanted is negative, or a part cannot be read.
    """
    _check(parts)
    wanted = sizes(most)
    languages = [*(part.source for part in parts), parts[0].target]
    report = ImportReport("join", {"parts": [part.name for part in parts]}, languages[0], languages[-1])
    report.options |= {"languages": languages, **wanted, "dropped_pairs": {}}
    report.options |= {"allow_missing": True} if allow_missing else {}
    held_out: set[bytes] = set()
    with new_folder(folder) as temporary:
        for split in ("test", "dev", "train"):
            lines = list(without_leaks(_together(parts, split, report), held_out, report.dropped[split]))
            # Before the selection: what is held out must not depend on how much of it is kept.
            held_out |= sentence_digests(lines) - {digest("")} if split != "train" else set()
            lines = _chosen(lines, wanted[split], report.dropped[split])
            _write(temporary, split, languages, lines)
            report.kept[split] = len(lines)
        if not any(report.kept.values()):
            raise CorpusError(
                f"{', '.join(part.name for part in parts)}: no {languages[-1]} sentence is in all of them",
                "join corpora that translate the same text",
            )
        report.kept = {split: report.kept[split] for split in SPLITS}
        report.save(temporary)
    return report


def _check(parts: Sequence[ParallelCorpus]) -> None:
    if len(parts) < 2:
        raise CorpusError(f"{len(parts)} corpora to join", "name two or more")
    sources: dict[str, ParallelCorpus] = {}
    for part in parts:
        if part.target != parts[0].target:
            raise CorpusError(
                f"{part.folder}: {part.source} to {part.target}, but {parts[0].folder} is {parts[0].source} to "
                f"{parts[0].target}",
                "join corpora of the same two languages, or of several languages into the same one",
            )
        if part.source in sources:
            raise CorpusError(
                f"{part.folder}: {part.source} to {part.target}, as {sources[part.source].folder}, but others differ",
                "join the corpora of each two languages first",
            )
        sources[part.source] = part


def _together(parts: Sequence[ParallelCorpus], split: str, report: ImportReport) -> Iterator[Line]:
    """Yield the lines of the target sentences that all parts have, in the order of the first; count the others.

    With `allow_missing`, those of the sentences that any part has.
    """
    if report.options.get("allow_missing"):
        with_split = [part if split in part.splits else None for part in parts]
        every = set[bytes]().union(*(_targets(part, split, Counter()) for part in with_split if part))
        found = [_translations(part, split, every) if part else {} for part in with_split]
        for key in dict.fromkeys(key for of_part in found for key in of_part):
            pairs = [of_part.get(key) for of_part in found]
            (target,) = {pair[1] for pair in pairs if pair}
            yield *(pair[0] if pair else "" for pair in pairs), target
        return
    if not all(split in part.splits for part in parts):
        read = set().union(*(_targets(part, split, Counter()) for part in parts if split in part.splits))
        report.dropped[split][UNCOMMON] += len(read)
        return
    targets = []
    for part in parts:
        dropped: Counter[str] = Counter()
        targets.append(_targets(part, split, dropped))
        if dropped:
            report.options["dropped_pairs"][f"{part.name} {split}"] = dict(dropped)
    common = set.intersection(*targets)
    if uncommon := len(set.union(*targets) - common):
        report.dropped[split][UNCOMMON] += uncommon
    del targets
    first, *others = (_translations(part, split, common) for part in parts)
    for key, (source, target) in first.items():
        yield source, *(other[key][0] for other in others), target


def _targets(part: ParallelCorpus, split: str, dropped: Counter[str]) -> set[bytes]:
    """Return the digests of the target sentences of a split; count blank and repeated pairs."""
    found: set[bytes] = set()
    for pair in part.pairs(split):
        reason = rejection_reason(pair, Limits(MAX_WORDS))
        key = digest(pair[1])
        if reason or key in found:
            dropped[reason or DUPLICATE] += 1
        else:
            found.add(key)
    return found


def _translations(part: ParallelCorpus, split: str, common: set[bytes]) -> dict[bytes, Pair]:
    """Return the first usable pair of each common target sentence, in the order of the part."""
    found: dict[bytes, Pair] = {}
    for pair in part.pairs(split):
        key = digest(pair[1])
        if key in common and key not in found and not rejection_reason(pair, Limits(MAX_WORDS)):
            found[key] = pair
    return found


def _chosen(lines: list[Line], most: int, dropped: Counter[str]) -> list[Line]:
    if not most or len(lines) <= most:
        return lines
    last = sorted(digest(line[-1]) for line in lines)[most - 1]
    dropped[SURPLUS] += len(lines) - most
    return [line for line in lines if digest(line[-1]) <= last]


def _write(folder: Path, split: str, languages: Sequence[str], lines: list[Line]) -> None:
    if lines:
        for language, sentences in zip(languages, zip(*lines, strict=True), strict=True):
            write_lines(folder / f"{split}.{language}", sentences)
