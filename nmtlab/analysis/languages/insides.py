"""What several languages do inside one model, in a line: to put systems side by side."""

import pandas as pd


def insides(alike: pd.DataFrame, read: pd.DataFrame, cosines: pd.DataFrame) -> dict[str, float]:
    """Return how much the languages of a model share inside, as seen by three analyses.

    Args:
        alike: of `layers.similarity_by_layer`.
        read: of `probes.language_by_layer`.
        cosines: of `gradients.gradient_cosines`.

    Returns:
        By name: `similarity`, the mean debiased CKA of two languages after the last encoder layer; `language read (%)`,
        the share of sentences whose language a linear probe tells there; and the mean cosine of gradients over all
        parts of the model, of directions with the `same target`, those with the `same source`, those with `neither`,
        and of `two halves` of one direction's text (what full agreement gives); NaN for what the model does not have.
    """
    last = alike[alike["layer"] == alike["layer"].max()]
    probe = read[(read["layer"] == read["layer"].max()) & (read["units"] == "all")]
    kinds = [_kind(*pair) for pair in zip(cosines["direction"], cosines["other_direction"], strict=True)]
    means = cosines["cosine"].groupby(pd.Series(kinds, index=cosines.index)).mean()
    return {
        "similarity": last["cka"].mean(),
        "language read (%)": 100 * probe["accuracy"].item(),
        **means.reindex(["same target", "same source", "neither", "two halves"]).to_dict(),
    }


def _kind(direction: str, other: str) -> str:
    (source, target), (other_source, other_target) = direction.split("-"), other.split("-")
    if direction == other:
        return "two halves"
    if target == other_target:
        return "same target"
    return "same source" if source == other_source else "neither"
