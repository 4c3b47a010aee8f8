"""Language codes: of two or three letters, with or without script and region, in use or replaced.

`zh`, `zho_Hans`, `cmn` and `zh_CN` are the same language here. Files and tags keep the code that the user gave them.
"""

import re
from functools import cache

CODE = r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*"
"""A regular expression for the language code in the names of a corpus' files (BCP-47-like: uz, pt-BR)."""

_FORMATS = {"src", "sys", "tsv", "txt"}
"""Endings of files that are also codes of (small) languages."""

_HAN = {"Hans", "Hant", "Jpan"}
_MIXED = {"Jpan": ("Hira", "Kana", "Hani"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}
_WITHOUT_SPACES = _HAN | {"Thai", "Laoo", "Khmr", "Mymr", "Tibt"}


def language_of(code: str) -> str:
    """Return the shortest code of a language, in lower case: zh for zh-Hant, zho_Hans, cmn and ZH; id for in.

    A code without a language in BCP 47 (qaa, chinese) is itself up to the first `-` or `_`.
    """
    return first_subtag(_standard(code))


def first_subtag(code: str) -> str:
    """Return a code up to its first `-` or `_`, in lower case, without knowledge of languages: zho for zho_Hans."""
    return re.split("[-_]", code)[0].lower()


def machine_code(language: str) -> str:
    """Return the code of machine translations into a language, beside the language itself: en-x-mt for en."""
    return f"{language}-x-mt"


def code_of_ending(ending: str) -> str:
    """Return the ending of a file's name if it is a language code (en, pt-BR, eng_Latn, but not txt), else nothing."""
    from langcodes import tag_is_valid

    return ending if ending.lower() not in _FORMATS and tag_is_valid(ending) else ""


def is_english(code: str) -> bool:
    """Return whether a code is one of English: en, eng, eng_Latn, en-GB."""
    return language_of(code) == "en"


def is_without_spaces(code: str) -> bool:
    """Return whether a language is written without spaces between words, by the script of its code or its usual one."""
    return _script(code) in _WITHOUT_SPACES


def is_in_han(code: str) -> bool:
    """Return whether a language is written in Chinese or Japanese script."""
    return _script(code) in _HAN


def scripts_of(code: str) -> tuple[str, ...]:
    """Return the ISO 15924 codes of the scripts whose letters a language is written in; none if unknown."""
    script = _script(code)
    return _MIXED.get(script, (script,) if script else ())


@cache
def is_variety(code: str, wanted: str) -> bool:
    """Return whether a code names the wanted language, and no other script or region than `wanted` does, if any.

    en-US is a variety of en and of en-Latn, but not of en-GB; zh-TW is one of zh-Hant, but not of zh-Hans.
    """
    if language_of(code) != language_of(wanted):
        return False
    if first_subtag(wanted) == wanted.lower():
        return True
    regions = _region(code), _region(wanted)
    return _script(code) == _script(wanted) and ("" in regions or regions[0] == regions[1])


@cache
def _standard(code: str) -> str:
    """Return a code as BCP 47 has it, with the macrolanguage of its main languages; one with odd parts without them."""
    # Its tables take longer to load than all that most commands need.
    from langcodes import LanguageTagError, standardize_tag

    try:
        return standardize_tag(code, macro=True)
    except LanguageTagError:
        first = first_subtag(code)
        return first if first == code else _standard(first)


@cache
def _script(code: str) -> str:
    """Return the script of a code, or else the usual one of its language in Unicode's CLDR; empty if unknown."""
    from langcodes import Language, LanguageTagError
    from langcodes.data_dicts import LIKELY_SUBTAGS

    try:
        language = Language.get(_standard(code))
    except LanguageTagError:
        return ""
    known = language.script or language.language in LIKELY_SUBTAGS  # others would be taken for Latin
    return language.maximize().script or "" if known else ""


def _region(code: str) -> str:
    """Return the region that a code names, if any."""
    from langcodes import Language, LanguageTagError

    try:
        return Language.get(_standard(code)).territory or ""
    except LanguageTagError:
        return ""
