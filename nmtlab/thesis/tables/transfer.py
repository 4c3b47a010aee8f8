"""Transfer from a related language: Tables 3.2 and 3.3, Figure 3.1, and what a relative is worth (thesis 3.1)."""

from collections.abc import Mapping
from dataclasses import replace

from nmtlab.grids.declared.declaration import Changes, Column, Gain, Scale, Table
from nmtlab.thesis.tables.lexical_choice import SMALL, TINY
from nmtlab.thesis.tables.normalisation import SIZES as TRANSFORMER
from nmtlab.thesis.tables.related_text import (
    COUSIN,
    GL_EN,
    QAB_EN,
    QAC_EN,
    RELATED,
    SK_EN,
    TUR_ENG,
    UNRELATED,
    UYG_ENG,
    UZ_EN,
    artificial,
    galician,
)

# A child has 5,000 updates at most, whatever its text.
_CHILD: Changes = {
    "text.unk_copy_threshold": 0, "training.validate_every": 250, "training.max_evaluations": 20,
    "training.patience": 8,
}  # fmt: skip
SIZES: dict[Scale, Changes] = {
    "tiny": {**TINY, "text.unk_copy_threshold": 0},
    "small": {**SMALL, **_CHILD},
    "thesis": {"model.d_model": 512, "training.patience": 200},
}

_BPE: dict[Scale, Changes] = {"tiny": {"text.vocabulary_size": 300}, "thesis": {"text.vocabulary_size": 20_000}}
# Half the passes over a text that the UNK copy does not double.
_WORDS: dict[Scale, Changes] = {
    "tiny": {"text.min_frequency": 2}, "small": {"text.min_frequency": 2},
    "thesis": {"text.vocabulary_size": 30_000, "text.min_frequency": 1},
}  # fmt: skip
_LATIN: Changes = {"text.transliteration": "uyghur-latin"}
_AT_RANDOM: Changes = {"transfer.source_types": "random"}
_FROZEN: Changes = {"transfer.target_embedding": "freeze"}


WORDS = Column("words", "tied", at=_WORDS)
WORDS_TRANSFER = Column("words + transfer", "tied", _AT_RANDOM, at=_WORDS, parent=RELATED)
WORDS_FREEZE = Column("words + transfer + freeze", "tied", {**_AT_RANDOM, **_FROZEN}, at=_WORDS, parent=RELATED)
BPE = Column("BPE", "transfer-bpe", at=_BPE)
BPE_TRANSFER = Column("BPE + transfer", "transfer-bpe", at=_BPE, parent=RELATED)
BPE_COUSIN = replace(BPE, name="BPE + distant relative", parent=COUSIN)
BPE_UNRELATED = replace(BPE, name="BPE + unrelated parent", parent=UNRELATED)


def _transliterated(*systems: Column) -> dict[tuple[str, str], Changes]:
    """Return the exceptions by which subwords of Uyghur are learned and cut in Latin letters."""
    return {(UYG_ENG.name, system.name): _LATIN for system in systems}


TABLE_3_2 = Table(
    name="table-3.2",
    title="Transfer from a related language, with words and with BPE",
    subject="transfer",
    rows=(TUR_ENG, UYG_ENG, UZ_EN, GL_EN, QAB_EN),
    columns=(WORDS, WORDS_TRANSFER, WORDS_FREEZE, BPE, BPE_TRANSFER),
    metrics=("test-bleu",),
    baseline=WORDS.name,
    changes=SIZES,
    exceptions=_transliterated(BPE, BPE_TRANSFER),
    marks="† p < 0.05, ‡ p < 0.01, * not significant",
)

TABLE_3_3 = replace(
    TABLE_3_2,
    name="table-3.3",
    title="How many of the child's source types the parent knows",
    subject="transfer",
    columns=(WORDS_TRANSFER, BPE_TRANSFER),
    metrics=("types-in-parent-train", "types-in-parent-dev"),
    baseline=WORDS_TRANSFER.name,
    exceptions=_transliterated(BPE_TRANSFER),
    marks="",
)

_SMALLER: Mapping[Scale, int] = {"tiny": 200, "small": 1000, "thesis": 5000}
_LARGER: Mapping[Scale, int] = {"tiny": 400, "small": 8000, "thesis": 60_000}


def _with_types(system: Column, name: str, sizes: Mapping[Scale, int]) -> Column:
    at: dict[Scale, Changes] = {scale: {"text.vocabulary_size": size} for scale, size in sizes.items()}
    return replace(system, name=name, at=at)


_BY_SIZE = (
    _with_types(BPE, "BPE (small vocabulary)", _SMALLER),
    _with_types(BPE_TRANSFER, "BPE (small vocabulary) + transfer", _SMALLER),
    BPE,
    BPE_TRANSFER,
    _with_types(BPE, "BPE (large vocabulary)", _LARGER),
    _with_types(BPE_TRANSFER, "BPE (large vocabulary) + transfer", _LARGER),
)

FIGURE_3_1 = Table(
    name="figure-3.1",
    title="Dev BLEU of a child alone and with a parent, by the size of the vocabulary",
    subject="transfer",
    rows=(TUR_ENG, UYG_ENG, GL_EN, QAB_EN),
    columns=_BY_SIZE,
    metrics=("dev-bleu",),
    baseline=BPE.name,
    changes=SIZES,
    exceptions=_transliterated(*_BY_SIZE),
    published=False,
)

RELATED_PARENTS = Table(
    name="related-parents",
    title="Is it the relation that helps? A child alone, with an unrelated and with a related parent",
    subject="transfer",
    rows=(TUR_ENG, UYG_ENG, GL_EN, SK_EN, QAB_EN),
    columns=(BPE, BPE_UNRELATED, BPE_TRANSFER),
    metrics=("test-bleu",),
    baseline=BPE.name,
    changes=SIZES,
    exceptions=_transliterated(BPE, BPE_UNRELATED, BPE_TRANSFER),
    published=False,
)

CHILD_SIZE = Table(
    name="child-size",
    title="What is a relative worth? A child alone and with parents near and far, by the size of its text",
    subject="transfer",
    rows=(
        *(TUR_ENG, UYG_ENG, galician(500), galician(2000), GL_EN, galician(10_000)),
        *(artificial(500), artificial(2000), artificial(10_000), QAB_EN),
    ),
    columns=(BPE, BPE_UNRELATED, BPE_COUSIN, BPE_TRANSFER),
    metrics=("dev-bleu", "test-bleu"),
    baseline=BPE.name,
    changes=SIZES,
    exceptions=_transliterated(BPE, BPE_UNRELATED, BPE_COUSIN, BPE_TRANSFER),
    published=False,
)

_PARTS = (
    BPE_TRANSFER,
    replace(BPE_TRANSFER, name="source vectors at random", changes=_AT_RANDOM),
    replace(BPE_TRANSFER, name="source vectors drawn anew", changes={"transfer.source_embedding": "reset"}),
    replace(BPE_TRANSFER, name="target vectors frozen", changes=_FROZEN),
)

TRANSFERRED_PARTS = Table(
    name="transferred-parts",
    title="What does the child need from its parent? Parts given at random, drawn anew or frozen",
    subject="transfer",
    rows=(TUR_ENG, UYG_ENG, GL_EN, QAB_EN),
    columns=_PARTS,
    metrics=("test-bleu",),
    baseline=BPE_TRANSFER.name,
    changes=SIZES,
    exceptions=_transliterated(*_PARTS),
    gain=Gain(RELATED_PARENTS, BPE_TRANSFER.name, BPE.name),
    published=False,
)

TRANSLITERATION = Table(
    name="transliteration",
    title="What does one script give? Uyghur as it is written and in Latin letters",
    subject="transfer",
    rows=(UYG_ENG, QAC_EN),
    columns=(
        BPE,
        BPE_TRANSFER,
        replace(BPE, name="BPE in Latin letters", changes=_LATIN),
        replace(BPE_TRANSFER, name="BPE in Latin letters + transfer", changes=_LATIN),
    ),
    metrics=("test-bleu",),
    baseline=BPE.name,
    changes=SIZES,
    published=False,
)

_PRENORM = Column("PreNorm", "prenorm")
_FIXNORM = Column("PreNorm + fixnorm", "prenorm", {"model.fixnorm": True})
_TRANSFORMERS = (
    _PRENORM,
    replace(_PRENORM, name="PreNorm + transfer", parent=RELATED),
    _FIXNORM,
    replace(_FIXNORM, name="PreNorm + fixnorm + transfer", parent=RELATED),
)

# Source and target tables are apart, as in the recurrent systems: the parent's target vectors are of English alone.
_APART: Changes = {"model.shared_embeddings": False, "text.unk_copy_threshold": 0, "text.max_subwords": 60}

TRANSFER_TRANSFORMER = Table(
    name="transfer-transformer",
    title="Transfer in the Transformer, with and without fixnorm",
    subject="transfer",
    rows=(TUR_ENG, UYG_ENG, GL_EN, artificial(500), QAB_EN),
    columns=_TRANSFORMERS,
    metrics=("test-bleu",),
    baseline=_PRENORM.name,
    changes={
        "tiny": {**TRANSFORMER["tiny"], **_APART},
        "small": {
            **_APART, "text.vocabulary_size": 2000, "training.batch_tokens": 1024, "training.validate_every": 125,
            "training.max_evaluations": 20, "training.patience": 8,
        },
        "thesis": {**TRANSFORMER["thesis"], **_APART},
    },
    exceptions=_transliterated(*_TRANSFORMERS),
    published=False,
)  # fmt: skip
