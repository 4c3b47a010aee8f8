"""Separating the text of program messages from accelerators, markup and placeholders."""

import html
import re
from collections import Counter

_CONTROL = re.compile(r"[\0-\x20]+")
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

    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), _TAG.sub(without, text))
    return _CONTROL.sub(" ", text).strip()
