"""Published corpora by their ids in mtdata's index, downloaded by mtdata."""

import importlib.util
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmtlab.errors import CorpusError, missing_package
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.corpus_builder import ImportReport, build
from nmtlab.text.corpora.lines import read_lines
from nmtlab.text.corpora.splitting import HoldOut

COLUMNS = "more than two columns"


@dataclass(frozen=True)
class DatasetSelection:
    """The data sets that make up a corpus.

    Args:
        source, target: language codes.
        train: ids of data sets in mtdata's index, GROUP-NAME-VERSION-LANG-LANG.
        dev, test: the same; used unchanged.
    """

    source: str
    target: str
    train: tuple[str, ...]
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()


def _of(source: str, target: str, name: str, splits: Sequence[str] = ("train", "dev", "test")) -> DatasetSelection:
    return DatasetSelection(source, target, *((name.format(split),) for split in splits))


THESIS = {
    "ted-gl-en": _of("gl", "en", "Neulab-tedtalks_{}-1-eng-glg"),
    "ted-sk-en": _of("sk", "en", "Neulab-tedtalks_{}-1-eng-slk"),
    "ted-he-en": _of("he", "en", "Neulab-tedtalks_{}-1-eng-heb"),
    "ted-ar-en": _of("ar", "en", "Neulab-tedtalks_{}-1-eng-ara"),
    "iwslt15-en-vi": _of("en", "vi", "StanfordNLP-{}-1-eng-vie", ("iwslt15_train", "test2012", "test2013")),
    "kftt-en-ja": _of("en", "ja", "Phontron-kftt_{}-1-eng-jpn"),
}
"""The published corpora of thesis 3.2 and 3.3."""


def find_selection(name: str) -> DatasetSelection:
    """Return a recipe of `THESIS`, or raise a `CorpusError` that lists them."""
    if name not in THESIS:
        raise CorpusError(f"mtdata recipe {name!r}: unknown", f"choose from {', '.join(THESIS)}")
    return THESIS[name]


def import_mtdata(
    folder: Path | str,
    recipe: DatasetSelection,
    limits: Limits = Limits(),
    hold_out: HoldOut = HoldOut(),
    allow_overlap: bool = False,
) -> ImportReport:
    """Make the corpus `folder` from data sets in mtdata's index.

    Data sets in mtdata's download folder (environment variable MTDATA) need no network.

    Args:
        folder, limits, hold_out, allow_overlap: as of `build`.

    Raises:
        CorpusError: a data set is unknown or cannot be fetched; or as `build`.
        NmtlabError: mtdata is not installed.
    """
    if importlib.util.find_spec("mtdata") is None:
        raise missing_package("mtdata")
    if not recipe.train:
        raise CorpusError("no data set to train on", "give a data set's id, or a recipe")
    splits = {"train": recipe.train, "dev": recipe.dev, "test": recipe.test}
    origin = {split: list(names) for split, names in splits.items() if names}
    report = ImportReport("mtdata", origin, recipe.source, recipe.target)
    codes = _codes(recipe.source, recipe.target)
    with tempfile.TemporaryDirectory() as temporary:
        folder_of_sets = Path(temporary)
        sets = {
            split: _pairs(names, codes, folder_of_sets, report.dropped[split])
            for split, names in splits.items()
            if names
        }
        return build(folder, report, sets.pop("train"), limits, hold_out, sets, allow_overlap)


def _pairs(names: tuple[str, ...], codes: list[str], folder: Path, dropped: Counter[str]) -> Iterator[Pair]:
    for name in names:
        languages = [code.split("_")[0] for code in name.split("-")[-2:]]
        if sorted(languages) != sorted(codes):
            raise CorpusError(f"data set {name!r}: not of {codes[0]} and {codes[1]}", "give the languages in its name")
        source, target = (languages.index(code) for code in codes)
        path = folder / name
        _mtdata(["-m", "mtdata", "-no-pb", "echo", name], path, f"data set {name!r}: mtdata could not get it")
        for line in read_lines(path):
            row = [*line.split("\t"), ""]  # a row without its second column is a pair with a blank side
            if len(row) > 3:  # a sentence with a tab: where it ends is unknown
                dropped[COLUMNS] += 1
            else:
                yield row[source], row[target]
        path.unlink()


def _codes(source: str, target: str) -> list[str]:
    """Return the three-letter codes used in data set ids for two languages."""
    program = "import sys; from mtdata.iso.bcp47 import bcp47; print(*(bcp47(code).lang for code in sys.argv[1:]))"
    arguments = ["-c", program, source.replace("-", "_"), target.replace("-", "_")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes"
        _mtdata(arguments, path, f"languages {source} and {target}: unknown to mtdata")
        return next(read_lines(path)).split()


def _mtdata(arguments: list[str], output: Path, problem: str) -> None:
    """Run mtdata in a subprocess, since importing it configures logging for the whole program."""
    with output.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-X", "utf8", *arguments], stdout=file, stderr=subprocess.PIPE, text=True, check=False
        )
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise CorpusError(
            f"{problem} ({reason[0][:200]})", "check the network, and the id with 'python -m mtdata list -l LANG-LANG'"
        )
