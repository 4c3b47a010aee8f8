"""Table `more-sources`: what a related language is worth as a second source, as a parent, or in one model.

All systems of a row have the same lines of text, each in several source languages and in English, and each with one of
its sources missing at most (Nishimura et al. 2018). All are tested on the first source, with which systems of several
sources read the others, too; none is missing there.
"""

from nmtlab.grids.declared.corpora import IncompleteCorpus, SeveralSources, in_direction
from nmtlab.grids.declared.declaration import NOT_PUBLISHED, NOT_TINY, Column, Parent, Row, Scale, Setup, Table, Texts
from nmtlab.grids.declared.whole_corpora import ExternalCorpus, MultiParallelCorpus, SyntheticFamily
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.thesis.tables.transfer import SIZES

_INCOMPLETE = 0.6
"""Share of the training lines of the incomplete texts that lack a source, as in the UN text of Nishimura et al."""

_TOGETHER, _COMPLETE, _IN_ONE, _SECOND = "together", "complete", "many", "second"


def _setup(whole: IncompleteCorpus) -> Setup:
    """Return the ways to use a text of several sources; of one without missing sources, all lines are complete."""
    first, second, *others = whole.languages
    one_by_one = [in_direction(whole, code, whole.target) for code in (first, second, *others)]
    texts = {
        _TOGETHER: _several(_TOGETHER, whole),
        _IN_ONE: Texts(f"{whole.name}.{_IN_ONE}", tuple(one_by_one)),
    }
    if whole.share:
        complete = IncompleteCorpus(whole.whole, whole.languages, whole.share, only_complete=True)
        texts[_COMPLETE] = _several(_COMPLETE, complete)
    return Setup(one_by_one[0], parents={_SECOND: Parent(one_by_one[1], one_by_one[0])}, texts=texts)


def _several(name: str, text: IncompleteCorpus) -> Texts:
    return Texts(f"{text.name}.{name}", (SeveralSources(text, text.languages[1:]),))


Whole = MultiParallelCorpus | SyntheticFamily | ExternalCorpus


def _rows(languages: tuple[str, ...], wholes: dict[Scale, Whole], absent: dict[Scale, str]) -> tuple[Row, ...]:
    """Return the rows of a text: complete, and with missing sources."""
    rows = []
    for share in (0.0, _INCOMPLETE):
        note = f" ({100 * share:g} % incomplete)" if share else ""
        setups = {scale: _setup(IncompleteCorpus(whole, languages, share)) for scale, whole in wholes.items()}
        rows.append(Row(f"{languages[0]}-en{note}", {**absent, **setups}, note=note))
    return tuple(rows)


_SOFTWARE = ("libreoffice-gl-en", "libreoffice-pt-en")
_UN = ExternalCorpus("un6way", "es", "en", "UN")
_SIBLINGS = ("qab", "qaa")


def _siblings(name: str, settings: ArtificialSettings, **sizes: int) -> SyntheticFamily:
    return SyntheticFamily(name, tuple((code, settings) for code in _SIBLINGS), **sizes)


_ARTIFICIAL: dict[Scale, Whole] = {
    "small": _siblings("siblings-qab-qaa", ArtificialSettings(vocabulary=2000, names=100, ambiguity=0.1), train=4000),
    "tiny": _siblings("tiny-siblings-qab-qaa", ArtificialSettings(vocabulary=100, names=3), train=300, dev=30, test=30),
}
_ROWS = (
    *_rows(
        ("gl", "pt"),
        {"small": MultiParallelCorpus("together-gl-pt", "gl", "en", _SOFTWARE, 4000, 300, 500, "LibreOffice")},
        {"thesis": NOT_PUBLISHED, "tiny": NOT_TINY},
    ),
    *_rows(_SIBLINGS, _ARTIFICIAL, {"thesis": NOT_PUBLISHED}),
    *_rows(("es", "fr", "ar"), {"thesis": _UN}, {"small": "it needs the UN's text", "tiny": NOT_TINY}),
)

_RECIPE = "transfer-bpe"
ALONE = Column("first source", _RECIPE)
COMPLETE = Column("complete lines", _RECIPE, texts=_COMPLETE, label="several sources, complete lines only")
TOGETHER = Column("several sources", _RECIPE, texts=_TOGETHER)
JOINT = Column("several, joint", _RECIPE, {"model.combine": "joint"}, texts=_TOGETHER, label="several sources, joint")
MIXTURE = Column(
    "mixture of experts", _RECIPE, {"model.combine": "mixture"}, texts=_TOGETHER,
    label="several sources, mixture of experts",
)  # fmt: skip
SHARED = Column(
    "several, one encoder", _RECIPE, {"model.shared_encoders": True}, texts=_TOGETHER,
    label="several sources, one encoder",
)  # fmt: skip
PARENT = Column("second as parent", _RECIPE, parent=_SECOND, label="second source as parent")
IN_ONE = Column("many in one", _RECIPE, texts=_IN_ONE, label="sources one by one in one model")

MORE_SOURCES = Table(
    name="more-sources",
    title="A related language as a second source, as a parent, or in one model",
    subject="many languages",
    rows=_ROWS,
    columns=(ALONE, COMPLETE, TOGETHER, JOINT, MIXTURE, SHARED, PARENT, IN_ONE),
    metrics=("test-bleu", "test-chrf"),
    baseline=ALONE.name,
    changes={
        "tiny": {**SIZES["tiny"], "text.vocabulary_size": 300, "training.validate_every": 20},
        "small": {**SIZES["small"], "text.vocabulary_size": 4000},
        "thesis": {**SIZES["thesis"], "text.vocabulary_size": 30_000, "text.unk_copy_threshold": 0},
    },
    published=False,
)  # fmt: skip
