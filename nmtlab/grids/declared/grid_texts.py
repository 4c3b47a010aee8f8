"""The texts of a person's grid."""

import os
from dataclasses import asdict
from typing import Literal

from nmtlab.errors import CorpusError, did_you_mean
from nmtlab.grids.declared.corpora import Corpus, Directed, FirstPairs
from nmtlab.grids.declared.grid_schema import GridFile, ParentText, Source, Text
from nmtlab.grids.declared.whole_corpora import ExternalCorpus, SyntheticCorpus
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace


def corpus_of(file: GridFile, text: Text | ParentText, size: int | Literal["all"], workspace: Workspace) -> Corpus:
    """Return a text in a size.

    Raises:
        CorpusError: there is no such corpus, language or setting, or a setting is out of its range.
    """
    if size != "all" and text.artificial:
        return _artificial(text, size)
    named = file.placed(text.corpus)
    corpus = ParallelCorpus.open(workspace.corpus_folder(named), text.source, text.target)
    found = ExternalCorpus(corpus.name, *corpus.direction, text.name, named if os.sep in named else "")
    whole = Directed(found, *corpus.direction) if text.source or text.target else found
    return whole if size == "all" else FirstPairs(whole, size)


def _artificial(text: Text | ParentText, size: int) -> SyntheticCorpus:
    """Return an artificial text, whose name has all that is not usual of it."""
    usual_settings = asdict(ArtificialSettings())
    for name, value in text.settings.items():
        if name not in usual_settings:
            remedy = f"{did_you_mean(name, usual_settings)}choose from {', '.join(usual_settings)}"
            raise CorpusError(f"no setting {name!r}", remedy)
        kind = type(usual_settings[name])
        if not isinstance(value, (int, float) if kind is float else kind):
            raise CorpusError(f"{name} = {value!r} is not allowed", f"give one like {usual_settings[name]!r}")
    settings = ArtificialSettings(**text.settings)  # type: ignore[arg-type]
    parts = {"dev": text.dev, "test": text.test, "start": text.start}
    usual = {name: Source.model_fields[name].default for name in parts}
    special = {**text.settings, **{name: value for name, value in parts.items() if value != usual[name]}}
    name = f"artificial-{text.artificial}-{size}" + "".join(f".{name}-{value}" for name, value in special.items())
    return SyntheticCorpus(name, text.artificial, settings, size, **parts)
