"""Toy tasks: sequences with one right answer each, to see what a network can learn (Grefenstette et al. 2015)."""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.lines import new_folder, write_lines, write_pairs

Task = Literal["copy", "reverse", "bigram-flip", "repeat"]
"""The answer: the sequence; its last word first; each word behind its neighbour, two by two; the sequence twice."""

SOURCE, TARGET = "qta", "qtb"
"""Codes, for private use, of the sides of a toy corpus."""

TOYS = "toys.json"
"""File with the settings of a toy corpus."""


class Lengths(NamedTuple):
    """The fewest and the most words of a sequence."""

    least: int
    most: int


def answer(task: Task, words: Sequence[str]) -> list[str]:
    """Return the answer of a task to a sequence; in `bigram-flip`, the last word of an odd number stays."""
    match task:
        case "copy":
            return [*words]
        case "reverse":
            return [*reversed(words)]
        case "bigram-flip":
            return [word for first in range(0, len(words), 2) for word in reversed(words[first : first + 2])]
        case "repeat":
            return [*words, *words]


def write_toys(
    folder: Path,
    task: Task,
    types: int,
    lengths: Lengths,
    test_lengths: Lengths,
    *,
    train: int = 5000,
    dev: int = 300,
    test: int = 500,
    seed: int = 1,
) -> None:
    """Write a corpus of a task atomically, all of whose sequences differ; `toys.json` has its settings.

    Args:
        folder: must not exist.
        types: number of different words.
        lengths: of the sequences of train and dev; every length is as likely.
        test_lengths: of those of test.
        train, dev, test: number of pairs.

    Raises:
        CorpusError: `folder` exists, or lengths are not in order, or allow too few different sequences.
    """
    settings = {"task": task, "types": types, "lengths": lengths, "test_lengths": test_lengths, "seed": seed}
    sizes = {"train": train, "dev": dev, "test": test}
    for least, most in (lengths, test_lengths):
        if not 1 <= least <= most:
            raise CorpusError(f"toy task: lengths are {least}-{most}", "give the smaller number first, at least 1")
        # those of each length, of which at most half are drawn
        if types**least < 2 * sum(sizes.values()):
            problem = f"toy task: {types} words make only {types**least:,} sequences of {least}"
            raise CorpusError(problem, "choose more words, longer sequences or fewer pairs")
    with new_folder(folder) as temporary:
        seen: set[tuple[str, ...]] = set()
        generator = random.Random(seed)
        for split, size in sizes.items():
            drawn = islice(_sequences(generator, types, test_lengths if split == "test" else lengths, seen), size)
            pairs = ((" ".join(words), " ".join(answer(task, words))) for words in drawn)
            write_pairs(temporary / f"{split}.{SOURCE}", temporary / f"{split}.{TARGET}", pairs)
        write_lines(temporary / TOYS, json.dumps(settings | sizes, indent=2).splitlines())


def _sequences(
    generator: random.Random, types: int, lengths: Lengths, seen: set[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    """Yield sequences that have not been seen yet."""
    words = [f"w{number}" for number in range(1, types + 1)]
    while True:
        sequence = tuple(generator.choices(words, k=generator.randint(*lengths)))
        if sequence not in seen:
            seen.add(sequence)
            yield sequence
