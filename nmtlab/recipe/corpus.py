"""Which text a run learns from."""

from pydantic import Field

from nmtlab.recipe.section import Section


class CorpusSettings(Section):
    """A corpus by name, never by path, and the direction of translation."""

    name: str = Field("", max_length=100)
    """Name of the corpus: a folder under data/corpora."""

    source: str = ""
    """Language translated from (BCP-47, as in the files' endings)."""

    target: str = ""
    """Language translated into."""
