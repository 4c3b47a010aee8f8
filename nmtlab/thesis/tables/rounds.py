"""Tables `rounds` and `both-ways`: text that two directions of translation make for each other.

In `rounds` (Hoang et al. 2018), the run that makes the text of a round was trained, in the round before, on text that a
run in the other direction had made. In `both-ways` (Niu et al. 2018), one model of both directions makes its own. The
first pairs of a text are the parallel text; after them come as many lines of the target language, and then as many of
the source language: no sentence is in both.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from nmtlab.grids.declared.corpora import Corpus, Directed, backwards
from nmtlab.grids.declared.declaration import (
    NOT_PUBLISHED,
    NOT_TINY,
    Changes,
    Column,
    Made,
    Row,
    Scale,
    Setup,
    Table,
    Texts,
)
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus, SyntheticCorpus
from nmtlab.thesis.tables.monolingual import BACK_EQUAL, MONOLINGUAL, PAIRS, ROWS


class _Way(NamedTuple):
    """The text of a row.

    Args:
        pairs: the parallel text.
        ours: pairs whose target side is monolingual text.
        theirs: pairs whose source side is monolingual text.
    """

    pairs: Corpus
    ours: Corpus
    theirs: Corpus

    @property
    def back(self) -> "_Way":
        """The same text in the other direction."""
        return _Way(backwards(self.pairs), backwards(self.theirs), backwards(self.ours))

    def texts(self, kind: str, *made: Made) -> Texts:
        """Return the pairs with made text."""
        way = f".{self.pairs.source}-{self.pairs.target}" if isinstance(self.pairs, Directed) else ""
        return Texts(f"{self.pairs.name}{way}.{kind}", (self.pairs,), made)


ROUND = {number: replace(PAIRS, name=f"round {number}", texts=f"round {number}") for number in (1, 2, 3)}
"""Number of a round -> the system that is trained in it in the direction of the row."""
BACK = {1: PAIRS, **{number: replace(PAIRS, name=f"back {number}", texts=f"back {number}") for number in (2, 3)}}
"""Number of a round -> the system in the other direction that makes its text."""


def _in_rounds(way: _Way) -> dict[str, Texts]:
    """Return what systems are trained on, by their names; the first round's runs are those of table `monolingual`."""
    texts = {ROUND[1].texts: way.texts("back-translated-1", Made(BACK[1], way.ours))}
    for number in (2, 3):
        texts[BACK[number].texts] = way.back.texts(f"back-{number}", Made(ROUND[number - 1], way.back.ours))
        texts[ROUND[number].texts] = way.texts(f"round-{number}", Made(BACK[number], way.ours))
    return texts


_JOINT: Changes = {"text.segmentation": "bpe", "text.joint": True, "text.min_frequency": 1}
"""One model of both directions needs one vocabulary of both languages."""

U1 = Column("U-1", PAIRS.recipe, _JOINT, label="one direction (U-1)")
U2 = replace(U1, name="U-2", texts="U-2", label="with made sources (U-2)")
U3 = replace(U1, name="U-3", texts="U-3", label="with made targets (U-3)")
U4 = replace(U1, name="U-4", texts="U-4", label="with both (U-4)")
B1 = replace(U1, name="B-1", texts="B-1", label="both directions (B-1)")
B5 = replace(U1, name="B-5", texts="B-5", label="both, with made sources (B-5)")
B5_CONTINUED = replace(
    B5, name="B-5*", changes={**_JOINT, "transfer.continued": True}, base=B1, label="B-1, continued on them (B-5*)"
)
B6 = replace(B5_CONTINUED, name="B-6*", texts="B-6", base=B5_CONTINUED, label="B-5*, on sources it makes (B-6*)")


def _one_way(way: _Way) -> dict[str, Texts]:
    sources, targets = Made(U1, way.ours), Made(U1, way.theirs, side="target")
    made = {U2.texts: (sources,), U3.texts: (targets,), U4.texts: (sources, targets)}
    return {name: way.texts(name, *some) for name, some in made.items()}


def _both_ways(way: _Way) -> dict[str, Texts]:
    """Return the texts of a model of both directions: what it has made is a source in either."""
    both = way.pairs, way.back.pairs
    made = {B1.texts: ()} | {
        column.texts: (Made(by, way.ours), Made(by, way.back.ours)) for column, by in ((B5, B1), (B6, B5_CONTINUED))
    }
    return {name: Texts(f"{way.pairs.name}.{name}", both, some) for name, some in made.items()}


def _rounds(way: _Way) -> tuple[Setup, Setup]:
    return Setup(way.pairs, texts=_in_rounds(way)), Setup(way.back.pairs, texts=_in_rounds(way.back))


def _both(way: _Way) -> tuple[Setup, Setup]:
    """Return the setups of either direction, in which the model of both is the same."""
    together = _both_ways(way)
    return (
        Setup(way.pairs, texts=_one_way(way) | together),
        Setup(way.back.pairs, texts=_one_way(way.back) | together),
    )


_Setups = Callable[[_Way], tuple[Setup, Setup]]


def _rows(
    languages: str, note: str, ways: Mapping[Scale, _Way], absent: Mapping[Scale, str], setups: _Setups
) -> tuple[Row, Row]:
    """Return the row of a text, and its reverse."""
    source, target = languages.split("-")
    both = {scale: setups(way) for scale, way in ways.items()}
    first: dict[Scale, Setup | str] = {**absent, **{scale: pair[0] for scale, pair in both.items()}}
    second: dict[Scale, Setup | str] = {**absent, **{scale: pair[1] for scale, pair in both.items()}}
    return Row(f"{source}-{target}{note}", first, note=note), Row(f"{target}-{source}{note}", second, note=note)


def _measurable(setups: _Setups) -> Iterator[Row]:
    """Yield rows of the smallest texts of table `monolingual`, in both directions."""
    for row in (row for row in ROWS[::2] if row.note in (" (500)", " (250)")):
        ways: dict[Scale, _Way] = {}
        absent: dict[Scale, str] = {"thesis": NOT_PUBLISHED}
        for scale in ("tiny", "small"):
            setup = row.at[scale]
            if isinstance(setup, Setup):
                ways[scale] = _way(setup)
            else:
                absent[scale] = setup
        yield from _rows(row.name.removesuffix(row.note), row.note, ways, absent, setups)


def _way(setup: Setup) -> _Way:
    (made,) = setup.texts[BACK_EQUAL].made
    ours = made.of
    if isinstance(ours, SyntheticCorpus):
        return _Way(setup.corpus, ours, replace(ours, name=f"{ours.name}.next", start=2 * ours.start))
    assert isinstance(ours, ConcatenatedCorpus)
    return _Way(setup.corpus, ours, replace(ours, name=f"{ours.name}.next", skip=ours.skip + ours.train))


def _published(setups: _Setups, texts: Mapping[str, str], note: str = "") -> Iterator[Row]:
    """Yield rows of texts that a person has to provide: languages -> name of the text."""
    for languages, name in texts.items():
        source, target = languages.split("-")
        way = _Way(*(ExternalCorpus(f"{part}{name}-{languages}", source, target) for part in ("", "ours-", "theirs-")))
        absent: dict[Scale, str] = {"small": "it needs the paper's text", "tiny": NOT_TINY}
        yield from _rows(languages, note, {"thesis": way}, absent, setups)


_SIZES: dict[Scale, Changes] = {
    "tiny": {**MONOLINGUAL.changes["tiny"]},
    "small": {**MONOLINGUAL.changes["small"]},
    "thesis": {
        **_JOINT, "text.vocabulary_size": 50_000, "model.d_model": 512, "model.dropout": 0.2,
        "training.batch_sentences": 64, "training.validate_every": 1000, "training.max_evaluations": 100,
        "training.patience": 8, "training.sampling_exponent": 1.0,
    },
}  # fmt: skip
_VOCABULARY: dict[Scale, Changes] = {"tiny": {"text.vocabulary_size": 300}, "small": {"text.vocabulary_size": 1000}}

IN_ROUNDS = Table(
    name="rounds",
    title="Back-translation in rounds: text made by runs that were trained on made text",
    rows=(
        *_measurable(_rounds),
        *_published(_rounds, {"fr-en": "wmt-100k"}, " (100K)"),
        *_published(_rounds, {"fa-en": "news"}),
    ),
    columns=(PAIRS, *ROUND.values()),
    metrics=("test-bleu",),
    baseline=PAIRS.name,
    changes=_SIZES,
)

BOTH_WAYS = Table(
    name="both-ways",
    title="One model of both directions, and the text that it makes for itself",
    rows=(*_measurable(_both), *_published(_both, {"tl-en": "news", "sw-en": "news"})),
    columns=(U1, U2, U3, U4, B1, B5, B5_CONTINUED, B6),
    metrics=("test-bleu",),
    baseline=U1.name,
    changes={scale: {**changes, **_VOCABULARY.get(scale, {})} for scale, changes in _SIZES.items()},
)
