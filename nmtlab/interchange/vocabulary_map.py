"""Shortlists in the form of CTranslate2: a vocabulary map, which `translate_batch(..., use_vmap=True)` reads."""

from collections.abc import Sequence
from pathlib import Path

from nmtlab.errors import NmtlabError
from nmtlab.files import write_text
from nmtlab.search.shortlist import Shortlist

_MOST = 2**31
"""Bytes of a map. The bound is ours: it spares memory and disk maps of far too many n-grams."""


def write_vocabulary_map(shortlist: Shortlist, types: tuple[Sequence[str], Sequence[str]], folder: Path) -> None:
    """Write vmap.txt to the folder of a model; `types` of source and target are in the order of ids.

    Its lines are a source n-gram, a tab, and its translations, separated by spaces; what is in every list comes first,
    without an n-gram.

    Raises:
        NmtlabError: the map would have more than 2 GiB.
    """
    source, target = types
    listed = [((), shortlist.always), *((ngram, ids) for ngram, ids in shortlist.translations.items() if len(ids))]
    lines = [" ".join(source[n] for n in ngram) + "\t" + " ".join(target[n] for n in ids) for ngram, ids in listed]
    if (size := sum(len(line.encode()) + 1 for line in lines)) > _MOST:
        problem = f"a vocabulary map of {size / 2**30:.1f} GiB, more than 2"
        raise NmtlabError(problem, "take fewer translations or shorter n-grams")
    write_text(folder / "vmap.txt", "\n".join(lines) + "\n")
