"""`nmtlab corpus`."""

import math
from typing import Annotated, Literal

import typer
from pandas import DataFrame

from nmtlab.analysis.access.ceiling import word_ceiling
from nmtlab.cli.answer import Answer, Json, print_answer
from nmtlab.cli.corpus_import import Name, check_not_in_training, print_report, report_pairs
from nmtlab.cli.corpus_seen import print_seen
from nmtlab.cli.options import Source, Target, check_belongs, numbers
from nmtlab.cli.tables import print_frame, print_table
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.evaluation.language_identification import Identifier
from nmtlab.files import remove_folder
from nmtlab.runs.listing import open_run, unfinished_runs
from nmtlab.text.checks import overlap as measures
from nmtlab.text.corpora.concatenation import join as join_corpora
from nmtlab.text.corpora.corpus import SPLITS, Listed, ParallelCorpus, listed, open_corpus
from nmtlab.text.corpora.corpus_builder import ImportReport
from nmtlab.text.corpora.monolingual import MonolingualCorpus, is_monolingual, open_monolingual
from nmtlab.text.corpora.multi_parallel import join_languages
from nmtlab.text.corpora.similar import shares_similar
from nmtlab.text.corpora.statistics import MOST_WORDS, line_statistics, statistics, suspects
from nmtlab.workspace import Workspace

Transliteration = Annotated[
    Literal["none", "uyghur-latin", "uroman"],
    typer.Option(help="Transliteration of all sources before subwords are learned."),
]
_NO_SHARES = {
    "new_tokens": "only of dev and test that are not blank, beside train",
    "new_types": "only of dev and test that are not blank, beside train",
    "similar": "only of dev and test, beside train",
    "word_ceiling": "only of dev and test",
    "copies": "only of sentence pairs",
    "short": "only of sentence pairs",
    "other_language": "only of sentence pairs, with --languages",
}
Csv = Annotated[bool, typer.Option("--csv", help="Print comma-separated values, unrounded.")]


def join(
    name: Name,
    parts: Annotated[list[str], typer.Argument(help="Names of corpora, or paths of their folders.")],
    train: Annotated[int, typer.Option(min=0, help="Maximum number of train pairs; 0 for all.")] = 0,
    dev: Annotated[int, typer.Option(min=0, help="Maximum number of dev pairs; 0 for all.")] = 0,
    test: Annotated[int, typer.Option(min=0, help="Maximum number of test pairs; 0 for all.")] = 0,
    skip: Annotated[
        int, typer.Option(min=0, help="Leave out the train pairs that --train with this number keeps.")
    ] = 0,
    allow_missing: Annotated[
        bool,
        typer.Option("--allow-missing", help="Of several languages, also keep sentences that only some corpora have."),
    ] = False,
    source: Source = "",
    target: Target = "",
) -> None:
    """Join train, dev and test of corpora, without duplicates or leaks between splits.

    Corpora in the same two languages are concatenated. Corpora of several languages into one are joined on identical
    sentences of that one: the new corpus has these sentences in every language, as a test set for directions that none
    of the parts has, such as gl to pt from gl-en and pt-en, or as text for systems of several sources. These read a
    blank line as a missing sentence, which --allow-missing writes.

    If fewer pairs are wanted, a hash of the text selects them, so that a smaller corpus is a subset of a larger one.
    --skip gives the others: --train 2000 a small corpus, and --skip 2000 the rest, as if nobody had translated it.
    """
    workspace = Workspace.find()
    corpora = [open_corpus(part, workspace, source, target) for part in parts]
    folder, limits = workspace.new_corpus_folder(name), {"train": train, "dev": dev, "test": test}
    several = len({corpus.source for corpus in corpora}) > 1
    check_belongs("corpora in the same two languages", not several, {"--skip": skip or None})
    check_belongs("corpora in several languages", several, {"--allow-missing": allow_missing or None})
    if several:
        _report_lines(name, join_languages(folder, corpora, limits, allow_missing))
        return
    report = join_corpora(folder, corpora, limits, skip=skip)
    report_pairs(name, report)
    for split, number in report.options["references_left_out"].items():
        print(f"left out: {number} further reference{'s' if number > 1 else ''} of {split}")


class CorpusListed(Answer):
    """A corpus, in `CorporaListed`."""

    name: str
    """Of its folder."""
    folder: str
    """Where it is."""
    languages: list[str]
    """Their codes."""
    train: int | None
    """Lines of its first language's file."""
    dev: int | None
    """As `train`."""
    test: int | None
    """As `train`."""


class CorporaListed(Answer):
    """What `nmtlab corpus list --json` prints."""

    corpora: list[CorpusListed]
    """By name."""


class SideStatistics(Answer):
    """One language of one split, in `CorpusStatistics`."""

    split: str
    """`train`, `dev` or `test`."""
    side: str
    """`source` or `target`; `text` of monolingual text."""
    language: str
    """Its code."""
    sentences: int
    """Lines, blank ones included."""
    tokens: int
    """White-space words of the text as it is."""
    types: int
    """Distinct tokens."""
    mean_length: float
    """Tokens per sentence."""
    median_length: float
    """Tokens per sentence."""
    longest: int
    """Tokens of the longest sentence."""
    singletons: int
    """Types seen once."""
    new_tokens: float | None
    """Share of the tokens that are not in train, 0 to 1."""
    new_types: float | None
    """Share of the types that are not in train, 0 to 1."""
    similar: float | None
    """Share of the sentences that are similar to a training sentence, 0 to 1."""
    word_ceiling: float | None
    """BLEU of the text split into words and joined again, in percent."""
    copies: float | None
    """Share of the pairs that are the same on both sides, 0 to 1."""
    short: float | None
    """Share of the sentences of at most five words, 0 to 1."""
    other_language: float | None
    """Share of the sentences that are in another language, 0 to 1."""


class CorpusStatistics(Answer):
    """What `nmtlab corpus stats --json` prints."""

    name: str
    """Of the corpus."""
    source: str
    """Code of the source language, or of that of monolingual text."""
    target: str | None
    """Code of the target language."""
    sides: list[SideStatistics]
    """By split, source and target."""


def list_(as_json: Json = False) -> None:
    """List the corpora of the workspace and of the folders in NMTLAB_CORPORA: languages, pairs, and where they are.

    Pairs are lines of the first language's file; 'nmtlab corpus stats' reads and checks a corpus.
    """
    workspace = Workspace.find()
    corpora = [listed(folder) for folder in workspace.corpus_folders()]
    if as_json:
        print_answer(CorporaListed(corpora=[_listed(corpus) for corpus in corpora]))
        return
    rows = []
    for corpus in corpora:
        where = "workspace" if corpus.folder.parent == workspace.data / "corpora" else str(corpus.folder.parent)
        pairs = ["-" if lines is None else f"{lines:,}" for lines in map(corpus.lines.get, SPLITS)]
        rows.append([corpus.folder.name, ", ".join(corpus.languages), *pairs, where])
    if rows:
        print_table("Corpora", ["corpus", "languages", *SPLITS, "where"], rows, set(SPLITS))
    else:
        print("no corpora yet; 'nmtlab corpus import' or 'nmtlab corpus make' makes some")


def _listed(corpus: Listed) -> CorpusListed:
    reasons = {split: "cannot be read" if split in corpus.lines else "no such text" for split in SPLITS}
    lines = {split: corpus.lines.get(split) for split in SPLITS}
    facts = {"name": corpus.folder.name, "folder": str(corpus.folder), "languages": list(corpus.languages)}
    return CorpusListed.of(reasons, **facts, **lines)


def remove(
    name: Annotated[str, typer.Argument(help="Name of a corpus of the workspace.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Remove a corpus of the workspace, after confirmation.

    A corpus that a run is being trained on is not removed. The question names the runs that could no longer be resumed.
    """
    workspace = Workspace.find()
    folder = workspace.own_corpus_folder(name)
    if not folder.is_dir():
        raise CorpusError(f"corpus {name!r}: not in {folder.parent}", "choose from 'nmtlab corpus list'")
    check_not_in_training(name, workspace)
    runs = ", ".join(run.name for run in unfinished_runs(name, workspace))
    loss = f"; without it, these runs cannot be resumed: {runs}" if runs else ""
    if not (yes or typer.confirm(f"remove corpus {name}{loss}?")):
        print(f"kept {name}")
        return
    if folder.is_symlink():
        folder.unlink()
    else:
        remove_folder(folder)
    print(f"removed {name}")


def stats(
    corpus: Annotated[
        str, typer.Argument(help="Name of a corpus, or path of its folder; as NAME:en for that side alone.")
    ],
    source: Source = "",
    target: Target = "",
    with_: Annotated[
        str,
        typer.Option(
            "--with", metavar="RUN", help="Show instead how this run's pipeline sees the text: what is unknown."
        ),
    ] = "",
    languages: Annotated[
        bool, typer.Option("--languages", help="Also count sentences in another language, as py3langid finds.")
    ] = False,
    csv: Csv = False,
    as_json: Json = False,
) -> None:
    """Count the sentences, tokens and types of a corpus, their lengths, and what train lacks of dev and test.

    Tokens are whitespace-separated words of the unprocessed text. A sentence is similar to train if it shares 70 % of
    the words of both with a training sentence (Jaccard index): such sentences can be translated from memory.
    The word ceiling is the BLEU of a text split into words and joined again: no word system can be expected above it.
    A second table has what may be noise: copies, short sentences and, with --languages, those in another language.
    """
    workspace = Workspace.find()
    if with_:
        if csv or languages:
            raise NmtlabError(f"{'--csv' if csv else '--languages'} and --with: mutually exclusive", "leave one out")
        print_seen(open_run(with_, workspace), open_corpus(corpus, workspace, source, target), as_json)
        return
    if is_monolingual(corpus, workspace):
        check_belongs("two languages", False, {"--languages": languages or None, "--source": source or None})
        name, direction, table = _of_lines(open_monolingual(corpus, workspace))
    else:
        name, direction, table = _of_pairs(open_corpus(corpus, workspace, source, target), languages)
    if as_json:
        sides = [SideStatistics.of(_NO_SHARES, **row) for row in table.to_dict("records")]
        named = dict(zip(("source", "target"), (*direction, None), strict=False))
        print_answer(CorpusStatistics.of({"target": "monolingual text"}, name=name, **named, sides=sides))
        return
    if csv:
        print(table.to_csv(index=False), end="")
        return
    shown = [("split", "split", "{}"), ("language", "language", "{}"), ("sentences", "sentences", "{:,}")]
    shown += [("tokens", "tokens", "{:,}"), ("types", "types", "{:,}"), ("seen once", "singletons", "{:,}")]
    shown += [("mean", "mean_length", "{:.1f}"), ("median", "median_length", "{:g}"), ("longest", "longest", "{:,}")]
    shown += [("new tokens", "new_tokens", "{:.1%}"), ("new types", "new_types", "{:.1%}")]
    shown += [("similar to train", "similar", "{:.1%}"), ("word ceiling", "word_ceiling", "{:.1f}")]
    print_frame(f"{name}: {' to '.join(direction)}", table, shown)
    if len(direction) == 2:
        shown = [("split", "split", "{}"), ("language", "language", "{}"), ("same on both sides", "copies", "{:.1%}")]
        shown += [(f"at most {MOST_WORDS} words", "short", "{:.1%}")]
        shown += [("another language", "other_language", "{:.1%}")] if languages else []
        print_frame(f"{name}: what may be noise", table, shown)


def _of_pairs(corpus: ParallelCorpus, languages: bool) -> tuple[str, tuple[str, ...], DataFrame]:
    """Return the name, the languages and the statistics of a parallel corpus."""
    table, shares = statistics(corpus), shares_similar(corpus)
    table["similar"] = [shares.get(key, math.nan) for key in zip(table["split"], table["language"], strict=True)]
    table["word_ceiling"] = [
        math.nan if row.split == "train" else word_ceiling([*corpus.lines(row.split, row.language)], row.language)
        for row in table.itertuples()
    ]
    found = suspects(corpus, Identifier().excludes if languages else None)
    return corpus.name, corpus.direction, table.merge(found, on=["split", "language"])


def _of_lines(corpus: MonolingualCorpus) -> tuple[str, tuple[str, ...], DataFrame]:
    """Return the name, the language and the statistics of monolingual text."""
    return corpus.name, (corpus.language,), line_statistics(corpus).assign(**dict.fromkeys(_NO_SHARES, math.nan))


def overlap(
    parent: Annotated[str, typer.Argument(help="Name of the parent's corpus, or path of its folder.")],
    child: Annotated[str, typer.Argument(help="Name of the child's corpus, or path of its folder.")],
    sizes: Annotated[str, typer.Option(help="Vocabulary sizes of joint subwords, comma-separated.")] = (
        "1000,2000,4000,8000"
    ),
    words: Annotated[int, typer.Option(min=0, help="Vocabulary size for words, by frequency; 0 for all.")] = 0,
    transliteration: Transliteration = "none",
    max_words: Annotated[
        int, typer.Option(min=0, help="Maximum words on either side of a training pair; 0 for no limit.")
    ] = 50,
    max_subwords: Annotated[
        int, typer.Option(min=0, help="Maximum subwords on either side of a training pair; 0 for no limit.")
    ] = 60,
    limited: Annotated[bool, typer.Option("--limited", help="Compare only training pairs within the limits.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the first table as comma-separated values.")] = False,
) -> None:
    """Count the child's source types and tokens that occur in the parent's source text (thesis Table 3.3).

    Subwords are learned on source and target of both texts, as a parent shares them with its child. A second table
    counts the training sentences and tokens within the length limits (Table 3.1).
    """
    workspace = Workspace.find()
    of_parent, of_child = (open_corpus(name, workspace) for name in (parent, child))
    limits = measures.LengthLimits(max_words, max_subwords)
    learned = measures.segmentations((of_child, of_parent), numbers(sizes, int, "--sizes", 1), transliteration)
    compared = limits if limited else measures.NO_LIMITS
    table = measures.overlap(learned, of_parent, of_child, words, compared)
    if csv:
        print(table.to_csv(index=False), end="")
        return
    shown = [("segmentation", "segmentation", "{}"), ("split", "split", "{}")]
    for kind in ("type", "token"):
        shown += [(f"{kind}s", f"{kind}s", "{:,}"), ("in the parent", f"shared_{kind}s", "{:,}")]
        shown += [("share", f"{kind}_share", "{:.1%}")]
    print_frame(f"{of_child.name}, of it in {of_parent.name}", table, shown)
    amounts = measures.training_sizes(learned, of_parent, of_child, limits)
    amounts["named"] = amounts["text"] + ": " + amounts["corpus"]
    counts = ["sentences", "left_out", "source_tokens", "target_tokens", "tokens"]
    shown = [("segmentation", "segmentation", "{}"), ("text", "named", "{}")]
    shown += [(name.replace("_", " "), name, "{:,}") for name in counts]
    within = f"at most {max_words or 'any'} words or {max_subwords or 'any'} subwords"
    print_frame(f"training text, {within}", amounts, shown)


def overlap_matrix(
    corpora: Annotated[list[str], typer.Argument(help="Names of two or more corpora into one target language.")],
    size: Annotated[int, typer.Option(min=1, help="Vocabulary size of subwords learned on all texts.")] = 8000,
    transliteration: Transliteration = "none",
    csv: Csv = False,
) -> None:
    """Show how much the source texts share pairwise: words, and subwords learned on all of them."""
    from nmtlab.analysis.languages.shared_words import overlap_matrix as measured  # it loads torch, alone among these

    workspace = Workspace.find()
    table = measured([open_corpus(name, workspace) for name in corpora], (size,), transliteration)
    if csv:
        print(table.to_csv(index=False), end="")
        return
    for segmentation, rows in table.groupby("segmentation", sort=False):
        _print_matrix(rows, f"{segmentation}: types of each text (row) that are in the other (column)")


def _print_matrix(table: DataFrame, title: str) -> None:
    shares = table.set_index(["corpus", "other_corpus"])["type_share"]
    names = list(dict.fromkeys(table["corpus"]))
    rows = [[one, *("" if one == other else f"{shares[one, other]:.1%}" for other in names)] for one in names]
    print_table(title, ["text", *names], rows, set(names))


def _report_lines(name: str, report: ImportReport) -> None:
    """Print what became of the sentences of a corpus in several languages."""
    languages = report.options["languages"]
    print_report(name, ", ".join(languages), report, "sentences")
    for where, reasons in report.options["dropped_pairs"].items():
        print(f"not read: {', '.join(f'{number:,} {reason}' for reason, number in reasons.items())} in {where}")
    print(f"next: nmtlab corpus stats {name} --source {languages[0]} --target {languages[1]}")
