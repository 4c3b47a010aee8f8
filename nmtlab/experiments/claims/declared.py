"""What the seeds claim: of which number in which table. A new claim is an entry of `CLAIMS`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from nmtlab.experiments.measures.quality import (
    ALIVE,
    DEV_BLEU,
    G_SLOPES,
    GRADIENT_LEFT,
    GRADIENT_NOISE,
    GRADIENT_NORM,
    LATE_G,
    LEFT_SHIFT,
    LEXICON_PRECISION,
    NORM_FREQUENCY,
    OUTPUT_G,
    RARE_RECALL,
    RIGHT_COPIES,
    TEST_BLEU,
    TOKENIZED_TEST_BLEU,
    TRAIN_PERPLEXITY,
    Measure,
)
from nmtlab.experiments.measures.search import EMPTY_FAVOURITES, LENGTH_OF_BEST
from nmtlab.experiments.tables.declaration import Row, Scale, Table
from nmtlab.experiments.tables.empty_translations import FAVOURITES, NO_SMOOTHING
from nmtlab.experiments.tables.length_planning import (
    BY_LENGTH,
    BY_LOG_PROB,
    BY_REWARD,
    LENGTH_PLANNING,
    LIKELIEST_ALONE,
    ORDINARY,
    PLANNED,
    RISE,
    UNSEEN_LENGTHS,
)
from nmtlab.experiments.tables.lexical_choice import (
    EN_JA_BTEC,
    HA_EN,
    LEXICAL_CHOICE,
    TABLE_3_4,
    TABLE_3_6,
    TABLE_3_8,
    TABLE_3_10,
    UR_EN,
)
from nmtlab.experiments.tables.normalisation import (
    FIGURE_3_5,
    FIGURE_3_7,
    GL_EN,
    GRADIENTS,
    POST_LAYER,
    PRE_FIX_LAYER,
    PRE_FIX_SCALE,
    PRE_LAYER,
    TABLE_3_12,
    TABLE_3_13,
    TABLE_3_14,
    TABLE_3_15,
    TABLE_3_17,
)

_SHOWN_BY: Mapping[str, tuple[Measure, ...]] = {
    "dynamics": (DEV_BLEU, TRAIN_PERPLEXITY, ALIVE, GRADIENT_NORM, GRADIENT_NOISE, *GRADIENT_LEFT),
    "translate": (TEST_BLEU, TOKENIZED_TEST_BLEU),
    "norms": (NORM_FREQUENCY, RARE_RECALL),
    "attention": (LEFT_SHIFT, RIGHT_COPIES),
    "lexicon": (LEXICON_PRECISION,),
    "depth": (*G_SLOPES, LATE_G, OUTPUT_G),
    "search": (EMPTY_FAVOURITES, LENGTH_OF_BEST, *BY_LOG_PROB, *BY_LENGTH, *BY_REWARD, *LIKELIEST_ALONE, RISE),
}
"""The page of the dashboards, by name, on which one sees in single runs what a measure is about."""


@dataclass(frozen=True)
class Claim:
    """That a number of a system is higher, or lower, than that of another, or than a given number.

    Args:
        text: the claim, in a sentence.
        source: where it is made.
        table: where it was measured.
        measure: the number; one of the table's.
        system: a column of the table.
        expects: which way the claim has it.
        than: another column, or a number.
        but: rows of the table of which it is not claimed.
        absolute: compare the numbers without their signs.
        tolerance: a difference that still counts as none, in points of the measure, where it is claimed that a system
            is at least as good.
        scale: of the table.
    """

    text: str
    source: str
    table: Table
    measure: Measure
    system: str
    expects: Literal["higher", "lower"]
    than: str | float
    but: tuple[Row, ...] = ()
    absolute: bool = False
    tolerance: float = 0.0
    scale: Scale = "small"

    @property
    def page(self) -> str:
        """Name of the page of the dashboards that shows runs with a view to the claim."""
        return next(page for page, measures in _SHOWN_BY.items() if self.measure in measures)

    @property
    def direction(self) -> str:
        """What the effect is the difference of, and on which side of 0 the claim has it."""
        system, than = (f"|{name}|" if self.absolute else f"{name}" for name in (self.system, self.than))
        difference = system if self.than == 0.0 else f"{system} − {than}"
        if self.expects == "higher":
            return f"{difference}, expected above {f'−{self.tolerance:g}' if self.tolerance else '0'}"
        return f"{difference}, expected below {self.tolerance:g}"

    @property
    def stored(self) -> str:
        """Table and scale, as `Stored.name` has them."""
        return f"{self.table.name}.{self.scale}"

    @property
    def bootstrap(self) -> str:
        """Name of the file in `data/results` that has p of the paired bootstrap."""
        return f"{self.stored}.bootstrap.csv"

    @property
    def evidence(self) -> str:
        """Name of the file in `data/results` that has the measured cells."""
        return f"{self.stored}.csv"


def _underfits_and_overfits(system: str, small: float, right: float, large: float) -> tuple[Claim, ...]:
    """Return what Table 3.8 says of a length of word vectors that is too small or too large."""
    source = "thesis 3.2.6.4, Table 3.8"
    best = f"{system} r={right:g}"
    claims = []
    for radius, size, perplexity in ((small, "small", "higher"), (large, "large", "lower")):
        other = f"{system} r={radius:g}"
        claims += [
            Claim(
                f"With too {size} an r, {radius:g} for {right:g}, {system} has {perplexity} training perplexity.",
                source, TABLE_3_8, TRAIN_PERPLEXITY, other, perplexity, best,
            ),
            Claim(
                f"With too {size} an r, {radius:g} for {right:g}, {system} translates worse.",
                source, TABLE_3_8, DEV_BLEU, other, "lower", best,
            ),
        ]  # fmt: skip
    return tuple(claims)


AS_GOOD = 0.5
"""Points of BLEU that are no difference to speak of."""

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "Tied target embeddings mostly translate better than untied ones.",
        "thesis 3.2.2, Table 3.4",
        TABLE_3_4, DEV_BLEU, "tied", "higher", "untied",
    ),
    Claim(
        "fixnorm translates better if the attentional state has a fixed length too.",
        "thesis 3.2.3, Table 3.4",
        TABLE_3_4, DEV_BLEU, "fixnorm", "higher", "fixnorm, h̃ free",
    ),
    Claim(
        "The neural baseline, tied, mostly translates worse than Moses.",
        "thesis 3.2.6.1, Table 3.6",
        TABLE_3_6, TEST_BLEU, "tied", "lower", "Moses",
    ),
    Claim(
        "fixnorm translates better than tied.",
        "thesis 3.2.6.1, Table 3.6",
        TABLE_3_6, TEST_BLEU, "fixnorm", "higher", "tied", but=(EN_JA_BTEC,),
    ),
    Claim(
        "fixnorm+lex translates better than tied.",
        "thesis 3.2.6.1, Table 3.6",
        TABLE_3_6, TEST_BLEU, "fixnorm+lex", "higher", "tied", but=(EN_JA_BTEC,),
    ),
    Claim(
        "The lexical module adds to what fixnorm gains.",
        "thesis 3.2.6.1, Table 3.6",
        TABLE_3_6, TEST_BLEU, "fixnorm+lex", "higher", "fixnorm", but=(EN_JA_BTEC,),
    ),
    Claim(
        "fixnorm+lex translates better than Moses.",
        "thesis 3.2.6.1, Table 3.6",
        TABLE_3_6, TEST_BLEU, "fixnorm+lex", "higher", "Moses", but=(UR_EN, HA_EN),
    ),
    Claim(
        "The method of Arthur et al. mostly translates better than tied.",
        "thesis 3.2.6.1, Table 3.6",
        TABLE_3_6, TEST_BLEU, "Arthur", "higher", "tied", but=(EN_JA_BTEC,),
    ),
    Claim(
        "fixnorm+lex translates better than the method of Arthur et al.",
        "thesis 3.2.6.1, Table 3.6",
        TABLE_3_6, TEST_BLEU, "fixnorm+lex", "higher", "Arthur", but=(EN_JA_BTEC,),
    ),
    Claim(
        "In tied, the length of a word's vector goes with the word's frequency.",
        "thesis 3.2.3, Figure 3.2",
        LEXICAL_CHOICE, NORM_FREQUENCY, "tied", "higher", 0.0,
    ),
    Claim(
        "fixnorm translates more of the rare words than tied.",
        "thesis 3.2.1 and 3.2.6.2, Table 3.7",
        LEXICAL_CHOICE, RARE_RECALL, "fixnorm", "higher", "tied",
    ),
    Claim(
        "fixnorm+lex translates more of the rare words than tied.",
        "thesis 3.2.1 and 3.2.6.2, Table 3.7",
        LEXICAL_CHOICE, RARE_RECALL, "fixnorm+lex", "higher", "tied",
    ),
    Claim(
        "The attention of tied looks too far left.",
        "thesis 3.2.6.3, Figure 3.3a",
        LEXICAL_CHOICE, LEFT_SHIFT, "tied", "higher", 0.0,
    ),
    Claim(
        "The attention of fixnorm looks too far left.",
        "thesis 3.2.6.3, Figure 3.3b",
        LEXICAL_CHOICE, LEFT_SHIFT, "fixnorm", "higher", 0.0,
    ),
    Claim(
        "The attention of fixnorm+lex is shifted less than that of tied.",
        "thesis 3.2.6.3, Figure 3.3",
        LEXICAL_CHOICE, LEFT_SHIFT, "fixnorm+lex", "lower", "tied", absolute=True,
    ),
    Claim(
        "The attention of fixnorm+lex is shifted less than that of fixnorm.",
        "thesis 3.2.6.3, Figure 3.3",
        LEXICAL_CHOICE, LEFT_SHIFT, "fixnorm+lex", "lower", "fixnorm", absolute=True,
    ),
    Claim(
        "The attention in the method of Arthur et al. is shifted less than that of tied.",
        "thesis 3.2.6.3, Figure 3.3",
        LEXICAL_CHOICE, LEFT_SHIFT, "Arthur", "lower", "tied", absolute=True,
    ),
    Claim(
        "fixnorm+lex copies the right word for an unknown one more often than tied.",
        "thesis 3.2.6.3, Figure 3.3",
        LEXICAL_CHOICE, RIGHT_COPIES, "fixnorm+lex", "higher", "tied",
    ),
    Claim(
        "The method of Arthur et al. copies the right word for an unknown one more often than tied.",
        "thesis 3.2.6.3, Figure 3.3",
        LEXICAL_CHOICE, RIGHT_COPIES, "Arthur", "higher", "tied",
    ),
    Claim(
        "Of most words the lexical module has learned a right translation.",
        "thesis 3.2.6.5, Table 3.9",
        LEXICAL_CHOICE, LEXICON_PRECISION, "fixnorm+lex", "higher", 0.5,
    ),
    *_underfits_and_overfits("fixnorm", 3.0, 5.0, 7.0),
    *_underfits_and_overfits("fixnorm+lex", 2.0, 3.5, 5.0),
    Claim(
        "On subwords, fixnorm translates better than tied.",
        "thesis 3.2.6.6, Table 3.10",
        TABLE_3_10, TEST_BLEU, "fixnorm", "higher", "tied",
    ),
    Claim(
        "On subwords, fixnorm+lex translates better than tied.",
        "thesis 3.2.6.6, Table 3.10",
        TABLE_3_10, TEST_BLEU, "fixnorm+lex", "higher", "tied",
    ),
    Claim(
        "PostNorm, which fails with Xavier's initial weights, learns with SmallInit.",
        "thesis 3.3.3.2, Table 3.12",
        TABLE_3_12, DEV_BLEU, "SmallInit PostNorm 8k", "higher", "Xavier PostNorm 8k",
    ),
    Claim(
        "With Xavier's initial weights PreNorm learns where PostNorm does not.",
        "thesis 3.3.3.2, Table 3.12",
        TABLE_3_12, DEV_BLEU, "Xavier PreNorm 8k", "higher", "Xavier PostNorm 8k",
    ),
    Claim(
        "With Xavier's initial weights PostNorm never comes alive.",
        "thesis 3.3.3.2, Table 3.12",
        GRADIENTS, ALIVE, "Xavier PostNorm 8k", "lower", 0.5,
    ),
    Claim(
        "With Xavier's initial weights PreNorm comes alive.",
        "thesis 3.3.3.2, Table 3.12",
        GRADIENTS, ALIVE, "Xavier PreNorm 8k", "higher", 0.5,
    ),
    Claim(
        "PreNorm translates as well as PostNorm, or better (half a point of BLEU is no difference).",
        "thesis 3.3.3.3, Table 3.13",
        TABLE_3_13, TOKENIZED_TEST_BLEU, PRE_LAYER.name, "higher", POST_LAYER.name, tolerance=AS_GOOD,
    ),
    Claim(
        "To PreNorm, fixnorm adds something.",
        "thesis 3.3.3.3, Table 3.13",
        TABLE_3_13, TOKENIZED_TEST_BLEU, PRE_FIX_LAYER.name, "higher", PRE_LAYER.name,
    ),
    Claim(
        "ScaleNorm translates at least as well as LayerNorm (half a point of BLEU is no difference).",
        "thesis 3.3.3.3, Table 3.13",
        TABLE_3_13, TOKENIZED_TEST_BLEU, PRE_FIX_SCALE.name, "higher", PRE_FIX_LAYER.name, tolerance=AS_GOOD,
    ),
    Claim(
        "PreNorm with ScaleNorm and fixnorm translates better than PostNorm with LayerNorm.",
        "thesis 3.3.3.3, Table 3.13",
        TABLE_3_13, TOKENIZED_TEST_BLEU, PRE_FIX_SCALE.name, "higher", POST_LAYER.name,
    ),
    Claim(
        "Without warm-up translations are as good as with it (half a point of BLEU is no difference).",
        "thesis 3.3.3.4, Table 3.14",
        TABLE_3_14, DEV_BLEU, "NoWarmup", "higher", "InvSqrtDecay", but=(GL_EN,), tolerance=AS_GOOD,
    ),
    Claim(
        "On the smallest pair warm-up is worth its while.",
        "thesis 3.3.3.4, Table 3.14",
        TABLE_3_14, DEV_BLEU, "NoWarmup", "lower", "InvSqrtDecay",
        but=tuple(row for row in TABLE_3_14.rows if row is not GL_EN),
    ),
    Claim(
        "At twice the learning rate translations are as good (half a point of BLEU is no difference).",
        "thesis 3.3.3.4, Table 3.14",
        TABLE_3_14, DEV_BLEU, "InvSqrtDecay + 2×LR", "higher", "InvSqrtDecay", tolerance=AS_GOOD,
    ),
    Claim(
        "Without warm-up, PreNorm learns with six layers where PostNorm does not.",
        "thesis 3.3.3.4, Table 3.15",
        TABLE_3_15, DEV_BLEU, "PreNorm, 6 layers", "higher", "PostNorm, 6 layers",
    ),
    Claim(
        "Without warm-up, PostNorm with six layers never comes alive.",
        "thesis 3.3.3.4, Table 3.15",
        GRADIENTS, ALIVE, "PostNorm, 6 layers", "lower", 0.5,
    ),
    Claim(
        "Without warm-up, PreNorm with six layers comes alive.",
        "thesis 3.3.3.4, Table 3.15",
        GRADIENTS, ALIVE, "PreNorm, 6 layers", "higher", 0.5,
    ),
    Claim(
        "Without warm-up, PostNorm translates the worse the deeper it is.",
        "thesis 3.3.3.4, Table 3.15",
        TABLE_3_15, DEV_BLEU, "PostNorm, 6 layers", "lower", "PostNorm, 4 layers",
    ),
    *(
        Claim(
            f"{when} PostNorm's gradient shrinks on its way down the {measure.side}.",
            "thesis 3.3.2.1, conjectured",
            GRADIENTS, measure, system, "lower", 0.0,
        )
        for when, system in (
            ("With Xavier's initial weights", "Xavier PostNorm 8k"), ("Without warm-up", "PostNorm, 6 layers")
        )
        for measure in GRADIENT_LEFT
    ),
    Claim(
        "PreNorm's gradient is smaller than PostNorm's.",
        "thesis 3.3.4.1, Figure 3.5",
        FIGURE_3_5, GRADIENT_NORM, PRE_LAYER.name, "lower", POST_LAYER.name,
    ),
    Claim(
        "PostNorm's gradient is noisier than PreNorm's, even towards the end of training.",
        "thesis 3.3.4.1, Figure 3.5",
        FIGURE_3_5, GRADIENT_NOISE, POST_LAYER.name, "higher", PRE_LAYER.name,
    ),
    Claim(
        "PreNorm's gradient is smaller with LayerNorm than with ScaleNorm and fixnorm.",
        "thesis 3.3.4.1, Figure 3.5",
        FIGURE_3_5, GRADIENT_NORM, PRE_LAYER.name, "lower", PRE_FIX_SCALE.name,
    ),
    *(
        Claim(
            f"g grows with depth in the {measure.name.removeprefix('slope, ')} sublayers.",
            "thesis 3.3.4.2, Figure 3.6",
            FIGURE_3_7, measure, "with label smoothing", "higher", 0.0,
        )
        for measure in G_SLOPES
    ),
    Claim(
        "Without label smoothing g is lower in the later layers of the decoder.",
        "thesis 3.3.4.2, Figure 3.7",
        FIGURE_3_7, LATE_G, "without label smoothing", "lower", "with label smoothing",
    ),
    Claim(
        "Without label smoothing g is higher at the output layer.",
        "thesis 3.3.4.2, Figure 3.7",
        FIGURE_3_7, OUTPUT_G, "without label smoothing", "higher", "with label smoothing",
    ),
    Claim(
        "ScaleNorm translates at least as well as RMSNorm (half a point of BLEU is no difference).",
        "thesis 3.3.4.2, Table 3.17",
        TABLE_3_17, TOKENIZED_TEST_BLEU, "ScaleNorm + fixnorm", "higher", "RMSNorm + fixnorm", tolerance=AS_GOOD,
    ),
    Claim(
        "With g fixed at √d translations are as good as with learned g (half a point of BLEU is no difference).",
        "thesis 3.3.4.2, Table 3.17",
        TABLE_3_17, TOKENIZED_TEST_BLEU, "ScaleNorm (g = √d) + fixnorm (learned)", "higher", "ScaleNorm + fixnorm",
        tolerance=AS_GOOD,
    ),
    Claim(
        "Of more than half of the sentences the best translation of all is the empty one.",
        "thesis 4.1.1, of Stahlberg and Byrne (2019)",
        FAVOURITES, EMPTY_FAVOURITES, PRE_FIX_SCALE.name, "higher", 50.0,
    ),
    Claim(
        "Label smoothing, which takes from each token, makes the best translation of all shorter.",
        "survey 11.3, eq 42",
        FAVOURITES, LENGTH_OF_BEST, PRE_FIX_SCALE.name, "lower", NO_SMOOTHING.name,
    ),
    Claim(
        "Label smoothing makes the best translation of all the empty one more often.",
        "survey 11.3, eq 42; Shi, Xiao and Knight (2020)",
        FAVOURITES, EMPTY_FAVOURITES, PRE_FIX_SCALE.name, "higher", NO_SMOOTHING.name,
    ),
    *(
        Claim(
            f"At a beam of {measure.search.beam_size}, planned lengths translate better than {way}.",
            "thesis 4.1.2, proposed and not measured there",
            LENGTH_PLANNING, measure, PLANNED.name, "higher", ORDINARY.name,
        )
        for way, measures in (
            ("log-probability", BY_LOG_PROB), ("length normalisation", BY_LENGTH),
            ("word reward", BY_REWARD),
        )
        for measure in measures
    ),
    *(
        Claim(
            f"At a beam of 4, the likeliest planned length alone translates better than {way}.",
            "thesis 4.1.2, proposed and not measured there",
            LENGTH_PLANNING, measure, PLANNED.name, "higher", ORDINARY.name,
        )
        for way, measure in zip(("log-probability", "word reward"), LIKELIEST_ALONE, strict=True)
    ),
    Claim(
        "The loss of lengths never seen in training rises less where positions count down.",
        "thesis 4.1.2, hoped for",
        UNSEEN_LENGTHS, RISE, PLANNED.name, "lower", ORDINARY.name,
    ),
)  # fmt: skip
