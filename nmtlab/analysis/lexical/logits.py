"""Why does a system prefer this word? The terms of its logit (thesis 3.2.1, 3.2.3, 3.2.6.2).

A logit is a sum of terms: the inner product of a word's vector with the state, `|W_e| |h| cos`, that of the lexical
module if any, biases, and a translation table if any. In the tables here a term that is an inner product has three
columns, TERM_norm, TERM_h_norm and TERM_cos; any other has one, by its name:

    |W_e|  word_norm      |W^l_e|  lexicon_norm      b_e    bias
    |h~|   word_h_norm    |h^l|    lexicon_h_norm    b^l_e  lexicon_bias
    cos    word_cos       cos^l    lexicon_cos       log p  table (arthur's)

A word's vector with shared and private units (thesis 4.2) has two terms in place of `word`: `shared` and `private`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmtlab.analysis.access.opened import RunOrSystem, forced_states, opened, output_type_of, scored_ids
from nmtlab.errors import NmtlabError
from nmtlab.figures.marks import with_tokens
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, plain, readable
from nmtlab.figures.words import number, quoted
from nmtlab.models.interface import Inspectable
from nmtlab.search.topk import stable_topk

_FACTS = ("id", "word", "count", "rank", "wanted", "logit", "probability")
_SHOWN = {
    "word": "‖W<sub>e</sub>‖ ‖h̃‖ cos",
    "shared": "shared units: ‖W<sub>e</sub>‖ ‖h̃‖ cos",
    "private": "private units: ‖W<sub>e</sub>‖ ‖h̃‖ cos",
    "bias": "b<sub>e</sub>",
    "lexicon": "lexicon: ‖W<sup>l</sup><sub>e</sub>‖ ‖h<sup>l</sup>‖ cos",
    "lexicon_bias": "b<sup>l</sup><sub>e</sub>",
    "table": "table: log p",
}
_SYMBOLS = {
    "word_norm": "‖W‖", "word_h_norm": "‖h‖", "word_cos": "cos",
    "shared_norm": "‖W‖ of shared units", "shared_h_norm": "‖h‖ of shared units", "shared_cos": "cos of shared units",
    "private_norm": "‖W‖ of private units", "private_h_norm": "‖h‖ of private units",
    "private_cos": "cos of private units", "bias": "b",
    "lexicon_norm": "‖Wˡ‖", "lexicon_h_norm": "‖hˡ‖", "lexicon_cos": "cosˡ", "lexicon_bias": "bˡ",
    "table": "log p of the table",
}  # fmt: skip
STEPS = {
    "word_norm": "length", "word_cos": "angle", "bias": "bias", "shared_norm": "length (shared units)",
    "shared_cos": "angle (shared units)", "private_norm": "length (private units)",
    "private_cos": "angle (private units)", "lexicon_norm": "lexicon length", "lexicon_cos": "lexicon angle",
    "lexicon_bias": "lexicon bias", "table": "table",
}  # fmt: skip
"""The effects of the terms, as a figure or a table names them."""
_SAYABLE = 0.05  # a smaller effect is not worth a clause


def decompose(
    system: RunOrSystem, source: str, target: str, position: int, top: int = 5, also: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the terms of the logits of the best candidates at a position (the tables of thesis 3.2.3 and 3.2.6.2).

    Args:
        target: a translation, or its beginning; the tokens before the position are forced, or those behind it
            if the system writes from the end.
        position: of the token to explain, from 0; the number of target tokens means the token that comes next.
        also: words to include whatever their rank.

    Returns:
        A row for each of the `top` candidates, the target word and the words of `also`, best first: `id`; `word`;
        `count` in the training text of the target language; `rank` among all words, from 1; `wanted`, whether it is the
        target word; the terms (see above), which add up to `logit`; `probability`.

    Raises:
        NmtlabError: no such position, or a word of `also` that is not in the vocabulary or cannot be produced.
    """
    translator = opened(system)
    model, pipeline = translator.model, translator.pipeline
    ids = scored_ids(model, pipeline.target_ids(target))
    if not 0 <= position < len(ids):
        raise NmtlabError(
            f"position {position}: the target has {len(ids) - 1} tokens", f"choose a number from 0 to {len(ids) - 1}"
        )
    asked = [output_type_of(translator, word) for word in also]
    position = pipeline.target.reading_order(ids)[position]
    with torch.inference_mode():
        read = ids if model.plans_length else ids[: position + 1]
        state = forced_states(model, [pipeline.source_ids(source)], [read])[position : position + 1]  # (1, E)
        logits = model.output(state)[0]
        wanted, *added = model.output_index(torch.tensor([ids[position], *asked], device=logits.device)).tolist()
        best = stable_topk(logits, min(top, len(logits)))[1].tolist()
        columns = torch.tensor(list(dict.fromkeys([*best, wanted, *added])), device=logits.device)
        terms = logit_terms(model, state, columns.unsqueeze(0))
        types = model.output_ids[columns].tolist()
        frame = pd.DataFrame(
            {
                "id": types,
                "word": pipeline.target.vocabulary.tokens(types),
                "count": pipeline.target.counts[types],
                "rank": (1 + (logits > logits[columns, None]).sum(1)).tolist(),
                "wanted": (columns == wanted).tolist(),
                **{name: values[0].tolist() for name, values in terms.items()},
                "logit": logits[columns].tolist(),
                "probability": logits.double().softmax(0)[columns].tolist(),
            }
        )
    return frame.sort_values("rank", kind="stable", ignore_index=True)


def term_values(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the value of each term of a `decompose` table; each row adds up to its logit.

    Returns:
        A column for each term, by its name (`word`, `lexicon`, `bias`, ...), on the index of `frame`.
    """
    products = _products(frame)
    parts = {f"{name}_{part}" for name in products for part in ("norm", "h_norm", "cos")}
    values = {name: frame[f"{name}_norm"] * frame[f"{name}_h_norm"] * frame[f"{name}_cos"] for name in products}
    scalars = {name: frame[name] for name in frame.columns if name not in parts and name not in _FACTS}
    return pd.DataFrame(values | scalars, index=frame.index)


def with_radius(frame: pd.DataFrame, radius: float) -> pd.DataFrame:
    """Return a `decompose` table with the norm of all vectors in its inner products set to r (thesis 3.2.3).

    Words that are not in the table may rank even higher: ask `decompose` for more of them.

    Args:
        frame: rows of `decompose`.
        radius: the norm r, above 0; an inner product becomes r² cos.

    Returns:
        The same columns with the new `logit` and `rank`, the latter among these rows only, best first; without
        `probability`, which depends on all other words.

    Raises:
        NmtlabError: a radius that is not above 0.
    """
    if not radius > 0:
        raise NmtlabError(f"radius {radius}: not a norm", "choose a number above 0")
    norms = {f"{name}_{part}": float(radius) for name in _products(frame) for part in ("norm", "h_norm")}
    changed = frame.drop(columns="probability").assign(**norms)
    changed["logit"] = term_values(changed).sum(axis=1)
    changed["rank"] = changed["logit"].rank(method="min", ascending=False).astype(int)
    return changed.sort_values("rank", kind="stable", ignore_index=True)


def logit_figure(candidates: pd.DataFrame) -> go.Figure:
    """Draw each candidate's terms as bars side by side, and their sum, the logit, as a marker.

    Args:
        candidates: rows of `decompose` or `with_radius`.
    """
    values = term_values(candidates)
    known = candidates["count"].notna()
    words, counts = map(plain, readable(candidates["word"])), candidates["count"]
    names = [
        f"{word}  ({count:,.0f}×)" if given else word for word, count, given in zip(words, counts, known, strict=True)
    ]
    labels = [f"<b>{name}</b>" if wanted else name for name, wanted in zip(names, candidates["wanted"], strict=True)]
    places = list(range(len(labels)))
    figure = go.Figure()
    for term, colour in zip(values.columns, COLOURS, strict=False):
        figure.add_bar(
            x=places, y=values[term], name=_SHOWN.get(term, term), marker_color=colour,
            hovertemplate="%{y:.3f}<extra>" + _SHOWN.get(term, term) + "</extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=places, y=candidates["logit"], mode="markers", name="logit",
        marker={"symbol": "diamond", "size": 10, "color": COLOURS[-1]},
        customdata=candidates[["rank"]], hovertemplate="logit %{y:.3f}, rank %{customdata[0]}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(
        tickmode="array",
        tickvals=places,
        ticktext=labels,
        title_text="candidate (training count); bold: the target word",
    )
    figure.update_yaxes(title_text="terms of the logit")
    figure.update_layout(barmode="group", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    with_tokens(figure, {"x": ("target", candidates["word"])}, types=True)
    return dressed(figure, "What makes a word win: the terms of its logit", 440)


def logit_steps(candidates: pd.DataFrame) -> pd.DataFrame:
    """Return the steps from the target word's logit to that of the best other word: the winner, or the runner-up.

    Args:
        candidates: rows of `decompose` or `with_radius`, of two words at least.

    Returns:
        A row for each of `effects_of`: `effect`; `value`, above 0 if it favours the other word. The values add up to
        the difference of the two logits.

    Raises:
        NmtlabError: a single word.
    """
    pair = _pair(candidates)
    terms = {name: pair[[name]].to_numpy(dtype=float).T for name in pair.columns if name not in _FACTS}
    effects = effects_of(terms)
    return pd.DataFrame({"effect": list(effects), "value": [value.item() for value in effects.values()]})


def waterfall_figure(candidates: pd.DataFrame) -> go.Figure:
    """Draw the steps of `logit_steps` as bars from the target word's logit to that of the best other word.

    Args:
        candidates: as for `logit_steps`.
    """
    pair, steps = _pair(candidates), logit_steps(candidates)
    ends = term_values(pair).sum(axis=1).tolist()
    levels = [ends[0], *(ends[0] + steps["value"].cumsum())]
    places = list(range(len(steps) + 2))
    words = [plain(quoted(word)) for word in pair["word"]]
    figure = go.Figure()
    figure.add_scatter(
        x=[x for place in places[:-1] for x in (place, place + 1, None)],
        y=[y for level in levels for y in (level, level, None)], mode="lines", line={"color": FAINT, "width": 1},
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    for name, of_other, colour in zip(words, (False, True), COLOURS, strict=False):
        some = steps[(steps["value"] > 0) == of_other]
        figure.add_bar(
            x=some.index + 1, base=[levels[place] for place in some.index], y=some["value"], name=f"favours {name}",
            marker_color=colour, width=0.6, text=[number(value, sign=True) for value in some["value"]],
            textposition="outside", customdata=some[["value"]], cliponaxis=False,
            hovertemplate="%{x}: %{customdata[0]:+.3f}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=[places[0], places[-1]], y=[levels[0], levels[-1]], mode="markers+text", name="logit",
        marker={"symbol": "diamond", "size": 12, "color": COLOURS[-1]}, cliponaxis=False,
        text=[number(level) for level in (levels[0], levels[-1])], textposition="top center",
        hovertemplate="logit %{y:.3f}<extra></extra>",
    )  # fmt: skip
    first, last = (f"<b>{word}</b><br>rank {rank}" for word, rank in zip(words, pair["rank"], strict=True))
    labels = [first, *(STEPS.get(effect, effect) for effect in steps["effect"]), last]
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=labels, range=[-0.6, places[-1] + 0.6])
    room = 0.15 * (max(levels) - min(levels)) or 1.0
    figure.update_yaxes(title_text="logit", range=[min(levels) - room, max(levels) + room])
    figure.update_layout(legend=BELOW, margin_b=120)
    return dressed(figure, f"From the logit of {words[0]} to that of {words[1]}", 420)


def logit_finding(candidates: pd.DataFrame) -> str:
    """Return by which term of its logit the winner is ahead, from rows as for `logit_steps`; empty without any."""
    if len(candidates) < 2:
        return ""
    pair, steps = _pair(candidates), logit_steps(candidates).set_index("effect")["value"]
    target, other = pair.iloc[0], pair.iloc[1]
    ahead = int(target["rank"]) <= int(other["rank"])
    gains = (-steps if ahead else steps).sort_values(kind="stable")
    least, most = (STEPS.get(name, name) for name in gains.index[[0, -1]])
    behind = quoted(other["word"] if ahead else target["word"])
    against = f", although the {least} favours {behind} ({number(gains.iloc[0], sign=True)})"
    although = against if gains.iloc[0] <= -_SAYABLE else ""
    by = f"by {most} ({number(gains.iloc[-1], sign=True)}){although}."
    place = f"Target word {quoted(target['word'])} is at rank {target['rank']}"
    if ahead:
        return f"{place}, ahead of {quoted(other['word'])} {by}"
    return f"{place}: {quoted(other['word'])} wins {by}"


def terms_table(candidates: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `decompose` or `with_radius` for display."""
    return candidates.drop(columns="id").rename(columns={"wanted": "target word", "count": "times", **_SYMBOLS})


def effects_of(terms: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return what each term adds to the difference of the logits of two words, p and g.

    A term that is an inner product |W_e| |h| cos, with the same h for both words, has two effects,

        TERM_norm = |h| (|W_p| - |W_g|) (cos_p + cos_g) / 2
        TERM_cos  = |h| (|W_p| + |W_g|) / 2 (cos_p - cos_g)

    which add up to its difference exactly; any other term (bias, table) has one, its difference.

    Args:
        terms: as of `logit_terms`, each (n, 2): the values of g and p.

    Returns:
        The effects, each (n,), by name; above 0 if they favour p.
    """
    products = [name.removesuffix("_cos") for name in terms if name.endswith("_cos")]
    effects = {}
    for name in products:
        norm, h_norm, cos = (terms[f"{name}_{part}"] for part in ("norm", "h_norm", "cos"))
        effects[f"{name}_norm"] = h_norm[:, 0] * np.diff(norm)[:, 0] * cos.mean(1)
        effects[f"{name}_cos"] = h_norm[:, 0] * norm.mean(1) * np.diff(cos)[:, 0]
    parts = {f"{name}_{part}" for name in products for part in ("norm", "h_norm", "cos")}
    return effects | {name: np.diff(values)[:, 0] for name, values in terms.items() if name not in parts}


def logit_terms(model: Inspectable, states: Tensor, columns: Tensor) -> dict[str, Tensor]:
    """Return the terms of the logits of some columns, named as above, each (n, k) float64.

    Args:
        states: (n, E).
        columns: (n, k) output columns.
    """
    found: dict[str, Tensor] = {}
    products = model.inner_products(states)
    for name, (vectors, rows) in products.items():
        vectors, rows = vectors.double().unsqueeze(-1), rows[columns].double()  # (n, E, 1), (n, k, E)
        norm, h_norm = rows.norm(dim=-1), vectors.norm(dim=-2).expand(columns.shape)
        product = (rows @ vectors).squeeze(-1)
        scale = norm * h_norm
        cos = (product / scale).masked_fill(scale == 0, 0.0)
        found |= {f"{name}_norm": norm, f"{name}_h_norm": h_norm, f"{name}_cos": cos}
    for name, values in model.explain(states).items():
        if name not in products:
            found[name] = values.gather(-1, columns).double()
    return found


def _products(frame: pd.DataFrame) -> list[str]:
    return [name.removesuffix("_cos") for name in frame.columns if name.endswith("_cos")]


def _pair(candidates: pd.DataFrame) -> pd.DataFrame:
    """Return the target word and the best other one."""
    wanted = candidates["wanted"]
    if wanted.all():
        raise NmtlabError("a single candidate: no other word to compare it with", "ask for two candidates or more")
    return pd.concat([candidates[wanted].head(1), candidates[~wanted].head(1)])
