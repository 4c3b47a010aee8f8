"""Why attention collects on the first source word in `tied`: a table beside thesis 3.2.6.3.

The thesis' encoder reads the source backwards, and so the first word last. If that is the cause, attention collects on
the last word once the source is read in order, and on neither in a bidirectional encoder, which needs two layers.
"""

from dataclasses import replace

from nmtlab.experiments.tables.declaration import Table
from nmtlab.experiments.tables.lexical_choice import FIXNORM, QAA_EN, TIED, TU_EN, WORDS

_IN_ORDER = replace(TIED, name="tied, source in order", changes={"model.reversed_source": False})
_TWO_LAYERS = replace(TIED, name="tied, two layers", changes={"model.layers": 2})
_BIDIRECTIONAL = replace(
    TIED, name="tied, two layers, bidirectional", changes={"model.layers": 2, "model.bidirectional": True}
)

ATTENTION_SINK = Table(
    name="attention-sink",
    title="Attention on the first source word, by the direction in which the encoder reads",
    rows=(TU_EN, QAA_EN),
    systems=(TIED, _IN_ORDER, _TWO_LAYERS, _BIDIRECTIONAL, FIXNORM),
    metrics=("peaks-first", "first-excess", "peaks-last", "last-excess", "peaks-linked", "moved-gain", "test-bleu"),
    baseline=TIED.name,
    changes=WORDS,
    published=False,
)
