"""How does the learned g of ScaleNorm vary with depth? (thesis 3.3.4.2, Figures 3.6 and 3.7)"""

import numpy as np
import pandas as pd

from nmtlab.errors import RunError
from nmtlab.runs.run import Run

GROUPS = ("encoder", "decoder", "decoder-encoder", "final")


def g_by_depth(run: Run, step: int | None = None) -> pd.DataFrame:
    """Return g of each sublayer at an evaluation.

    Args:
        run: with ScaleNorm.
        step: of the evaluation; if not given, the best evaluation, else the last.

    Returns:
        A row for each ScaleNorm: `run`; `step`, of the evaluation; `panel`, attention or feed-forward, as in Figure
        3.6; `group`: encoder, decoder, decoder-encoder (the decoder's attention to the encoder) or final (the norm
        after the last layer, in the panel feed-forward); `side`, encoder or decoder; `depth`, the layer from 1, for a
        final norm one more than the last layer; `g`.

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
            "run": run.label,
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
            f"run {run.name!r}: no values of g", "choose a run with ScaleNorm that was evaluated at least once"
        )
    return logged


def g_slopes(run: Run) -> pd.DataFrame:
    """Return the slope of g over depth at each evaluation of a run.

    Returns:
        A row of `g_fits` for each evaluation and group, with its `step`.

    Raises:
        RunError: as for `g_by_depth`.
    """
    steps = sorted(_logged(run)["step"].unique())
    return pd.concat([g_fits(g_by_depth(run, step)).assign(step=int(step)) for step in steps], ignore_index=True)


def g_fits(values: pd.DataFrame) -> pd.DataFrame:
    """Fit a line of g over depth to each group by least squares.

    Args:
        values: rows of `g_by_depth`, of one run or several.

    Returns:
        A row for each run, panel and group of two depths or more: `run`, `panel`, `group`; `layers`; `slope`, of g per
        layer; `intercept`, at depth 0; `correlation`, Pearson's, missing where g is the same at all depths.
    """
    rows = []
    for names, group in values.groupby(["run", "panel", "group"], sort=False):
        if group["depth"].nunique() > 1:
            slope, intercept = np.polyfit(group["depth"], group["g"], 1)
            correlation = group["g"].corr(group["depth"]) if group["g"].nunique() > 1 else float("nan")
            rows.append((*names, len(group), slope, intercept, correlation))
    return pd.DataFrame(rows, columns=["run", "panel", "group", "layers", "slope", "intercept", "correlation"])


def g_trends(run: Run) -> dict[str, float]:
    """Return the quantities behind the thesis's statements on g, at a run's best evaluation.

    Returns:
        `slope, SIDE PANEL`: the slope of g per layer, without the decoder's attention to the encoder, NaN with a single
        layer; `slope, decoder-encoder attention`: that of the latter; `g, late decoder`: the mean of g in the upper
        half of the decoder, without its attention to the encoder; `g, output`: g of the norm after the
        decoder's last layer.

    Raises:
        RunError: as for `g_by_depth`.
    """
    values = g_by_depth(run)
    slopes = g_fits(values).set_index(["group", "panel"])["slope"]
    groups = [(side, panel) for side in ("encoder", "decoder") for panel in ("attention", "feed-forward")]
    decoder = values[values["group"] == "decoder"]
    output = values[(values["group"] == "final") & (values["side"] == "decoder")]
    groups += [("decoder-encoder", "attention")]
    return {
        **{f"slope, {side} {panel}": float(slopes.get((side, panel), np.nan)) for side, panel in groups},
        "g, late decoder": float(decoder.loc[decoder["depth"] > decoder["depth"].max() / 2, "g"].mean()),
        "g, output": float(output["g"].mean()),
    }
