"""Out of domain: systems that are trained out, on the news text of NTREX (Federmann et al. 2022), a line each."""

from dataclasses import replace

from nmtlab.grids.declared.corpora import Corpus, in_direction
from nmtlab.grids.declared.declaration import Row, Setup, Table
from nmtlab.grids.declared.whole_corpora import ExternalCorpus, SyntheticCorpus
from nmtlab.languages import is_english
from nmtlab.thesis.tables.lexical_choice import EN_JA_TANAKA, HA_EN, HU_EN, QAA_EN, TABLE_3_6, TU_EN, UZ_EN
from nmtlab.thesis.tables.trained_out import DECODED_AGAIN, TRAINED_OUT

_ARTIFICIAL = "NTREX has no artificial language"
_OTHER_SENTENCES = 10_000_000


def _news(corpus: Corpus) -> Corpus:
    """Return the text of NTREX in the languages of a corpus; of an artificial language, sentences far from its own."""
    if isinstance(corpus, SyntheticCorpus):
        return replace(corpus, name=f"{corpus.name}.far", start=_OTHER_SENTENCES)
    foreign = corpus.target if is_english(corpus.source) else corpus.source
    return in_direction(ExternalCorpus(f"ntrex-{foreign}-en", foreign, "en", "NTREX"), corpus.source, corpus.target)


def _on_news(row: Row) -> Row:
    """Return a row whose systems are tested on NTREX, at every scale that runs it."""
    at = {
        scale: replace(setup, tested=_news(setup.corpus)) if isinstance(setup, Setup) else setup
        for scale, setup in row.at.items()
    }
    if isinstance(at["small"], Setup) and isinstance(at["small"].corpus, SyntheticCorpus):
        at["small"] = _ARTIFICIAL
    return replace(row, at=at)


TABLE_3_6_NTREX = replace(
    TABLE_3_6,
    name="table-3.6-ntrex",
    title="Out of domain: the systems of Table 3.6 on news",
    subject="out of domain",
    rows=tuple(_on_news(row) for row in (HA_EN, TU_EN, UZ_EN, HU_EN, EN_JA_TANAKA, QAA_EN)),
    metrics=("ntrex-bleu",),
    left_out={},
    exceptions={},
    published=False,
)

TRAINED_OUT_NTREX: Table = replace(
    TRAINED_OUT,
    short=None,
    name="table-3.13-trained-out-ntrex",
    title="Out of domain: the trained-out systems of Table 3.13 on news",
    subject="out of domain",
    rows=tuple(_on_news(row) for row in DECODED_AGAIN),
    metrics=("ntrex-bleu",),
)
