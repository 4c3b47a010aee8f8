"""Which text a run learns from."""

import unicodedata

from pydantic import Field, field_validator

from nmtlab.languages import CODE
from nmtlab.recipe.section import Section


class CorpusSettings(Section):
    """A corpus by name, never by path, and the direction of translation."""

    name: str = Field("", max_length=255)
    """Name of the corpus: a folder under data/corpora."""

    source: str = Field("", pattern=f"^({CODE})?$")
    """Language translated from (BCP-47, as in the files' endings)."""

    target: str = Field("", pattern=f"^({CODE})?$")
    """Language translated into."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name in (".", "..") or any(letter in "/\\" or unicodedata.category(letter) == "Cc" for letter in name):
            raise ValueError(f"{name!r} is not the name of a folder; give a name without slashes, not a path")
        return name
