"""Why attention collects on the first source word in `tied`: a table beside thesis 3.2.6.3.

The thesis' encoder reads the source backwards, and so the first word last. If that is the cause, attention collects on
the last word once the source is read in order, and on neither in a bidirectional encoder, which needs two layers.
"""

from dataclasses import replace

from nmtlab.experiments.measures.attention import (
    FIRST_EXCESS,
    LAST_EXCESS,
    MOVED_GAIN,
    PEAKS_FIRST,
    PEAKS_LAST,
    PEAKS_LINKED,
)
from nmtlab.experiments.measures.quality import TEST_BLEU
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
    measures=(PEAKS_FIRST, FIRST_EXCESS, PEAKS_LAST, LAST_EXCESS, PEAKS_LINKED, MOVED_GAIN, TEST_BLEU),
    baseline=TIED.name,
    changes=WORDS,
    published=False,
)
