"""How does the norm r of word vectors affect training? Its perplexity (thesis 3.2.6.4, Table 3.8)."""

import numpy as np

from nmtlab.runs.run import Run


def last_perplexity(run: Run) -> float:
    """Return the training perplexity per token, with dropout, since the last evaluation but one.

    In the recurrent recipes these are the updates of the last epoch. It is the geometric mean of the logged values,
    weighted by updates; NaN if nothing was logged.
    """
    train, validations = run.log.metrics("train"), run.log.metrics("validation")
    if not len(train):
        return np.nan
    updates = train["step"].diff().fillna(train["step"])
    last_but_one = validations["step"].iloc[-2] if len(validations) > 1 else 0
    last = train["step"] > last_but_one
    return float(np.exp(np.average(np.log(train.loc[last, "perplexity"]), weights=updates[last])))
