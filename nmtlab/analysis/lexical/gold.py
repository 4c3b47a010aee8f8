"""Gold data of artificial languages, stored beside their text (see `nmtlab.text.artificial.write_corpus`)."""

import csv
from pathlib import Path

import pandas as pd

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus


def gold_forms(corpus: ParallelCorpus) -> pd.DataFrame:
    """Return the pairs of linked words of the training text: `source`, `target`, `count`, `probability`.

    Raises:
        CorpusError: the corpus has no gold data in this direction.
    """
    return _gold(corpus, "forms")


def gold_names(corpus: ParallelCorpus) -> pd.DataFrame:
    """Return the proper names: `source` and `target`, uninflected, `class`, `rank` and `share` in it, counts by split.

    Raises:
        CorpusError: the corpus has no gold data in this direction.
    """
    return _gold(corpus, "names")


def gold_lexicon(corpus: ParallelCorpus) -> pd.DataFrame:
    """Return the stems: `stem`, `group` of concepts, `target`, `probability`, `forms` of the target, and `origin`.

    Raises:
        CorpusError: the corpus has no gold data in this direction.
    """
    return _gold(corpus, "lexicon")


def has_gold(corpus: ParallelCorpus) -> bool:
    """Return whether a corpus has gold data in this direction."""
    return _path(corpus, "forms").is_file()


def _gold(corpus: ParallelCorpus, kind: str) -> pd.DataFrame:
    path = _path(corpus, kind)
    if not path.is_file():
        raise CorpusError(
            f"corpus {corpus.name!r}: no gold/{path.name}",
            "choose a corpus of artificial languages into en, made by 'nmtlab corpus make'",
        )
    return pd.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE, na_filter=False)


def _path(corpus: ParallelCorpus, kind: str) -> Path:
    return corpus.folder / "gold" / f"{kind}.{corpus.source}-{corpus.target}.tsv"
