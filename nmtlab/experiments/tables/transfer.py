"""Transfer from a related language: Table 3.2, and whether it is the relation that helps (thesis 3.1)."""

from nmtlab.experiments.measures.quality import TEST_BLEU
from nmtlab.experiments.tables.corpora import ConcatenatedCorpus, Corpus, ExternalCorpus, SyntheticCorpus
from nmtlab.experiments.tables.declaration import (
    NOT_PUBLISHED,
    NOT_TINY,
    Changes,
    Parent,
    Row,
    Scale,
    Setup,
    System,
    Table,
)
from nmtlab.experiments.tables.lexical_choice import SMALL, TINY
from nmtlab.text.artificial import ArtificialSettings

_STAND_INS = "LibreOffice's Galician and Slovak stand in for it"
_SOFTWARE = "libreoffice-{}-en"


def _child(source: str, pairs: int) -> ConcatenatedCorpus:
    return ConcatenatedCorpus(f"child-{source}-en", source, "en", (_SOFTWARE.format(source),), train=pairs)


def _parent(source: str, among: tuple[str, ...]) -> ConcatenatedCorpus:
    """Return a parent's text that has the same English sentences as those of the other languages."""
    common = tuple(_SOFTWARE.format(code) for code in among)
    name = f"parent-{source}-en.among-{'-'.join(among)}"
    return ConcatenatedCorpus(name, source, "en", (_SOFTWARE.format(source),), among=common)


def _lorelei(source: str) -> ExternalCorpus:
    return ExternalCorpus(f"lorelei-{source}-en", source, "en")


def _tiny(source: str, pairs: int) -> SyntheticCorpus:
    settings = ArtificialSettings(vocabulary=100, names=3)
    return SyntheticCorpus(f"tiny-{source}-en", source, settings, train=pairs, dev=30, test=30)


def _setup(child: Corpus, related: Corpus, unrelated: Corpus, epochs: int, changes: Changes | None = None) -> Setup:
    """Return a row with two parents, each trained for a number of passes over its text."""
    of_parent = {"training.max_evaluations": epochs}
    parents = {"related": Parent(related, child, of_parent), "unrelated": Parent(unrelated, child, of_parent)}
    return Setup(child, changes or {}, parents)


_ROMANCE, _SLAVIC = ("pt", "es", "hu", "tr"), ("cs", "hu", "tr")
_UYGHUR: Changes = {"text.transliteration": "uyghur-latin"}

TUR_ENG = Row(
    "Tur-Eng",
    {
        "thesis": _setup(_lorelei("tr"), _lorelei("uz"), _lorelei("hu"), 100, {"training.max_evaluations": 50}),
        "small": _STAND_INS,
        "tiny": NOT_TINY,
    },
)
UYG_ENG = Row(
    "Uyg-Eng",
    {
        "thesis": _setup(
            _lorelei("ug"), _lorelei("uz"), _lorelei("hu"), 50, {**_UYGHUR, "training.max_evaluations": 200}
        ),
        "small": _STAND_INS,
        "tiny": NOT_TINY,
    },
)
GL_EN = Row(
    "gl-en",
    {
        "thesis": NOT_PUBLISHED,
        "small": _setup(_child("gl", 4000), _parent("pt", _ROMANCE), _parent("hu", _ROMANCE), 6),
        "tiny": NOT_TINY,
    },
)
SK_EN = Row(
    "sk-en",
    {
        "thesis": NOT_PUBLISHED,
        "small": _setup(_child("sk", 4000), _parent("cs", _SLAVIC), _parent("hu", _SLAVIC), 6),
        "tiny": NOT_TINY,
    },
)
QAB_EN = Row(
    "qab-en",
    {
        "thesis": NOT_PUBLISHED,
        "small": "the artificial family has a table for itself",
        "tiny": _setup(_tiny("qab", 200), _tiny("qaa", 500), _tiny("qad", 500), 2),
    },
)
ROWS = (TUR_ENG, UYG_ENG, GL_EN, SK_EN, QAB_EN)

# At most 60 subwords a side, as in the thesis.
_BPE: dict[Scale, Changes] = {
    "tiny": {"text.vocabulary_size": 300}, "small": {"text.unk_copy_threshold": 0},
    "thesis": {"text.vocabulary_size": 20_000, "text.unk_copy_threshold": 5},
}  # fmt: skip
_SUBWORDS: Changes = {"text.max_subwords": 60}

BPE = System("BPE", "tied-bpe", _SUBWORDS, at=_BPE)
BPE_PARENT = System("BPE + parent", "tied-bpe", _SUBWORDS, at=_BPE, parent="related")
BPE_STRANGER = System("BPE + unrelated parent", "tied-bpe", _SUBWORDS, at=_BPE, parent="unrelated")

SIZES: dict[Scale, Changes] = {
    "tiny": TINY,
    "small": {**SMALL, "training.max_evaluations": 20, "training.patience": 20},
    "thesis": {"model.d_model": 512, "training.patience": 200},
}

RELATED_PARENTS = Table(
    name="related-parents",
    title="Is it the relation that helps? A child alone, with a related and with an unrelated parent",
    rows=ROWS,
    systems=(BPE, BPE_PARENT, BPE_STRANGER),
    measures=(TEST_BLEU,),
    baseline=BPE.name,
    changes=SIZES,
    published=False,
)
