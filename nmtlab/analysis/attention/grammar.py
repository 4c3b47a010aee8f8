"""Which source words head which, in a system that selects heads, and how many are right? (Tran and Bisk 2018)

Right is what the grammar of an artificial language says. Scores φ of pieces are summed to those of words, and the heads
of a sentence are those of the tree, with a single root, whose sum is the largest. All tokens count, punctuation and the
root included.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import cited
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import DECODING, HEADS, in_direction
from nmtlab.analysis.access.opened import RunOrSystem, opened
from nmtlab.analysis.attention.heatmap import Links, Look, heatmaps, shown_weights
from nmtlab.errors import CorpusError, RunError
from nmtlab.evaluation.dependencies import attachments, left_branching, maximum_tree, right_branching
from nmtlab.figures.theme import BELOW, SHADES, SOLID, dressed, name_in_lines, readable, styles
from nmtlab.figures.words import listed, number
from nmtlab.nn.matrix_tree import Heads
from nmtlab.runs.run import Run
from nmtlab.search.attention import pieces_of_words
from nmtlab.systems import open_model
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.heads import gold_heads
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.translation import Translator

_BATCH_TOKENS = 2048
_BRANCHING = {"left": left_branching, "right": right_branching}
_COLUMNS = (
    "line", "words", "directed", "undirected", "left_directed", "left_undirected", "right_directed", "right_undirected",
)  # fmt: skip


def source_heads(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return how many heads of source words are right, beside those of two trees that know no words.

    Args:
        run: that selects heads.
        corpus: an artificial language, with gold heads of the split.

    Returns:
        A row for each sentence that is not blank: `line`, from 1; `words`; those whose head is right (`directed`), or
        that have an arc in either direction (`undirected`); the same of words that are all headed by the next one
        (`left_`, left-branching) or by the one before (`right_`).

    Raises:
        CorpusError: no such split, other languages, or no gold heads.
    """
    run = in_direction(run, corpus)
    lines = list(corpus.lines(split, corpus.source))
    rows = []
    for place, (heads, gold) in enumerate(zip(selected_heads(run, lines), gold_heads(corpus, split), strict=True)):
        if len(heads) != len(gold):
            problem = f"{split} of corpus {corpus.name!r}, line {place + 1}: {len(heads)} words, but {len(gold)} heads"
            raise CorpusError(problem, "give heads of the words that the run reads")
        if not gold:
            continue
        trees = heads, *(branching(len(gold)) for branching in _BRANCHING.values())
        counts = [count for tree in trees for count in attachments(tree, gold)[:2]]
        rows.append((place + 1, len(gold), *counts))
    return pd.DataFrame(rows, columns=list(_COLUMNS), dtype=int)


def selected_heads(system: RunOrSystem, sources: Sequence[str]) -> list[list[int]]:
    """Return the position of the head of each word of each sentence, from 0; the root's is its own.

    Raises:
        RunError: the system selects no heads.
    """
    translator = opened(system)
    found: list[list[int]] = [[] for _ in sources]
    for place, heads in _heads(translator, sources):
        belongs = pieces_of_words(translator.pipeline.source_words(sources[place])[1])
        pieces = len(belongs)
        scores = belongs.T @ heads.scores[0, :pieces, :pieces].double().numpy() @ belongs
        found[place] = maximum_tree(scores) if pieces else []
    return found


def _heads(translator: Translator, sources: Sequence[str]) -> Iterator[tuple[int, Heads]]:
    """Yield the place of each sentence, and its heads, (1, S, S), in batches."""
    model, ids = translator.model, [translator.pipeline.source_ids(source) for source in sources]
    for group in sorted_batches([len(one) for one in ids], _BATCH_TOKENS):
        with torch.inference_mode():
            found = model.heads(model.encode(torch.from_numpy(pad([ids[at] for at in group])).to(model.device)))
        if found is None:
            raise RunError("the model selects no heads of source words", HEADS.remedy)
        for row, at in enumerate(group):
            yield int(at), Heads(*(part[row : row + 1].cpu() for part in found))


def attachment_scores(found: pd.DataFrame) -> pd.DataFrame:
    """Return the directed and undirected accuracy of heads, in percent, of each run, and of two trees that know none.

    Args:
        found: rows of `source_heads`, with their `run`.

    Returns:
        `run`, or `left-branching` or `right-branching` of the first run's text; `directed`, `undirected`; `words`.
    """
    rows = [(run, some, "") for run, some in found.groupby("run", sort=False)]
    rows += [(f"{side}-branching", rows[0][1], f"{side}_") for side in _BRANCHING if rows]
    shares = [
        (name, *(100 * some[[f"{side}directed", f"{side}undirected"]].sum() / some["words"].sum()), some["words"].sum())
        for name, some, side in rows
    ]
    return pd.DataFrame(shares, columns=["run", "directed", "undirected", "words"])


def attachment_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the accuracy of each run and of two trees that know no words as bars.

    Args:
        found: rows of `source_heads`, with their `run`.
    """
    scores = attachment_scores(found)
    figure, style = go.Figure(), styles(scores["run"], SOLID)
    for run, directed, undirected, _ in scores.itertuples(index=False):
        figure.add_bar(
            x=["right head (DA)", "right arc, in either direction (UA)"], y=[directed, undirected],
            name=name_in_lines(run), marker_color=style[str(run)]["color"],
            hovertemplate=f"%{{x}}: %{{y:.1f}} %<extra>{name_in_lines(run)}</extra>",
        )  # fmt: skip
    figure.update_yaxes(title_text="words (%)", range=[0, 100])
    figure.update_layout(legend=BELOW, margin_b=90)
    return dressed(figure, "How many heads of source words are right?", 380)


def _said(found: pd.DataFrame) -> str:
    """Say how many heads are right, of each run and of the better of the trees that know no words."""
    if found.empty:
        return ""
    scores = attachment_scores(found).set_index("run")
    parts = [f"{run} {number(row['directed'], 1)} %" for run, row in scores.iloc[:-2].iterrows()]
    best = scores["directed"].iloc[-2:]
    return f"Right heads: {listed(parts)}; {best.idxmax()} trees, which know no words, {number(best.max(), 1)} %."


def _accuracy(key: str, label: str, amount: str, less: str = "") -> Metric:
    return Metric(key, f"{label} (%)", "ratio", "%", needs=(HEADS,), amount=amount, less=less, of="words")


SOURCE_HEADS = Analysis(
    "How many of the heads that a system selects for source words are right?",
    source_heads,
    source="Tran and Bisk 2018",
    needs=(*DECODING, HEADS),
    version=1,
    columns=_COLUMNS,
    table=attachment_scores,
    figure=attachment_figure,
    finding=_said,
    digits=1,
    metrics=(
        _accuracy("directed-accuracy", "right heads (DA)", "directed"),
        _accuracy("undirected-accuracy", "right arcs (UA)", "undirected"),
        _accuracy("over-left-branching", "right heads less those of left-branching", "directed", "left_directed"),
    ),
)


def head_weights(run: Run, source: str) -> pd.DataFrame:
    """Return β of one sentence: how probable it is that a token heads another one.

    Args:
        run: that selects heads.

    Returns:
        A row for each two tokens, in the form of `weights.attention`: `source_` is the head and `target_` the dependent
        (the root is its own head); `weight` is the probability, which adds up to 1 for each dependent.

    Raises:
        CorpusError: the sentence is blank.
        RunError: the run selects no heads.
    """
    translator = open_model(run)
    pipeline = translator.pipeline
    pieces, ids = pipeline.source_pieces(source), np.array(pipeline.source_ids(source)[:-1])
    if not pieces:
        raise CorpusError("source sentence: blank", "give a sentence")
    ((_, heads),) = _heads(translator, [source])
    dependent, head = (axis.ravel() for axis in np.indices((len(pieces), len(pieces))))
    sides = {"target": dependent, "source": head}
    facts = {"piece": np.array(pieces, dtype=object), "unknown": ids == UNK, "count": pipeline.source.counts[ids]}
    columns = {f"{side}_{fact}": values[at] for side, at in sides.items() for fact, values in facts.items()}
    return pd.DataFrame(
        {
            "layer": 1, "head": 1, **{f"{side}_position": at for side, at in sides.items()}, **columns,
            "weight": heads.probs[0, head, dependent].numpy(),
        }
    )  # fmt: skip


def heads_figure(found: pd.DataFrame, links: Links = ()) -> go.Figure:
    """Draw β as a heatmap for each run: heads across, dependents down.

    Args:
        found: rows of `head_weights`, with their `run`.
        links: (position of the head, position of the dependent) of gold heads, to mark with a ring.
    """
    hover = "%{customdata[0]} heads %{customdata[1]}: %{z:.3f}"
    title = "Which source words may head which? (on the diagonal: the root)"
    return heatmaps(found, Look(title, "β", 0, 1, SHADES, hover, "head", "dependent", "gold head"), links)


def _roots(found: pd.DataFrame) -> str:
    """Say which token is most probably the root."""
    parts = []
    for run, rows in found.groupby("run", sort=False):
        roots = shown_weights(rows).diagonal()
        pieces = rows.drop_duplicates("source_position")["source_piece"].tolist()
        parts.append(f"{run} {cited(readable(pieces)[int(roots.argmax())])} ({number(roots.max(), 2)})")
    return f"Most probable root: {listed(parts, '; ')}." if parts else ""


HEAD_WEIGHTS = Analysis(
    "Which source words may head which in a sentence?",
    head_weights,
    source="Tran and Bisk 2018, eq. 8 and 9",
    needs=(*DECODING, HEADS),
    figure=heads_figure,
    finding=_roots,
)
