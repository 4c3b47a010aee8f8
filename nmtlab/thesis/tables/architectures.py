"""Table `architectures`: which network for how many pairs? Five of equal size, over nested texts (survey 5 and 6).

All read the same subwords, in batches of the same size, for as many updates; each family has its schedule. Those of a
scale have as many parameters as its Transformer, within 5 %, with separate tables for source and target embeddings.
"""

from nmtlab.grids.declared.declaration import Changes, Column, Scale, Table
from nmtlab.thesis.tables.data_size import DATA_SIZE

_PAIRS = ("(500)", "(2,000)", "(8,000)", "(10,000)")

_TEXT: Changes = {
    "text.segmentation": "bpe", "text.joint": True, "text.vocabulary_size": 1000, "text.word_rules": "moses",
    "text.min_frequency": 1, "text.max_words": 250, "search.beam_size": 4, "search.alpha": 0.6,
    "search.replace_unknown": False,
}  # fmt: skip
_TRAINING: Changes = {
    "training.batch_tokens": 1024, "training.batch_sentences": 0, "training.label_smoothing": 0.1,
    "training.loss_reduction": "mean", "training.clip_norm": 1.0,
}  # fmt: skip
_SMALL: Changes = {
    **_TEXT, **_TRAINING, "model.dropout": 0.3, "training.validate_every": 200, "training.max_evaluations": 10,
    "training.patience": 10,
}  # fmt: skip

_UNSHARED: Changes = {"model.shared_embeddings": False}
_TINY_LAYERS: dict[Scale, Changes] = {"tiny": {"model.encoder_layers": 1, "model.decoder_layers": 1}}


def _recurrent(name: str, width: int, layers: int = 1, **changes: str | bool | int) -> Column:
    """Return a recurrent system of a width, which is the tiny one at that scale."""
    special = {"model.layers": layers, **{f"model.{field}": value for field, value in changes.items()}}
    sizes: Changes = {"model.d_model": width}
    return Column(name, "tied-small", special, at={"small": sizes, "thesis": sizes})


RNN = _recurrent("RNN", 148, layers=2)
DEEP = _recurrent("deep RNN", 116, layers=4, residual=True, layer_norm=True)
TRANSITION = _recurrent("deep transition", 152, cell="gru", transitions=4)
CONV = Column("conv", "conv", _UNSHARED, at=_TINY_LAYERS, label="convolutional")
TRANSFORMER = Column("Transformer", "prenorm", _UNSHARED, at=_TINY_LAYERS, label="Transformer (PreNorm)")

ARCHITECTURES = Table(
    name="architectures",
    title="Networks of equal size by the size of their text",
    rows=tuple(row for row in DATA_SIZE.rows if row.name.endswith(_PAIRS) or row.note in ("", " (250)")),
    columns=(RNN, DEEP, TRANSITION, CONV, TRANSFORMER),
    metrics=("test-bleu", "test-chrf"),
    baseline=RNN.name,
    changes={
        "tiny": {
            **_TEXT, **_TRAINING, "text.vocabulary_size": 300, "model.d_model": 32, "training.batch_tokens": 512,
            "training.validate_every": 15, "training.max_evaluations": 2, "search.beam_size": 2,
        },
        "small": _SMALL,
        "thesis": {**_SMALL, "training.validate_every": 500, "training.max_evaluations": 40},
    },
    published=False,
)  # fmt: skip
