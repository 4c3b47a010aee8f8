"""The glossary: what names and words on the pages mean. The book includes the same file, `glossary.md`."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).parent / "glossary.md"
_STYLE = (
    ":root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:2em auto;max-width:50em}"
    "dt{font-weight:600;margin-top:1em}dt:target{outline:2px solid #d55e00}dd{margin:0 0 0 1.5em}"
)
_SCHEME = "document.documentElement.style.colorScheme = localStorage.nmtlabScheme ?? ''"  # that of the pages


class Entry(NamedTuple):
    """Names of one thing, and what they mean."""

    names: tuple[str, ...]
    meaning: str


def glossary() -> list[Entry]:
    """Return the entries in the order of the file: texts, runs, systems, symbols, measures, search, verdicts."""
    return [_entry(block) for block in _FILE.read_text(encoding="utf-8").strip("`\n").split("\n\n")]


@cache
def meanings() -> Mapping[str, str]:
    """Return what each name means."""
    return {name: entry.meaning for entry in glossary() for name in entry.names}


def meaning_of(text: str) -> str:
    """Return the meaning of a heading or cell of a table, `test BLEU` or `qaa-en, artificial`; empty if unknown."""
    *before, last = text.split(" ")
    names = (text, text.partition(",")[0], last if len(before) == 1 else "")
    return next((meanings()[name] for name in names if name in meanings()), "")


def glossary_document(entries: Sequence[Entry]) -> str:
    """Return entries as an HTML document, in which each name is an anchor, such as `#fixnorm`."""
    lines = []
    for entry in entries:
        meaning = re.sub("`(.+?)`", r"<code>\1</code>", escape(entry.meaning))
        lines += [*(f'<dt id="{escape(name)}">{escape(name)}</dt>' for name in entry.names), f"<dd>{meaning}</dd>"]
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>Glossary</title><style>{_STYLE}</style>"
        f"<script>{_SCHEME}</script></head><body><h1>Glossary</h1><dl>{''.join(lines)}</dl></body></html>"
    )


def _entry(block: str) -> Entry:
    lines = [line for line in block.splitlines() if not line.startswith("{")]
    names = tuple(line for line in lines if not line.startswith(" "))
    return Entry(names, " ".join(line.strip() for line in lines[len(names) :]))
