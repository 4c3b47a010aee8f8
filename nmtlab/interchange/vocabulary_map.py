"""Shortlists in the form of CTranslate2: a vocabulary map, which `translate_batch(..., use_vmap=True)` reads."""

from collections.abc import Sequence
from pathlib import Path

from nmtlab.files import write_text
from nmtlab.search.shortlist import Shortlist


def write_vocabulary_map(shortlist: Shortlist, types: tuple[Sequence[str], Sequence[str]], folder: Path) -> None:
    """Write vmap.txt to the folder of a model; `types` of source and target are in the order of ids.

    Its lines are a source type, a tab, and its translations, separated by spaces; what is in every list comes first,
    without a source type.
    """
    source, target = types
    translated = ((piece, shortlist.lexicon.translations(number)) for number, piece in enumerate(source))
    listed = [("", shortlist.always), *(row for row in translated if len(row[1]))]
    lines = (f"{piece}\t{' '.join(target[number] for number in ids)}\n" for piece, ids in listed)
    write_text(folder / "vmap.txt", "".join(lines))
