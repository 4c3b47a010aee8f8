"""The BLEU that word systems of a table can reach."""

from nmtlab.analysis.access.ceiling import word_ceiling
from nmtlab.experiments.measures.quality import Bleu
from nmtlab.experiments.results.collected import rows_with_text
from nmtlab.experiments.running.cells import Cell
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.workspace import Workspace

_ROUNDED = 0.05


def ceilings(table: Table, scale: Scale, workspace: Workspace) -> dict[str, float]:
    """Return the word ceiling, if below 100, of each row with word systems and a test text that is available.

    Args:
        table: its declaration.
        scale: at which it is run.
        workspace: where its texts are.
    """
    found = {}
    for text, trained in rows_with_text(table, scale, workspace):
        of_words = [cell for cell, _ in trained if _is_limited(cell, text.target)]
        if of_words and "test" in text.splits:
            rules = of_words[0].recipe.text.word_rules
            found[of_words[0].row] = word_ceiling(text.references("test")[0], text.target, rules)
    return {row: ceiling for row, ceiling in found.items() if ceiling < 100 - _ROUNDED}


def _is_limited(cell: Cell, language: str) -> bool:
    """Return whether a cell is of a word system whose joined words are scored."""
    scores = [measure for measure in cell.measures if isinstance(measure, Bleu) and measure.split == "test"]
    return cell.recipe.text.segmentation == "word" and any(score.is_detokenized(language) for score in scores)
