"""Table `grammar`: attention that also reads the heads which a source word may have (Tran and Bisk 2018).

The published numbers are theirs, for attention that is shared with the words. The grammar of an artificial language
tells which heads are right, as treebanks tell them. Heads are on either side of a word: an encoder has read both.
"""

from nmtlab.grids.declared.declaration import Column, Row, Setup, Table, language_pair
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.thesis.tables.lexical_choice import BIDIRECTIONAL, QAA_EN, THESIS, WORDS


def _printed(name: str, text: str, tested: str = "", thesis: str = "") -> Row:
    """Return a row of the paper: the training text, and the test text if there are two."""
    source, target = name.split("-")
    setup = thesis or Setup(ExternalCorpus(f"{text.split()[0].lower()}-{name}", source, target, text))
    note = f" ({tested})" if tested else ""
    return language_pair(f"{name}{note}", setup, "the text is too large", note=note)


def _selecting(kind: str, label: str) -> Column:
    return Column(kind, BIDIRECTIONAL.recipe, {**BIDIRECTIONAL.changes, "model.grammar": kind}, label=label)


_SAME = "the same run as newstest2016, on another test set: nmtlab evaluate RUN --corpus newstest2017"

GRAMMAR = Table(
    name="grammar",
    title="Attention that also reads the heads of source words",
    rows=(
        _printed("de-en", "WMT 2016", "newstest2016"),
        _printed("de-en", "WMT 2016", "newstest2017", _SAME),
        _printed("ru-en", "WMT 2016"),
        _printed("en-de", "WMT 2016", "newstest2016"),
        _printed("en-de", "WMT 2016", "newstest2017", _SAME),
        _printed("en-ru", "WMT 2016"),
        _printed("ru-ar", "UN 1.0"),
        QAA_EN,
    ),
    columns=(
        BIDIRECTIONAL,
        _selecting("flat", "heads chosen alone"),
        _selecting("tree", "heads of a tree"),
        _selecting("hard", "likeliest heads of a tree"),
    ),
    metrics=("test-bleu", "directed-accuracy", "undirected-accuracy", "over-left-branching"),
    baseline=BIDIRECTIONAL.name,
    changes={
        **WORDS,
        "thesis": {
            **THESIS, "text.segmentation": "bpe", "text.vocabulary_size": 32_000, "text.min_frequency": 1,
            "model.d_model": 1024, "model.dropout": 0.3, "model.init_range": 0.04,
            "training.optimiser": "adam", "training.learning_rate": 1e-3,
        },
    },
)  # fmt: skip
