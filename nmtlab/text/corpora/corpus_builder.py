"""Building a corpus folder from pairs: cleaning, splitting, removal of leaks, and a report."""

import json
import shutil
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from nmtlab.errors import CorpusError
from nmtlab.files import write_text
from nmtlab.reading import read_json
from nmtlab.text.corpora.cleaning import BLANK_LINE, Limits, clean, sentence_digests, without_leaks
from nmtlab.text.corpora.corpus import SPLITS, Pair, ParallelCorpus, check_language
from nmtlab.text.corpora.lines import is_blank, new_folder, read_lines, write_lines, write_pairs
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.text.corpora.splitting import HoldOut, divide, hash_position

REPORT = "import.json"
MONOLINGUAL = "mono"
"""Kind of a corpus in one language."""
INPUT = "input"
"""Key of pairs dropped before the text was split."""


@dataclass
class ImportReport:
    """What an import read, kept and dropped; written to the corpus folder as `import.json`.

    Args:
        kind: text, tsv, csv, jsonl, gettext, tmx, xliff, mtdata, sacrebleu, mono, join, filter, select, translated,
            copied, noise or triplets.
        origin: what was read, as the user named it (absolute paths reduced to their last part).
        source: code of the source language.
        target: code of the target language; empty for monolingual text.
        options: length limits, and how dev and test were chosen.
        kept: pairs or lines written, by split.
        dropped: pairs or lines dropped, by stage (`INPUT` or a split) and reason.
        checksum: that of the corpus, as `ParallelCorpus.checksum`.
        synthetic: code of the language whose text was made by a system, in a corpus made from such a one too; or empty.
        translated: what `translated_from` returns of a corpus that was made from a translated one; or nothing.
    """

    kind: str
    origin: Mapping[str, object]
    source: str
    target: str
    options: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, Counter[str]] = field(default_factory=lambda: {where: Counter() for where in (INPUT, *SPLITS)})
    checksum: str = ""
    synthetic: str = ""
    translated: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for language in (self.source,) if self.kind == MONOLINGUAL else (self.source, self.target):
            check_language(language)
        if self.source == self.target:
            raise CorpusError(f"language {self.source!r} is both source and target", "give two languages")

    @property
    def read(self) -> int:
        """Pairs or lines read: those kept and those dropped, without the bad pairs that noise adds."""
        written = sum(self.kept.values()) - self.options.get("bad", 0)
        return written + sum(reasons.total() for reasons in self.dropped.values())

    def inherit(self, corpus: ParallelCorpus) -> None:
        """Record by whom the text of the corpus was made from which this one is made."""
        self.synthetic, self.translated = synthetic_language(corpus), translated_from(corpus)

    def save(self, folder: Path, also: tuple[str, ...] = ()) -> None:
        """Compute the checksum of the corpus in `folder`, with its further sources, and write the report there."""
        self.checksum = self._open(folder, also).checksum()
        entries = asdict(self) | {"read": self.read}
        entries["dropped"] = {where: dict(reasons) for where, reasons in self.dropped.items() if reasons}
        if not self.translated:
            del entries["translated"]
        write_text(folder / REPORT, json.dumps(entries, ensure_ascii=False, indent=1) + "\n")

    def _open(self, folder: Path, also: tuple[str, ...]) -> ParallelCorpus | MonolingualCorpus:
        if self.kind == MONOLINGUAL:
            return MonolingualCorpus(folder, self.source)
        return replace(ParallelCorpus.open(folder, self.source, self.target), also=also)


def synthetic_language(corpus: ParallelCorpus) -> str:
    """Return the language of a corpus in which its text was made by a system, as its `import.json` says; or empty."""
    return _report(corpus).get("synthetic", "")


def translated_from(corpus: ParallelCorpus) -> dict[str, Any]:
    """Return run, weights and text of which a corpus has translations, as its `import.json` says; or nothing."""
    report = _report(corpus)
    return report["origin"] if report.get("kind") == "translated" else report.get("translated", {})


def _report(corpus: ParallelCorpus) -> dict[str, Any]:
    path = corpus.folder / REPORT
    return read_json(path, dict, f"import {corpus.name} again") if path.is_file() else {}


def copy_text(folder: Path | str, text: MonolingualCorpus, source: str) -> ImportReport:
    """Write the corpus `folder` atomically: the lines of a text on both sides, without blank ones (Currey et al. 2017).

    Args:
        folder: must not exist.
        text: in the target language.
        source: code of the source language, in which the copies are said to be.

    Raises:
        CorpusError: `folder` exists, the code is none or that of the text, or the text cannot be read or
            has only blank lines.
    """
    check_language(source)
    if source == text.language:
        problem = f"text {text.name}: in {source}, the language of the sources"
        raise CorpusError(problem, "choose text in the target language")
    origin = {"text": text.name, "language": text.language, "checksum": text.checksum()}
    report = ImportReport("copied", origin, source, text.language, synthetic=source)
    total = text.count()  # which refuses an empty text
    with new_folder(folder) as temporary:
        copies, lines = (temporary / f"train.{code}" for code in (source, text.language))
        pairs = ((line, line) for line in text.lines() if not is_blank(line))
        report.kept = {"train": write_pairs(copies, lines, pairs)}
        report.dropped["train"] += Counter({BLANK_LINE: total - report.kept["train"]})
        if not report.kept["train"]:
            raise CorpusError(f"text {text.name}: {why_nothing(report, 'lines')}", "give more text")
        report.save(temporary)
    return report


def copy_held_out(corpus: ParallelCorpus, folder: Path) -> dict[str, int]:
    """Copy dev and test with documents and gold data into another corpus' folder; return their numbers of pairs."""
    held_out = {split: corpus.count(split) for split in corpus.splits if split != "train"}
    documents = (corpus.folder / f"{split}.documents" for split in held_out if corpus.has_documents(split))
    for path in (*chain.from_iterable(map(corpus.files, held_out)), *documents):
        shutil.copyfile(path, folder / path.name)
    for path in chain.from_iterable((corpus.folder / "gold").glob(f"{split}.*") for split in held_out):
        (folder / "gold").mkdir(exist_ok=True)
        shutil.copyfile(path, folder / "gold" / path.name)
    return held_out


def as_named(path: Path | str) -> str:
    """Return `path` for a report: an absolute one without this machine's folders."""
    path = Path(path)
    return path.name if path.is_absolute() else str(path)


def build(
    folder: Path | str,
    report: ImportReport,
    pairs: Iterable[Pair],
    limits: Limits,
    hold_out: HoldOut,
    published: Mapping[str, Iterable[Pair]] | None = None,
    allow_overlap: bool = False,
    documents: Mapping[Pair, str] | None = None,
) -> ImportReport:
    """Write the corpus `folder` atomically from `pairs` and return the completed `report`.

    The pairs are cleaned (see `clean`) and split by `hold_out`; then pairs of dev with a sentence of test are dropped,
    and pairs of train with a sentence of either. A dev or test set in `published` is instead kept unchanged, including
    blank lines and duplicates, so that scores on it are comparable; nothing else is held out then.

    Args:
        folder: must not exist.
        report: has kind, origin and languages; the producer of `pairs` counts what it drops there.
        pairs: source and target sentences, read once.
        published: published dev and test sets.
        allow_overlap: keep pairs of train with a sentence of a published set.
        documents: the id of the document that each pair is from, read when all pairs are written.

    Raises:
        CorpusError: `folder` exists, nothing is left to train on, or the input cannot be read.
    """
    folder, whole = Path(folder), bool(published) and allow_overlap
    limits = limits.of(report.source, report.target)
    report.options |= (
        limits.options | ({} if published else asdict(hold_out)) | ({"allow_overlap": True} if whole else {})
    )
    kept = {}
    parts: Mapping[str, Iterable[Pair]]
    with new_folder(folder) as temporary:
        if published:
            parts = {**published, "train": clean(pairs, limits, report.dropped["train"])}
        else:
            parts = _parts(temporary, clean(pairs, limits, report.dropped[INPUT]), hold_out)
        held_out: set[bytes] = set()
        for split in ("test", "dev", "train"):
            part = parts.get(split, ())
            if (split == "train" and not whole) or not published:
                part = without_leaks(part, held_out, report.dropped[split])
            kept[split] = _write(temporary, report, split, part)
            written = ParallelCorpus(temporary, report.source, report.target)
            if documents and kept[split]:
                write_lines(temporary / f"{split}.documents", (documents[pair] for pair in written.pairs(split)))
            if split != "train" and kept[split]:
                held_out |= sentence_digests(written.pairs(split))
        report.kept = {split: kept[split] for split in SPLITS}
        if not report.kept["train"]:
            raise CorpusError(
                f"{folder.name}: nothing to train on, {why_nothing(report, 'pairs', 'dropped or held out')}",
                "give more text, hold out less, or allow longer sentences",
            )
        _spool(temporary, "source").unlink(missing_ok=True)
        _spool(temporary, "target").unlink(missing_ok=True)
        report.save(temporary)
    return report


def _parts(folder: Path, pairs: Iterable[Pair], hold_out: HoldOut) -> dict[str, Iterator[Pair]]:
    """Spool `pairs` into `folder` and return them split by split."""
    positions = array("d")

    def placed() -> Iterator[Pair]:
        for pair in pairs:
            positions.append(hash_position(pair[0] if hold_out.by == "source" else pair[1]))
            yield pair

    source, target = _spool(folder, "source"), _spool(folder, "target")
    if not write_pairs(source, target, placed()):
        return {}
    division = divide(positions, hold_out)

    def part(split: str) -> Iterator[Pair]:
        spooled = zip(read_lines(source), read_lines(target), positions, strict=True)
        return ((one, other) for one, other, where in spooled if division.split(where) == split)

    return {split: part(split) for split in SPLITS}


def _spool(folder: Path, side: str) -> Path:
    return folder / f".{side}.spool"


def _write(folder: Path, report: ImportReport, split: str, pairs: Iterable[Pair]) -> int:
    paths = folder / f"{split}.{report.source}", folder / f"{split}.{report.target}"
    written = write_pairs(*paths, pairs)
    if not written:
        for path in paths:
            path.unlink()
    return written


def why_nothing(report: ImportReport, what: str, gone: str = "dropped") -> str:
    """Return why nothing is left of the lines or pairs that were read, with the number of each reason."""
    if not report.read:
        return f"there are no {what} in the files"
    reasons: Counter[str] = sum(report.dropped.values(), Counter())
    return f"all {report.read:,} {what} were {gone}" + "".join(
        f", {number:,} {reason}" for reason, number in reasons.most_common()
    )
