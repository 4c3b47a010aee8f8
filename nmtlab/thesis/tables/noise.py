"""Noise in training text (Khayrallah and Koehn 2018): bad pairs of one kind, added to clean ones, in each column.

Every system is tested on the clean test text, and makes as many updates as the others: noise takes the place of clean
pairs.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from nmtlab.grids.declared.corpora import Corpus, NoisyCorpus
from nmtlab.grids.declared.declaration import Changes, Column, Row, Scale, Setup, Table, Texts
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus, SyntheticCorpus
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.text.noise.kinds import Kind

SHARES = (0.05, 0.2, 1.0)
KINDS: tuple[Kind, ...] = get_args(Kind)

NOISES: Mapping[str, tuple[Kind, float]] = {
    f"{kind}, {100 * share:g} %": (kind, share) for kind in KINDS for share in SHARES
}
"""Name of a system -> kind and share of the noise that it is trained on."""

CLEAN = Column("clean", "fixnorm-small")

_APART = 10_000_000
"""Distance between the first sentences of two texts: they have different ones."""

_TINY = ArtificialSettings(vocabulary=100, names=3)
_TINY_CLEAN = SyntheticCorpus("tiny-noise-qaa-en", "qaa", _TINY, train=500, dev=30, test=30)
_TINY_THIRD = SyntheticCorpus("tiny-noise-qad-en", "qad", _TINY, train=500, dev=30, test=30, start=_APART)


def _captions(pairs: int) -> ConcatenatedCorpus:
    """Return the clean text of a size. A smaller one is part of a larger one."""
    return ConcatenatedCorpus(
        f"noise-de-en.{pairs}", "de", "en", ("multi30k-de-en",), train=pairs, dev=200, test=500, title="Multi30k"
    )


def _setup(clean: Corpus, third: Corpus, changes: Changes | None = None) -> Setup:
    noisy = {
        name: NoisyCorpus(clean, kind, share, third=third if kind.startswith("wrong-language") else None)
        for name, (kind, share) in NOISES.items()
    }
    return Setup(clean, changes or {}, texts={name: Texts(corpus.name, (corpus,)) for name, corpus in noisy.items()})


_SPANISH = ExternalCorpus("libreoffice-es-en", "es", "en", "LibreOffice")
_FEW = _setup(_captions(2000), _SPANISH)
_MORE = _setup(_captions(10_000), _SPANISH, {"training.validate_every": 250})
_ALL = _setup(
    ExternalCorpus("wmt17-de-en", "de", "en", "WMT 2017"), ExternalCorpus("eubookshop-fr-en", "fr", "en", "EU Bookshop")
)
_WHOLE = "published for all pairs"
_LITTLE = ArtificialSettings(vocabulary=100, names=5, ambiguity=0.1)
_GROWN = SyntheticCorpus("noise-qaa-en.1000", "qaa", _LITTLE, train=1000, dev=100, test=300)
_STRANGER = SyntheticCorpus("noise-qad-en.1000", "qad", _LITTLE, train=1000, dev=30, test=30, start=_APART)
ROWS = (
    Row("2,000 pairs", {"tiny": _setup(_TINY_CLEAN, _TINY_THIRD), "small": _FEW, "thesis": _WHOLE}, note=" (2,000)"),
    Row("10,000 pairs", {"tiny": "as 2,000 pairs", "small": _MORE, "thesis": _WHOLE}, note=" (10,000)"),
    Row("qaa-en", {"tiny": "as 2,000 pairs", "small": _setup(_GROWN, _STRANGER), "thesis": "real text"}),
    Row("all pairs", {"tiny": "as 2,000 pairs", "small": "too large", "thesis": _ALL}),
)

_CHANGES: Mapping[Scale, Changes] = {
    "tiny": {
        "model.d_model": 32, "training.validate_every": 16, "training.max_evaluations": 3, "search.beam_size": 2,
    },
    "small": {
        "training.schedule": "constant", "training.validate_every": 100, "training.max_evaluations": 16,
        "training.patience": 16,
    },
    "thesis": {
        "text.segmentation": "bpe", "text.joint": True, "text.vocabulary_size": 50_000, "text.min_frequency": 1,
        "model.d_model": 512, "training.learning_rate": 0.0002, "training.validate_every": 10_000,
        "training.max_evaluations": 50,
    },
}  # fmt: skip

NOISE = Table(
    name="noise",
    title="Noise in training text: what bad pairs of each kind cost a recurrent system",
    rows=ROWS,
    columns=(CLEAN, *(replace(CLEAN, name=name, texts=name) for name in NOISES)),
    metrics=("test-bleu", "source-copies", "nearer-source"),
    baseline=CLEAN.name,
    changes=_CHANGES,
    published=False,
)

_PHRASES = replace(CLEAN, recipe="moses", seeded=False)

NOISE_PHRASES = replace(
    NOISE,
    name="noise-phrase-based",
    title="Noise in training text: what bad pairs of each kind cost a phrase-based system",
    columns=(_PHRASES, *(replace(_PHRASES, name=name, texts=name) for name in NOISES)),
)
