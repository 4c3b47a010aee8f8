"""What source words contribute to target words, which methods find linked words, and what heads attend to."""

from collections.abc import Collection, Sequence

import pandas as pd

from nmtlab.analysis.attention.heads import AttentionKind, all_heads, head_summary
from nmtlab.analysis.attribution.agreement import EXPLANATIONS, Explanation, agreement
from nmtlab.analysis.attribution.contributions import Instead, Method, contributions
from nmtlab.plots import View, agreement_figure, contribution_figure, heads_figure
from nmtlab.plots.theme import plain
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus


def contribution_view(
    runs: Sequence[Run],
    source: str,
    target: str | None = None,
    method: Method = "erasure",
    instead: Instead | None = None,
    links: Collection[tuple[int, int]] = (),
) -> View:
    """Show what each source token contributes to each target token; its table has the largest contribution to each.

    Args:
        runs: neural, one or more, with weights.
        source: a sentence.
        target: its translation; each system's output if not given.
        method: see `nmtlab.analysis.attribution`.
        instead: a target position and a word: why the token there, and not this word?
        links: (source position, target position) of aligned pieces.

    Raises:
        CorpusError: the source sentence is blank.
        NmtlabError: no such target position, or a word that a system cannot produce.
        RunError: a run is phrase-based, or has no weights.
    """
    frames = [contributions(run.label, run, source, target, method, instead) for run in runs]
    found = pd.concat(frames, ignore_index=True)
    largest = found.loc[found.groupby(["run", "target_position"], sort=False)["weight"].idxmax()]
    return View(
        largest[["run", "target_piece", "source_piece", "weight"]].rename(columns={"weight": "nats"}),
        contribution_figure(found, method, {run.label: links for run in runs}),
    )


def agreement_view(
    runs: Sequence[Run],
    corpus: ParallelCorpus,
    part: str,
    methods: Sequence[Explanation] = EXPLANATIONS,
    sample: int = 100,
) -> View:
    """Show how often attention and other methods have their peak on the linked word, and how often on the first.

    Args:
        runs: neural, one or more, with weights.
        corpus: in their languages, with its training text or with links.
        part: the split, dev or test.
        methods: what to compare.
        sample: number of sentence pairs.

    Raises:
        CorpusError: no such split, no training text, or other languages.
        RunError: a run is phrase-based, or has no weights.
    """
    asked = [(run, method) for run in runs for method in methods]
    rows = [agreement(run, corpus, part, method, sample).assign(run=run.label, method=method) for run, method in asked]
    found = pd.concat(rows, ignore_index=True)
    return View(found[["run", "method", "words", "on", "first", "first_linked"]], agreement_figure(found))


def heads_view(run: Run, source: str, target: str | None = None, kind: AttentionKind = "cross-attention") -> View:
    """Show all attention heads of a Transformer; its table says how spread out they are, and finds attention sinks.

    Args:
        run: a Transformer with weights.
        source: a sentence.
        target: its translation; the system's own if not given.
        kind: cross-attention, or self-attention of encoder or decoder.

    Raises:
        CorpusError: the source sentence is blank.
        RunError: the run is no Transformer, or has no weights.
    """
    weights = all_heads(run, source, target)
    drawn = weights[weights["kind"] == kind]
    return View(head_summary(drawn), heads_figure(drawn, f"{kind.capitalize()} of {plain(run.label)}"))
