"""How much do the texts of related and unrelated languages share (thesis 3.1.2)?"""

import pandas as pd

from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.languages.shared_words import overlap_figure
from nmtlab.errors import NmtlabError
from nmtlab.figures.view import View
from nmtlab.workspace import RESULTS


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
    return View(shown, overlap_figure(matrix), finding=overlap_finding(matrix))


def overlap_finding(matrix: pd.DataFrame) -> str:
    """Say which languages share most of their types, and how many two languages share as a rule.

    Args:
        matrix: rows of `shared_words.overlap_matrix`, of one segmentation.
    """
    most = matrix.nlargest(3, "type_share")
    said = [f"{line.other_language} has {percent(line.type_share)} of {line.language}'s" for line in most.itertuples()]
    median = percent(matrix["type_share"].median())
    return f"Of a language's types, {', '.join(said)}; the median of all pairs is {median}."
