"""How each score of a table was computed, and the most that word systems can reach."""

import pandas as pd
from sacrebleu.metrics.base import Metric as Scorer

from nmtlab.analysis.access.ceiling import word_ceiling
from nmtlab.analysis.metrics import find_metrics, is_detokenized, scorer_of
from nmtlab.grids.declared.declaration import Scale, Setup, Table
from nmtlab.grids.results.collected import rows_with_text
from nmtlab.grids.results.schemas import SIGNATURES
from nmtlab.grids.running.cells import Cell
from nmtlab.workspace import Workspace

_ROUNDED = 0.05

_FEW = 3
"""As many measures with one signature are named; of more, their number is."""


def signatures(table: Table, scale: Scale) -> pd.DataFrame:
    """Return the signatures of a table's scores, for one reference.

    Returns:
        A line for each row that is run at this scale and each metric that is a score of translations: `row`, `metric`;
        the target `language`; `signature`, whose tokenizer is `none` for BLEU of Moses tokens (multi-bleu).
    """
    lines = []
    for row in table.rows:
        setup = row.at[scale]
        language = (setup.tested or setup.corpus).target if isinstance(setup, Setup) else ""
        scores = [one for one in find_metrics(table.metrics) if one.scoring and language]
        lines += [(row.name, one.key, language, _signature(scorer_of(one, language))) for one in scores]
    return SIGNATURES.frame(lines)


def printed_signatures(found: pd.DataFrame) -> list[str]:
    """Return the lines of `signatures` as text, those with one signature together."""
    lines = []
    for signature, some in found.groupby("signature", sort=False):
        keys, languages = (list(dict.fromkeys(some[name])) for name in ("metric", "language"))
        names = [one.label for one in find_metrics(keys)]
        measures = ", ".join(names) if len(names) <= _FEW else f"{len(names)} measures"
        lines.append(f"{measures} into {', '.join(languages)}: {signature}")
    return lines


def _signature(metric: Scorer) -> str:
    metric.corpus_score([""], [[""]])  # the signature has the number of references
    return str(metric.get_signature())


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
    scores = [one for one in find_metrics(cell.metrics) if one.kind == "score" and one.split == "test"]
    return cell.recipe.text.segmentation == "word" and any(is_detokenized(score, language) for score in scores)
