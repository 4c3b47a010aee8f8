"""What rows and systems of a table are called where a person sees them: by the text, and by what was really run."""

import pandas as pd

from nmtlab.grids.declared.corpora import (
    CopiedCorpus,
    Corpus,
    DamagedTriplets,
    Directed,
    FirstPairs,
    IncompleteCorpus,
    NoisyCorpus,
    SelectedCorpus,
    SeveralSources,
    TranslatedCorpus,
)
from nmtlab.grids.declared.declaration import Row, Scale, Setup, Table
from nmtlab.grids.declared.whole_corpora import SyntheticCorpus, SyntheticFamily, ToyCorpus

ARTIFICIAL = "artificial"


def text_title(corpus: Corpus) -> str:
    """Return what a text is called, such as `LibreOffice`."""
    derived = (
        FirstPairs | TranslatedCorpus | CopiedCorpus | NoisyCorpus | SelectedCorpus | IncompleteCorpus | SeveralSources
    )
    if isinstance(corpus, Directed | derived | DamagedTriplets):
        return text_title(corpus.corpus if isinstance(corpus, Directed) else corpus.whole)
    if isinstance(corpus, SyntheticCorpus | SyntheticFamily | ToyCorpus):
        return ARTIFICIAL
    return corpus.title or corpus.name


def is_artificial(row: Row, scale: Scale) -> bool:
    """Return whether the text of a row is of artificial languages."""
    setup = row.at[scale]
    return isinstance(setup, Setup) and text_title(setup.corpus) == ARTIFICIAL


def text_label(corpus: Corpus) -> str:
    """Return the languages and the name of a text: `gl-en, LibreOffice`."""
    return f"{corpus.source}-{corpus.target}, {text_title(corpus)}"


def pair_label(row: Row, scale: Scale) -> str:
    """Return what a row is called beside rows of the same text: `gl-en (4,000)`."""
    setup = row.at[scale]
    return f"{setup.corpus.source}-{setup.corpus.target}{row.note}" if isinstance(setup, Setup) else row.name


def row_label(row: Row, scale: Scale) -> str:
    """Return what a row is called, by its text at a scale: `tr-en, Tatoeba` for `tu-en`.

    A row that is not run at this scale has the text of the thesis.
    """
    setup = next((one for one in (row.at.get(scale), row.at.get("thesis")) if isinstance(one, Setup)), None)
    if setup is None:
        return row.name
    title = text_title(setup.corpus)
    whole = f"{setup.corpus.source}-{setup.corpus.target}{row.note}"
    whole += "" if row.note == f" ({title})" else f", {title}"
    return whole if setup.tested is None else f"{whole}, tested on {text_title(setup.tested)}"


def system_labels(table: Table) -> dict[str, str]:
    """Return what the systems of a table are called, by name."""
    return {system.name: system.label or system.name for system in table.columns}


def labelled(lines: pd.DataFrame, table: Table, scale: Scale) -> pd.DataFrame:
    """Return lines with rows and systems as a person reads them.

    Args:
        lines: with columns `row` and `column`, either of which may be missing.
        table: its declaration; rows and systems that it does not have stay as they are.
        scale: the scale at which it was run.
    """
    rows = {row.name: row_label(row, scale) for row in table.rows}
    names = {"row": rows, "column": system_labels(table)}
    return lines.assign(**{name: lines[name].replace(names[name]) for name in names if name in lines})


def drawn_labels(lines: pd.DataFrame, table: Table, scale: Scale) -> pd.DataFrame:
    """Return lines of a summary named for a figure: rows with published numbers alone by the text of the thesis."""
    measured = lines["row"].isin(lines.loc[lines["seeds"] > 0, "row"])
    parts = [labelled(lines[measured], table, scale), labelled(lines[~measured], table, "thesis")]
    return pd.concat([part for part in parts if len(part)] or parts).sort_index()


def caveats(table: Table) -> list[str]:
    """Return what the systems of a table lack, one sentence a system."""
    return [f"{system.label or system.name}: {system.caveat}" for system in table.columns if system.caveat]


def published_name(scale: Scale) -> str:
    """Return what the published numbers beside those of a scale are called."""
    return "published" if scale == "thesis" else "published, on another text"
