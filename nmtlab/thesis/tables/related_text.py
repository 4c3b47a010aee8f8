"""The texts of related languages: children, and their parents near and far (thesis 3.1).

An unrelated parent has the same English sentences as the related one, so that they differ in the language alone: a
parent also teaches English and the domain.
"""

from dataclasses import replace

from nmtlab.grids.declared.declaration import NOT_PUBLISHED, NOT_TINY, Changes, Parent, Row, Setup
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, ExternalCorpus, SyntheticCorpus
from nmtlab.text.artificial import ArtificialSettings

RELATED, COUSIN, UNRELATED = "related", "cousin", "unrelated"
"""Names of parents: a close relative, a more distant one, and a language that shares only names with the child."""

UPDATES: Changes = {"training.max_evaluations": 32}
"""At the small scale, a parent has 8,000 updates at most."""

_SOFTWARE = "libreoffice-{}-en"


def child(source: str, pairs: int = 0) -> ConcatenatedCorpus:
    """Return a child's text: some pairs, or all of them. A smaller one is part of a larger one."""
    size = f".{pairs}" if pairs else ""
    return ConcatenatedCorpus(
        f"child-{source}-en{size}", source, "en", (_SOFTWARE.format(source),), train=pairs, title="LibreOffice"
    )


def parent(source: str, among: tuple[str, ...]) -> ConcatenatedCorpus:
    """Return a parent's text that has the same English sentences as those of the other languages."""
    common = tuple(_SOFTWARE.format(code) for code in among)
    name = f"parent-{source}-en.among-{'-'.join(among)}"
    return ConcatenatedCorpus(name, source, "en", (_SOFTWARE.format(source),), among=common, title="LibreOffice")


def _lorelei(source: str) -> ExternalCorpus:
    return ExternalCorpus(f"lorelei-{source}-en", source, "en", "LORELEI")


def _lorelei_row(source: str, evaluations: tuple[int, int]) -> Setup:
    """Return a child of the thesis, with parents whose training ends after another number of evaluations."""
    of_parent = {"training.max_evaluations": evaluations[0]}
    parents = {
        name: Parent(_lorelei(code), _lorelei(source), of_parent)
        for name, code in ((RELATED, "uz"), (COUSIN, "kk"), (UNRELATED, "hu"))
    }
    return Setup(_lorelei(source), {"training.max_evaluations": evaluations[1]}, parents)


_AMONG_PT, _AMONG_CS = ("pt", "es", "hu", "tr"), ("cs", "hu", "tr")
GALICIAN = {
    RELATED: Parent(parent("pt", _AMONG_PT), child("gl", 10_000), UPDATES),
    UNRELATED: Parent(parent("hu", _AMONG_PT), child("gl", 10_000), UPDATES),
}
SLOVAK = {
    RELATED: Parent(parent("cs", _AMONG_CS), child("sk", 4000), UPDATES),
    UNRELATED: Parent(parent("hu", _AMONG_CS), child("sk", 4000), UPDATES),
}
_TURKISH = ConcatenatedCorpus("parent-tr-en", "tr", "en", ("libreoffice-tr-en",), title="LibreOffice")
_TURKIC_CHILD = {code: child(code) for code in ("ug", "uz")}
_OF_TURKISH = {code: {RELATED: Parent(_TURKISH, text, UPDATES)} for code, text in _TURKIC_CHILD.items()}

# The child is Nari, its parents are Nara at three distances: only the words differ.
_FAMILY = ArtificialSettings(vocabulary=2000, names=100, ambiguity=0.1)
_COGNATES = {RELATED: ("sister", 0.9, 0), COUSIN: ("cousin", 0.4, 6), UNRELATED: ("stranger", 0.0, 0)}
"""Of each parent: its name, the share of stems of the child's that it has, and how many of its sounds have changed."""
_FAR = 10_000_000
"""Number of a child's first sentence: its English is not that of its parent."""


def _nara(name: str, cognates: float, sound_changes: int) -> SyntheticCorpus:
    settings = replace(_FAMILY, cognates=cognates, sound_changes=sound_changes)
    return SyntheticCorpus(f"{name}-qaa-en", "qaa", settings, train=20_000)


def nari(pairs: int) -> SyntheticCorpus:
    """Return the artificial child's text. A smaller one is part of a larger one."""
    return SyntheticCorpus(f"child-qab-en.{pairs}", "qab", _FAMILY, train=pairs, start=_FAR)


NARI = {parent_name: Parent(_nara(*distance), nari(10_000), UPDATES) for parent_name, distance in _COGNATES.items()}

_TINY = ArtificialSettings(vocabulary=100, names=3)


def _tiny(name: str, source: str, pairs: int, settings: ArtificialSettings, start: int = 0) -> SyntheticCorpus:
    return SyntheticCorpus(f"tiny-{name}-{source}-en", source, settings, train=pairs, dev=30, test=30, start=start)


def _tiny_setup(child_source: str) -> Setup:
    text = _tiny("child", child_source, 200, _TINY, _FAR)
    parents = {
        parent_name: Parent(
            _tiny(name, "qaa", 500, replace(_TINY, cognates=cognates, sound_changes=changes)),
            text,
            {"training.max_evaluations": 2},
        )
        for parent_name, (name, cognates, changes) in _COGNATES.items()
    }
    return Setup(text, parents=parents)


_STANDS_IN = "its parent is Uzbek, of which there is too little freely available text: see uz-en and Uyg-Eng"
_LARGER = "larger, as qab-en (500) and more"

TUR_ENG = Row("Tur-Eng", {"thesis": _lorelei_row("tr", (100, 50)), "small": _STANDS_IN, "tiny": NOT_TINY})
UYG_ENG = Row(
    "Uyg-Eng",
    {
        "thesis": _lorelei_row("ug", (50, 200)),
        "small": Setup(_TURKIC_CHILD["ug"], parents=_OF_TURKISH["ug"]),
        "tiny": NOT_TINY,
    },
)
UZ_EN = Row(
    "uz-en",
    {
        "thesis": NOT_PUBLISHED,
        "small": Setup(_TURKIC_CHILD["uz"], parents=_OF_TURKISH["uz"]),
        "tiny": NOT_TINY,
    },
)


def galician(pairs: int) -> Row:
    """Return the row of Galician children with some pairs."""
    return Row(
        f"gl-en ({pairs:,})",
        {"thesis": NOT_PUBLISHED, "small": Setup(child("gl", pairs), parents=GALICIAN), "tiny": NOT_TINY},
        note=f" ({pairs:,})",
    )


def artificial(pairs: int) -> Row:
    """Return the row of artificial children with some pairs."""
    small = Setup(nari(pairs), parents=NARI)
    return Row(
        f"qab-en ({pairs:,})",
        {"thesis": NOT_PUBLISHED, "small": small, "tiny": "smaller, as qab-en"},
        note=f" ({pairs:,})",
    )


GL_EN = galician(4000)
SK_EN = Row(
    "sk-en (4,000)",
    {"thesis": NOT_PUBLISHED, "small": Setup(child("sk", 4000), parents=SLOVAK), "tiny": NOT_TINY},
    note=" (4,000)",
)
QAB_EN = Row(
    "qab-en",
    {"thesis": NOT_PUBLISHED, "small": _LARGER, "tiny": _tiny_setup("qab")},
)
QAC_EN = Row(
    "qac-en",
    {"thesis": NOT_PUBLISHED, "small": "Uyghur has the same letters: see Uyg-Eng", "tiny": _tiny_setup("qac")},
)
"""The child that is written in Uyghur's letters."""
