"""How do the norms of word vectors and the output biases vary with word frequency? (thesis Figure 3.2)"""

import numpy as np
import pandas as pd
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.checks import check_counts
from nmtlab.analysis.access.opened import RunOrSystem, forced_states, opened, output_vectors
from nmtlab.errors import RunError
from nmtlab.interchange.folding import FORBIDDEN
from nmtlab.runs.run import Run
from nmtlab.systems import check_has_model
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK

QUANTITIES = ("norm", "used_norm", "bias")

_CONSTANT = 1e-5  # relative spread below which values differ by rounding alone


def word_norms(system: RunOrSystem) -> pd.DataFrame:
    """Return the norm of every output word's vector, and its bias, the most frequent word first.

    For a run without weights (packed), the norms are those logged at its best evaluation, else at its last, and
    `used_norm` follows from the recipe.

    Returns:
        A row for each type that can be produced, except special ones and those that the bias of an exported model
        forbids: `id`; `word`; `count` in the training text
        of the target language; `rank` from 1 by falling count, ties by id; `norm`, of the output row as stored;
        `used_norm`, its norm in the inner product (with fixnorm the same for all words); `bias` b_e, with a lexical
        module b_e + b^l_e, because training determines only their sum. Without weights, the bias is missing, and so is
        the `used_norm` of a Transformer with fixnorm.

    Raises:
        RunError: a phrase-based run, one with neither weights nor logged norms, or an imported one without counts.
    """
    if isinstance(system, Run) and not system.has_weights("best"):
        check_has_model(system)
        return _ranked(system.pipeline, _logged(system))
    translator = opened(system)
    check_counts(translator.pipeline)
    model = translator.model
    with torch.inference_mode():
        stored = model.embeddings()["output"].norm(dim=1)
        used, bias = (torch.full_like(stored, torch.nan) for _ in range(2))
        used[model.output_ids] = output_vectors(model).norm(dim=1)
        terms = model.explain(forced_states(model, [[UNK, EOS]], [[UNK]]))  # biases are the same in every state
        bias[model.output_ids] = torch.stack([terms[name][0] for name in terms if name.endswith("bias")]).sum(0)
    values = {
        name: tensor.double().cpu().numpy() for name, tensor in zip(QUANTITIES, (stored, used, bias), strict=True)
    }
    return _ranked(translator.pipeline, values)


WORD_NORMS = Analysis(
    "Does the norm of a word's vector follow its frequency?",
    word_norms,
    version=1,
    columns=("id", "word", "count", "rank", *QUANTITIES),
)


def norm_bins(words: pd.DataFrame, size: int = 256) -> pd.DataFrame:
    """Return median and range of norms and biases in bins of words of similar frequency (thesis Figure 3.2).

    Args:
        words: rows of `word_norms`.
        size: words per bin; the last bin may have fewer.

    Returns:
        A row for each available quantity (`norm`, `used_norm`, `bias`) and bin: `quantity`; `first_rank` and
        `last_rank` of its words; `words`; `median`, `lowest` and `highest` of the quantity; `median_count`.
    """
    bins = (words["rank"] - 1) // size
    tables = []
    for quantity in _present(words):
        grouped = words.groupby(bins)
        table = grouped.agg(
            first_rank=("rank", "min"),
            last_rank=("rank", "max"),
            words=("rank", "size"),
            median=(quantity, "median"),
            lowest=(quantity, "min"),
            highest=(quantity, "max"),
            median_count=("count", "median"),
        )
        table.insert(0, "quantity", quantity)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def norm_correlations(words: pd.DataFrame) -> pd.DataFrame:
    """Return the rank correlations of norms and biases with frequency.

    Args:
        words: rows of `word_norms`.

    Returns:
        A row for each available quantity: `quantity`; `words`; `spearman`, its rank correlation with the count, -1 to
        1, missing if the quantity is the same for all words.
    """
    rows = [
        {"quantity": quantity, "words": len(words), "spearman": spearman(words["count"], words[quantity])}
        for quantity in _present(words)
    ]
    return pd.DataFrame(rows)


def spearman(x: pd.Series, y: pd.Series) -> float:
    """Return Spearman's rank correlation, with ties at their mean rank; NaN if either side does not vary."""
    if any(values.max() - values.min() <= _CONSTANT * values.abs().max() for values in (x, y)):
        return float("nan")
    return x.rank().corr(y.rank())


def _logged(run: Run) -> dict[str, np.ndarray]:
    logged = run.embedding_norms()
    if not logged:
        raise RunError(
            f"run {run.name!r}: neither weights nor logged norms of word vectors", "train it up to an evaluation"
        )
    step = run.best_step if run.best_step in logged else max(logged)
    norm = logged[step]["output"].astype(np.float64)
    model = run.recipe.model
    if not model.fixnorm:
        return {"norm": norm, "used_norm": norm}
    if model.family == "rnn":
        return {"norm": norm, "used_norm": np.full_like(norm, model.radius)}
    return {"norm": norm}  # a Transformer's fixed norm is a weight, g


def _ranked(pipeline: Pipeline, values: dict[str, np.ndarray]) -> pd.DataFrame:
    kept = pipeline.target_allowed.copy()
    kept[: len(SPECIALS)] = False
    kept &= ~(values.get("bias", np.zeros(len(kept))) <= FORBIDDEN / 2)  # a missing one forbids nothing
    frame = pd.DataFrame(
        {"id": np.arange(len(kept)), "word": pipeline.target.vocabulary.types, "count": pipeline.target.counts}
    )
    frame = frame.assign(**{name: values.get(name, np.nan) for name in QUANTITIES})[kept]
    frame = frame.sort_values("count", ascending=False, kind="stable", ignore_index=True)
    frame.insert(3, "rank", np.arange(1, len(frame) + 1))
    return frame


def _present(words: pd.DataFrame) -> list[str]:
    return [name for name in QUANTITIES if words[name].notna().any()]
