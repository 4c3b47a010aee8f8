"""Length planning against length normalisation and word reward (proposed in thesis 4.1, not measured there)."""

from dataclasses import replace

from nmtlab.experiments.measures.lengths import (
    BaselineLength,
    LengthLoss,
    OracleLength,
    PlannedLength,
    RestLoss,
    UnseenBleu,
    UnseenLengths,
)
from nmtlab.experiments.measures.search import FEW, SAMPLED, Empty, LengthRatio, Repeated, SearchedBleu, Way
from nmtlab.experiments.tables.declaration import System, Table
from nmtlab.experiments.tables.normalisation import DE_EN, GL_EN, QAA_EN, SIZES
from nmtlab.experiments.tables.trained_out import DECODED_AGAIN, ENOUGH
from nmtlab.recipe import SearchSettings

GAMMAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Word rewards to try on dev."""

ORDINARY = System("ordinary", "prenorm-fixnorm-scalenorm")
PLANNED = System("planned", "planned")
PLANNED_DETACHED = System("planned (detached length model)", "planned", {"model.length_gradient": False})


def _by(score: str, beam: int, lengths: int | None = None, gammas: tuple[float, ...] = ()) -> SearchedBleu:
    """Return the BLEU of a score and a beam, such as `BLEU by log-prob, beam 4`; of the widest beam, of a sample."""
    way = Way(SearchSettings(score=score, beam_size=beam), gammas, _sample(beam), lengths)
    tried = f" ({lengths} length)" if lengths else ""
    return SearchedBleu(f"BLEU by {score}, beam {beam}{_sampled(beam)}{tried}", way)


def _length(beam: int, lengths: int | None = None) -> LengthRatio:
    way = Way(SearchSettings(score="log-prob", beam_size=beam), sample=_sample(beam), lengths=lengths)
    tried = f" ({lengths} length)" if lengths else ""
    return LengthRatio(f"length by log-prob, beam {beam}{_sampled(beam)}{tried}", way)


def _sample(beam: int) -> int | None:
    return FEW if beam == BEAMS[-1] else None


def _sampled(beam: int) -> str:
    return f" {SAMPLED}" if _sample(beam) else ""


BEAMS = (1, 4, 12, 100)
BY_LOG_PROB = tuple(_by("log-prob", beam) for beam in BEAMS)
BY_LENGTH = tuple(_by("length-normalised", beam) for beam in BEAMS[1:3])
BY_REWARD = tuple(_by("word-reward", beam, gammas=GAMMAS) for beam in BEAMS[1:3])
LIKELIEST_ALONE = (_by("log-prob", 4, lengths=1), _by("word-reward", 4, gammas=GAMMAS, lengths=1))
LENGTH_OF_LIKELIEST = _length(4, lengths=1)
WHOLE_TEXT = (*BY_LOG_PROB[:3], *BY_LENGTH, *BY_REWARD)
LENGTHS = tuple(_length(beam) for beam in BEAMS)
REPEATED = Repeated("% bigrams repeated by log-prob, beam 4", BY_LOG_PROB[1].way)
EMPTY = tuple(Empty(one.name.replace("BLEU", "% empty"), one) for one in BY_LOG_PROB)
LENGTH_MODEL = (
    PlannedLength("length-model MAE (tokens)", "error"),
    PlannedLength("reference length in top 5 (share)", "among 5", lower_is_better=False),
    PlannedLength("length-model loss (nats)", "nll"),
    BaselineLength("linear-fit MAE (tokens)", "linear", "error"),
    BaselineLength("kernel MAE (tokens)", "kernel", "error"),
    BaselineLength("reference length in the kernel's top 5 (share)", "kernel", "among 5", lower_is_better=False),
    BaselineLength("kernel loss (nats)", "kernel", "nll"),
    OracleLength("BLEU with oracle length, beam 4", 4),
)
NEAR_THE_END = (
    RestLoss("loss of the last token", 0, 0),
    RestLoss("loss of the two tokens before it", 1, 2),
    RestLoss("loss of all other tokens", 3),
)

# The ordinary runs are those of Table 3.13.
LENGTH_PLANNING = Table(
    name="length-planning",
    title="Length planning against length normalisation and word reward",
    rows=(DE_EN, GL_EN, QAA_EN),
    systems=(ORDINARY, PLANNED, PLANNED_DETACHED),
    measures=(
        *BY_LOG_PROB,
        *BY_LENGTH,
        *BY_REWARD,
        *LIKELIEST_ALONE,
        *LENGTHS,
        LENGTH_OF_LIKELIEST,
        *EMPTY,
        REPEATED,
        *LENGTH_MODEL,
        *NEAR_THE_END,
    ),
    baseline=ORDINARY.name,
    changes=SIZES,
    published=False,
)

# The ordinary runs are those of Table 3.13 trained out.
LENGTH_PLANNING_TRAINED_OUT = replace(
    LENGTH_PLANNING,
    name="length-planning-trained-out",
    title="Length planning, trained until dev BLEU stops rising (at most 5,000 updates)",
    rows=DECODED_AGAIN,
    systems=(ORDINARY, PLANNED),
    changes=ENOUGH,
)

SHORT = 16
"""Tokens of the longest targets in training and dev: about 12 words."""

_SHORT = {"text.max_target_tokens": SHORT}
RISE = LengthLoss("rise of the loss", "rise")

# The thesis hopes that positions that count down generalise to lengths unseen in training.
UNSEEN_LENGTHS = Table(
    name="unseen-lengths",
    title=f"Trained on targets of up to {SHORT} tokens: loss and BLEU on longer ones",
    rows=(DE_EN, GL_EN, QAA_EN),
    systems=(System(ORDINARY.name, ORDINARY.recipe, _SHORT), System(PLANNED.name, PLANNED.recipe, _SHORT)),
    measures=(
        LengthLoss("loss, lengths seen", "seen"),
        LengthLoss("loss, lengths unseen", "unseen"),
        RISE,
        UnseenBleu("BLEU, lengths unseen"),
        UnseenBleu("BLEU, lengths unseen, oracle length", told=True),
        UnseenLengths("sentences, lengths unseen"),
    ),
    baseline=ORDINARY.name,
    changes=SIZES,
    published=False,
)
