"""`nmtlab corpus make` and `nmtlab corpus make-toy`."""

from typing import Annotated

import typer

from nmtlab.errors import CorpusError
from nmtlab.text.artificial import FAMILY, ArtificialSettings, write_corpus
from nmtlab.text.toys import SOURCE, TARGET, Lengths, Task, write_toys
from nmtlab.workspace import Workspace


def make(
    name: Annotated[str, typer.Argument(help="Name of the new corpus.")],
    language: Annotated[
        list[str] | None, typer.Option(help="Code of a source language; repeatable. (default: qaa)")
    ] = None,
    train: Annotated[int, typer.Option(min=1, help="Pairs to train on.")] = 8000,
    dev: Annotated[int, typer.Option(min=1, help="Pairs to validate on.")] = 500,
    test: Annotated[int, typer.Option(min=1, help="Pairs to test on.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of languages and sentences.")] = 1,
    vocabulary: Annotated[int, typer.Option(help="Number of concepts: nouns, verbs and adjectives.")] = 400,
    names: Annotated[int, typer.Option(help="Proper names in each class.")] = 60,
    ambiguity: Annotated[float, typer.Option(help="Share of words with synonyms to choose from, 0 to 1.")] = 0.0,
    cognates: Annotated[float, typer.Option(help="Share of stems inherited from the family, 0 to 1.")] = 1.0,
    sound_changes: Annotated[int, typer.Option(help="Further sound changes in inherited stems, 0 to 15.")] = 0,
    order: Annotated[str, typer.Option(help="Code of the language whose word order is used. (default: its own)")] = "",
    start: Annotated[int, typer.Option(min=0, help="Index of the first sentence; change it for different text.")] = 0,
    document: Annotated[
        int, typer.Option(min=0, help="Pairs in each document of dev and test, in which three nouns are new; 0: none.")
    ] = 0,
    unsaid_subjects: Annotated[
        bool,
        typer.Option(
            "--unsaid-subjects",
            help="Other documents, in train too, of at most --document pairs: the source leaves out a subject that is "
            "the object of the sentence before, so that only this tells it.",
        ),
    ] = False,
) -> None:
    """Generate a corpus of artificial languages, with gold alignments, lexicon and names.

    Everything about these languages is known, so that alignment error, lexicon precision and accuracy on rare names
    can be measured. All codes share their roots. For a more distant relative of another language, use a smaller
    --cognates, some --sound-changes or another --order, and otherwise the same settings.
    """
    languages = language or ["qaa"]
    folder = Workspace.find().new_corpus_folder(name)
    settings = ArtificialSettings(
        seed=seed,
        vocabulary=vocabulary,
        names=names,
        ambiguity=ambiguity,
        cognates=cognates,
        sound_changes=sound_changes,
        order=order,
    )
    write_corpus(
        folder, languages, settings, train=train, dev=dev, test=test, start=start, document=document,
        unsaid_subjects=unsaid_subjects,
    )  # fmt: skip
    for code in languages:
        print(f"{name}: {code} is {FAMILY[code].name}; {train:,} pairs to train, {dev:,} dev, {test:,} test")
    print(f"next: nmtlab train {name} --source {languages[0]} --target en")


def make_toy(
    name: Annotated[str, typer.Argument(help="Name of the new corpus.")],
    task: Annotated[
        Task,
        typer.Option(help="copy, reverse, bigram-flip (the words of each pair change places) or repeat (twice)."),
    ] = "copy",
    types: Annotated[int, typer.Option(min=2, help="Number of different words.")] = 20,
    length: Annotated[str, typer.Option(help="Fewest and most words of the sequences of train and dev.")] = "5-20",
    test_length: Annotated[str, typer.Option(help="Fewest and most words of the sequences of test.")] = "5-30",
    train: Annotated[int, typer.Option(min=1, help="Pairs to train on.")] = 5000,
    dev: Annotated[int, typer.Option(min=1, help="Pairs to validate on.")] = 300,
    test: Annotated[int, typer.Option(min=1, help="Pairs to test on.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sequences.")] = 1,
) -> None:
    """Generate a corpus of a toy task, from qta to qtb: random words, and one right answer to each sequence.

    Can a network without attention remember long sequences? Test sequences may be longer than those that are trained
    on: does a network learn the rule, or the lengths?
    """
    folder = Workspace.find().new_corpus_folder(name)
    lengths, test_lengths = _lengths("--length", length), _lengths("--test-length", test_length)
    write_toys(folder, task, types, lengths, test_lengths, train=train, dev=dev, test=test, seed=seed)
    print(f"{name}: {task}; {train:,} pairs to train, {dev:,} dev, {test:,} test")
    print(f"next: nmtlab train {name} --source {SOURCE} --target {TARGET}")


def _lengths(option: str, given: str) -> Lengths:
    least, _, most = given.partition("-")
    if not (least.isdecimal() and most.isdecimal()):
        raise CorpusError(f"{option} {given}: not two numbers", "give the fewest and the most words, as in 5-20")
    return Lengths(int(least), int(most))
