"""A corpus of controlled languages on disk, with the truth beside it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.files import new_folder, write_lines
from nmtlab.text.seedlings.language import SeedlingLanguage, SeedlingPair, Split
from nmtlab.text.seedlings.settings import SeedlingSettings

ENGLISH = "en"


def write_corpus(
    folder: Path,
    languages: Sequence[str],
    settings: SeedlingSettings | None = None,
    *,
    train: int = 8000,
    dev: int = 500,
    test: int = 500,
    start: int = 0,
    train_gold: bool = True,
) -> None:
    """Write the corpus `folder`, whole or not at all: `train`, `dev` and `test` in each language and in English.

    With several languages, line n means the same in all of them. `seedlings.json` has the settings; `gold/` has, for
    each language xx:

    - `SPLIT.xx-en.align`: a line of links `0-0 1-2` for each pair, white-space tokens of source and target from 0;
    - `lexicon.xx-en.tsv`: each stem, what group of concepts it belongs to, an English word for it, its probability by
      design, and the word's forms;
    - `names.xx-en.tsv`: each proper name, uninflected and in English, its class, its rank and share there, and how
      often the English side of each split has it;
    - `forms.xx-en.tsv`: each pair of linked words of train as they stand there, its count, and p(target | source).

    Args:
        folder: a folder that is not there yet.
        languages: one or more codes of source languages.
        settings: what the family is grown from.
        train: number of pairs, as are `dev` and `test`.
        start: number of the first sentence; corpora whose sentences are to differ start far apart.
        train_gold: whether to write links and forms of train, which take space on disk, and memory for the forms.

    Raises:
        CorpusError: `folder` is there already, or a language or number is not allowed.
    """
    sizes: dict[Split, int] = {"train": train, "dev": dev, "test": test}
    _check(languages, sizes, start)
    grown = [SeedlingLanguage(code, settings) for code in languages]
    if folder.exists():  # before the work; new_folder looks again after it
        raise CorpusError(f"{folder}: there is one already", "choose another name, or remove it")
    with new_folder(folder) as temporary:
        (temporary / "gold").mkdir()
        for language in grown:
            counts: dict[Split, Counter[str]] = {}
            for split, size in sizes.items():
                pairs = language.pairs(size, start, split)
                gold = train_gold or split != "train"
                counts[split] = _write_split(temporary, language, split, pairs, gold)
            write_lines(_gold(temporary, "lexicon", language, "tsv"), _lexicon(language))
            write_lines(_gold(temporary, "names", language, "tsv"), _names(language, counts))
        described = {"languages": list(languages), "start": start, "train": train, "dev": dev, "test": test}
        described |= asdict(grown[0].settings)
        write_lines(temporary / "seedlings.json", json.dumps(described, indent=2).splitlines())


def _check(languages: Sequence[str], sizes: dict[Split, int], start: int) -> None:
    if not languages or len(set(languages)) < len(languages):
        raise CorpusError(f"seedlings: languages are {', '.join(languages) or 'none'}", "name each one once")
    for name, least, value in (*((split, 1, size) for split, size in sizes.items()), ("start", 0, start)):
        if value < least:
            raise CorpusError(f"seedlings: {name} is {value}", f"choose a number from {least} up")


def _gold(folder: Path, name: str, language: SeedlingLanguage, ending: str) -> Path:
    return folder / "gold" / f"{name}.{language.code}-{ENGLISH}.{ending}"


def _write_split(
    folder: Path, language: SeedlingLanguage, split: Split, pairs: Iterable[SeedlingPair], gold: bool
) -> Counter[str]:
    """Write sentences, and links if `gold`, and return how often each name is in the English side."""
    names = {name.target for name in language.names()}
    seen: Counter[str] = Counter()
    forms: Counter[tuple[str, str]] = Counter()
    with ExitStack() as stack:
        source, target = (
            stack.enter_context((folder / f"{split}.{code}").open("w", encoding="utf-8", newline="\n"))
            for code in (language.code, ENGLISH)
        )
        align = _gold(folder, split, language, "align")
        links = stack.enter_context(align.open("w", encoding="utf-8", newline="\n")) if gold else None
        for pair in pairs:
            source.write(pair.source + "\n")
            target.write(pair.target + "\n")
            words = pair.target.split(" ")
            seen.update(filter(names.__contains__, words))
            if links:
                links.write(" ".join([f"{i}-{j}" for i, j in pair.links]) + "\n")
                source_words = pair.source.split(" ")
                forms.update([(source_words[i], words[j]) for i, j in pair.links])
    if split == "train" and gold:
        write_lines(_gold(folder, "forms", language, "tsv"), _forms(forms))
    return seen


def _forms(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    yield "source\ttarget\tcount\tprobability"
    totals: Counter[str] = Counter()
    for (source, _), count in counts.items():
        totals[source] += count
    for (source, target), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{source}\t{target}\t{count}\t{count / totals[source]:.4f}"


def _lexicon(language: SeedlingLanguage) -> Iterator[str]:
    yield "stem\tgroup\ttarget\tprobability\tforms"
    for entry in language.lexicon():
        yield f"{entry.stem}\t{entry.group}\t{entry.target}\t{entry.probability:.4f}\t{' '.join(entry.forms)}"


def _names(language: SeedlingLanguage, counts: dict[Split, Counter[str]]) -> Iterator[str]:
    yield "\t".join(("source", "target", "class", "rank", "share", *counts))
    for name in language.names():
        seen = "\t".join(str(counts[split][name.target]) for split in counts)
        yield f"{name.source}\t{name.target}\t{name.group}\t{name.rank}\t{name.share:.4f}\t{seen}"
