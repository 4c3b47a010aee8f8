"""Which words of the text that a run went on with had the run before it never seen?"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import CONTINUED, continued_from, in_direction
from nmtlab.errors import RunError
from nmtlab.figures.theme import BELOW, COLOURS, dressed
from nmtlab.figures.words import number
from nmtlab.runs.packed import workspace_of
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.training.earlier_texts import text_of, texts_before

_PARENT, _NEW, _NEITHER = "the parent's text", "the new text", "either text"
_KEYS = ["run", "side", "counted"]


def unseen_words(run: Run, parent: Run, corpus: ParallelCorpus) -> pd.DataFrame:
    """Return how many words of a text's test set, or else of its dev set, are new to the training texts of a lineage.

    Words are Moses tokens. In Khayrallah et al. (2018), they explain what is gained on one text, and style on another.

    Args:
        run: one that went on from another; its training texts must be in the workspace.
        parent: that run; its texts, and those of the runs that it started from, must be there, too.
        corpus: that which the run went on with.

    Returns:
        A row for each side, way of counting and training text: `side`, source or target; `counted`, types or tokens;
        `text`, which training text; `words`, how many there are; `unseen`, how many of these it lacks.

    Raises:
        RunError: a training text is not here as it was.
    """
    run, workspace = in_direction(run, corpus), workspace_of(run)
    old, known = texts_before(parent, workspace)
    if not known:
        problem = f"run {parent.name!r}: not all that it, or a run before it, was trained on is here"
        raise RunError(problem, "open a workspace with these corpora and runs")
    new = text_of(run, workspace, "counting unseen words", "open a workspace that has it")
    split = "test" if "test" in corpus.splits else "dev"
    rows: list[tuple[str, str, str, int, int]] = []
    seen = [_words_by_language(texts, of.recipe.text.max_words) for texts, of in ((old, parent), (new, run))]
    for side, language in zip(("source", "target"), corpus.direction, strict=True):
        split_words = Words(language).split
        words = Counter(word for line in corpus.lines(split, language) for word in split_words(line))
        parents, ours = (by_language[language] for by_language in seen)
        for text, trained in ((_PARENT, parents), (_NEW, ours), (_NEITHER, parents | ours)):
            rows += [(side, counted, text, *numbers) for counted, numbers in _unseen(words, trained).items()]
    return pd.DataFrame(rows, columns=["side", "counted", "text", "words", "unseen"])


def unseen_shares(found: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of unseen words, 0 to 1: a row for each run, side and way of counting, a column for each text.

    Args:
        found: rows of `unseen_words` with a column `run`.
    """
    shares = found.assign(share=found["unseen"] / found["words"])
    return shares.pivot(index=_KEYS, columns="text", values="share")[[_PARENT, _NEW, _NEITHER]].reset_index()


def unseen_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the shares of unseen words of the first run, by type and by token.

    Args:
        found: rows of `unseen_words` with a column `run`.
    """
    figure, shares = go.Figure(), unseen_shares(found[found["run"] == found["run"].iloc[0]])
    for text, colour in zip((_PARENT, _NEW, _NEITHER), COLOURS, strict=False):
        figure.add_bar(
            x=[f"{side} {counted}" for side, counted in zip(shares["side"], shares["counted"], strict=True)],
            y=100 * shares[text], name=f"not in {text}", marker_color=colour,
            hovertemplate="%{x}: %{y:.1f} % are not in " + text + "<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="words of the new text's held-out set, by type and by token")
    figure.update_yaxes(title_text="unseen in training (%)", rangemode="tozero")
    figure.update_layout(barmode="group", legend=BELOW, margin_b=110)
    return dressed(figure, "Words of the new text that training had not seen", 440)


def unseen_finding(found: pd.DataFrame) -> str:
    """Return how many running target words are unseen, from rows of `unseen_words` with a column `run`."""
    shares = unseen_shares(found)
    targets = shares[(shares["side"] == "target") & (shares["counted"] == "tokens")]
    return " ".join(
        f"{run}: of the running target words, {number(100 * parents, 1)} % are not in {_PARENT},"
        f" {number(100 * new, 1)} % not in {_NEW}, and {number(100 * neither, 1)} % in neither."
        for run, _, _, parents, new, neither in targets.itertuples(index=False)
    )


UNSEEN_WORDS = Analysis(
    "Which words of the new text are missing from the parent's training text, and which from the new one?",
    unseen_words,
    source="Khayrallah et al. 2018",
    needs=(CONTINUED,),
    version=1,
    columns=("side", "counted", "text", "words", "unseen"),
    table=unseen_shares,
    figure=unseen_figure,
    finding=unseen_finding,
    digits=3,
    follows=(("parent", continued_from),),
)


def _words_by_language(texts: Iterable[ParallelCorpus], max_words: int) -> Mapping[str, set[str]]:
    """Return the types in the training parts of texts."""
    seen: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        sides = [(seen[language], Words(language)) for language in text.direction]
        for pair in usable_pairs(text, max_words):
            for (types, words), line in zip(sides, pair, strict=True):
                types.update(words.split(line))
    return seen


def _unseen(words: Counter[str], known: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return how many words there are, and how many are unknown, by types and by tokens."""
    unseen = [times for word, times in words.items() if word not in known]
    return {"types": (len(words), len(unseen)), "tokens": (words.total(), sum(unseen))}
