"""`nmtlab corpus import`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from nmtlab.cli.options import Source, Target
from nmtlab.cli.tables import print_table
from nmtlab.errors import CorpusError
from nmtlab.files import replace_folder, temporary_folder
from nmtlab.runs.listing import unfinished_runs
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import open_corpus
from nmtlab.text.corpora.corpus_builder import MONOLINGUAL, ImportReport
from nmtlab.text.corpora.monolingual import open_monolingual
from nmtlab.text.corpora.splitting import HoldOut
from nmtlab.text.importers.exchange import import_exchange
from nmtlab.text.importers.gettext import import_gettext
from nmtlab.text.importers.mono import import_mono
from nmtlab.text.importers.mtdata import DatasetSelection, find_selection, import_mtdata
from nmtlab.text.importers.sacrebleu import import_sacrebleu
from nmtlab.text.importers.tabular import import_table
from nmtlab.text.importers.text import import_text
from nmtlab.workspace import Workspace

Name = Annotated[str, typer.Argument(help="Name of the new corpus.")]
From = Annotated[str, typer.Option("--source", help="Code of the source language, such as uz or pt-BR.")]
Into = Annotated[str, typer.Option("--target", help="Code of the target language.")]
Exchanged = Annotated[list[Path], typer.Argument(help="One or more files (plain, .gz or .xz).")]
AllowOverlap = Annotated[
    bool,
    typer.Option("--allow-overlap", help="Keep train pairs found in published dev and test sets; see 'nmtlab train'."),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Replace the corpus of this name, if any, once the new one is complete.")
]
TableReader = Callable[[Path, Literal["tsv", "csv", "jsonl"], tuple[Limits, HoldOut]], ImportReport]
"""Imports a table: the new folder, the format of the file, and how to clean and split."""


def _cleaned(
    dev: Annotated[float, typer.Option(min=0, help="Dev size: a share, or a number of pairs if at least 1.")] = 0.05,
    test: Annotated[float, typer.Option(min=0, help="Test size: likewise.")] = 0.05,
    max_held_out: Annotated[
        int, typer.Option(min=0, help="Maximum number of pairs held out by a share; the rest is train.")
    ] = 1000,
    split_by: Annotated[
        Literal["source", "target"],
        typer.Option(help="Side that decides the split of a pair: equal sentences go to the same split."),
    ] = "target",
    max_words: Annotated[int, typer.Option(min=1, help="Drop pairs with more words on either side.")] = 250,
    max_ratio: Annotated[
        float, typer.Option(min=0, help="Drop pairs with one side this many times longer; 0 for no limit.")
    ] = 0.0,
) -> tuple[Limits, HoldOut]:
    """Return how to clean and split, by the options of almost all importers."""
    return Limits(max_words, max_ratio), HoldOut(dev, test, max_held_out, split_by)


def _table(
    file: Annotated[Path, typer.Argument(help="The file (plain, .gz or .xz).")],
    source: From,
    target: Into,
    source_column: Annotated[
        str, typer.Option(help="Name or number of the source column. (default: named after the language, else 1)")
    ] = "",
    target_column: Annotated[
        str, typer.Option(help="Name or number of the target column. (default: likewise, else 2)")
    ] = "",
) -> TableReader:
    """Return what imports a table, by the options of its importers."""
    columns = source_column, target_column
    return lambda folder, kind, cleaned: import_table(folder, file, kind, columns, source, target, *cleaned)


_BUNDLES: dict[str, Callable[..., Any]] = {"cleaned": _cleaned, "table": _table}
"""Arguments of importers that stand for several options, with what makes them of these."""


def _importer(read: Callable[..., ImportReport]) -> Callable[..., None]:
    """Return a command around what makes a corpus: it chooses the folder, and reports.

    Its arguments are a name, those of `read` after the folder, with the options of bundles in their place, and
    --replace.
    """
    asked = [one for one in signature(read).parameters.values() if one.name != "folder"]
    bundled = {one.name: signature(_BUNDLES[one.name]).parameters for one in asked if one.name in _BUNDLES}

    @wraps(read)
    def command(name: str, replace: bool, **given: Any) -> None:
        for bundle, options in bundled.items():
            given[bundle] = _BUNDLES[bundle](**{option: given.pop(option) for option in options})
        with _new_folder(name, replace) as folder:
            report = read(folder, **given)
        (report_lines if report.kind == MONOLINGUAL else report_pairs)(name, report)

    parameters = [Parameter("name", Parameter.KEYWORD_ONLY, annotation=Name)]
    for one in asked:
        parameters += bundled[one.name].values() if one.name in bundled else [one]
    parameters.append(Parameter("replace", Parameter.KEYWORD_ONLY, default=False, annotation=Replace))
    command.__signature__ = Signature([one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters])  # type: ignore[attr-defined]
    return command


@_importer
def text(
    folder: Path,
    source_file: Annotated[Path, typer.Argument(help="Text in the source language, one sentence per line.")],
    target_file: Annotated[Path, typer.Argument(help="Its translation, line by line.")],
    source: From,
    target: Into,
    dev_files: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="Source and target file of a dev set, used unchanged."),
    ] = None,
    test_files: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="Source and target file of a test set, used unchanged."),
    ] = None,
    *,
    cleaned: tuple[Limits, HoldOut],
    allow_overlap: AllowOverlap = False,
) -> ImportReport:
    """Import two aligned text files (plain, .gz or .xz)."""
    published = {split: files for split, files in (("dev", dev_files), ("test", test_files)) if files}
    return import_text(folder, (source_file, target_file), source, target, *cleaned, published, allow_overlap)


@_importer
def tsv(folder: Path, table: TableReader, cleaned: tuple[Limits, HoldOut]) -> ImportReport:
    """Import a tab-separated file, as distributed by Tatoeba and many others.

    If line 1 has names of columns, it is a header. Cells are unquoted if the first lines show that they are quoted, as
    spreadsheets and pandas write them; otherwise quotation marks are ordinary text.
    """
    return table(folder, "tsv", cleaned)


@_importer
def csv(folder: Path, table: TableReader, cleaned: tuple[Limits, HoldOut]) -> ImportReport:
    """Import values separated by commas, semicolons or tabs, as spreadsheets and pandas write them.

    If line 1 has names of columns, it is a header.
    """
    return table(folder, "csv", cleaned)


@_importer
def jsonl(folder: Path, table: TableReader, cleaned: tuple[Limits, HoldOut]) -> ImportReport:
    """Import a file of JSON objects, one per line: {"uz": "...", "en": "..."}; the columns are its keys.

    Sentences may also be under a key `translation`, as in Hugging Face's datasets.
    """
    return table(folder, "jsonl", cleaned)


@_importer
def gettext(
    folder: Path,
    places: Annotated[list[Path], typer.Argument(help="Folders to search, or .po and .mo files.")],
    language: Annotated[str, typer.Option(help="Code of the language, such as uz, pt-BR or uz-Cyrl.")],
    cleaned: tuple[Limits, HoldOut],
) -> ImportReport:
    """Import the translations of software into a language, with the English originals as the target.

    Every Linux machine has some: nmtlab corpus import gettext tr-software /usr/share/locale --language tr
    """
    return import_gettext(folder, places, language, *cleaned)


@_importer
def tmx(folder: Path, files: Exchanged, source: From, target: Into, cleaned: tuple[Limits, HoldOut]) -> ImportReport:
    """Import translation memories (TMX): those of CAT tools, and the corpora of OPUS.

    The languages are found under any of their codes, en-US for en. Codes for formatting are removed from the text.
    """
    return import_exchange(folder, files, "tmx", source, target, *cleaned)


@_importer
def xliff(folder: Path, files: Exchanged, source: From, target: Into, cleaned: tuple[Limits, HoldOut]) -> ImportReport:
    """Import localisation files (XLIFF 1.2 or 2), in either direction; unfinished translations are dropped.

    The languages are found under any of their codes, en-US for en. Codes for formatting are removed from the text.
    """
    return import_exchange(folder, files, "xliff", source, target, *cleaned)


@_importer
def mtdata(
    folder: Path,
    recipe: Annotated[
        str, typer.Option(help="A corpus of the thesis: ted-{gl,sk,he,ar}-en, iwslt15-en-vi or kftt-en-ja.")
    ] = "",
    source: Source = "",
    target: Target = "",
    train_set: Annotated[list[str] | None, typer.Option(help="Id of a data set to train on; repeatable.")] = None,
    dev_set: Annotated[list[str] | None, typer.Option(help="Id of a data set for dev, used unchanged.")] = None,
    test_set: Annotated[list[str] | None, typer.Option(help="Id of a data set for test, used unchanged.")] = None,
    *,
    cleaned: tuple[Limits, HoldOut],
    allow_overlap: AllowOverlap = False,
) -> ImportReport:
    """Download published corpora with mtdata: by --recipe, or by languages and ids.

    'python -m mtdata list -l tr-en' lists ids. Missing dev and test sets are held out from the training text.
    """
    sets = [tuple(ids or ()) for ids in (train_set, dev_set, test_set)]
    if recipe and any([source, target, *sets]):
        raise CorpusError(f"--recipe {recipe} excludes languages and data sets", "give one or the other")
    chosen = find_selection(recipe) if recipe else DatasetSelection(source, target, *sets)
    return import_mtdata(folder, chosen, *cleaned, allow_overlap)


@_importer
def sacrebleu(
    folder: Path,
    source: From,
    target: Into,
    dev: Annotated[str, typer.Option(help="Test set to use as dev, such as wmt16.")] = "",
    test: Annotated[str, typer.Option(help="Test set to use as test, such as wmt17.")] = "",
) -> ImportReport:
    """Download published test sets with sacrebleu, unchanged and with all references."""
    return import_sacrebleu(folder, source, target, dev, test)


@_importer
def mono(
    folder: Path,
    files: Annotated[list[Path], typer.Argument(help="One or more files (plain, .gz or .xz), a sentence per line.")],
    language: Annotated[str, typer.Option(help="Code of the language, such as uz, pt-BR or uz-Cyrl.")],
    max_words: Annotated[int, typer.Option(min=1, help="Drop lines with more words.")] = 100,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number of lines, drawn at random; 0 for all.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 1,
) -> ImportReport:
    """Import monolingual text: lines in one language, without blank, long and repeated ones.

    With the same seed, a smaller --limit is part of a larger one.
    """
    return import_mono(folder, files, language, max_words, limit, seed)


@contextmanager
def _new_folder(name: str, replace: bool) -> Iterator[Path]:
    """Yield the folder to make a corpus in; to replace one, a temporary folder that takes its place at the end."""
    workspace = Workspace.find()
    old = workspace.own_corpus_folder(name)
    if not (replace and old.exists()):
        yield workspace.new_corpus_folder(name)
        return
    check_not_in_training(name, workspace)
    with temporary_folder(old) as temporary:
        yield temporary / name
        replace_folder(temporary / name, old)


def check_not_in_training(name: str, workspace: Workspace) -> None:
    """Refuse to remove or replace a corpus that a run in training reads."""
    for run in unfinished_runs(name, workspace):
        if run.status == "training":
            raise CorpusError(
                f"corpus {name!r}: run {run.name!r} is being trained on it", "stop it, or wait for its end"
            )


def print_report(name: str, languages: str, report: ImportReport, counted: str) -> None:
    """Print how many pairs or sentences were read, dropped and kept."""
    rows = [["read", "", f"{report.read:,}"]]
    for where, reasons in report.dropped.items():
        rows += [[f"dropped from {where}", reason, f"{number:,}"] for reason, number in reasons.most_common()]
    if bad := report.options.get("bad"):
        different = report.options["different"]
        repeated = f": {different:,} different pairs, repeated" if different < bad else ""
        rows += [["added to train", f"{report.options['kind']}{repeated}", f"{bad:,}"]]
    rows += [[split, "", f"{number:,}"] for split, number in report.kept.items() if number]
    print_table(f"{name}: {languages}", ["", "reason", counted], rows, {counted})
    print(f"written to {Workspace.find().corpus_folder(name)}")


def print_pairs(name: str, report: ImportReport) -> None:
    """Print what became of the pairs of a new corpus, and its first ones."""
    print_report(name, f"{report.source} to {report.target}", report, "pairs")
    corpus = open_corpus(name, None, report.source, report.target)
    print(f"the first pairs of {corpus.splits[0]}:")  # in which wrong columns and swapped languages are noticed
    for pair in islice(corpus.pairs(corpus.splits[0]), 3):
        for language, text in zip(corpus.direction, pair, strict=True):
            print(f"  {language}: {_shortened(text)}")


def report_lines(name: str, report: ImportReport) -> None:
    """Print what became of the lines of new monolingual text, its first ones, and what to do next."""
    print_report(name, report.source, report, "lines")
    print("the first lines:")
    for line in islice(open_monolingual(name).lines(), 3):
        print(f"  {_shortened(line)}")
    print(f"next: nmtlab corpus stats {name}, then nmtlab corpus translate NEW --run RUN --text {name}")


def report_pairs(name: str, report: ImportReport) -> None:
    """Print what became of the pairs of a new corpus, its first ones, and what to do next."""
    print_pairs(name, report)
    if not report.kept.get("train"):
        print(f"next: nmtlab evaluate RUN --corpus {name}")
        return
    if not report.kept.get("dev"):
        remedy = "join a corpus that has one" if report.kind == "join" else "--dev 100 holds one out"
        print(f"there is no dev set, which training needs to select its best checkpoint; {remedy}")
    print(f"next: nmtlab corpus stats {name}, then nmtlab train {name}")


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:99]}…"
