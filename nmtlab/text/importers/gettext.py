"""Translations of program messages: gettext catalogues, `.po` and `.mo`, with English originals."""

import html
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import polib

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import COPIED, Limits
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.corpus_builder import INPUT, ImportReport, as_named, build
from nmtlab.text.corpora.lines import one_line
from nmtlab.text.corpora.splitting import HoldOut

_ENTITY = re.compile(r"&#?\w+;")
_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w:-]*)(?:\s[^<>]*)?/?>")
_BREAKS = {"br", "hr", "li", "p"}
_BRACKETED_KEY = re.compile(r"\s*\([_&]\w\)")
_PLACEHOLDER = re.compile(
    r"%%|%L\d+"  # a percent sign; Qt: %L1
    r"|%(?:\d+\$)?[-+#0']*[\d*]*(?:\.[\d*]+)?(?:<PRI\w+>|(?:hh|ll|[hlqjztL])?[A-Za-z])"  # C: %s %-5.2f %1$s %<PRIu64>
    r"|%\(\w+\)[A-Za-z]"  # Python: %(name)s
    r"|%\d+"  # Qt: %1
    r"|[$%]?\{[^{}\s]*\}"  # {} {0} {name} ${name} %{name}
    r"|\$\(\w+\)|\$\w+"  # $(name) $name
)


def plain_pair(source: str, target: str) -> tuple[str, str]:
    """Return a message and its translation, each on one line, without accelerators and markup."""
    for mark in "_&":
        source, target = _without_accelerator(source, target, mark), _without_accelerator(target, source, mark)
    return _plain(source), _plain(target)


def placeholders(text: str) -> Counter[str]:
    """Count the placeholders (C, Python, Qt, shell); `%2$s` counts as `%s`, since order is free."""
    found = Counter(re.sub(r"^%\d+\$", "%", match[0]) for match in _PLACEHOLDER.finditer(text))
    del found["%%"]
    return found


def _without_accelerator(text: str, other: str, mark: str) -> str:
    """Remove the single `mark` in `text` that precedes the accelerator key: _File, E&xit, ファイル(_F).

    A word that occurs in the other language with its mark is a name (trap_handler, R&D) and keeps it. So does a word
    with the mark inside (conflicted_files), unless the other language also has one mark.
    """
    if (without_key := _BRACKETED_KEY.sub("", text)) != text:
        return without_key
    marks = _marks(text, mark)
    if len(marks) != 1:
        return text
    before, after = text[: marks[0]], text[marks[0] + 1 :]
    word = re.split(r"\W", before)[-1] + mark + re.split(r"\W", after)[0]
    inside = before[-1:].isalnum()
    if word in other or (inside and len(_marks(other, mark)) != 1):
        return text
    return before + after


def _marks(text: str, mark: str) -> list[int]:
    entities = {match.start() for match in _ENTITY.finditer(text)}
    return [match.start() for match in re.finditer(rf"{mark}(?=\w)", text) if match.start() not in entities]


def _plain(text: str) -> str:
    """Resolve entities and white space, and remove paired tags and breaks, but not <file> in a usage message."""
    closed = {match["name"] for match in _TAG.finditer(text) if match["slash"]}

    def without(tag: re.Match[str]) -> str:
        if tag["name"].lower() in _BREAKS:
            return " "
        return "" if tag["name"] in closed else tag[0]

    return one_line(_ENTITY.sub(lambda entity: html.unescape(entity[0]), _TAG.sub(without, text)))


UNREADABLE = "unreadable catalogue"
OBSOLETE = "obsolete"
FUZZY = "fuzzy"
UNTRANSLATED = "untranslated"
CREDITS = "translators' credits"
NO_LETTERS = "no letters"
PLACEHOLDERS = "different placeholders"

_CREDITS = {"translator-credits", "translator_credits", "Your names", "Your emails"}
_CREDITS |= {"NAME OF TRANSLATORS", "EMAIL OF TRANSLATORS"}
_SCRIPTS = {"arabic": "Arab", "cyrillic": "Cyrl", "devanagari": "Deva", "latin": "Latn"}
_HEADER_LANGUAGE = re.compile(rb'"Language: *([A-Za-z_@.-]+)')
_LOCALE = re.compile(r"[a-z]{2,3}([_-][A-Za-z]{2,8})?(@[a-z]+)?")


def import_gettext(
    folder: Path | str,
    places: Iterable[Path | str],
    language: str,
    limits: Limits = Limits(),
    hold_out: HoldOut = HoldOut(),
) -> ImportReport:
    """Make the corpus `folder`, from `language` to English, from gettext catalogues.

    Of a message with a plural, the singular is used. Accelerators and markup are removed; placeholders stay and must
    match on both sides (see `plain_pair`, `placeholders`). Dropped messages are counted by reason. The document of a
    message (`SPLIT.documents`) is the first file of the program that it refers to, or else its catalogue.

    Args:
        places: catalogue files, and folders to search for catalogues of `language`: LANG/LC_MESSAGES/*.mo, as on Linux,
            or *.po with the language in header or name.
        language: language code, e.g. uz, pt-BR or uz-Cyrl.
        folder, limits, hold_out: as of `build`.

    Raises:
        CorpusError: no such catalogues (the message lists the languages found); or as `build`.
    """
    named = [Path(place) for place in places]
    paths = find_catalogues(named, language)
    origin = {"places": [as_named(place) for place in named], "catalogues": len(paths)}
    report = ImportReport("gettext", origin, language, "en")
    files: dict[Pair, str] = {}
    pairs = read_catalogues(paths, report.dropped[INPUT], files)
    return build(folder, report, pairs, limits, hold_out, documents=files)


def find_catalogues(places: Iterable[Path], language: str) -> list[Path]:
    """Return the catalogues of `language` in the folders among `places`, and the files among them.

    Raises:
        CorpusError: a place does not exist, or no catalogue was found.
    """
    found: dict[str, list[Path]] = {}
    for place in places:
        if not place.exists():
            raise CorpusError(f"{place}: not found", "check the name")
        if place.is_file():
            found.setdefault(_code(language), []).append(place)
            continue
        for path in sorted(path for path in place.rglob("*") if path.suffix in (".po", ".mo")):
            found.setdefault(_code(_locale(path)), []).append(path)
    if paths := found.get(_code(language)):
        return paths
    found.pop("", None)
    languages = sorted(found, key=lambda code: (-len(found[code]), code))
    more = f" and {len(languages) - 20} more" if len(languages) > 20 else ""
    raise CorpusError(
        f"no gettext catalogue of language {language!r} found",
        f"choose from {', '.join(languages[:20])}{more}" if languages else "give folders with .po or .mo files",
    )


def read_catalogues(
    paths: Iterable[Path], dropped: Counter[str], files: dict[Pair, str] | None = None
) -> Iterator[Pair]:
    """Yield (translation, English) of every usable message; count the others, and unreadable files, in `dropped`.

    Args:
        files: gets the file that each message is first found in, as far as its catalogue says, or else the catalogue.
    """
    for path in paths:
        try:
            catalogue = polib.mofile(str(path)) if path.suffix == ".mo" else polib.pofile(str(path))
        except (OSError, ValueError, struct.error):
            dropped[UNREADABLE] += 1
            continue
        for entry in catalogue:
            original, translation = plain_pair(entry.msgid, entry.msgstr_plural.get(0, "") or entry.msgstr)
            if reason := _unusable(entry, original, translation):
                dropped[reason] += 1
            else:
                if files is not None:
                    files.setdefault((translation, original), _file(entry) or path.name)
                yield translation, original


def _file(entry: polib.POEntry | polib.MOEntry) -> str:
    """Return the first file of the program that a message refers to; empty if it does not say."""
    return next((one_line(file) for file, _ in getattr(entry, "occurrences", ())), "")


def _unusable(entry: polib.POEntry | polib.MOEntry, original: str, translation: str) -> str:
    if entry.obsolete:
        return OBSOLETE
    if "fuzzy" in entry.flags:
        return FUZZY
    if not translation:
        return UNTRANSLATED
    if entry.msgid in _CREDITS:
        return CREDITS
    if not all(any(letter.isalpha() for letter in text) for text in (original, translation)):
        return NO_LETTERS
    if original == translation:
        return COPIED
    return "" if placeholders(original) == placeholders(translation) else PLACEHOLDERS


def _locale(path: Path) -> str:
    """Return the locale of a catalogue from its folder LANG/LC_MESSAGES, its header or its name, or ""."""
    if path.parent.name == "LC_MESSAGES":
        return path.parent.parent.name
    with path.open("rb") as file:
        if path.suffix == ".po" and (header := _HEADER_LANGUAGE.search(file.read(8192))):
            return header[1].decode()
    return path.stem if _LOCALE.fullmatch(path.stem) else ""


def _code(locale: str) -> str:
    """Return a locale's code for comparison: uz_UZ.UTF-8 is uz-uz, uz@cyrillic is uz-cyrl."""
    name, _, modifier = locale.partition("@")
    parts = [name.partition(".")[0].replace("_", "-"), _SCRIPTS.get(modifier, modifier)]
    return "-".join(part for part in parts if part).casefold()
