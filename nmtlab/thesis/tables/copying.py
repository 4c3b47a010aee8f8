"""Table `copying`: suggested translations of rare words, and a copy head, against the lexical module of the thesis.

The published numbers are those of Pham, Niehues and Waibel (2018), who take suggestions from a phrase table. Here they
are from the aligned training text, like the table of Arthur et al.: all systems know the same. All have subwords, since
a system of words cannot write most of what is suggested for rare ones.
"""

from dataclasses import replace

from nmtlab.grids.declared.declaration import (
    NOT_PUBLISHED,
    Changes,
    Column,
    Row,
    Scale,
    Setup,
    Table,
    language_pair,
)
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.thesis.tables.lexical_choice import ARTHUR, FIXNORM_LEX, PIECES, QAA_EN, THESIS, TIED, TU_EN, UZ_EN

_NO_TEXT = "the text is too large"
_NOT_THEIRS = "the paper has no such system"
_UPDATES: dict[Scale, Changes] = {
    "tiny": {"training.validate_every": 4, "training.max_evaluations": 1},
    "small": {"training.validate_every": 50, "training.max_evaluations": 4, "training.patience": 4},
    "thesis": {"training.validate_every": 0, "training.max_evaluations": 50, "training.patience": 50},
}


def _printed(languages: str, width: int, text: str) -> Row:
    """Return a row of the paper: a test text, and the width of its systems on Europarl and IWSLT 2017."""
    source, target = languages.split("-")
    corpus = ExternalCorpus(f"{text.lower()}-{languages}", source, target, "Europarl + IWSLT 2017")
    setup = Setup(corpus, {"model.layers": 2, "model.bidirectional": True, "model.d_model": width})
    return language_pair(f"{languages} ({text})", setup, _NO_TEXT, note=f" ({text})")


def _unpublished(row: Row) -> Row:
    return replace(row, at={**row.at, "thesis": NOT_PUBLISHED})


def _in_pieces(system: Column) -> Column:
    return replace(system, recipe=f"{system.recipe}-bpe")


def _rewarded(system: Column) -> Column:
    """Return a system that goes on from another for the reward of its samples."""
    changes: Changes = {
        "transfer.continued": True, "training.risk": "hit-gleu", "training.risk_form": "self-critical",
        "training.risk_samples": 1, "training.likelihood_weight": 0.0, "training.schedule": "constant",
        "training.learning_rate": 1e-5, "training.batch_sentences": 8,
    }  # fmt: skip
    return Column(f"{system.name}, rewarded", system.recipe, changes, base=system, at=_UPDATES)


ANNOTATED = Column("annotated", "annotate-bpe")
COPY_HEAD = Column("copy head", "copy-bpe")
BOTH = Column("annotated, copy head", "annotate-copy-bpe")

_EN_ES = tuple(_printed("en-es", 512, text) for text in ("dev2010", "tst2010", "Business"))
_DE_EN = tuple(_printed("de-en", 1024, text) for text in ("dev2010", "tst2010", "HIML"))
_REWARDED = _rewarded(ANNOTATED)
_ABSENT = tuple(system.name for system in (FIXNORM_LEX, ARTHUR, COPY_HEAD))

COPYING = Table(
    name="copying",
    title="Suggested translations of rare words, and copies of the source, against the lexical module",
    subject="lexical choice",
    rows=(
        *_EN_ES,
        *_DE_EN,
        *map(_unpublished, (TU_EN, UZ_EN, QAA_EN)),
    ),
    columns=(
        *map(_in_pieces, (TIED, FIXNORM_LEX, ARTHUR)),
        ANNOTATED,
        COPY_HEAD,
        BOTH,
        _REWARDED,
        _rewarded(BOTH),
    ),
    metrics=("test-bleu", "suggestions-used", "right-suggestions-used", "rarest-recall"),
    baseline=TIED.name,
    changes={**PIECES, "thesis": {**THESIS, "text.vocabulary_size": 40_000}},
    left_out={
        **{(row.name, system): _NOT_THEIRS for row in (*_EN_ES, *_DE_EN) for system in _ABSENT},
        **{(row.name, _REWARDED.name): _NOT_THEIRS for row in _DE_EN},
    },
)
