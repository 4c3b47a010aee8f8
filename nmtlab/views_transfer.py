"""Figures of a child and its parents (thesis 3.1), drawn from measured runs and tables."""

from typing import Final

import pandas as pd

from nmtlab.analysis.languages.shared_words import overlap_figure
from nmtlab.errors import NmtlabError
from nmtlab.experiments import Scale
from nmtlab.experiments.results.curves import child_size_curves, vocabulary_curves
from nmtlab.experiments.results.stored import RESULTS, measured_cells
from nmtlab.experiments.results.worth import replaced_pairs
from nmtlab.experiments.tables.related_text import COUSIN
from nmtlab.experiments.tables.transfer import CHILD_SIZE, FIGURE_3_1
from nmtlab.plots import (
    View,
    child_size_figure,
    cognate_figure,
    vocabulary_figure,
    worth_figure,
)

_SMALLEST: Final = "qab-en (500)"
COGNATE_SCRIPT = "python tests/oracles/cognates.py"


def overlap_view(segmentation: str = "words not in the target text") -> View:
    """Show how much the texts of related and unrelated languages share (thesis 3.1.2); its table has the shares.

    Args:
        segmentation: one of those of `shared_words.overlap_matrix`.

    Raises:
        NmtlabError: the overlap was not measured, or not with this segmentation.
    """
    path = RESULTS / "overlap-matrix.csv"
    if not path.is_file():
        raise NmtlabError("the overlap of languages was not measured", "run 'nmtlab corpus overlap-matrix --csv'")
    whole = pd.read_csv(path, keep_default_na=False)
    matrix = whole[whole["segmentation"] == segmentation]
    if matrix.empty:
        known = ", ".join(dict.fromkeys(whole["segmentation"]))
        raise NmtlabError(f"segmentation {segmentation!r}: not measured", f"choose one of {known}")
    shown = matrix[["language", "other_language", "types", "shared_types", "type_share", "token_share"]]
    return View(shown, overlap_figure(matrix))


def child_size_view(scale: Scale = "small", measure: str = "test BLEU") -> View:
    """Show the scores of children alone and with a parent, by the size of their text (thesis 3.1).

    Its table has means over the seeds.

    Args:
        scale: at which `child-size` was run.
        measure: name of one of its measures.

    Raises:
        NmtlabError: it was not measured at this scale or with this measure.
    """
    curves = child_size_curves(measured_cells(CHILD_SIZE.name, scale, measure), CHILD_SIZE, scale)
    return View(_means(curves, "child_pairs"), child_size_figure(curves))


def worth_view(scale: Scale = "small", measure: str = "test BLEU") -> View:
    """Show how many of a child's pairs its parents replace; its table has the numbers and their 95 % intervals.

    A number is infinite if even the largest child alone has a lower score, and minus infinity if even the smallest one
    has a higher score.

    Args:
        scale: at which `child-size` was run.
        measure: name of one of its measures.

    Raises:
        NmtlabError: it was not measured at this scale or with this measure.
    """
    replaced = replaced_pairs(measured_cells(CHILD_SIZE.name, scale, measure), CHILD_SIZE, scale)
    shown = replaced.sort_values(["pair", "child_pairs"], kind="stable")
    return View(shown[["pair", "child_pairs", "system", "seeds", "replaced", "low", "high"]], worth_figure(replaced))


def vocabulary_view(scale: Scale = "small") -> View:
    """Show dev BLEU of a child alone and with a parent, by the size of the vocabulary (Figure 3.1).

    Its table has means over the seeds.

    Args:
        scale: at which `figure-3.1` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    curves = vocabulary_curves(measured_cells(FIGURE_3_1.name, scale), FIGURE_3_1, scale)
    return View(_means(curves, "types"), vocabulary_figure(curves))


def cognate_view(row: str = _SMALLEST, table: str = CHILD_SIZE.name, relative: str = COUSIN) -> View:
    """Show how many words of the artificial child are translated, with and without a cognate in a relative's language.

    Its table has means over the seeds.

    Args:
        row: such as `qab-en (2,000)`.
        table: the table that it is a row of.
        relative: whose language it is: the child's `related` or its `cousin` parent.

    Raises:
        NmtlabError: it was not measured.
    """
    path = RESULTS / "cognate-recall.csv"
    whole = pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=["table", "row", "relative"])
    recall = whole[(whole["table"] == table) & (whole["row"] == row) & (whole["relative"] == relative)]
    if recall.empty:
        raise NmtlabError(
            f"{table}, {row}: the recall of words with a cognate was not measured", f"run {COGNATE_SCRIPT}"
        )
    places = recall.groupby(["kind", "seen", "system"], sort=False)
    means = places.agg({"recall": "mean", "right": "sum", "words": "sum"})
    drawn = means.reset_index().rename(columns={"system": "run"})
    wide = means["recall"].unstack("system").reindex(drawn.set_index(["kind", "seen"]).index.unique())
    systems = list(dict.fromkeys(recall["system"]))
    return View(
        wide[systems].reset_index().rename_axis(columns=None), cognate_figure(drawn, f"{row}, {relative} parent")
    )


def _means(curves: pd.DataFrame, size: str) -> pd.DataFrame:
    """Return the means of some curves, a column per system."""
    wide = curves.pivot(index=["pair", size], columns="system", values="mean")
    return wide[list(dict.fromkeys(curves["system"]))].reset_index().rename_axis(columns=None)
