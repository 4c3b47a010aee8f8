"""Table `relative-and-text`: are a related language and back-translated text together worth what both are alone?

Children are those of table `child-size`, so that it is the ruler. The pairs after a child's own stand for monolingual
text, as in table `monolingual`.
"""

from dataclasses import replace

from nmtlab.grids.declared.corpora import Corpus
from nmtlab.grids.declared.declaration import Made, Row, Setup, Texts
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus, SyntheticCorpus
from nmtlab.thesis.tables.monolingual import RATIO
from nmtlab.thesis.tables.related_text import QAB_EN, TUR_ENG, artificial, child, galician
from nmtlab.thesis.tables.transfer import BPE, BPE_TRANSFER, CHILD_SIZE

TEXT = "back-translated, 4:1"

_BACK = replace(BPE, at={**BPE.at, "tiny": {**BPE.at["tiny"], "search.allow_empty": False}})
"""The system that translates back; after the few updates of the tiny scale it would write nothing."""


def _after(pairs: Corpus) -> Corpus:
    """Return the text whose target side is monolingual: pairs after the first, further artificial ones, or others."""
    if isinstance(pairs, ExternalCorpus):
        return replace(pairs, name=f"more-{pairs.name}")
    assert isinstance(pairs, ConcatenatedCorpus | SyntheticCorpus)
    size = RATIO * pairs.train
    if isinstance(pairs, SyntheticCorpus):
        return replace(pairs, name=f"{pairs.name}.after.{size}", train=size, start=2 * pairs.start)
    whole = child(pairs.source)
    return replace(whole, name=f"{whole.name}.after-{pairs.train}.{size}", train=size, skip=pairs.train)


def _row(row: Row) -> Row:
    """Return a row of children with back-translated text."""
    return replace(row, at={
        scale: replace(setup, texts={TEXT: Texts(
            f"{setup.corpus.name}.back-translated-{RATIO}", (setup.corpus,), (Made(_BACK, _after(setup.corpus)),)
        )}) if isinstance(setup, Setup) else setup
        for scale, setup in row.at.items()
    })  # fmt: skip


WITH_TEXT = replace(BPE, name="BPE + back-translated", texts=TEXT)
WITH_BOTH = replace(BPE_TRANSFER, name="BPE + transfer + back-translated", texts=TEXT)

RELATIVE_AND_TEXT = replace(
    CHILD_SIZE,
    name="relative-and-text",
    title="Does back-translated text add to what a relative gives?",
    rows=tuple(map(_row, (TUR_ENG, galician(500), galician(2000), artificial(500), artificial(2000), QAB_EN))),
    columns=(BPE, WITH_TEXT, BPE_TRANSFER, WITH_BOTH),
    metrics=("test-bleu", "test-chrf"),
    exceptions={},
)
