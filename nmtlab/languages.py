"""Codes of languages."""

import re


def language_of(code: str) -> str:
    """Return the language of a code without its script or country, in small letters: zh of zh-Hant, zh_CN and ZH."""
    return re.split("[-_]", code)[0].lower()
