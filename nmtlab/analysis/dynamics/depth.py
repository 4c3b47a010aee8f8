"""How does the learned g of ScaleNorm go with depth? (thesis 3.3.4.2, Figures 3.6 and 3.7)"""

import numpy as np
import pandas as pd

from nmtlab.errors import RunError
from nmtlab.runs.run import Run

GROUPS = ("encoder", "decoder", "decoder-encoder", "final")


def g_by_depth(run: Run, step: int | None = None) -> pd.DataFrame:
    """Return g of each sublayer at an evaluation.

    Args:
        run: with ScaleNorm.
        step: of the evaluation; that of the best, else of the last, if not given.

    Returns:
        A row for each ScaleNorm: `run`; `step`, of the evaluation; `panel`, attention or feed-forward, as in Figure
        3.6; `group`: encoder, decoder, decoder-encoder (the decoder's attention on the encoder) or final (the norm
        behind the last layer, in the panel feed-forward); `side`, encoder or decoder; `depth`, the layer from 1, one
        more than the last of a final norm; `g`.

    Raises:
        RunError: the run has no ScaleNorm, or was never evaluated.
    """
    logged = _logged(run)
    if step is None:
        step = run.best_step if run.best_step in set(logged["step"]) else logged["step"].max()
    values = logged[logged["step"] == step]
    final, crossed = values["kind"] == "final", values["kind"] == "cross-attention"
    return pd.DataFrame(
        {
            "run": run.name,
            "step": int(step),
            "panel": np.where(values["kind"].isin(["attention", "cross-attention"]), "attention", "feed-forward"),
            "group": values["side"].mask(crossed, "decoder-encoder").mask(final, "final"),
            "side": values["side"],
            "depth": values["depth"] + final,
            "g": values["g"],
        }
    ).reset_index(drop=True)


def _logged(run: Run) -> pd.DataFrame:
    logged = run.g_values()
    if logged.empty:
        raise RunError(
            f"run {run.name!r}: no values of g", "choose one with ScaleNorm that was evaluated at least once"
        )
    return logged


def g_slopes(run: Run) -> pd.DataFrame:
    """Return how the slope of g over depth went while a run was trained.

    Returns:
        A row of `g_fits` for each evaluation and group, with its `step`.

    Raises:
        RunError: as `g_by_depth`.
    """
    steps = sorted(_logged(run)["step"].unique())
    return pd.concat([g_fits(g_by_depth(run, step)).assign(step=int(step)) for step in steps], ignore_index=True)


def g_fits(values: pd.DataFrame) -> pd.DataFrame:
    """Fit a line of g over depth to each group by least squares.

    Args:
        values: rows of `g_by_depth`, of one run or several.

    Returns:
        A row for each run, panel and group of two depths or more: `run`, `panel`, `group`; `layers`; `slope`, of g in
        a layer; `intercept`, at depth 0; `correlation`, Pearson's, missing where g is the same at all depths.
    """
    rows = []
    for names, own in values.groupby(["run", "panel", "group"], sort=False):
        if own["depth"].nunique() > 1:
            slope, intercept = np.polyfit(own["depth"], own["g"], 1)
            correlation = own["g"].corr(own["depth"]) if own["g"].nunique() > 1 else float("nan")
            rows.append((*names, len(own), slope, intercept, correlation))
    return pd.DataFrame(rows, columns=["run", "panel", "group", "layers", "slope", "intercept", "correlation"])


def g_trends(run: Run) -> dict[str, float]:
    """Return what the thesis says of g in numbers, at a run's best evaluation.

    Returns:
        `slope, SIDE PANEL`: g's growth in a layer, of the sublayers on the own side, NaN where there is one layer;
        `g, late decoder`: the mean of the sublayers on the own side in the upper half of the decoder; `g, output`: that
        of the norm behind the decoder's last layer.

    Raises:
        RunError: as `g_by_depth`.
    """
    values = g_by_depth(run)
    slopes = g_fits(values).set_index(["group", "panel"])["slope"]
    own = [(side, panel) for side in ("encoder", "decoder") for panel in ("attention", "feed-forward")]
    decoder = values[values["group"] == "decoder"]
    output = values[(values["group"] == "final") & (values["side"] == "decoder")]
    return {
        **{f"slope, {side} {panel}": float(slopes.get((side, panel), np.nan)) for side, panel in own},
        "g, late decoder": float(decoder.loc[decoder["depth"] > decoder["depth"].max() / 2, "g"].mean()),
        "g, output": float(output["g"].mean()),
    }
