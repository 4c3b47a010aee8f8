"""Shortlists in the form of CTranslate2: a vocabulary map, which `translate_batch(..., use_vmap=True)` reads."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nmtlab.files import write_text
from nmtlab.search.shortlist import Shortlist


def write_vocabulary_map(shortlist: Shortlist, source: Sequence[str], target: Sequence[str], folder: Path) -> None:
    """Write vmap.txt to the folder of a model; `source` and `target` are the types in the order of ids.

    Its lines are a source type, a tab, and its translations, separated by spaces; what is in every list comes first,
    without a source type.
    """

    def lines() -> Iterator[str]:
        yield _line("", target, shortlist.always)
        for number, piece in enumerate(source):
            translations = shortlist.lexicon.translations(number)
            if len(translations):
                yield _line(piece, target, translations)

    write_text(folder / "vmap.txt", "".join(lines()))


def _line(piece: str, target: Sequence[str], ids: Sequence[int]) -> str:
    return f"{piece}\t{' '.join(target[number] for number in ids)}\n"
