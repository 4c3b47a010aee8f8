"""Is a model's favourite translation nothing at all, and does ambiguity make it so? (thesis 4.1; survey 6)

Where a sentence has many equally good translations, each of them has little probability, and nothing has the same as
ever: the controlled language can turn that up. Label smoothing takes from every token, so from long translations most
(survey, eq 42).
"""

from nmtlab.experiments.measures.quality import TEST_BLEU
from nmtlab.experiments.measures.search import EMPTY_FAVOURITES, EMPTY_RANK, LENGTH_OF_BEST, SEARCH_ERRORS, SEARCHED
from nmtlab.experiments.tables.corpora import Grown
from nmtlab.experiments.tables.declaration import Row, Setup, System, Table, language_pair
from nmtlab.experiments.tables.normalisation import DE_EN, GL_EN, POST_LAYER, PRE_FIX_SCALE, PRE_LAYER, QAA_EN, SIZES
from nmtlab.text.seedlings import SeedlingSettings

AMBIGUITIES = (0.0, 0.3, 0.6, 1.0)
_FAVOURITES = (TEST_BLEU, SEARCHED, SEARCH_ERRORS, EMPTY_FAVOURITES, LENGTH_OF_BEST, EMPTY_RANK)


def _ambiguous(ambiguity: float) -> Row:
    """Return the controlled language with free choices, at each scale: no other text can be made so."""

    def grown(scale: str, words: int, names: int, **pairs: int) -> Grown:
        settings = SeedlingSettings(vocabulary=words, names=names, ambiguity=ambiguity)
        return Grown(f"{scale}-ambiguous-{ambiguity:g}-qaa-en", "qaa", settings, **pairs)

    tiny, small = grown("tiny", 100, 3, train=500, dev=30, test=30), grown("small", 500, 20, train=8000)
    thesis = Setup(grown("thesis", 2000, 100, train=100_000))
    return language_pair(f"qaa-en, ambiguity {ambiguity:g}", thesis, small, tiny)


NO_SMOOTHING = System(f"{PRE_FIX_SCALE.name}, no smoothing", PRE_FIX_SCALE.recipe, {"training.label_smoothing": 0.0})

# The runs with label smoothing are those of Table 3.13.
FAVOURITES = Table(
    name="favourites",
    title="What the models like best of all: beams against exact search",
    rows=(DE_EN, GL_EN, QAA_EN),
    systems=(POST_LAYER, PRE_LAYER, PRE_FIX_SCALE, NO_SMOOTHING),
    measures=_FAVOURITES,
    changes=SIZES,
    published=False,
)

AMBIGUITY = Table(
    name="ambiguity",
    title="Empty favourites, as the controlled language becomes ambiguous",
    rows=tuple(_ambiguous(ambiguity) for ambiguity in AMBIGUITIES),
    systems=(PRE_FIX_SCALE,),
    measures=_FAVOURITES,
    changes=SIZES,
    published=False,
)
