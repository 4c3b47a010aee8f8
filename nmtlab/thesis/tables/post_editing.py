"""Table `post-editing`: what an editor makes of machine translations that it reads beside their source.

The published numbers are those of Jauregi Unanue et al. (2018), by their numbers of triplets; the unedited text has a
TER of 24.48 and a BLEU of 62.49 there. Here, the machine translations are references of which a fifth of the words is
damaged: mostly right, as theirs, so that neither source alone says all. `edits-saved` is above 0 if editing helps.
"""

from nmtlab.grids.declared.corpora import DamagedTriplets, SeveralSources
from nmtlab.grids.declared.declaration import NOT_PUBLISHED, Column, Row, Scale, Setup, Table, Texts
from nmtlab.grids.declared.whole_corpora import ExternalCorpus, SyntheticCorpus
from nmtlab.languages import machine_code
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.thesis.tables.lexical_choice import PIECES, THESIS, TINY_QAA

_TRIPLETS = "triplets"
_DAMAGE = 0.2
_NO_TEXT = "it needs the text of WMT 2017"


def _setup(text: DamagedTriplets | ExternalCorpus) -> Setup:
    both = SeveralSources(text, (machine_code(text.target),))
    return Setup(text, texts={_TRIPLETS: Texts(f"{text.name}.{_TRIPLETS}", (both,))})


def _row(pair: str, triplets: str, at: dict[Scale, Setup | str]) -> Row:
    """Return the row of a number of triplets."""
    return Row(f"{pair} ({triplets})", at, note=f" ({triplets})")


def _printed(triplets: str, name: str) -> Row:
    """Return a row of the paper."""
    setup = _setup(ExternalCorpus(f"ape-en-de.{name}", "en", "de", "WMT 2017"))
    return _row("en-de", triplets, {"thesis": setup, "small": _NO_TEXT, "tiny": _NO_TEXT})


def _artificial(triplets: int, tiny: Setup | str) -> Row:
    settings = ArtificialSettings(vocabulary=2000, names=100, ambiguity=0.1)
    text = DamagedTriplets(SyntheticCorpus(f"edited-qaa-en.{triplets}", "qaa", settings, train=triplets), _DAMAGE)
    return _row("qaa-en", f"{triplets:,}", {"thesis": NOT_PUBLISHED, "small": _setup(text), "tiny": tiny})


_RECIPE = "tied-bpe"
SOURCE = Column("source alone", _RECIPE)
SEPARATE = Column("separate", _RECIPE, texts=_TRIPLETS, label="source and translation, separate")
JOINT = Column("joint", _RECIPE, {"model.combine": "joint"}, texts=_TRIPLETS, label="source and translation, joint")
FLAT = Column("flat", _RECIPE, {"model.combine": "flat"}, texts=_TRIPLETS, label="source and translation, flat")

_FEW, _MORE = _printed("11,000", "11k"), _printed("23,000", "23k")
_MOST = _printed("23,000 and 500,000 artificial", "23k-500k")
_THEIRS = {_FEW.name: (JOINT,), _MORE.name: (JOINT,), _MOST.name: (JOINT, FLAT)}
_COLUMNS = (SOURCE, SEPARATE, JOINT, FLAT)

POST_EDITING = Table(
    name="post-editing",
    title="Machine translations that are edited beside their source",
    subject="many languages",
    rows=(
        _FEW,
        _MORE,
        _MOST,
        _artificial(1000, _setup(DamagedTriplets(TINY_QAA, _DAMAGE))),
        _artificial(4000, "one size is enough"),
    ),
    columns=_COLUMNS,
    metrics=("test-bleu", "test-ter", "edits-saved", "from-first", "from-second"),
    baseline=SOURCE.name,
    changes={
        **PIECES,
        "thesis": {
            **THESIS, "model.layers": 2, "model.bidirectional": True, "model.d_model": 500, "model.dropout": 0.3,
            "text.joint": True, "text.vocabulary_size": 30_000, "search.beam_size": 5,
        },
    },
    left_out={
        (row, column.name): "the paper has no such system"
        for row, theirs in _THEIRS.items() for column in _COLUMNS if column not in theirs
    },
)  # fmt: skip
