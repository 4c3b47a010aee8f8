"""How does the norm r of word vectors affect training and translation? (thesis 3.2.6.4, Table 3.8)"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nmtlab.errors import RunError
from nmtlab.recipe import RnnSettings
from nmtlab.runs.run import Run


def radius_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return training perplexity and dev BLEU of runs by their r (Table 3.8).

    Returns:
        A row for each run, by system and r: `system` (`fixnorm`, `fixnorm+lex`, `fixnorm+table`, or `fixnorm, h free`
        if the norm of the state is not fixed); `radius`; `train_perplexity`, without label smoothing, with dropout, the
        geometric mean of the values logged after the last evaluation but one, weighted by updates: with one evaluation
        per epoch, that of the last epoch; `dev_bleu`, the best; `evaluations`; `run`. Values not yet logged are
        missing.

    Raises:
        RunError: a run whose word vectors have no fixed norm.
    """
    rows = [_row(run) for run in runs]
    columns = ["system", "radius", "train_perplexity", "dev_bleu", "evaluations", "run"]
    return pd.DataFrame(rows, columns=columns).sort_values(["system", "radius"], kind="stable", ignore_index=True)


def _row(run: Run) -> dict[str, object]:
    model = run.recipe.model
    if not (isinstance(model, RnnSettings) and model.fixnorm):
        raise RunError(
            f"run {run.name!r}: its word vectors have no fixed norm r",
            "choose recurrent runs with model.fixnorm = true",
        )
    validations = run.metrics("validation")
    return {
        "system": _system(model),
        "radius": model.radius,
        "train_perplexity": last_perplexity(run),
        "dev_bleu": validations["bleu"].max() if len(validations) else np.nan,
        "evaluations": len(validations),
        "run": run.name,
    }


def _system(model: RnnSettings) -> str:
    if not model.fix_hidden:
        return "fixnorm, h free"
    return "fixnorm" + {"none": "", "module": "+lex", "table": "+table"}[model.lexicon]


def last_perplexity(run: Run) -> float:
    """Return the training perplexity per token, with dropout, since the last evaluation but one.

    In the recurrent recipes these are the updates of the last epoch. It is the geometric mean of the logged values,
    weighted by updates; NaN if nothing was logged.
    """
    train, validations = run.metrics("train"), run.metrics("validation")
    if not len(train):
        return np.nan
    updates = train["step"].diff().fillna(train["step"])
    last_but_one = validations["step"].iloc[-2] if len(validations) > 1 else 0
    last = train["step"] > last_but_one
    return float(np.exp(np.average(np.log(train.loc[last, "perplexity"]), weights=updates[last])))
