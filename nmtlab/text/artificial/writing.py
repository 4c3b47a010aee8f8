"""Writing a corpus of artificial languages, with gold annotations."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.artificial.language import ArtificialLanguage, ArtificialPair, Split
from nmtlab.text.artificial.language_settings import DISTANCES, ArtificialSettings
from nmtlab.text.corpora.heads import format_heads
from nmtlab.text.corpora.lines import new_folder, write_lines

ENGLISH = "en"


def write_corpus(
    folder: Path | str,
    languages: Sequence[str],
    settings: ArtificialSettings | Mapping[str, ArtificialSettings] | None = None,
    *,
    train: int = 8000,
    dev: int = 500,
    test: int = 500,
    start: int = 0,
    train_gold: bool = True,
    document: int = 0,
    unsaid_subjects: bool = False,
) -> None:
    """Write the corpus `folder` atomically: `train`, `dev` and `test` in each language and in English.

    Line n means the same in all languages. `artificial.json` has the settings, and under `relatives` those of each
    language in which they differ; `gold/` has, for each language xx:

    - `SPLIT.xx-en.align`: one line of links `0-0 1-2` per pair, between white-space tokens numbered from 0;
    - `SPLIT.xx-en.heads`: the position of the head of each source token, of which it is a dependent; a root is its own;
    - `lexicon.xx-en.tsv`: each stem with its group of concepts, an English translation, its probability by design, the
      English word's forms, and its origin: inherited from the family, the language's own, or borrowed from English;
    - `names.xx-en.tsv`: each proper name, uninflected and in English, its class, its rank and share there, and its
      count in the English side of each split;
    - `forms.xx-en.tsv`: each pair of linked word forms in train, its count, and p(target | source).

    Args:
        folder: must not exist.
        languages: codes of one or more source languages.
        settings: settings of the language family, or of each language; only their distances may differ (`cognates`,
            `sound_changes` and `order`), since the sentences of all languages mean the same.
        train, dev, test: number of pairs.
        start: number of the first sentence; for corpora with different sentences, choose numbers far apart.
        train_gold: whether to write links, heads and forms of train, which take disk space and, for the forms, memory.
        document: number of pairs in each document of dev and test, in which three nouns are new (`documents`); 0 for
            text without documents.
        unsaid_subjects: whether there are other documents instead, in train too, of at most that many pairs, whose
            sentences leave out their subject where it is the object before (`connected`).

    Raises:
        CorpusError: `folder` exists, a language or number is invalid, or the settings are not those of one family.
    """
    sizes: dict[Split, int] = {"train": train, "dev": dev, "test": test}
    _check(languages, sizes, start, document)
    if unsaid_subjects and document < 2:
        raise CorpusError(f"artificial language: document is {document}", "unsaid subjects need at least 2")
    given = settings if isinstance(settings, Mapping) else dict.fromkeys(languages, settings)
    in_dev, in_test = (-(-size // document) if document and not unsaid_subjects else 0 for size in (dev, test))
    grown = [ArtificialLanguage(code, given[code], in_dev + in_test) for code in languages]
    _check_family(grown)
    folder = Path(folder)
    if folder.exists():  # fail before the work; new_folder checks again
        raise CorpusError(f"{folder}: already exists", "choose another name, or remove it")
    with new_folder(folder) as temporary:
        (temporary / "gold").mkdir()
        for language in grown:
            counts: dict[Split, Counter[str]] = {}
            for split, size in sizes.items():
                pairs, documents = language.pairs(size, start, split), bool(document) and split != "train"
                ids = [str(1 + n // document) for n in range(size)] if documents else []
                if unsaid_subjects:
                    connected = list(language.connected(size, document, start, split))
                    ids, pairs = [str(1 + number) for number, _ in connected], (pair for _, pair in connected)
                elif documents:
                    pairs = language.documents(size, document, in_dev if split == "test" else 0, start, split)
                gold = train_gold or split != "train"
                counts[split] = _write_split(temporary, language, split, pairs, gold)
                if ids:
                    write_lines(temporary / f"{split}.documents", ids)
            write_lines(_gold(temporary, "lexicon", language, "tsv"), _lexicon(language))
            write_lines(_gold(temporary, "names", language, "tsv"), _names(language, counts))
        described: dict[str, object] = {"languages": list(languages), "start": start}
        described |= {"train": train, "dev": dev, "test": test} | ({"document": document} if document else {})
        described |= {"unsaid_subjects": True} if unsaid_subjects else {}
        described |= _described(grown)
        write_lines(temporary / "artificial.json", json.dumps(described, indent=2).splitlines())


def _check(languages: Sequence[str], sizes: dict[Split, int], start: int, document: int) -> None:
    if not languages or len(set(languages)) < len(languages):
        raise CorpusError(f"artificial language: languages are {', '.join(languages) or 'none'}", "name each one once")
    others = (("start", 0, start), ("document", 0, document))
    for name, least, value in (*((split, 1, size) for split, size in sizes.items()), *others):
        if value < least:
            raise CorpusError(f"artificial language: {name} is {value}", f"choose at least {least}")


def _check_family(grown: Sequence[ArtificialLanguage]) -> None:
    first = grown[0]
    for language in grown[1:]:
        for name in sorted(asdict(first.settings).keys() - DISTANCES):
            here, there = (getattr(one.settings, name) for one in (language, first))
            if here != there:
                raise CorpusError(
                    f"artificial language: {name} is {here} for {language.code} and {there} for {first.code}",
                    f"choose the same for all languages; only {', '.join(DISTANCES)} may differ",
                )


def _described(grown: Sequence[ArtificialLanguage]) -> dict[str, object]:
    """Return the settings of all languages, and those in which they differ by language."""
    settings = {language.code: asdict(language.settings) for language in grown}
    common = settings[grown[0].code]
    differing = [name for name in common if any(other[name] != common[name] for other in settings.values())]
    if not differing:
        return common
    relatives = {code: {name: of_one[name] for name in differing} for code, of_one in settings.items()}
    return {name: value for name, value in common.items() if name not in differing} | {"relatives": relatives}


def _gold(folder: Path, name: str, language: ArtificialLanguage, ending: str) -> Path:
    return folder / "gold" / f"{name}.{language.code}-{ENGLISH}.{ending}"


def _write_split(
    folder: Path, language: ArtificialLanguage, split: Split, pairs: Iterable[ArtificialPair], gold: bool
) -> Counter[str]:
    """Write sentences, and links if `gold`, and return the count of each name in the English side."""
    names = {name.target for name in language.names()}
    seen: Counter[str] = Counter()
    forms: Counter[tuple[str, str]] = Counter()
    with ExitStack() as stack:
        source, target = (
            stack.enter_context((folder / f"{split}.{code}").open("w", encoding="utf-8", newline="\n"))
            for code in (language.code, ENGLISH)
        )
        annotations = [
            stack.enter_context(_gold(folder, split, language, ending).open("w", encoding="utf-8", newline="\n"))
            for ending in (("align", "heads") if gold else ())
        ]
        for pair in pairs:
            source.write(pair.source + "\n")
            target.write(pair.target + "\n")
            words = pair.target.split(" ")
            seen.update(filter(names.__contains__, words))
            if annotations:
                links, heads = annotations
                links.write(" ".join([f"{i}-{j}" for i, j in pair.links]) + "\n")
                heads.write(format_heads(pair.heads) + "\n")
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


def _lexicon(language: ArtificialLanguage) -> Iterator[str]:
    yield "stem\tgroup\ttarget\tprobability\tforms\torigin"
    for entry in language.lexicon():
        forms = " ".join(entry.forms)
        yield f"{entry.stem}\t{entry.group}\t{entry.target}\t{entry.probability:.4f}\t{forms}\t{entry.origin}"


def _names(language: ArtificialLanguage, counts: dict[Split, Counter[str]]) -> Iterator[str]:
    yield "\t".join(("source", "target", "class", "rank", "share", *counts))
    for name in language.names():
        seen = "\t".join(str(counts[split][name.target]) for split in counts)
        yield f"{name.source}\t{name.target}\t{name.group}\t{name.rank}\t{name.share:.4f}\t{seen}"
