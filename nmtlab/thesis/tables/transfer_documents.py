"""Table `documents`: what a system learns inside a document, from corrections, a dictionary, or both.

The published numbers are those of Kothur, Knowles and Koehn (2018). Here each document of an artificial text has three
nouns that are in no other text; the dictionary has the new words as the references translate them.
"""

from dataclasses import replace

from nmtlab.grids.declared.declaration import NOT_PUBLISHED, Row, Setup, Table, language_pair
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.thesis.tables.lexical_choice import FIXNORM_LEX, PIECES, SMALL_QAA, TIED, TINY_QAA

_NO_TEXT = "the text is too large"
_WAYS = ("online", "dictionary", "dictionary-online", "constrained")


def _printed(text: str) -> Row:
    """Return a row of the paper, whose system is a recurrent one with subwords."""
    corpus = ExternalCorpus(f"{text.lower()}-en-de", "en", "de", text)
    return language_pair(f"en-de ({text})", Setup(corpus), _NO_TEXT, note=f" ({text})")


_EMEA, _WMT = _printed("EMEA"), _printed("WMT")

DOCUMENTS = Table(
    name="documents",
    title="Adaptation inside a document: to each corrected sentence, to a dictionary of its new words, and to both",
    subject="transfer",
    rows=(
        _EMEA,
        _WMT,
        language_pair(
            "qaa-en",
            NOT_PUBLISHED,
            replace(SMALL_QAA, name="documents-qaa-en", document=25),
            replace(TINY_QAA, name="tiny-documents-qaa-en", document=10),
        ),
    ),
    columns=tuple(replace(system, recipe=f"{system.recipe}-bpe") for system in (TIED, FIXNORM_LEX)),
    metrics=("test-bleu", *(f"bleu-{way}" for way in _WAYS), "new-words", *(f"new-words-{way}" for way in _WAYS)),
    baseline=TIED.name,
    changes=PIECES,
    left_out={(row.name, FIXNORM_LEX.name): "the paper has no such system" for row in (_EMEA, _WMT)},
)
