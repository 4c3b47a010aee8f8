"""Control tokens: types that mark a language of a sentence pair, or the origin of its source.

They are not text: tokenizers neither split nor produce them, and search never generates them.
"""

import re
from collections.abc import Sequence

from nmtlab.languages import CODE
from nmtlab.text.corpora.corpus import ParallelCorpus

FORM = "<2{}>"

MARIAN_FORM, M2M_FORM, NLLB_FORM = ">>{}<<", "__{}__", "{}"
"""Forms of the languages' tags of imported models."""

_NLLB_TAG = r"[a-z]{3}_[A-Z][a-z]{3}(?!\S)"


NULL = "<NULL>"
"""Stands for the sentence of a source that is missing (Nishimura et al. 2018)."""


def language_tag(language: str, form: str = FORM) -> str:
    """Return the tag of a language, by default that of a target language of Johnson et al. (2017)."""
    return form.replace("{}", language)


def leading_tag(text: str, form: str) -> str:
    """Return what a text begins with if it has the form of a language's tag, known or not; empty otherwise."""
    before, after = map(re.escape, form.split("{}"))
    found = re.match(_NLLB_TAG if form == NLLB_FORM else f"{before}{CODE}{after}", text)
    return found[0] if found else ""


def tagged_language(tag: str, form: str) -> str:
    """Return the code in a language's tag."""
    before, after = map(len, form.split("{}"))
    return tag[before : len(tag) - after]


def origin_tag(origin: str) -> str:
    """Return the tag of a kind of text, such as back-translations (Caswell et al. 2019)."""
    return f"<origin:{origin}>"


def tags_before(language: str, origin: str, known: Sequence[str], form: str = FORM) -> list[str]:
    """Return the tags of a source sentence, given target language and origin, that are among `known`.

    Args:
        language: the language that the source names; empty for none.
        origin: kind of text; empty for none.
        known: tags of the vocabulary.
        form: of a language's tag.
    """
    wanted = [*([language_tag(language, form)] if language else []), *([origin_tag(origin)] if origin else [])]
    return [tag for tag in wanted if tag in known]


def tags_for(corpora: Sequence[ParallelCorpus], by_language: bool = True) -> tuple[str, ...]:
    """Return the tags that corpora need together.

    They are those of origins, of target languages if there are several and `by_language`, and of missing sources.
    """
    languages = list(dict.fromkeys(corpus.target for corpus in corpora))
    origins = list(dict.fromkeys(corpus.origin for corpus in corpora if corpus.origin))
    tagged = languages if by_language and len(languages) > 1 else []
    missing = [NULL] if any(corpus.also for corpus in corpora) else []
    return (*map(language_tag, tagged), *map(origin_tag, origins), *missing)
