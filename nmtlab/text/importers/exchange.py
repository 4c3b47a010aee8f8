"""Translation memories and localisation files: TMX, and XLIFF 1.2 and 2."""

import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element, ParseError, iterparse

from nmtlab.errors import CorpusError
from nmtlab.languages import is_variety
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.corpus_builder import INPUT, ImportReport, as_named, build
from nmtlab.text.corpora.lines import one_line, opened
from nmtlab.text.corpora.splitting import HoldOut
from nmtlab.text.importers.gettext import FUZZY, UNTRANSLATED

Form = Literal["tmx", "xliff"]

Segments = list[tuple[str, Element]]
"""Codes of languages, and a segment in each."""

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_FORMATTING = {"bpt", "ept"}
_CODES = {"ph", "it", "ut", "x", "bx", "ex", "sc", "ec", "cp", "sm", "em"}
_CODE = "\0"  # stands for a code in a text; no XML has it
_BETWEEN_WORDS = re.compile(rf"(?<=\w){_CODE}+(?=\w)")
_MOST_LISTED = 20
_UNFINISHED = re.compile("new|needs-.*|initial")


def import_exchange(
    folder: Path | str,
    files: Sequence[Path | str],
    form: Form,
    source: str,
    target: str,
    limits: Limits = Limits(),
    hold_out: HoldOut = HoldOut(),
) -> ImportReport:
    """Make the corpus `folder` from TMX or XLIFF files, read as streams.

    Segments are found under any code of a variety of the languages (en-US for en), whichever of them the file was
    translated from. Codes of formatting and placeholders within a segment (`<bpt>`, `<ph>`, `<x>`) are removed with
    their content; what is marked up (`<g>`, `<hi>`, `<mrk>`, `<pc>`) stays. Units that lack one of the languages, and
    in XLIFF those whose state says that the translation is not finished, are dropped and counted.

    Args:
        files: each plain, `.gz` or `.xz`.
        source, target: language codes.
        folder, limits, hold_out: as of `build`.

    Raises:
        CorpusError: a file cannot be read, or is not such XML (the message has the line); no segment is in one of the
            languages (the message lists those that are there); or as `build`.
    """
    paths = [Path(path) for path in files]
    report = ImportReport(form, {"files": [as_named(path) for path in paths]}, source, target)
    return build(folder, report, read_exchange(paths, form, source, target, report.dropped[INPUT]), limits, hold_out)


def read_exchange(paths: Sequence[Path], form: Form, source: str, target: str, dropped: Counter[str]) -> Iterator[Pair]:
    """Yield the pairs of TMX or XLIFF files, on one line each; count the other units in `dropped`, by reason.

    Raises:
        CorpusError: as `import_exchange`.
    """
    read = _tmx if form == "tmx" else _xliff
    found: Counter[str] = Counter()
    for segments, finished in chain.from_iterable(read(path) for path in paths):
        found.update(code for code, _ in segments)
        pair = [_in(segments, code) for code in (source, target)]
        if not all(pair):
            dropped[UNTRANSLATED] += 1
        elif not finished:
            dropped[FUZZY] += 1
        else:
            yield pair[0], pair[1]
    missing = [code for code in (source, target) if not any(is_variety(one, code) for one in found)]
    if len(missing) > ("" in found):  # one of them may have no code
        codes = ", ".join(code for code, _ in found.most_common(_MOST_LISTED) if code)
        where = ", ".join(map(str, paths))
        raise CorpusError(f"{where}: nothing in {missing[0]!r}", f"choose from {codes}" if codes else "check the files")


def _tmx(path: Path) -> Iterator[tuple[Segments, bool]]:
    """Yield the segments of each translation unit; all are finished."""
    for *_, unit in _elements(path, "tmx", "tu"):
        versions = [(one.get(_LANGUAGE, one.get("lang", "")), _children(one, "seg")) for one in _children(unit, "tuv")]
        yield [(code, segment) for code, segments in versions for segment in segments], True


def _xliff(path: Path) -> Iterator[tuple[Segments, bool]]:
    """Yield the source and target of each segment, and whether the translation is finished."""
    for parents in _elements(path, "xliff", "trans-unit", "segment"):
        segment = parents[-1]
        found: Segments = []
        for side, *names in (("source", "source-language", "srcLang"), ("target", "target-language", "trgLang")):
            code = next((one.attrib[name] for one in parents for name in names if name in one.attrib), "")
            found += [(code or text.get(_LANGUAGE, ""), text) for text in _children(segment, side)]
        states = [one.get("state", "") for one in (segment, *_children(segment, "target"))]
        yield found, not any(map(_UNFINISHED.fullmatch, states))


def _elements(path: Path, form: Form, *names: str) -> Iterator[list[Element]]:
    """Yield each element of some names, after those around it; it is forgotten then, as files may be large."""
    around: list[Element] = []
    try:
        with opened(path) as file:
            for event, element in iterparse(file, ("start", "end")):
                if event == "start":
                    around.append(element)
                    if _name(around[0]) != form:
                        raise CorpusError(f"{path}: begins with <{_name(element)}>, not <{form}>", f"give {form} files")
                    continue
                around.pop()
                if _name(element) in names:
                    yield [*around, element]
                    del around[-1][:]
    except ParseError as error:
        problem = f"{path}, line {error.position[0]}: not XML ({str(error).partition(':')[0]})"
        raise CorpusError(problem, "repair it, or export it again") from None
    except FileNotFoundError:
        raise CorpusError(f"{path}: not found", "check the name") from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, LookupError) as error:
        raise CorpusError(f"{path}: cannot be read ({error})", "check the file and its encoding") from None


def _name(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _children(element: Element, name: str) -> list[Element]:
    return [child for child in element if _name(child) == name]


def _in(segments: Segments, wanted: str) -> str:
    """Return the text of the first segment in a language; empty if there is none.

    A segment under just its code goes first, then one under that of a variety, then one without a code.
    """
    fitting = [one for one in segments if not one[0] or is_variety(one[0], wanted)]
    if not fitting:
        return ""
    _, segment = min(fitting, key=lambda one: (one[0] != wanted, not one[0]))
    return one_line(_BETWEEN_WORDS.sub(" ", "".join(_parts(segment))).replace(_CODE, ""))


def _parts(segment: Element) -> Iterator[str]:
    """Yield the text of a segment, with `_CODE` for each placeholder."""
    yield segment.text or ""
    for child in segment:
        if (name := _name(child)) in _CODES:
            yield _CODE
        elif name not in _FORMATTING:
            yield from _parts(child)
        yield child.tail or ""
