"""The training corpus of a run."""

import unicodedata
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from nmtlab.languages import CODE
from nmtlab.recipe.section import Section


class CorpusSettings(Section):
    """A corpus, given by name and never by path, and the direction of translation."""

    name: str = Field("", max_length=255)
    """Name of the corpus: a folder under data/corpora."""

    source: str = Field("", pattern=f"^({CODE})?$")
    """Source language (a BCP-47 code, as in the file names)."""

    target: str = Field("", pattern=f"^({CODE})?$")
    """Target language."""

    weight: float = Field(1.0, gt=0, le=1_000)
    """Weight of each of its sentence pairs in the loss, relative to other corpora."""

    origin: str = Field("", pattern="^[a-z0-9-]*$", max_length=50)
    """Kind of text, e.g. 'synthetic': each source sentence begins with the tag <origin:synthetic>. Empty: no tag."""

    also_sources: tuple[Annotated[str, Field(pattern=f"^{CODE}$")], ...] = ()
    """Further source languages of the corpus, translated together with the source; a blank line is a missing one."""

    blank_source: bool = False
    """Read every source sentence as blank: what is learned is a language model of the target side."""

    rotation: str = Field("", pattern="^[a-z0-9-]*$", max_length=50)
    """Name of a rotation: of the corpora of a direction that have it, each epoch reads the next one. Empty: all."""

    vocabulary_only: bool = False
    """Learn subwords from its text, but do not train on it: a parent shares subwords with its child this way."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name in (".", "..") or any(letter in "/\\" or unicodedata.category(letter) == "Cc" for letter in name):
            raise ValueError(f"{name!r} is not a folder name; give a name without slashes, not a path")
        return name

    @model_validator(mode="after")
    def _check(self) -> "CorpusSettings":
        named = [code for code in (self.source, *self.also_sources, self.target) if code]
        if twice := [code for place, code in enumerate(named) if code in named[:place]]:
            raise ValueError(f"also_sources: language {twice[0]!r} is named twice; leave one out")
        if self.blank_source and (self.origin or self.also_sources):
            field = "origin" if self.origin else "also_sources"
            raise ValueError(f"blank_source: a blank sentence has no {field}; leave one of them out")
        if self.rotation and self.vocabulary_only:
            raise ValueError("rotation: a corpus with vocabulary_only is in no epoch; leave one of them out")
        return self
