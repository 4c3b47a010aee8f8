"""`nmtlab adapt`."""

import math
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from tqdm import tqdm

from nmtlab.analysis.access.scoring import compare_texts
from nmtlab.analysis.comparison.documents import ADAPTATION
from nmtlab.analysis.comparison.new_words import (
    SYSTEMS,
    dictionary_for,
    dictionary_of,
    document_lines,
    new_word_accuracy,
    new_words,
    training_text,
    types_per_token,
    word_table,
)
from nmtlab.cli.answer import Answer, Json, Part, print_answer
from nmtlab.cli.compare import ComparedScore, compared_scores, print_comparison
from nmtlab.cli.options import Source, Split, Target, Threads, open_text, run_recipe
from nmtlab.cli.tables import print_frame
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.runs.listing import open_run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import is_blank, read_lines
from nmtlab.training.earlier_texts import texts_before
from nmtlab.workspace import Workspace

_UNKNOWN = "the training text of the run is not here, so it is not known which words are new"
_MOST_WORDS = 20
_ACCURACY = [
    ("words", "words", "{}"), ("occurrences", "occurrences", "{:,}"), ("unadapted", "unadapted", "{:.1%}"),
    ("adapted", "adapted", "{:.1%}"),
]  # fmt: skip
_WORDS = [
    ("document", "document", "{}"), ("new word", "word", "{}"), ("occurrences", "occurrences", "{:,}"),
    ("reference", "reference", "{}"), ("unadapted", "unadapted", "{}"), ("adapted", "adapted", "{}"),
]  # fmt: skip


class NewWords(Answer):
    """How many new words of a kind have the translation of the reference, in `Adaptation`."""

    words: str
    """Kind: all, copied (the same in the reference), or translated."""
    occurrences: int
    """How many there are."""
    unadapted: float | None
    """Share that is right without adaptation."""
    adapted: float | None
    """Share that is right with adaptation."""


class TypesPerToken(Part):
    """Different translations per occurrence of a new word in its document, in `Adaptation`."""

    reference: float
    """Of the references."""
    unadapted: float
    """Without adaptation."""
    adapted: float
    """With adaptation."""


class Adaptation(Answer):
    """The answer of `nmtlab adapt`. Each list of scores has the unadapted system first."""

    run: str
    """Name of the run."""
    text: str
    """The corpus and its split."""
    source: str
    """Language of the source."""
    target: str
    """Language of the translations."""
    sentences: int
    """How many are translated."""
    documents: int
    """How many documents they are from."""
    learning_rate: float
    """Of each step on a sentence."""
    epochs: int
    """Steps on each sentence."""
    dictionary: int
    """Entries that were learned before their documents."""
    diverged: list[str]
    """Documents whose loss was not finite: they count as translated without adaptation."""
    bleu: list[ComparedScore]
    """By sacrebleu, of detokenized text."""
    chrf: list[ComparedScore]
    """By sacrebleu: chrF2."""
    new_words: list[NewWords] | None
    """By kind of word."""
    types_per_token: TypesPerToken | None
    """Of new words that occur three times or more in their document."""


def adapt(
    run: Annotated[str, typer.Argument(help="Name of a run that has weights.")],
    corpus: Annotated[str, typer.Argument(help="Corpus with SPLIT.documents: the id of the document of each line.")],
    split: Split = "test",
    source: Source = "",
    target: Target = "",
    learning_rate: Annotated[float, typer.Option(min=0, help="Of SGD on each sentence, once it is translated.")] = 0.01,
    epochs: Annotated[int, typer.Option(min=0, help="Steps on each sentence.")] = 5,
    dictionary: Annotated[
        Path | None,
        typer.Option(help="File of words and their translations, a tab between them, that are learned first."),
    ] = None,
    dictionary_from_references: Annotated[
        bool,
        typer.Option(
            "--dictionary-from-references",
            help="Learn first what the new words of each document are in its references.",
        ),
    ] = False,
    dictionary_learning_rate: Annotated[float, typer.Option(min=0, help="Of SGD on each word.")] = 0.1,
    dictionary_epochs: Annotated[int, typer.Option(min=0, help="Steps on each word.")] = 5,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Translate documents while the model learns from the reference of each sentence, once it is translated.

    This is what a translator sees who corrects one sentence after the other, if the system learns from the corrections
    (Kothur et al. 2018). Every document begins with the run's model; the run stays as it is. New words are those that
    are in no training text. The translations are stored with the run, and reused if nothing has changed.
    """
    if dictionary and dictionary_from_references:
        raise NmtlabError("--dictionary and --dictionary-from-references: two dictionaries", "choose one of them")
    workspace = Workspace.find()
    opened, text = open_text(open_run(run, workspace), workspace, corpus, source, target)
    documents = text.documents(split)
    lines = document_lines(text, split, documents)
    texts, known = texts_before(opened, workspace)
    training = training_text(texts, opened.recipe.text.max_words) if known else []
    entries = dictionary_for(lines, read_dictionary(dictionary), text.source) if dictionary else []
    if dictionary_from_references:
        if not known:
            raise NmtlabError(f"--dictionary-from-references: {_UNKNOWN}", "give a --dictionary")
        entries = dictionary_of(new_words(lines, training, text.direction))
    with tqdm(total=len(set(documents)), unit=" documents", disable=None, leave=False) as bar:
        found = ADAPTATION.of(
            opened, bar.update, corpus=text, split=split, documents=documents, learning_rate=learning_rate,
            epochs=epochs, dictionary=entries, dictionary_learning_rate=dictionary_learning_rate,
            dictionary_epochs=dictionary_epochs, machine=run_recipe(opened.recipe, None, threads, None).machine,
        )  # fmt: skip
    found = found.sort_values("line", ignore_index=True)
    translated = {name: found[name].tolist() for name in SYSTEMS}
    scores = compare_texts(translated, text.references(split), text.target)
    words = new_words(found, training, text.direction) if known else None
    asked = {"learning_rate": learning_rate, "epochs": epochs, "dictionary": len(entries)}
    answer = _answer(opened.name, text, split, found, scores, words, **asked)
    if json:
        print_answer(answer)
    else:
        _print(answer, scores, words)


def read_dictionary(path: Path) -> dict[str, str]:
    """Return the entries of a dictionary: word -> translation, the first one of several.

    Raises:
        CorpusError: the file cannot be read, or a line, given by number, is not a word and its translation.
    """
    entries: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2 or any(map(is_blank, columns)):
            remedy = "write a word, a tab and its translation on each line"
            raise CorpusError(f"{path}, line {number}: not a word and a translation", remedy)
        entries.setdefault(columns[0].strip(), columns[1].strip())
    return entries


def _answer(
    run: str,
    text: ParallelCorpus,
    split: str,
    found: pd.DataFrame,
    scores: pd.DataFrame,
    words: pd.DataFrame | None,
    **asked: float,
) -> Adaptation:
    """Return the scores of the translations, and those of new words if it is known which are new."""
    of_metric = compared_scores(scores)
    new, ratios = None, {}
    if words is not None:
        missing = dict.fromkeys(SYSTEMS, "there are none")
        new = [NewWords.of(missing, **row) for row in new_word_accuracy(words).to_dict("records")]
        ratios = types_per_token(words)
    frequent = all(map(math.isfinite, ratios.values())) and bool(ratios)
    few = "no new word occurs three times in a document" if words is not None else _UNKNOWN
    return Adaptation.of(
        {"new_words": _UNKNOWN, "types_per_token": few},
        run=run, text=f"{text.name} {split}", source=text.source, target=text.target, sentences=len(found),
        documents=found["document"].nunique(), **asked, bleu=of_metric["BLEU"], chrf=of_metric["chrF"],
        diverged=found["document"][found["diverged"]].drop_duplicates().tolist(), new_words=new,
        types_per_token=TypesPerToken(**ratios) if frequent else None,
    )  # fmt: skip


def _print(answer: Adaptation, scores: pd.DataFrame, words: pd.DataFrame | None) -> None:
    print_comparison(scores[scores["metric"].isin(("BLEU", "chrF"))], f"{answer.text}, {answer.documents:,} documents")
    if answer.diverged:
        print(
            f"not adapted, since the loss was not finite: {', '.join(answer.diverged)}; choose smaller learning rates"
        )
    if words is None:
        print(f"no accuracy on new words: {_UNKNOWN}")
        return
    print_frame("New words that are right", new_word_accuracy(words), _ACCURACY)
    if answer.types_per_token:
        ratios = ", ".join(f"{name} {ratio:.2f}" for name, ratio in answer.types_per_token)
        print(f"different translations per occurrence of a new word: {ratios}")
    table = word_table(words)
    print_frame(f"New words: {min(len(table), _MOST_WORDS)} of {len(table):,}", table[:_MOST_WORDS], _WORDS)
