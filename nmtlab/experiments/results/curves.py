"""BLEU of children over the size of their text or vocabulary: means over seeds, with intervals."""

from collections.abc import Mapping

import pandas as pd

from nmtlab.experiments.results.summary import summary
from nmtlab.experiments.running.cells import cells_of
from nmtlab.experiments.tables.corpora import Directed, ExternalCorpus
from nmtlab.experiments.tables.declaration import Scale, Setup, Table
from nmtlab.experiments.tables.labels import labelled, text_label

_MEASURED = ["metric", "seeds", "mean", "margin"]


def child_sizes(table: Table, scale: Scale) -> Mapping[str, tuple[str, int]]:
    """Return text and training pairs of each row of a table, such as `("gl-en, LibreOffice", 500)`.

    Rows whose number of training pairs is not declared are left out: those with all pairs of their text.
    """
    sizes = {}
    for row in table.rows:
        setup = row.at[scale]
        if isinstance(setup, Setup) and not isinstance(setup.corpus, ExternalCorpus | Directed) and setup.corpus.train:
            sizes[row.name] = (text_label(setup.corpus), setup.corpus.train)
    return sizes


def with_child_sizes(lines: pd.DataFrame, table: Table, scale: Scale) -> pd.DataFrame:
    """Return the lines of a table that are about children of declared size, with columns `pair` and `child_pairs`.

    Args:
        lines: with a column `row`, such as those of `nmtlab.experiments.results.collected.results`.
        table: its declaration.
        scale: the scale at which it was run.
    """
    sizes = child_sizes(table, scale)
    known = lines[lines["row"].isin(list(sizes))]
    pairs, numbers = ([sizes[row][place] for row in known["row"]] for place in (0, 1))
    return known.assign(pair=pairs, child_pairs=numbers).astype({"child_pairs": int})


def child_size_curves(results: pd.DataFrame, table: Table, scale: Scale) -> pd.DataFrame:
    """Return the scores of children by the size of their text.

    Args:
        results: lines of `nmtlab.experiments.results.collected.results`.
        table: `child-size`, or another table whose rows are children of several sizes.
        scale: the scale at which it was run.

    Returns:
        One line per metric, system, language pair and size with a value, systems in the table's order and sizes
        ascending: `pair`, `system`, `child_pairs`; `metric`; `seeds`, how many have a value; their `mean` and its
        `margin` (95 %, Student's t).
    """
    lines = with_child_sizes(summary(results, table), table, scale).rename(columns={"column": "system"})
    return _ascending(lines, "child_pairs", table)


def vocabulary_curves(results: pd.DataFrame, table: Table, scale: Scale) -> pd.DataFrame:
    """Return the scores of children by the size of their vocabulary (Figure 3.1).

    Args:
        results: lines of `nmtlab.experiments.results.collected.results`.
        table: `figure-3.1`, or another table whose systems differ in the size of their vocabulary and in their parent.
        scale: the scale at which it was run.

    Returns:
        One line per metric, system, row of the table and size with a value, in the order of `child_size_curves`:
        `pair`, the row; `system`, with the name that it has at the vocabulary size of the baseline; `types`, in the
        vocabulary; `metric`, `seeds`, `mean` and `margin` as there.
    """
    types = {(cell.row, cell.column): cell.recipe.text.vocabulary_size for cell in cells_of(table, scale)}
    lines = summary(results, table)
    lines = lines[[cell in types for cell in zip(lines["row"], lines["column"], strict=True)]]
    names = [_name_among(table, row, column, types) for row, column in zip(lines["row"], lines["column"], strict=True)]
    sizes = [types[cell] for cell in zip(lines["row"], lines["column"], strict=True)]
    pairs = labelled(lines[["row"]], table, scale)["row"]
    return _ascending(lines.assign(pair=pairs, system=names, types=sizes), "types", table)


def _name_among(table: Table, row: str, column: str, types: Mapping[tuple[str, str], int]) -> str:
    """Return the name of the system that has the same parent, and the baseline's vocabulary size."""
    parents = {system.name: system.parent for system in table.systems}
    size = types.get((row, table.baseline))
    alike = (name for name in parents if parents[name] == parents[column] and types.get((row, name)) == size)
    return next(alike, column)


def _ascending(lines: pd.DataFrame, size: str, table: Table) -> pd.DataFrame:
    """Return the lines with a value by metric, system, pair and size."""
    whole = lines.loc[lines["seeds"] > 0, ["pair", "system", size, *_MEASURED]]
    orders = {
        "metric": [measure.name for measure in table.measures],
        "system": [system.name for system in table.systems],
        "pair": list(dict.fromkeys(whole["pair"])),
    }
    places = [whole[name].map(order.index) for name, order in orders.items()]
    order = pd.concat([*places, whole[size]], axis=1).sort_values([*orders, size]).index
    return whole.loc[order].reset_index(drop=True)
