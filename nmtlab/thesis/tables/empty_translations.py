"""Is a model's global best empty, and does ambiguity make it so? (thesis 4.1; survey 6)

If a sentence has many equally good translations, each of them has little probability, while the empty translation has
as much as ever; in the artificial language, ambiguity is a setting. Label smoothing takes probability from every token,
and so most from long translations (survey, eq 42).
"""

from dataclasses import replace

from nmtlab.grids.declared.declaration import Column, Row, Setup, Table, language_pair
from nmtlab.grids.declared.whole_corpora import SyntheticCorpus
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.thesis.tables.normalisation import DE_EN, GL_EN, POST_LAYER, PRE_FIX_SCALE, PRE_LAYER, QAA_EN, SIZES
from nmtlab.thesis.tables.trained_out import DECODED_AGAIN, ENOUGH

AMBIGUITIES = (0.0, 0.3, 0.6, 1.0)
_METRICS = ("test-bleu", "searched-exactly", "search-errors", "empty-global-best", "global-best-length", "empty-rank")


def _ambiguous(ambiguity: float) -> Row:
    """Return a row of an ambiguous artificial language, at each scale: no other text has a controllable ambiguity."""

    def grown(scale: str, words: int, names: int, **pairs: int) -> SyntheticCorpus:
        settings = ArtificialSettings(vocabulary=words, names=names, ambiguity=ambiguity)
        return SyntheticCorpus(f"{scale}-ambiguous-{ambiguity:g}-qaa-en", "qaa", settings, **pairs)

    tiny, small = grown("tiny", 100, 3, train=500, dev=30, test=30), grown("small", 500, 20, train=8000)
    thesis = Setup(grown("thesis", 2000, 100, train=100_000))
    return language_pair(f"qaa-en, ambiguity {ambiguity:g}", thesis, small, tiny, f", ambiguity {ambiguity:g}")


NO_SMOOTHING = Column(f"{PRE_FIX_SCALE.name}, no smoothing", PRE_FIX_SCALE.recipe, {"training.label_smoothing": 0.0})

# The runs with label smoothing are those of Table 3.13.
GLOBAL_BEST = Table(
    name="search-errors",
    title="Search errors and the global best: beams against exact search",
    subject="search",
    rows=(DE_EN, GL_EN, QAA_EN),
    columns=(POST_LAYER, PRE_LAYER, PRE_FIX_SCALE, NO_SMOOTHING),
    metrics=_METRICS,
    changes=SIZES,
    published=False,
)

# The runs are those of Table 3.13 trained out.
GLOBAL_BEST_TRAINED_OUT = replace(
    GLOBAL_BEST,
    name="search-errors-trained-out",
    short=GLOBAL_BEST,
    title="Search errors and the global best, trained until dev BLEU stops rising (at most 5,000 updates)",
    subject="search",
    rows=DECODED_AGAIN,
    columns=(POST_LAYER, PRE_LAYER, PRE_FIX_SCALE),
    changes=ENOUGH,
)

AMBIGUITY = Table(
    name="ambiguity",
    title="Empty global bests as the artificial language becomes ambiguous",
    subject="search",
    rows=tuple(_ambiguous(ambiguity) for ambiguity in AMBIGUITIES),
    columns=(PRE_FIX_SCALE,),
    metrics=_METRICS,
    changes=SIZES,
    published=False,
)
