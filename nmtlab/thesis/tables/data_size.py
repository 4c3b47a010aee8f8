"""Table `data-size`: systems by the size of their text (thesis Figure 2.1), rulers for what techniques are worth.

A smaller text is part of a larger one, with the same dev and test text. Where a size was trained for another table, the
settings are those of that table, so that its runs are cells of this one: tr-en has 10,000 pairs instead of 8,000.
"""

from dataclasses import replace
from itertools import product

from nmtlab.grids.declared.corpora import Corpus, FirstPairs
from nmtlab.grids.declared.declaration import NOT_PUBLISHED, NOT_TINY, Changes, Column, Row, Setup, Table
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.thesis.tables.lexical_choice import FIXNORM_LEX, MOSES, SMALL_QAA, SMALL_TR, THESIS, TIED, TINY_QAA, WORDS
from nmtlab.thesis.tables.normalisation import POST_LAYER
from nmtlab.thesis.tables.normalisation import SIZES as TRANSFORMERS
from nmtlab.thesis.tables.related_text import child

_LORELEI = ExternalCorpus("lorelei-tr-en", "tr", "en", "LORELEI")
_SMALLER, _LARGER = "smaller, as qaa-en", "larger, as qaa-en (500) and more"


def _galician(pairs: int) -> Row:
    return _row("gl-en", pairs, child("gl", pairs), NOT_PUBLISHED, NOT_TINY)


def _turkish(pairs: int) -> Row:
    text = SMALL_TR if pairs == SMALL_TR.train else replace(SMALL_TR, name=f"{SMALL_TR.name}.{pairs}", train=pairs)
    return _row("tr-en", pairs, text, FirstPairs(_LORELEI, pairs), NOT_TINY)


def _artificial(pairs: int) -> Row:
    text = SMALL_QAA if pairs == SMALL_QAA.train else replace(SMALL_QAA, name=f"{SMALL_QAA.name}.{pairs}", train=pairs)
    return _row("qaa-en", pairs, text, NOT_PUBLISHED, _SMALLER)


def _row(languages: str, pairs: int, small: Corpus, thesis: Corpus | str, tiny: str) -> Row:
    of_thesis = thesis if isinstance(thesis, str) else Setup(thesis)
    note = f" ({pairs:,})"
    return Row(f"{languages}{note}", {"thesis": of_thesis, "small": Setup(small), "tiny": tiny}, note=note)


def _tiny(pairs: int) -> Row:
    """Return a row of the tiny scale; the name of the row with all pairs is that of its languages."""
    whole = pairs == TINY_QAA.train
    text = TINY_QAA if whole else replace(TINY_QAA, name=f"{TINY_QAA.name}.{pairs}", train=pairs)
    note = "" if whole else f" ({pairs:,})"
    return Row(f"qaa-en{note}", {"thesis": NOT_PUBLISHED, "small": _LARGER, "tiny": Setup(text)}, note=note)


_GALICIAN = tuple(_galician(pairs) for pairs in (500, 1000, 2000, 4000, 8000, 16_000))
_TURKISH = tuple(_turkish(pairs) for pairs in (500, 1000, 2000, 4000, SMALL_TR.train))
_ARTIFICIAL = tuple(_artificial(pairs) for pairs in (500, 1000, 2000, 4000, SMALL_QAA.train, 16_000))

# An epoch of 8,000 pairs: the recurrent systems have as many updates with every text.
_EPOCH: Changes = {"training.validate_every": 250}
_WHOLE = (_TURKISH[-1], next(row for row in _ARTIFICIAL if row.name == f"qaa-en ({SMALL_QAA.train:,})"))
_PARTS = tuple(row for row in (*_GALICIAN, *_TURKISH, *_ARTIFICIAL) if row not in _WHOLE)

TRANSFORMER = Column("Transformer", POST_LAYER.recipe, instead=TRANSFORMERS, label="Transformer (PostNorm)")

DATA_SIZE = Table(
    name="data-size",
    title="Systems by the size of their text",
    subject="anything else",
    rows=(*_GALICIAN, *_TURKISH, *_ARTIFICIAL, _tiny(250), _tiny(TINY_QAA.train)),
    columns=(MOSES, TIED, FIXNORM_LEX, TRANSFORMER),
    metrics=("test-bleu", "test-chrf", "tokenized-test-bleu"),
    baseline=TIED.name,
    changes={**WORDS, "thesis": {**THESIS, "model.layers": 2, "model.d_model": 512}},
    exceptions={(row.name, system.name): _EPOCH for row, system in product(_PARTS, (TIED, FIXNORM_LEX))},
    published=False,
)
