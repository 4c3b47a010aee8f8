"""Many languages in one model (thesis 4.2): scores of systems as means over directions, and gains by size of text."""

import math

import pandas as pd

from nmtlab.experiments.results.summary import interval, summary
from nmtlab.experiments.tables.corpora import Corpus, Directed
from nmtlab.experiments.tables.declaration import Row, Scale, Setup, Table
from nmtlab.languages import is_english
from nmtlab.recipe.training import TrainingSettings


def direction_means(
    results: pd.DataFrame, table: Table, rows: tuple[Row, ...], texts: str, scale: Scale
) -> pd.DataFrame:
    """Return the mean score of systems over the directions of one set of texts.

    Args:
        results: lines of `nmtlab.experiments.results.collected.results`, of one measure.
        table: its declaration.
        rows: the directions, of one group of languages.
        texts: name of the set of texts, such as `many-to-many`.
        scale: the scale at which it was run.

    Returns:
        One line per system that is trained on these texts or, like the table's baseline, on the text of a direction, in
        the table's order: `system`, its name without that of the texts; `seeds`, how many have a value in every
        direction; their `mean` over directions and its `margin` (95 %, Student's t).
    """
    names = {
        system.name: system.name.removesuffix(f", {texts}")
        for system in table.systems
        if system.texts == texts or system.name == table.baseline
    }
    trained = [row.name for row in rows if isinstance(setup := row.at[scale], Setup) and texts in setup.texts]
    wide = results[results["row"].isin(trained)].pivot_table(
        index=["column", "seed"], columns="row", values="value", dropna=False
    )
    whole = wide.dropna().mean(axis=1) if wide.shape[1] == len(trained) else pd.Series(dtype=float)
    lines = []
    for column, name in names.items():
        if seeds := whole[whole.index.get_level_values(0) == column].tolist():
            lines.append((name, len(seeds), *interval(seeds)))
    return pd.DataFrame(lines, columns=["system", "seeds", "mean", "margin"])


def gains(
    results: pd.DataFrame, table: Table, rows: tuple[Row, ...], scale: Scale, sentences: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return what each direction gains over a separate model, by the size of its text.

    Args:
        results, table, rows, scale: as of `direction_means`.
        sentences: lines of `nmtlab.experiments.results.sentences`, if there are any.

    Returns:
        One line per system and direction with a difference, smaller texts first: `texts`, on which the system is
        trained; `system`, without them; `direction`; `to_english`; `pairs` of its training text; its `share` of the
        training sentences; `difference` and `margin`, NaN with a single seed.
    """
    setups = {row.name: setup for row in rows if isinstance(setup := row.at[scale], Setup)}
    sizes = {name: pairs_of(setup.corpus) for name, setup in setups.items()}
    into = {name: is_english(setup.corpus.target) for name, setup in setups.items()}
    of = {system.name: system.texts for system in table.systems if system.texts}
    lines = summary(results[results["row"].isin(list(sizes))], table, sentences)
    lines = lines[lines["difference"].notna() & lines["column"].isin(list(of))]
    texts = lines["column"].map(of)
    found = lines.assign(
        texts=texts,
        system=[name.removesuffix(f", {one}") for name, one in zip(lines["column"], texts, strict=True)],
        to_english=lines["row"].map(into).astype(bool),
        pairs=lines["row"].map(sizes).astype(int),
        share=[_share(setups[row], one) for row, one in zip(lines["row"], texts, strict=True)],
        order=lines["column"].map(list(of).index).astype(int),
        margin=(lines["high"] - lines["low"]) / 2,
    ).rename(columns={"row": "direction"})
    ordered = found.sort_values(["order", "pairs"], kind="stable", ignore_index=True)
    return ordered[["texts", "system", "direction", "to_english", "pairs", "share", "difference", "margin"]]


def _share(setup: Setup, texts: str) -> float:
    """Return the share of a direction in the training sentences of a set of texts: pairs^τ; NaN if not declared."""
    exponent = TrainingSettings().sampling_exponent
    whole = sum(pairs_of(one) ** exponent for one in setup.texts[texts].corpora)
    return pairs_of(setup.corpus) ** exponent / whole if whole else math.nan


def pairs_of(corpus: Corpus) -> int:
    """Return the number of training pairs of a corpus that declares it; 0 if it has all that there are."""
    whole = corpus.corpus if isinstance(corpus, Directed) else corpus
    return getattr(whole, "train", 0)
