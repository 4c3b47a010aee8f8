"""Tables `monolingual` and `language-model`: what text that nobody translated adds to a few pairs, and how.

Of a text, the first pairs are the parallel text, and the pairs after them stand for monolingual text: their other side
is thrown away, and is what an upper bound is trained on. All systems of a row make as many updates. The rows in the
other direction have the runs that translate: how good back-translations are.

A language model reads the same text another way: it goes on from the pairs alone with the monolingual text and blank
sources, and chooses from their n-best lists.
"""

from collections.abc import Callable
from dataclasses import replace

from nmtlab.grids.declared.corpora import CopiedCorpus, Corpus, backwards
from nmtlab.grids.declared.declaration import Changes, Column, Made, Row, Scale, Setup, Table, Texts
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, SyntheticCorpus
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.thesis.tables.lexical_choice import SMALL_TR
from nmtlab.thesis.tables.related_text import child

PAIRS = Column("pairs alone", "fixnorm-small")
BACK_EQUAL, BACK, SAMPLED = "back-translated, 1:1", "back-translated, 4:1", "sampled, 4:1"
COPIED, FORWARD, REAL = "copied, 4:1", "forward-translated, 4:1", "real pairs, 4:1"
LANGUAGE_MODEL = "language model, 4:1"
SYSTEMS = (BACK_EQUAL, BACK, SAMPLED, COPIED, FORWARD, REAL)
"""Systems with further text; real pairs are the upper bound."""

RATIO = 4
"""Lines of monolingual text for each pair."""

SIZES = (500, 2000)
"""Pairs of the rows at the small scale."""

_AFTER = Callable[[int], Corpus]
"""Number of pairs -> as many after the parallel text, the first ones of a larger number."""


def _texts(pairs: Corpus, size: int, after: _AFTER) -> dict[str, Texts]:
    """Return what systems are trained on, by their names."""
    few, many = after(size), after(RATIO * size)
    made = {
        BACK_EQUAL: Made(PAIRS, few), BACK: Made(PAIRS, many), SAMPLED: Made(PAIRS, many, samples=1),
        FORWARD: Made(PAIRS, many, side="target"),
    }  # fmt: skip
    more: dict[str, Corpus] = {COPIED: CopiedCorpus(many), REAL: many}
    return {
        **{system: Texts(_named(pairs, system), (pairs,), (text,)) for system, text in made.items()},
        **{system: Texts(_named(pairs, system), (pairs, text)) for system, text in more.items()},
        LANGUAGE_MODEL: Texts(_named(pairs, LANGUAGE_MODEL), (many,)),
    }


def _named(pairs: Corpus, system: str) -> str:
    kind, ratio = system.split(", ")
    return f"{pairs.name}.{kind.replace(' ', '-')}-{ratio[0]}"


def _rows(languages: str, size: int, setups: dict[Scale, Setup | str]) -> list[Row]:
    """Return the row of a text, and its reverse, in which the pairs alone are trained on."""
    source, target = languages.split("-")
    note = f" ({size:,})"
    reverse = {
        scale: Setup(backwards(one.corpus), one.changes) if isinstance(one, Setup) else one
        for scale, one in setups.items()
    }
    return [
        Row(f"{source}-{target}{note}", setups, note=note), Row(f"{target}-{source}{note}", reverse, note=note)
    ]  # fmt: skip


_MORE_UPDATES: Changes = {"training.validate_every": 250}
"""Of the larger texts: 4,000 updates instead of 1,600."""

_NOT_TINY, _NOT_SMALL, _NOT_THESIS = "as qaa-en (250)", "smaller, as qaa-en (500)", "as tr-en (2,000)"
_APART = 10_000_000
"""Number of the first sentence of artificial monolingual text: it has other sentences."""

_LANGUAGE = ArtificialSettings(vocabulary=100, names=5, ambiguity=0.1)


def _artificial(name: str, size: int, pairs: SyntheticCorpus) -> Setup:
    def after(lines: int) -> Corpus:
        return replace(pairs, name=f"{name}.after-{size}.{lines}", train=lines, start=_APART)

    return Setup(pairs, _MORE_UPDATES if size == SIZES[-1] else {}, texts=_texts(pairs, size, after))


def _real(whole: ConcatenatedCorpus, pairs: ConcatenatedCorpus) -> Setup:
    """Return a row on the first pairs of a text."""
    size = pairs.train

    def after(lines: int) -> Corpus:
        return replace(whole, name=f"{whole.name}.after-{size}.{lines}", train=lines, skip=size)

    return Setup(pairs, _MORE_UPDATES if size == SIZES[-1] else {}, texts=_texts(pairs, size, after))


def _qaa(size: int) -> list[Row]:
    name = "monolingual-qaa-en"
    pairs = SyntheticCorpus(f"{name}.{size}", "qaa", _LANGUAGE, train=size, dev=100, test=300)
    small = _artificial(name, size, pairs)
    return _rows("qaa-en", size, {"tiny": _NOT_TINY, "small": small, "thesis": _NOT_THESIS})


def _galician(size: int) -> list[Row]:
    small = _real(child("gl"), child("gl", size))
    return _rows("gl-en", size, {"tiny": _NOT_TINY, "small": small, "thesis": _NOT_THESIS})


def _turkish(size: int) -> list[Row]:
    small = _real(SMALL_TR, replace(SMALL_TR, name=f"{SMALL_TR.name}.{size}", train=size))
    lorelei = replace(SMALL_TR, name="first-lorelei-tr-en", parts=("lorelei-tr-en",), train=0, title="LORELEI")
    thesis = _real(lorelei, replace(lorelei, name=f"{lorelei.name}.{size}", train=size))
    return _rows("tr-en", size, {"tiny": _NOT_TINY, "small": small, "thesis": thesis})


def _tiny(size: int) -> list[Row]:
    name, language = "tiny-monolingual-qaa-en", ArtificialSettings(vocabulary=100, names=3)
    pairs = SyntheticCorpus(f"{name}.{size}", "qaa", language, train=size, dev=30, test=30)
    return _rows(
        "qaa-en", size, {"tiny": _artificial(name, size, pairs), "small": _NOT_SMALL, "thesis": _NOT_THESIS}
    )  # fmt: skip


_AS_IT_IS: Changes = {"training.sampling_exponent": 1.0}
"""An epoch has every pair once: 4:1 is the mix that is read, too."""

_EQUAL_UPDATES: Changes = {
    "training.schedule": "constant", "training.validate_every": 100, "training.max_evaluations": 16,
    "training.patience": 16, **_AS_IT_IS,
}  # fmt: skip

ROWS = (*(row for texts in (_qaa, _galician, _turkish) for size in SIZES for row in texts(size)), *_tiny(250))
REVERSES = {row.name: reverse.name for row, reverse in zip(ROWS[::2], ROWS[1::2], strict=True)}
"""Name of a row -> that of the row in the other direction."""

MONOLINGUAL = Table(
    name="monolingual",
    title="Text that nobody translated: what it adds to a few pairs",
    rows=ROWS,
    columns=(PAIRS, *(replace(PAIRS, name=name, texts=name) for name in SYSTEMS)),
    metrics=("test-bleu", "test-chrf"),
    baseline=PAIRS.name,
    changes={
        "tiny": {
            "model.d_model": 32, "training.validate_every": 16, "training.max_evaluations": 3, "search.beam_size": 2,
            **_AS_IT_IS,
        },
        "small": _EQUAL_UPDATES,
        "thesis": _EQUAL_UPDATES,
    },
    published=False,
)  # fmt: skip

_BLANK: Changes = {
    "corpus.blank_source": True, "transfer.continued": True, "training.select_by": "perplexity",
}  # fmt: skip

BY_LANGUAGE_MODEL = replace(
    MONOLINGUAL,
    name="language-model",
    title="Text that nobody translated: through a language model or through back-translation",
    rows=tuple(row for row in ROWS[::2] if row.note != f" ({SIZES[0]:,})"),
    columns=(
        PAIRS,
        Column(LANGUAGE_MODEL, PAIRS.recipe, _BLANK, base=PAIRS, texts=LANGUAGE_MODEL),
        replace(PAIRS, name=BACK, texts=BACK),
    ),
    metrics=("reranked-bleu",),
)
