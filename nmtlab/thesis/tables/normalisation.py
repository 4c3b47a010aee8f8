"""Tables 3.12 to 3.17, and the runs of Figures 3.4 to 3.7: better normalisation (thesis 3.3).

Of the thesis' pairs, the two smallest have freely available text: interface strings of office software instead of
talks. Multi30k and an artificial language stand in for the larger ones.
"""

from itertools import product

from nmtlab.grids.declared.declaration import NOT_PUBLISHED, Changes, Column, Scale, Setup, Table, language_pair
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus
from nmtlab.thesis.tables.lexical_choice import SMALL_QAA, TINY_QAA

SMALL_GL = ConcatenatedCorpus("small-gl-en", "gl", "en", ("libreoffice-gl-en",), train=10000, title="LibreOffice")
SMALL_SK = ConcatenatedCorpus("small-sk-en", "sk", "en", ("libreoffice-sk-en",), title="LibreOffice")
SMALL_DE = ConcatenatedCorpus("small-de-en", "de", "en", ("multi30k-de-en",), test=1000, title="Multi30k")

_STAND_INS = "Multi30k and an artificial language stand in for it"


def _ted(source: str, target: str, validate_every: int, size: Changes | None = None) -> Setup:
    """Return a pair of the TED talks with its 'epoch' from Table 3.11, and its size if it differs."""
    changes = {"training.validate_every": validate_every, **(size or {})}
    return Setup(ExternalCorpus(f"ted-{source}-{target}", source, target, "TED"), changes)


_GL_SIZE: Changes = {
    "text.vocabulary_size": 3000, "model.encoder_layers": 4, "model.decoder_layers": 4, "model.heads": 4,
    "model.dropout": 0.4, "training.max_evaluations": 1000, "training.patience": 50,
}  # fmt: skip
GL_EN = language_pair("gl-en", _ted("gl", "en", 100, _GL_SIZE), SMALL_GL)
SK_EN = language_pair("sk-en", _ted("sk", "en", 600), SMALL_SK)
_IWSLT = Setup(ExternalCorpus("iwslt15-en-vi", "en", "vi", "IWSLT 2015"), {"training.validate_every": 1500})
EN_VI = language_pair("en-vi", _IWSLT, _STAND_INS)
EN_HE = language_pair("en-he", _ted("en", "he", 2000), _STAND_INS)
AR_EN = language_pair("ar-en", _ted("ar", "en", 2000), _STAND_INS)
DE_EN = language_pair("de-en", NOT_PUBLISHED, SMALL_DE)
QAA_EN = language_pair("qaa-en", NOT_PUBLISHED, SMALL_QAA, TINY_QAA)

ALL_PAIRS = (GL_EN, SK_EN, EN_VI, EN_HE, AR_EN, DE_EN, QAA_EN)
DEEP_PAIRS = (EN_VI, DE_EN, QAA_EN)
"""Pairs for the tables on depth, for which the thesis has one pair."""

# The recipes of 3.3 have the small size; at the thesis scale they take that of the recipe `thesis-ted`.
SIZES: dict[Scale, Changes] = {
    "tiny": {
        "text.vocabulary_size": 300, "model.d_model": 32, "model.d_ff": 64, "model.heads": 2,
        "training.warmup_updates": 20, "model.encoder_layers": 1, "model.decoder_layers": 1,
        "training.batch_tokens": 512, "training.validate_every": 15, "training.max_evaluations": 3,
        "search.beam_size": 2,
    },
    "small": {
        "text.vocabulary_size": 2000, "training.batch_tokens": 1024, "training.lr_scale": 0.5,
        "training.max_evaluations": 6,
    },
    "thesis": {
        "text.vocabulary_size": 8000, "model.d_model": 512, "model.d_ff": 2048, "model.heads": 8,
        "model.encoder_layers": 6, "model.decoder_layers": 6, "model.dropout": 0.3, "training.batch_tokens": 4096,
        "training.word_dropout": 0.1, "training.warmup_updates": 8000, "training.lr_scale": 1.0,
        "training.max_evaluations": 200, "training.patience": 20,
    },
}  # fmt: skip

# The constant rate is 0.61 of the peak of the warm-up, as is the thesis' 3e-4.
_CONSTANT: dict[Scale, Changes] = {
    "tiny": {"training.learning_rate": 0.017}, "small": {"training.learning_rate": 0.0013}
}  # fmt: skip

# Twelve layers need a lower learning rate.
DEEP_SIZES: dict[Scale, Changes] = {
    **SIZES,
    "small": {
        **SIZES["small"], "training.lr_scale": 0.25, "training.warmup_updates": 200, "training.learning_rate": 0.001,
        "training.validate_every": 100, "training.max_evaluations": 8,
    },
}  # fmt: skip

POST_LAYER = Column("PostNorm + LayerNorm", "postnorm")
PRE_LAYER = Column("PreNorm + LayerNorm", "prenorm")
PRE_FIX_LAYER = Column("PreNorm + fixnorm + LayerNorm", "prenorm-fixnorm")
PRE_FIX_SCALE = Column("PreNorm + fixnorm + ScaleNorm", "prenorm-fixnorm-scalenorm")

_TWICE: dict[Scale, Changes] = {
    "tiny": {"training.lr_scale": 1.4}, "small": {"training.lr_scale": 1.0}, "thesis": {"training.lr_scale": 2.0}
}  # fmt: skip
_DECAY: Changes = {"training.schedule": "validation-decay"}


def _deep(layers: int) -> Changes:
    return {"model.encoder_layers": layers, "model.decoder_layers": layers}


def _warmed_up(init: str, placement: str, thousands: int) -> Column:
    """Return a column of Table 3.12; warm-ups keep their ratios at the smaller scales."""
    name = {"xavier": "Xavier", "small": "SmallInit"}[init]
    at: dict[Scale, Changes] = {
        "tiny": {"training.warmup_updates": 5 * thousands // 2},
        "small": {"training.warmup_updates": 25 * thousands},
        "thesis": {"training.warmup_updates": 1000 * thousands},
    }
    recipe = {"PostNorm": "postnorm", "PreNorm": "prenorm"}[placement]
    return Column(f"{name} {placement} {thousands}k", recipe, {"model.init": init, **_deep(6)}, at=at)


_FORMS = tuple(product(("xavier", "small"), ("PostNorm", "PreNorm")))

TABLE_3_12 = Table(
    name="table-3.12",
    title="Large or small initial weights",
    subject="normalisation",
    rows=DEEP_PAIRS,
    columns=tuple(_warmed_up(*form, thousands) for form in _FORMS for thousands in (4, 8, 16)),
    metrics=("dev-bleu",),
    changes=DEEP_SIZES,
    failing=tuple(f"Xavier PostNorm {thousands}k" for thousands in (4, 8, 16)),
)

TABLE_3_13 = Table(
    name="table-3.13",
    title="Placement and type of normalisation",
    subject="normalisation",
    rows=ALL_PAIRS,
    columns=(POST_LAYER, PRE_LAYER, PRE_FIX_LAYER, PRE_FIX_SCALE),
    metrics=("tokenized-test-bleu",),
    baseline=POST_LAYER.name,
    changes=SIZES,
    marks="† ‡ * significant: † fixnorm vs PreNorm, ‡ ScaleNorm vs LayerNorm with fixnorm, * both vs PostNorm",
)

TABLE_3_14 = Table(
    name="table-3.14",
    title="Learning-rate schedules with PreNorm + fixnorm + ScaleNorm",
    subject="normalisation",
    rows=ALL_PAIRS,
    columns=(
        Column("NoWarmup", PRE_FIX_SCALE.recipe, {"training.schedule": "no-warmup"}, at=_CONSTANT),
        Column("InvSqrtDecay", PRE_FIX_SCALE.recipe),
        Column("ValDecay", PRE_FIX_SCALE.recipe, _DECAY),
        Column("InvSqrtDecay + 2×LR", PRE_FIX_SCALE.recipe, at=_TWICE),
        Column("ValDecay + 2×LR", PRE_FIX_SCALE.recipe, _DECAY, at=_TWICE),
    ),
    metrics=("dev-bleu",),
    baseline="InvSqrtDecay",
    changes=SIZES,
)

TABLE_3_15 = Table(
    name="table-3.15",
    title="Depth without warm-up",
    subject="normalisation",
    rows=DEEP_PAIRS,
    columns=tuple(
        Column(f"{placement}, {layers} layers", recipe, {"training.schedule": "no-warmup", **_deep(layers)})
        for placement, recipe in (("PostNorm", "postnorm"), ("PreNorm", "prenorm"))
        for layers in (4, 5, 6)
    ),
    metrics=("dev-bleu",),
    changes=DEEP_SIZES,
    failing=tuple(f"PostNorm, {layers} layers" for layers in (4, 5, 6)),
)

# Transformer base on 4.5 million pairs; the thesis names no other settings.
_WMT = Setup(
    ExternalCorpus("wmt14-en-de", "en", "de", "WMT 2014"), {"text.vocabulary_size": 32_000, "model.dropout": 0.1}
)

TABLE_3_16 = Table(
    name="table-3.16",
    title="Placement and type of normalisation with much text",
    subject="normalisation",
    rows=(
        language_pair("en-de (newstest2014)", _WMT, "4.5 million pairs: too large", note=" (newstest2014)"),
        DE_EN,
        QAA_EN,
    ),
    columns=(
        PRE_LAYER,
        PRE_FIX_SCALE,
        POST_LAYER,
        Column("PostNorm + fixnorm + ScaleNorm", PRE_FIX_SCALE.recipe, {"model.placement": "post"}),
    ),
    metrics=("tokenized-test-bleu",),
    baseline=POST_LAYER.name,
    changes=SIZES,
)

_FIXED = Column("ScaleNorm (g = √d) + fixnorm (learned)", "prenorm-fixnorm-scalenorm-fixed-g")

TABLE_3_17 = Table(
    name="table-3.17",
    title="Number of learned scale parameters g",
    subject="normalisation",
    rows=ALL_PAIRS,
    columns=(
        Column("RMSNorm + fixnorm", "prenorm-fixnorm-rmsnorm"),
        Column("ScaleNorm + fixnorm", PRE_FIX_SCALE.recipe),
        _FIXED,
        Column(f"{_FIXED.name} + ValDecay", _FIXED.recipe, _DECAY),
        Column(f"{_FIXED.name} + ValDecay + 2×LR", _FIXED.recipe, _DECAY, at=_TWICE),
    ),
    metrics=("tokenized-test-bleu",),
    baseline="ScaleNorm + fixnorm",
    changes=SIZES,
)

# The runs of Table 3.13, measured for Figure 3.5.
FIGURE_3_5 = Table(
    name="figure-3.5",
    title="The gradient norm, and its noise towards the end of training",
    subject="normalisation",
    rows=ALL_PAIRS,
    columns=TABLE_3_13.columns,
    metrics=("gradient-norm", "gradient-component", "gradient-noise"),
    baseline=POST_LAYER.name,
    changes=SIZES,
    published=False,
)

# The runs of two tables: which converge. Their gradients at the end of training may be the consequence of failing: the
# thesis' explanation (3.3.2.1) is tested by `trained_out.UNTRAINED_GRADIENTS`.
GRADIENTS = Table(
    name="gradients",
    title="Which trainings converge, and the ratio of the gradient at the first and last norm of each side",
    subject="normalisation",
    rows=DEEP_PAIRS,
    columns=(*TABLE_3_15.columns, *(_warmed_up(*form, 8) for form in _FORMS)),
    metrics=("converged", "gradient-ratio-encoder", "gradient-ratio-decoder"),
    changes=DEEP_SIZES,
    failing=(*TABLE_3_15.failing, *TABLE_3_12.failing),
    published=False,
)

# At the learning rate of the other deep tables, g hardly moves; it grows with depth only late in training.
_LATE_SIZES: dict[Scale, Changes] = {
    **SIZES, "small": {**SIZES["small"], "training.lr_scale": 0.7, "training.max_evaluations": 10}
}  # fmt: skip

# The runs of Figure 3.6, with label smoothing, and of Figure 3.7, without.
FIGURE_3_7 = Table(
    name="figure-3.7",
    title="g by depth, with and without label smoothing",
    subject="normalisation",
    rows=DEEP_PAIRS,
    columns=(
        Column("with label smoothing", PRE_FIX_SCALE.recipe, _deep(6)),
        Column("without label smoothing", PRE_FIX_SCALE.recipe, {"training.label_smoothing": 0.0, **_deep(6)}),
    ),
    metrics=(
        "dev-bleu",
        "g-slope-encoder-attention",
        "g-slope-encoder-feed-forward",
        "g-slope-decoder-attention",
        "g-slope-decoder-feed-forward",
        "g-slope-cross-attention",
        "g-late-decoder",
        "g-output",
    ),
    baseline="with label smoothing",
    changes=_LATE_SIZES,
    published=False,
)
