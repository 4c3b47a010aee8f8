"""Language codes."""

import re

CODE = r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*"
"""A regular expression for the language code in the names of a corpus' files (BCP-47-like: uz, pt-BR)."""


def language_of(code: str) -> str:
    """Return the language of a code without script or country, in lower case: zh for zh-Hant, zh_CN and ZH."""
    return re.split("[-_]", code)[0].lower()
