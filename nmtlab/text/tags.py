"""Control tokens: types that mark the target language of a sentence pair, or the origin of its source.

They are not text: tokenizers neither split nor produce them, and search never generates them.
"""

from collections.abc import Sequence

from nmtlab.text.corpus import ParallelCorpus


def language_tag(language: str) -> str:
    """Return the tag of a target language (Johnson et al. 2017)."""
    return f"<2{language}>"


def origin_tag(origin: str) -> str:
    """Return the tag of a kind of text, such as back-translations (Caswell et al. 2019)."""
    return f"<origin:{origin}>"


def tags_before(language: str, origin: str, known: Sequence[str]) -> list[str]:
    """Return the tags of a source sentence, given target language and origin, that are among `known`.

    Args:
        language: target language; empty if the source does not name it.
        origin: kind of text; empty for none.
        known: tags of the vocabulary.
    """
    wanted = [*([language_tag(language)] if language else []), *([origin_tag(origin)] if origin else [])]
    return [tag for tag in wanted if tag in known]


def tags_for(corpora: Sequence[ParallelCorpus], by_language: bool = True) -> tuple[str, ...]:
    """Return the tags that corpora trained on together need: origins, and target languages if more than one.

    Args:
        corpora: training corpora.
        by_language: whether target languages have tags.
    """
    languages = list(dict.fromkeys(corpus.target for corpus in corpora))
    origins = list(dict.fromkeys(corpus.origin for corpus in corpora if corpus.origin))
    tagged = languages if by_language and len(languages) > 1 else []
    return (*map(language_tag, tagged), *map(origin_tag, origins))
