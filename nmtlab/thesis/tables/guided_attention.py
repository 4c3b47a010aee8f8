"""Table `guided-attention`: what attention gains from a word aligner's links (survey 12.4; Chen et al. 2016).

The languages are artificial: their gold links, which no system and no aligner has seen, tell how far attention is off.
"""

from dataclasses import replace

from nmtlab.grids.declared.declaration import Column, Row, Setup, Table
from nmtlab.grids.declared.whole_corpora import SyntheticCorpus
from nmtlab.thesis.tables.lexical_choice import QAA_EN, QAD_EN, SMALL_QAA, SMALL_QAD, WORDS
from nmtlab.thesis.tables.lexical_choice import TIED as PLAIN


def _artificial(row: Row, text: SyntheticCorpus) -> Row:
    """Return a row with the text of the small scale, by another name, at that of the thesis, which has none."""
    return replace(row, at={**row.at, "thesis": Setup(replace(text, name=f"guided-{row.name}"))})


def _guided(weight: float) -> Column:
    return Column(
        f"guided {weight:g}",
        PLAIN.recipe,
        {"training.guided_attention": weight},
        label=f"guided, λ = {weight:g}",
    )


GUIDED_ATTENTION = Table(
    name="guided-attention",
    title="Attention guided by word links",
    rows=(_artificial(QAA_EN, SMALL_QAA), _artificial(QAD_EN, SMALL_QAD)),
    columns=(PLAIN, *map(_guided, (0.1, 0.5, 2.0))),
    metrics=("alignment-error", "test-bleu"),
    baseline=PLAIN.name,
    changes=WORDS,
    published=False,
)
