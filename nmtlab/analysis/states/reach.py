"""How far does the encoder see? The impulse response: by how much its states change without the vector of a word."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.attention.heatmap import Look, heatmaps
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import SHADES
from nmtlab.figures.words import listed
from nmtlab.models.interface import TranslationModel
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.segmentation.vocabulary import UNK

NEGLIGIBLE = 1e-5
"""Share of a state's length up to which a change is one of rounding."""


@torch.inference_mode()
def impulses(model: TranslationModel, source: list[int]) -> np.ndarray:
    """Return by how much each state of the encoder changes if the vector of one token is 0, (S, S).

    Places stay as they are, and so do positional encodings: a state that has not read the token does not change.

    Args:
        source: ids, EOS last.

    Returns:
        The change of the state in each row without the token of each column, divided by the length of the state; 0
        where it is `NEGLIGIBLE`.
    """
    ids = torch.tensor([source] * (len(source) + 1), device=model.device)
    embedded = model.embed_source(ids).clone()
    places = torch.arange(len(source), device=model.device)
    embedded[places, places] = 0
    states = model.encode(ids, embedded=embedded).states[:, : len(source)].double()
    whole = states[-1]
    changes = ((states[:-1] - whole).norm(dim=2) / whole.norm(dim=1).clamp_min(1e-12)).T.cpu().numpy()
    return np.where(changes > NEGLIGIBLE, changes, 0.0)


def reach(run: Run, source: str) -> pd.DataFrame:
    """Return which source tokens each state of the encoder has read in a sentence, and how much they count.

    Returns:
        A row for each two tokens, in the form of `weights.attention`: `target_` is the place of the state, `source_`
        the token without a vector; `weight` is the share of the change by this token in the changes by all of them.

    Raises:
        CorpusError: the sentence is blank.
    """
    translator = open_model(run)
    pipeline, ids = translator.pipeline, translator.pipeline.source_ids(source)
    pieces = pipeline.source_pieces(source)
    if not pieces:
        raise CorpusError("source sentence: blank", "give a sentence")
    found = impulses(translator.model, ids)[:-1, :-1]
    shares = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-12)
    state, read = (axis.ravel() for axis in np.indices(found.shape))
    known = np.array(ids[:-1])
    facts = {"piece": np.array(pieces, dtype=object), "unknown": known == UNK, "count": pipeline.source.counts[known]}
    sides = {"target": state, "source": read}
    columns = {f"{side}_{fact}": values[at] for side, at in sides.items() for fact, values in facts.items()}
    places = {f"{side}_position": at for side, at in sides.items()}
    return pd.DataFrame({"layer": 1, "head": 1, **places, **columns, "weight": shares.ravel()})


def reach_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the shares of `reach` as a heatmap for each run: source tokens across, states down."""
    hover = "without %{customdata[0]}, the state at %{customdata[1]}: %{z:.3f} of all changes"
    title = "How much does each source word change the encoder's states?"
    return heatmaps(found, Look(title, "share", 0, 1, SHADES, hover, "without the word", "state at"))


def reach_finding(found: pd.DataFrame) -> str:
    """Say how many tokens before and after its position a state depends on, at most, in each run."""
    parts = []
    for run, rows in found.groupby("run", sort=False):
        seen = rows[rows["weight"] > 0]
        away = seen["source_position"] - seen["target_position"]
        tokens = rows["source_position"].max() + 1
        before, after = max(0, -away.min()), max(0, away.max())
        depends = f"a state depends on tokens up to {before} before and {after} after its position (of {tokens})"
        parts.append(f"{run}, {depends}")
    return f"In {listed(parts, '; in ')}." if parts else ""


REACH = Analysis(
    "How far does the encoder see?",
    reach,
    source="Gehring et al. 2017",
    needs=DECODING,
    figure=reach_figure,
    finding=reach_finding,
)
