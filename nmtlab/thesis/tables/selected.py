"""Table `selection`: is the part of a mixed text that is like a few pairs worth more than as much of it at random?

Of an artificial text, half of the pairs have a target in another language. The Turkish text is of software, with some
Tatoeba among it, beside pairs of Tatoeba. Pairs are chosen by their cross-entropy difference (Moore and Lewis 2010),
with the first pairs as the domain; these are in the Turkish text, too.
"""

from dataclasses import replace

from nmtlab.grids.declared.corpora import Corpus, NoisyCorpus, SelectedCorpus
from nmtlab.grids.declared.declaration import NOT_PUBLISHED, NOT_TINY, Row, Setup, Texts
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus, SyntheticCorpus
from nmtlab.thesis.tables.lexical_choice import SMALL_TR
from nmtlab.thesis.tables.monolingual import MONOLINGUAL, PAIRS, RATIO, REAL, ROWS, SIZES

ALL, RANDOM, SELECTED = "all of a mixed text", "as much at random", "as much selected"

_WANTED = 100_000
"""Pairs that are chosen at the thesis scale."""


def _setup(of: Setup, mixed: Corpus, drawn: Corpus, keep: int) -> Setup:
    """Return a row with further text: all of it, some at random, and as much that is like the pairs."""
    further = {ALL: mixed, RANDOM: drawn, SELECTED: SelectedCorpus(mixed, of.corpus, keep)}
    texts = {
        system: Texts(f"{of.corpus.name}.{system.replace(' ', '-')}", (of.corpus, text))
        for system, text in further.items()
    }
    return replace(of, texts=texts)


def _artificial(row: Row) -> Row:
    """Return a row of table `monolingual` in which as many bad pairs are among the further ones."""
    return replace(row, at={scale: _noisy(one) if isinstance(one, Setup) else one for scale, one in row.at.items()})


def _noisy(of: Setup) -> Setup:
    _, text = of.texts[REAL].corpora
    assert isinstance(text, SyntheticCorpus)
    half = replace(text, name=f"{text.name}.half", train=text.train // 2)
    third = replace(text, name=f"{text.name}.third", source="qad", start=2 * text.start)
    mixed, drawn = (NoisyCorpus(one, "wrong-language-target", 1.0, third=third) for one in (text, half))
    return _setup(of, mixed, drawn, text.train)


def _turkish(size: int) -> Row:
    keep = RATIO * size
    pairs = replace(SMALL_TR, name=f"{SMALL_TR.name}.{size}", train=size)
    mixed = ConcatenatedCorpus("mixed-tr-en", "tr", "en", ("libreoffice-tr-en", "tatoeba-tr-en"), title="mixed")
    updates = next(row.at["small"] for row in ROWS if row.name == f"tr-en ({size:,})")
    assert isinstance(updates, Setup)
    drawn = replace(mixed, name=f"{mixed.name}.{keep}", train=keep)
    small = _setup(replace(updates, corpus=pairs), mixed, drawn, keep)
    news, crawl, some = (ExternalCorpus(f"{name}-tr-en", "tr", "en") for name in ("news", "crawl", "some-crawl"))
    thesis = _setup(Setup(news), crawl, some, _WANTED) if size == SIZES[-1] else NOT_PUBLISHED
    return Row(f"tr-en ({size:,})", {"tiny": NOT_TINY, "small": small, "thesis": thesis}, note=f" ({size:,})")


SELECTION = replace(
    MONOLINGUAL,
    name="selection",
    title="Further text that is like the pairs, or as much at random",
    rows=(*(_artificial(row) for row in ROWS[::2] if row.name.startswith("qaa")), *map(_turkish, SIZES)),
    columns=(PAIRS, *(replace(PAIRS, name=name, texts=name) for name in (ALL, RANDOM, SELECTED))),
)
