"""Codes of languages."""

import re

CODE = r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*"
"""A regular expression of a language's code in the names of a corpus' files (BCP-47-like: uz, pt-BR)."""


def language_of(code: str) -> str:
    """Return the language of a code without its script or country, in small letters: zh of zh-Hant, zh_CN and ZH."""
    return re.split("[-_]", code)[0].lower()
