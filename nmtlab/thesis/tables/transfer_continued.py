"""Continued training, and what keeps it from forgetting (Khayrallah et al. 2018): a child of one parent in each column.

Every child starts from the same training of the parent and has its subwords, those from scratch too. Each size of the
child's text has two rows: its own test text, and the parent's.
"""

from dataclasses import replace

from nmtlab.grids.declared.corpora import Corpus, FirstPairs
from nmtlab.grids.declared.declaration import Changes, Column, Row, Scale, Setup, Table, Texts
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus, SyntheticCorpus
from nmtlab.text.artificial import ArtificialSettings

_RECIPE, _GENERAL = "fixnorm-bpe", "general"
_PARENT: dict[Scale, Changes] = {
    "tiny": {"training.validate_every": 0, "training.max_evaluations": 3},
    "small": {"training.learning_rate": 0.002, "training.validate_every": 500, "training.max_evaluations": 12},
    "thesis": {"training.learning_rate": 0.001, "training.validate_every": 0, "training.max_evaluations": 20},
}
PARENT = Column(
    "parent",
    _RECIPE,
    {"transfer.continued": False},
    seeded=False,
    at=_PARENT,
    texts=_GENERAL,
)
CONTINUED = Column("continued", _RECIPE, base=PARENT)
_SCRATCH: Changes = {
    **{
        f"transfer.{part}": "reset" for part in ("source_embedding", "encoder", "decoder", "target_embedding", "output")
    },
    "training.learning_rate": 0.002,
}
_SCRATCH_AT: dict[Scale, Changes] = {"small": {"training.validate_every": 250}}
ALPHAS = (0.001, 0.01, 0.1)


def _child(name: str, changes: Changes) -> Column:
    return replace(CONTINUED, name=name, changes=changes)


TAUGHT = tuple(_child(f"continued + teacher, α = {alpha:g}", {"training.teacher_weight": alpha}) for alpha in ALPHAS)
L2 = _child("continued + L2", {"transfer.anchor": "l2", "transfer.anchor_weight": 0.01})
EWC = _child("continued + EWC", {"transfer.anchor": "ewc", "transfer.anchor_weight": 1.0})
FROZEN = _child("continued, encoder frozen", {"transfer.encoder": "freeze", "transfer.source_embedding": "freeze"})
SCRATCH = replace(_child("in-domain only", _SCRATCH), at=_SCRATCH_AT)
SCRATCH_TAUGHT = replace(
    SCRATCH, name="in-domain only + teacher, α = 0.1", changes={**_SCRATCH, "training.teacher_weight": 0.1}
)

_SENTENCES = ConcatenatedCorpus("general-tr-en", "tr", "en", ("tatoeba-tr-en",), dev=150, test=400, title="Tatoeba")
_NEWS = ExternalCorpus("wmt17-de-en", "de", "en", "WMT 2017")
_MEDICINES = ExternalCorpus("emea-de-en", "de", "en", "EMEA")
_TINY = ArtificialSettings(vocabulary=100, names=3)
_TINY_PARENT = SyntheticCorpus("tiny-general-qaa-en", "qaa", _TINY, train=500, dev=30, test=30)
_TINY_CHILD = SyntheticCorpus("tiny-domain-qaa-en", "qaa", _TINY, train=100, dev=30, test=30, start=10_000_000)


def _software(pairs: int) -> ConcatenatedCorpus:
    """Return the child's text. A smaller one is part of a larger one."""
    return ConcatenatedCorpus(
        f"domain-tr-en.{pairs}", "tr", "en", ("libreoffice-tr-en",), train=pairs, dev=150, test=400, title="LibreOffice"
    )


def _setup(child: Corpus, parent: Corpus, changes: Changes | None = None) -> Setup:
    return Setup(child, changes or {}, texts={_GENERAL: Texts(parent.name, (parent,))})


def _rows(pairs: int, thesis: Setup | str, tiny: Setup | str, changes: Changes | None = None) -> tuple[Row, Row]:
    """Return the rows of a child's size: tested on its text, and on the parent's; `changes` are of the small scale."""
    name = f"{pairs:,} pairs"
    setups: dict[Scale, Setup | str] = {
        "thesis": thesis, "small": _setup(_software(pairs), _SENTENCES, changes), "tiny": tiny
    }  # fmt: skip
    on_parents = {scale: _on_parents_text(setup) for scale, setup in setups.items()}
    note = f" ({pairs:,})"
    return Row(name, setups, note=note), Row(f"{name}, on the parent's text", on_parents, note=note)


def _on_parents_text(setup: Setup | str) -> Setup | str:
    return setup if isinstance(setup, str) else replace(setup, tested=setup.texts[_GENERAL].corpora[0])


_FEW = _rows(200, "published for 2,000 pairs or more", _setup(_TINY_CHILD, _TINY_PARENT))
_MORE = _rows(2000, _setup(FirstPairs(_MEDICINES, 2000), _NEWS), "as 200 pairs", _SCRATCH_AT["small"])
SIZES_OF_TEXT = {200: _FEW, 2000: _MORE}
"""Pairs of the child -> its rows: on the child's text, and on the parent's."""

_CONTINUED: Changes = {
    "transfer.continued": True, "text.unk_copy_threshold": 0, "training.optimiser": "adam",
    "training.loss_reduction": "mean", "training.clip_norm": 1.0, "model.init_range": 0.1,
}  # fmt: skip

CONTINUED_TRAINING = Table(
    name="continued",
    title="Continued training: what a child gains on its text, and forgets of its parent's",
    subject="transfer",
    rows=(*_FEW, *_MORE),
    columns=(PARENT, SCRATCH, CONTINUED, *TAUGHT, L2, EWC, FROZEN, SCRATCH_TAUGHT),
    metrics=("test-bleu",),
    baseline=CONTINUED.name,
    changes={
        "tiny": {
            **_CONTINUED, "text.vocabulary_size": 300, "model.d_model": 32, "training.learning_rate": 0.001,
            "training.max_evaluations": 1, "search.beam_size": 2,
        },
        "small": {
            **_CONTINUED, "training.learning_rate": 0.0005, "training.validate_every": 50,
            "training.max_evaluations": 6, "search.beam_size": 4,
        },
        "thesis": {
            **_CONTINUED, "text.vocabulary_size": 50_000, "model.d_model": 512, "model.layers": 2,
            "training.learning_rate": 0.0002, "training.batch_sentences": 64, "training.max_evaluations": 20,
        },
    },
    seeds={"tiny": (1,), "small": (1, 2, 3, 4, 5), "thesis": (1,)},
    published=False,
)  # fmt: skip
