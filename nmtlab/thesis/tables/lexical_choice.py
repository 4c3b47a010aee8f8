"""Tables 3.4, 3.6, 3.8 and 3.10, and the reasons for their results: improving lexical choice (thesis 3.2).

At the small scale, the text in the thesis' languages is other and smaller than that of the thesis: compare differences
between systems with the published ones, not scores.
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
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus, SyntheticCorpus
from nmtlab.text.artificial import ArtificialSettings

# The text of the small scale: short sentences of one domain, as 10,000 pairs that include news are too few to learn
# from. For Hausa there is only news.
SMALL_HA = ConcatenatedCorpus(
    "small-ha-en",
    "ha",
    "en",
    ("lafand-ha-en", "wmtnews-ha-en", "tico19-ha-en"),
    train=8000,
    title="LAFAND + WMT news + TICO-19",
)
SMALL_TR = ConcatenatedCorpus("small-tr-en", "tr", "en", ("tatoeba-tr-en",), train=10000, title="Tatoeba")
SMALL_UZ = ConcatenatedCorpus(
    "small-uz-en", "uz", "en", ("software-uz-en", "libreoffice-uz-en"), title="other software + LibreOffice"
)
SMALL_HU = ConcatenatedCorpus("small-hu-en", "hu", "en", ("tatoeba-hu-en",), train=10000, title="Tatoeba")
SMALL_JA = ConcatenatedCorpus("small-en-ja", "en", "ja", ("tanaka-en-ja",), train=10000, title="Tanaka")
_SMALL = ArtificialSettings(vocabulary=2000, names=100, ambiguity=0.1)
SMALL_QAA = SyntheticCorpus("small-qaa-en", "qaa", _SMALL, train=8000)
# Its verb is in the middle, as in English: how does Moses fare without long-distance reordering?
SMALL_QAD = SyntheticCorpus("small-qad-en", "qad", _SMALL, train=8000)
TINY_QAA = SyntheticCorpus(
    "tiny-qaa-en", "qaa", ArtificialSettings(vocabulary=100, names=3), train=500, dev=30, test=30
)

_NO_TEXT = "no comparable text is freely available"
_MIXED = "the available text is small and mixed: scores would be meaningless"


def _thesis(name: str, source: str, target: str, layers: int, width: int, title: str = "LORELEI") -> Setup:
    """Return a pair of the thesis with its size from Table 3.5."""
    return Setup(ExternalCorpus(name, source, target, title), {"model.layers": layers, "model.d_model": width})


TA_EN = language_pair("ta-en", _thesis("lorelei-ta-en", "ta", "en", 1, 512), _MIXED)
UR_EN = language_pair("ur-en", _thesis("lorelei-ur-en", "ur", "en", 1, 512), _MIXED)
HA_EN = language_pair("ha-en", _thesis("lorelei-ha-en", "ha", "en", 2, 512), SMALL_HA)
TU_EN = language_pair("tu-en", _thesis("lorelei-tr-en", "tr", "en", 2, 512), SMALL_TR)
UZ_EN = language_pair("uz-en", _thesis("lorelei-uz-en", "uz", "en", 2, 512), SMALL_UZ)
HU_EN = language_pair("hu-en", _thesis("lorelei-hu-en", "hu", "en", 2, 512), SMALL_HU)
EN_VI = language_pair("en-vi", _thesis("iwslt15-en-vi", "en", "vi", 2, 512, "IWSLT 2015"), _NO_TEXT)
EN_JA_BTEC = language_pair("en-ja (BTEC)", _thesis("btec-en-ja", "en", "ja", 4, 768, "BTEC"), _NO_TEXT, note=" (BTEC)")
EN_JA_KFTT = language_pair("en-ja (KFTT)", _thesis("kftt-en-ja", "en", "ja", 4, 768, "KFTT"), _NO_TEXT, note=" (KFTT)")
EN_JA_TANAKA = language_pair("en-ja (Tanaka)", NOT_PUBLISHED, SMALL_JA, note=" (Tanaka)")
QAA_EN = language_pair("qaa-en", NOT_PUBLISHED, SMALL_QAA, TINY_QAA)
QAD_EN = language_pair("qad-en", NOT_PUBLISHED, SMALL_QAD)

# The thesis gives no width for en-de; this is that of its other larger pairs.
_EN_DE = Setup(
    ExternalCorpus("wmt14-en-de", "en", "de", "WMT 2014"),
    {"model.layers": 4, "model.d_model": 512, "model.bidirectional": True},
)
EN_DE_2014 = language_pair("en-de (newstest2014)", _EN_DE, "too large", note=" (newstest2014)")
EN_DE_2015 = language_pair(
    "en-de (newstest2015)",
    "the same run as newstest2014, on another test set: nmtlab evaluate RUN --corpus newstest2015",
    "too large",
)

UNTIED = Column("untied", "untied")
TIED = Column("tied", "tied")
FREE = Column("fixnorm, h̃ free", "fixnorm-free")
FIXNORM = Column("fixnorm", "fixnorm")
FIXNORM_LEX = Column("fixnorm+lex", "fixnorm-lex")
MOSES = Column(
    "Moses",
    "moses",
    seeded=False,
    label="phrase-based (Thot)",
    caveat="stands in for the Moses of the thesis, and lacks lexicalised reordering: its jumps cost by distance alone; "
    "a 3-gram language model, tuned once, on 200 dev sentences",
)
ARTHUR = Column("Arthur", "arthur")

TINY: Changes = {"model.d_model": 32, "training.max_evaluations": 3, "search.beam_size": 2}
THESIS: Changes = {"training.max_evaluations": 50, "training.patience": 50, "training.validation_beam_size": 12}
# Narrow models on little text hardly learn to attend with the thesis' optimiser and initial weights: 'tied' on qaa-en
# had a perplexity of 17 after 4,500 updates; with these settings, 9 after 2,000.
SMALL: Changes = {
    "model.init_range": 0.1, "training.optimiser": "adam", "training.learning_rate": 0.002,
    "training.loss_reduction": "mean", "training.clip_norm": 1.0, "training.max_evaluations": 24,
    "training.patience": 24,
}  # fmt: skip
WORDS: dict[Scale, Changes] = {"tiny": {**TINY, "text.min_frequency": 2}, "small": SMALL, "thesis": THESIS}
PIECES: dict[Scale, Changes] = {
    "tiny": {**TINY, "text.vocabulary_size": 300},
    "small": {**SMALL, "training.max_evaluations": 12},
    "thesis": {**THESIS, "training.max_evaluations": 25},  # the text is doubled by the UNK copy
}

TABLE_3_4 = Table(
    name="table-3.4",
    title="Tied target embeddings, and the attentional state at fixed norm",
    subject="lexical choice",
    rows=(HA_EN, TU_EN, HU_EN, QAA_EN),
    columns=(UNTIED, TIED, FREE, FIXNORM),
    metrics=("dev-bleu",),
    baseline="tied",
    changes=WORDS,
)

TABLE_3_6 = Table(
    name="table-3.6",
    title="Test BLEU of all models",
    subject="lexical choice",
    rows=(TA_EN, UR_EN, HA_EN, TU_EN, UZ_EN, HU_EN, EN_VI, EN_JA_BTEC, EN_JA_KFTT, EN_JA_TANAKA, QAA_EN, QAD_EN),
    columns=(UNTIED, TIED, FIXNORM, FIXNORM_LEX, MOSES, ARTHUR),
    metrics=("test-bleu",),
    baseline="tied",
    changes=WORDS,
    exceptions={("en-ja (BTEC)", "fixnorm"): {"model.radius": 7.0}},  # the best r on its dev set (thesis 3.2.5.3)
    left_out={("en-ja (KFTT)", "Arthur"): "the thesis could not run it either: its lexical table is too large"},
)

# What thesis 3.2.6 shows on single runs, measured on all runs of Table 3.6.
LEXICAL_CHOICE = replace(
    TABLE_3_6,
    name="lexical-choice",
    title="Why: rare words, norms and attention",
    subject="lexical choice",
    metrics=(
        "rare-recall", "norm-frequency", "bias-frequency", "norm-decides", "left-shift", "alignment-error",
        "right-copies", "lexicon-precision",
    ),
    published=False,
)  # fmt: skip


# The thesis' code applies dropout to the source embeddings before the lexical module; its text does not mention it.
LEXICON_DROPOUT = Table(
    name="lexicon-dropout",
    title="The lexical module with and without dropout of its source embeddings",
    subject="lexical choice",
    rows=(TU_EN, QAA_EN),
    columns=(
        FIXNORM_LEX,
        replace(FIXNORM_LEX, name="fixnorm+lex, dropped", changes={"model.lexicon_reads_dropped": True}),
    ),
    metrics=("test-bleu", "rare-recall"),
    baseline="fixnorm+lex",
    changes=WORDS,
    published=False,
)


def _with_radius(system: Column, radius: float) -> Column:
    return replace(system, name=f"{system.name} r={radius:g}", changes={"model.radius": radius})


TABLE_3_8 = Table(
    name="table-3.8",
    title="The norm r of word vectors",
    subject="lexical choice",
    rows=(TU_EN, QAA_EN),
    columns=(
        *(_with_radius(FIXNORM, radius) for radius in (3.0, 5.0, 7.0)),
        *(_with_radius(FIXNORM_LEX, radius) for radius in (2.0, 3.5, 5.0)),
    ),
    metrics=("train-perplexity", "dev-bleu"),
    changes=WORDS,
)


def _in_pieces(row: Row, vocabulary: int) -> Row:
    """Return a row with this number of subwords on each side at the thesis scale."""
    setup = row.at["thesis"]
    if isinstance(setup, str):
        return row
    setup = replace(setup, changes={**setup.changes, "text.vocabulary_size": vocabulary})
    return replace(row, at={**row.at, "thesis": setup})


TABLE_3_10 = Table(
    name="table-3.10",
    title="Test BLEU of all models on subwords",
    subject="lexical choice",
    rows=(
        *(_in_pieces(row, 3_000) for row in (TA_EN, UR_EN)),
        *(_in_pieces(row, 12_000) for row in (HA_EN, TU_EN, UZ_EN, HU_EN, EN_VI)),
        *(_in_pieces(row, 32_000) for row in (EN_DE_2014, EN_DE_2015)),
        QAA_EN,
    ),
    columns=tuple(replace(system, recipe=f"{system.recipe}-bpe") for system in (TIED, FIXNORM, FIXNORM_LEX)),
    metrics=("test-bleu",),
    baseline="tied",
    changes=PIECES,
)


# The thesis' encoder reads the source backwards, and so the first word last (3.2.6.3). If that is why attention
# collects on the first word in `tied`, it collects on the last one once the source is read in order, and on neither in
# a bidirectional encoder, which needs two layers.
_IN_ORDER = replace(TIED, name="tied, source in order", changes={"model.reversed_source": False})
_TWO_LAYERS = replace(TIED, name="tied, two layers", changes={"model.layers": 2})
BIDIRECTIONAL = replace(
    TIED, name="tied, two layers, bidirectional", changes={"model.layers": 2, "model.bidirectional": True}
)

ATTENTION_SINK = Table(
    name="attention-sink",
    title="Attention on the first source word, by the direction in which the encoder reads",
    subject="lexical choice",
    rows=(TU_EN, QAA_EN),
    columns=(TIED, _IN_ORDER, _TWO_LAYERS, BIDIRECTIONAL, FIXNORM),
    metrics=("peaks-first", "first-excess", "peaks-last", "last-excess", "peaks-linked", "moved-gain", "test-bleu"),
    baseline=TIED.name,
    changes=WORDS,
    published=False,
)
