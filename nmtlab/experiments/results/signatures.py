"""How each score of a table was computed: sacrebleu's signature, of multi-bleu's scores too."""

import pandas as pd
from sacrebleu.metrics.base import Metric

from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.experiments.measures.quality import Measure, OfSentences
from nmtlab.experiments.tables.declaration import Scale, Setup, Table

COLUMNS = ["row", "metric", "language", "signature"]

_FEW = 3
"""As many measures with one signature are named; of more, their number is."""


def signatures(table: Table, scale: Scale) -> pd.DataFrame:
    """Return the signatures of a table's scores, for one reference.

    Returns:
        A line for each row that is run at this scale and each measure that is a score of translations: `row`, `metric`;
        the target `language`; `signature`, whose tokenizer is `none` for BLEU of Moses tokens (multi-bleu).
    """
    lines = []
    for row in table.rows:
        setup = row.at[scale]
        language = (setup.tested or setup.corpus).target if isinstance(setup, Setup) else ""
        metrics = {measure.name: _metric(measure, language) for measure in table.measures if language}
        lines += [(row.name, name, language, _signature(metric)) for name, metric in metrics.items() if metric]
    return pd.DataFrame(lines, columns=COLUMNS)


def printed_signatures(found: pd.DataFrame) -> list[str]:
    """Return the lines of `signatures` as text, those with one signature together."""
    lines = []
    for signature, some in found.groupby("signature", sort=False):
        names, languages = (list(dict.fromkeys(some[name])) for name in ("metric", "language"))
        measures = ", ".join(names) if len(names) <= _FEW else f"{len(names)} measures"
        lines.append(f"{measures} into {', '.join(languages)}: {signature}")
    return lines


def _metric(measure: Measure, language: str) -> Metric | None:
    """Return the metric of a measure; those that do not choose one use sacrebleu's on detokenized text."""
    if isinstance(measure, OfSentences):
        return measure.metric(language)
    return bleu_metric(default_tokenizer(language)) if "BLEU" in measure.name else None


def _signature(metric: Metric) -> str:
    metric.corpus_score([""], [[""]])  # the signature has the number of references
    return str(metric.get_signature())
