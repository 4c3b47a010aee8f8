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
    return ConcatenatedCorpus(f"child-{source}-en.{pairs}", source, "en", (_SOFTWARE.format(source),), train=pairs)


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


def _parents(largest: Corpus, evaluations: int, related: Corpus, unrelated: Corpus) -> dict[str, Parent]:
    """Return the two parents of children whose largest text is given; training ends after some evaluations."""
    changes = {"training.max_evaluations": evaluations}
    return {"related": Parent(related, largest, changes), "unrelated": Parent(unrelated, largest, changes)}


_ROMANCE, _SLAVIC = ("pt", "es", "hu", "tr"), ("cs", "hu", "tr")
_OF_GALICIAN = _parents(_child("gl", 10_000), 32, _parent("pt", _ROMANCE), _parent("hu", _ROMANCE))
_OF_SLOVAK = _parents(_child("sk", 4000), 32, _parent("cs", _SLAVIC), _parent("hu", _SLAVIC))
_UYGHUR: Changes = {"text.transliteration": "uyghur-latin"}

TUR_ENG = Row(
    "Tur-Eng",
    {
        "thesis": Setup(
            _lorelei("tr"),
            {"training.max_evaluations": 50},
            _parents(_lorelei("tr"), 100, _lorelei("uz"), _lorelei("hu")),
        ),
        "small": _STAND_INS,
        "tiny": NOT_TINY,
    },
)
UYG_ENG = Row(
    "Uyg-Eng",
    {
        "thesis": Setup(
            _lorelei("ug"),
            {**_UYGHUR, "training.max_evaluations": 200},
            _parents(_lorelei("ug"), 50, _lorelei("uz"), _lorelei("hu")),
        ),
        "small": _STAND_INS,
        "tiny": NOT_TINY,
    },
)
GL_EN = Row(
    "gl-en",
    {
        "thesis": NOT_PUBLISHED,
        "small": Setup(_child("gl", 4000), parents=_OF_GALICIAN),
        "tiny": NOT_TINY,
    },
)
SK_EN = Row(
    "sk-en",
    {
        "thesis": NOT_PUBLISHED,
        "small": Setup(_child("sk", 4000), parents=_OF_SLOVAK),
        "tiny": NOT_TINY,
    },
)
QAB_EN = Row(
    "qab-en",
    {
        "thesis": NOT_PUBLISHED,
        "small": "the artificial family has a table for itself",
        "tiny": Setup(_tiny("qab", 200), parents=_parents(_tiny("qab", 200), 2, _tiny("qaa", 500), _tiny("qad", 500))),
    },
)
ROWS = (TUR_ENG, UYG_ENG, GL_EN, SK_EN, QAB_EN)

_BPE: dict[Scale, Changes] = {"tiny": {"text.vocabulary_size": 300}, "thesis": {"text.vocabulary_size": 20_000}}

BPE = System("BPE", "transfer-bpe", at=_BPE)
BPE_PARENT = System("BPE + parent", "transfer-bpe", at=_BPE, parent="related")
BPE_STRANGER = System("BPE + unrelated parent", "transfer-bpe", at=_BPE, parent="unrelated")

# A child has 5,000 updates at most, whatever its text.
SIZES: dict[Scale, Changes] = {
    "tiny": {**TINY, "text.unk_copy_threshold": 0},
    "small": {
        **SMALL, "text.unk_copy_threshold": 0,
        "training.validate_every": 250, "training.max_evaluations": 20, "training.patience": 8,
    },
    "thesis": {"model.d_model": 512, "training.patience": 200},
}  # fmt: skip

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
