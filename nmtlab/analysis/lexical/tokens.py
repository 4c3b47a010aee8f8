"""How sure is a system of each token of a translation, and what are the alternatives?"""

import math

import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.opened import RunOrSystem, forced_states, opened, scored_ids
from nmtlab.figures.marks import with_tokens
from nmtlab.figures.theme import COLOURS, FAINT, dressed, plain, readable
from nmtlab.search.topk import stable_topk
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK

_SURE = 0.5


def token_probabilities(system: RunOrSystem, source: str, target: str, top: int = 3) -> pd.DataFrame:
    """Return the probability of each token of a translation, given those before it, and the likeliest tokens there.

    Args:
        target: a translation, the system's or any other; a system that writes from the end is given those that
            follow a token instead.
        top: number of likeliest tokens to list.

    Returns:
        A row for each token, ending in EOS unless the system plans lengths: `position`, from 0; `piece`, as written;
        `unknown`, whether the token is UNK to the system; `count` in the training text of the target language;
        `probability`; `rank` among all tokens, from 1; `likeliest`, the `top` likeliest tokens as text with their
        probabilities.
    """
    translator = opened(system)
    model, pipeline = translator.model, translator.pipeline
    ids = scored_ids(model, pipeline.target_ids(target))
    with torch.inference_mode():
        logits = model.output(forced_states(model, [pipeline.source_ids(source)], [ids])).double()
        columns = model.output_index(torch.tensor(ids, device=logits.device))
        probabilities = logits.softmax(-1)
        of_target = probabilities.gather(1, columns[:, None])
        values, best = stable_topk(probabilities, min(top, logits.shape[1]))
    vocabulary = pipeline.target.vocabulary
    words = [vocabulary.tokens(row) for row in model.output_ids[best].tolist()]
    order, pieces = pipeline.target.reading_order(ids), [*pipeline.target.tokenizer.split(target), SPECIALS[EOS]]
    frame = pd.DataFrame(
        {
            "position": order,
            "piece": [pieces[place] for place in order],
            "unknown": [number == UNK for number in ids],
            "count": pipeline.target.counts[ids],
            "probability": of_target[:, 0].tolist(),
            "rank": (1 + (probabilities > of_target).sum(1)).tolist(),
            "likeliest": [
                ", ".join(f"{word} {value:.2f}" for word, value in zip(row, chances, strict=True))
                for row, chances in zip(words, values.tolist(), strict=True)
            ],
        }
    )
    return frame.sort_values("position", ignore_index=True)


def token_figure(tokens: pd.DataFrame) -> go.Figure:
    """Draw the probability of each token, with those below 0.5 in another colour.

    Args:
        tokens: rows of `token_probabilities`.
    """
    colours = [COLOURS[0] if sure else COLOURS[1] for sure in tokens["probability"] >= _SURE]
    figure, shown = go.Figure(), readable(tokens["piece"])
    figure.add_bar(
        x=tokens["position"], y=tokens["probability"], marker_color=colours,
        customdata=[
            [plain(piece), _times(count), rank, plain(likeliest)]
            for piece, count, rank, likeliest in zip(
                shown, tokens["count"], tokens["rank"], tokens["likeliest"], strict=True
            )
        ],
        hovertemplate="%{customdata[0]}: %{y:.3f}, rank %{customdata[2]}<br>%{customdata[1]}<br>"
        "likeliest: %{customdata[3]}<extra></extra>",
    )  # fmt: skip
    figure.add_hline(y=_SURE, line={"color": FAINT, "dash": "dot"})
    pieces = [
        f"<b>{plain(piece)}</b>" if unknown else plain(piece)
        for piece, unknown in zip(shown, tokens["unknown"], strict=True)
    ]
    ticks = {
        "tickmode": "array",
        "tickvals": tokens["position"],
        "ticktext": pieces,
    }
    figure.update_xaxes(**ticks, tickangle=-40, title_text="token (bold: unknown to the system; orange: p below 0.5)")
    figure.update_yaxes(range=[0, 1.02], title_text="p(token | source, prefix)")
    with_tokens(figure, {"x": ("target", tokens["piece"])})
    return dressed(figure, "How sure the system is of each token", 380)


def _times(count: float) -> str:
    return "training count unknown" if math.isnan(count) else f"{count:.0f} times in training"
