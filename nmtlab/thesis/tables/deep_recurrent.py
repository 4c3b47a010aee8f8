"""Table `deep-recurrent`: layer normalisation and depth in recurrent systems, by the amount of text.

The published numbers are those of Edinburgh's systems at WMT 2017 (Sennrich, MT 10: Advanced NMT Architectures), where
layer normalisation harmed only the pair with the least text. A smaller text is part of a larger one, with the same dev
and test text.
"""

from dataclasses import replace

from nmtlab.grids.declared.corpora import Corpus
from nmtlab.grids.declared.declaration import NOT_PUBLISHED, NOT_TINY, Changes, Column, Row, Setup, Table
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus
from nmtlab.thesis.tables.lexical_choice import QAA_EN, SMALL_TR
from nmtlab.thesis.tables.normalisation import SMALL_DE

_FEW = 2000
"""Pairs of the smaller text."""


def _rows(whole: ConcatenatedCorpus) -> tuple[Row, Row]:
    """Return the rows of a text and of its first pairs."""
    languages = f"{whole.source}-{whole.target}"
    few = replace(whole, name=f"{whole.name}.{_FEW}", train=_FEW)
    wmt = ExternalCorpus(f"wmt17-{languages}", whole.source, whole.target, "WMT 2017")
    return _row(languages, Setup(wmt), whole), _row(languages, NOT_PUBLISHED, few, f" ({_FEW:,})")


def _row(languages: str, thesis: Setup | str, small: Corpus, note: str = "") -> Row:
    return Row(f"{languages}{note}", {"thesis": thesis, "small": Setup(small), "tiny": NOT_TINY}, note=note)


_NORMALISED: Changes = {"model.cell": "gru", "model.layer_norm": True}
BASELINE = Column("baseline", "tied-small", {"model.cell": "gru"})
LAYER_NORM = Column("+ layer norm", BASELINE.recipe, _NORMALISED)
STACKED = Column("+ stacked 4", BASELINE.recipe, {**_NORMALISED, "model.layers": 4, "model.residual": True})
TRANSITIONS = Column("+ transitions 4", BASELINE.recipe, {**_NORMALISED, "model.transitions": 4})

DEEP_RECURRENT = Table(
    name="deep-recurrent",
    title="Layer normalisation and depth in recurrent systems",
    rows=(*_rows(SMALL_TR), *_rows(SMALL_DE), QAA_EN),
    columns=(BASELINE, LAYER_NORM, STACKED, TRANSITIONS),
    metrics=("test-bleu",),
    baseline=BASELINE.name,
    changes={
        "tiny": {
            "model.d_model": 32, "training.validate_every": 20, "training.max_evaluations": 3, "search.beam_size": 2,
        },
        "small": {"training.validate_every": 200, "training.max_evaluations": 15, "training.patience": 15},
        "thesis": {
            "text.segmentation": "bpe", "text.joint": True, "text.vocabulary_size": 90_000, "text.min_frequency": 1,
            "model.d_model": 1024, "training.learning_rate": 1e-4, "training.batch_sentences": 80,
            "training.validate_every": 10_000, "training.max_evaluations": 100,
        },
    },
    marks="‡ the deep system, of a kind that the slides do not name",
)  # fmt: skip
