"""`nmtlab corpus import`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nmtlab.cli.options import Source, Target, open_corpus

if TYPE_CHECKING:
    from nmtlab.text.corpora.corpus_builder import ImportReport
    from nmtlab.text.importers.rows import Form
    from nmtlab.workspace import Workspace

import_app = typer.Typer(
    help=(
        "Make a corpus from text in another format: cleaned, without duplicates, and split into train, dev and test, "
        "with no sentences of dev or test in train. Its import.json counts the dropped pairs."
    ),
    no_args_is_help=True,
)
Name = Annotated[str, typer.Argument(help="Name of the new corpus.")]
From = Annotated[str, typer.Option("--source", help="Code of the source language, such as uz or pt-BR.")]
Into = Annotated[str, typer.Option("--target", help="Code of the target language.")]
Dev = Annotated[float, typer.Option(min=0, help="Held out as dev: a share of the pairs, or a number of at least 1.")]
Test = Annotated[float, typer.Option(min=0, help="Held out as test: likewise.")]
Most = Annotated[
    int, typer.Option("--max-held-out", min=0, help="Most pairs that a share holds out; the rest is train.")
]
By = Annotated[
    Literal["source", "target"],
    typer.Option("--split-by", help="Side that decides the split of a pair: equal sentences go to the same split."),
]
MaxWords = Annotated[int, typer.Option(min=1, help="Drop pairs with more words on either side.")]
MaxRatio = Annotated[
    float, typer.Option(min=0, help="Drop pairs with one side this many times longer; 0 for no limit.")
]
AllowOverlap = Annotated[
    bool,
    typer.Option(
        "--allow-overlap", help="Keep pairs of train that are in published dev and test sets; see 'nmtlab train'."
    ),
]

Replace = Annotated[
    bool, typer.Option("--replace", help="Replace the corpus of this name, if any, when the new one is complete.")
]
SourceColumn = Annotated[
    str, typer.Option(help="Name of the source column, or its number. (default: named after the language, else 1)")
]
TargetColumn = Annotated[
    str, typer.Option(help="Name of the target column, or its number. (default: likewise, else 2)")
]


@import_app.command("text")
def import_text_(
    name: Name,
    source_file: Annotated[Path, typer.Argument(help="Text in the source language, one sentence per line.")],
    target_file: Annotated[Path, typer.Argument(help="Its translation, line by line.")],
    source: From,
    target: Into,
    dev_files: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Source and target file of a dev set, used unchanged.")
    ] = None,
    test_files: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Source and target file of a test set, used unchanged.")
    ] = None,
    dev: Dev = 0.05,
    test: Test = 0.05,
    max_held_out: Most = 1000,
    split_by: By = "target",
    max_words: MaxWords = 250,
    max_ratio: MaxRatio = 0.0,
    allow_overlap: AllowOverlap = False,
    replace: Replace = False,
) -> None:
    """Import two aligned text files (plain, .gz or .xz)."""
    from nmtlab.text.corpora.cleaning import Limits
    from nmtlab.text.corpora.splitting import HoldOut
    from nmtlab.text.importers.text import import_text

    published = {split: files for split, files in (("dev", dev_files), ("test", test_files)) if files}
    files, limits = (source_file, target_file), Limits(max_words, max_ratio)
    hold_out = HoldOut(dev, test, max_held_out, split_by)
    with _new_folder(name, replace) as folder:
        report = import_text(folder, files, source, target, limits, hold_out, published, allow_overlap)
    report_pairs(name, report)


_TABLES: "dict[Form, str]" = {
    "tsv": "Import a tab-separated file, as distributed by Tatoeba and many others.\n\n"
    "If line 1 has names of columns, it is a header. Cells are unquoted if the first lines show that they are quoted, "
    "as spreadsheets and pandas write them; otherwise quotation marks are ordinary text.",
    "csv": "Import values separated by commas, semicolons or tabs, as spreadsheets and pandas write them; if line 1 "
    "has names of columns, it is a header.",
    "jsonl": 'Import a file of JSON objects, one in each line: {"uz": "...", "en": "..."}; the columns are its keys.'
    "\n\nSentences may also be under a key `translation`, as Hugging Face's datasets have them.",
}


def _table_importer(form: "Form") -> Callable[..., None]:
    """Return the command that imports a table of a form."""

    def import_table_(
        name: Name,
        file: Annotated[Path, typer.Argument(help="The file (plain, .gz or .xz).")],
        source: From,
        target: Into,
        source_column: SourceColumn = "",
        target_column: TargetColumn = "",
        dev: Dev = 0.05,
        test: Test = 0.05,
        max_held_out: Most = 1000,
        split_by: By = "target",
        max_words: MaxWords = 250,
        max_ratio: MaxRatio = 0.0,
        replace: Replace = False,
    ) -> None:
        from nmtlab.text.corpora.cleaning import Limits
        from nmtlab.text.corpora.splitting import HoldOut
        from nmtlab.text.importers.table import import_table

        hold_out = HoldOut(dev, test, max_held_out, split_by)
        columns, limits = (source_column, target_column), Limits(max_words, max_ratio)
        with _new_folder(name, replace) as folder:
            report = import_table(folder, file, form, columns, source, target, limits, hold_out)
        report_pairs(name, report)

    return import_table_


for _form, _about in _TABLES.items():
    import_app.command(_form, help=_about)(_table_importer(_form))


@import_app.command("gettext")
def import_gettext_(
    name: Name,
    places: Annotated[list[Path], typer.Argument(help="Folders to search, or .po and .mo files.")],
    language: Annotated[str, typer.Option(help="Code of the language, such as uz, pt-BR or uz-Cyrl.")],
    dev: Dev = 0.05,
    test: Test = 0.05,
    max_held_out: Most = 1000,
    split_by: By = "target",
    max_words: MaxWords = 250,
    max_ratio: MaxRatio = 0.0,
    replace: Replace = False,
) -> None:
    """Import the translations of software into a language, with the English originals as the target.

    Every Linux machine has some: nmtlab corpus import gettext tr-software /usr/share/locale --language tr
    """
    from nmtlab.text.corpora.cleaning import Limits
    from nmtlab.text.corpora.splitting import HoldOut
    from nmtlab.text.importers.gettext import import_gettext

    hold_out = HoldOut(dev, test, max_held_out, split_by)
    with _new_folder(name, replace) as folder:
        report = import_gettext(folder, places, language, Limits(max_words, max_ratio), hold_out)
    report_pairs(name, report)


@import_app.command("mtdata")
def import_mtdata_(
    name: Name,
    recipe: Annotated[
        str, typer.Option(help="A corpus of the thesis: ted-{gl,sk,he,ar}-en, iwslt15-en-vi or kftt-en-ja.")
    ] = "",
    source: Source = "",
    target: Target = "",
    train_set: Annotated[list[str] | None, typer.Option(help="Id of a data set to train on; repeatable.")] = None,
    dev_set: Annotated[list[str] | None, typer.Option(help="Id of a data set for dev, used unchanged.")] = None,
    test_set: Annotated[list[str] | None, typer.Option(help="Id of a data set for test, used unchanged.")] = None,
    dev: Dev = 0.05,
    test: Test = 0.05,
    max_held_out: Most = 1000,
    split_by: By = "target",
    max_words: MaxWords = 250,
    max_ratio: MaxRatio = 0.0,
    allow_overlap: AllowOverlap = False,
    replace: Replace = False,
) -> None:
    """Download published corpora with mtdata: by --recipe, or by languages and ids.

    'python -m mtdata list -l tr-en' lists ids. Missing dev and test sets are held out from the training text.
    """
    from nmtlab.errors import CorpusError
    from nmtlab.text.corpora.cleaning import Limits
    from nmtlab.text.corpora.splitting import HoldOut
    from nmtlab.text.importers.mtdata import DatasetSelection, find_selection, import_mtdata

    sets = [tuple(ids or ()) for ids in (train_set, dev_set, test_set)]
    if recipe and any([source, target, *sets]):
        raise CorpusError(f"--recipe {recipe} excludes languages and data sets", "give one or the other")
    chosen = find_selection(recipe) if recipe else DatasetSelection(source, target, *sets)
    hold_out = HoldOut(dev, test, max_held_out, split_by)
    limits = Limits(max_words, max_ratio)
    with _new_folder(name, replace) as folder:
        report = import_mtdata(folder, chosen, limits, hold_out, allow_overlap)
    report_pairs(name, report)


@import_app.command("sacrebleu")
def import_sacrebleu_(
    name: Name,
    source: From,
    target: Into,
    dev: Annotated[str, typer.Option(help="Test set to use as dev, such as wmt16.")] = "",
    test: Annotated[str, typer.Option(help="Test set to use as test, such as wmt17.")] = "",
    replace: Replace = False,
) -> None:
    """Download published test sets with sacrebleu, unchanged and with all references."""
    from nmtlab.text.importers.sacrebleu import import_sacrebleu

    with _new_folder(name, replace) as folder:
        report = import_sacrebleu(folder, source, target, dev, test)
    report_pairs(name, report)


@contextmanager
def _new_folder(name: str, replace: bool) -> Iterator[Path]:
    """Yield the folder to make a corpus in; to replace one, a temporary folder that takes its place at the end."""
    from nmtlab.files import replace_folder, temporary_folder
    from nmtlab.workspace import Workspace

    workspace = Workspace.find()
    old = workspace.own_corpus_folder(name)
    if not (replace and old.exists()):
        yield workspace.new_corpus_folder(name)
        return
    check_not_in_training(name, workspace)
    with temporary_folder(old) as temporary:
        yield temporary / name
        replace_folder(temporary / name, old)


def check_not_in_training(name: str, workspace: "Workspace") -> None:
    """Refuse to remove or replace a corpus that a run in training reads."""
    from nmtlab.errors import CorpusError
    from nmtlab.runs.listing import unfinished_runs

    for run in unfinished_runs(name, workspace):
        if run.status == "training":
            raise CorpusError(
                f"corpus {name!r}: run {run.name!r} is being trained on it", "stop it, or wait for its end"
            )


def print_report(name: str, languages: str, report: "ImportReport", counted: str) -> None:
    """Print how many pairs or sentences were read, dropped and kept."""
    from nmtlab.cli.tables import print_table
    from nmtlab.workspace import Workspace

    rows = [["read", "", f"{report.read:,}"]]
    for where, reasons in report.dropped.items():
        rows += [[f"dropped from {where}", reason, f"{number:,}"] for reason, number in reasons.most_common()]
    rows += [[split, "", f"{number:,}"] for split, number in report.kept.items() if number]
    print_table(f"{name}: {languages}", ["", "reason", counted], rows, {counted})
    print(f"written to {Workspace.find().corpus_folder(name)}")


def _print_first_pairs(name: str, report: "ImportReport") -> None:
    """Print some pairs, in which wrong columns and swapped languages are seen at once."""
    from itertools import islice

    from nmtlab.workspace import Workspace

    corpus = open_corpus(Workspace.find(), name, report.source, report.target)
    for pair in islice(corpus.pairs(corpus.splits[0]), 3):
        for language, text in zip(corpus.direction, pair, strict=True):
            print(f"  {language}: {text if len(text) <= 100 else f'{text[:99]}…'}")


def report_pairs(name: str, report: "ImportReport") -> None:
    """Print what became of the pairs of a new corpus, its first ones, and what to do next."""
    print_report(name, f"{report.source} to {report.target}", report, "pairs")
    print(f"the first pairs of {next(split for split, number in report.kept.items() if number)}:")
    _print_first_pairs(name, report)
    if not report.kept.get("train"):
        print(f"next: nmtlab evaluate RUN --corpus {name}")
        return
    if not report.kept.get("dev"):
        remedy = "join a corpus that has one" if report.kind == "join" else "--dev 100 holds one out"
        print(f"there is no dev set, which training needs to select its best checkpoint; {remedy}")
    print(f"next: nmtlab corpus stats {name}, then nmtlab train {name}")
