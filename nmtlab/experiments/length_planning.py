"""Planning the length of a translation, against length normalisation and word reward (thesis 4.1; never measured)."""

from nmtlab.experiments.declaration import System, Table
from nmtlab.experiments.measures import Searched
from nmtlab.experiments.normalisation import DE_EN, GL_EN, QAA_EN, SIZES
from nmtlab.recipe import SearchSettings

GAMMAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Rewards of a word that are tried on dev."""

ORDINARY = System("ordinary", "prenorm-fixnorm-scalenorm")
PLANNED = System("planned", "planned")
PLANNED_BESIDE = System("planned beside", "planned", {"model.length_gradient": False})


def _by(score: str, beam: int, outcome: str = "bleu", **more: object) -> Searched:
    """Return what comes of a score and a beam, `BLEU by log-prob, beam 4`."""
    named = {"bleu": "BLEU", "length": "% off in length", "empty": "% empty"}[outcome]
    search = SearchSettings(score=score, beam_size=beam)
    return Searched(f"{named} by {score}, beam {beam}", search, outcome, lower_is_better=outcome != "bleu", **more)


BY_LOG_PROB, BY_LENGTH, BY_REWARD = (
    tuple(_by(score, beam, gammas=gammas) for beam in (4, 12))
    for score, gammas in (("log-prob", ()), ("length-normalised", ()), ("word-reward", GAMMAS))
)
LENGTHS = tuple(_by("log-prob", beam, "length") for beam in (4, 12))
EMPTY = tuple(_by("log-prob", beam, "empty") for beam in (4, 12))

# The ordinary runs are those of Table 3.13.
LENGTH_PLANNING = Table(
    name="length-planning",
    title="Planning the length, against length normalisation and word reward",
    rows=(DE_EN, GL_EN, QAA_EN),
    systems=(ORDINARY, PLANNED, PLANNED_BESIDE),
    measures=(*BY_LOG_PROB, *BY_LENGTH, *BY_REWARD, *LENGTHS, *EMPTY),
    baseline=ORDINARY.name,
    changes=SIZES,
    published=False,
)
