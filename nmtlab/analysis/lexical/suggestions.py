"""Suggested translations of rare words: are they used, and are they right? What is copied? (Pham et al. 2018)

Sentences are compared in Moses tokens, as for rare words, so that systems with different segmentations can be compared.
"""

from collections import Counter
from collections.abc import Iterable

import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import cited, percent
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import COPIES, DECODING, in_direction
from nmtlab.analysis.access.opened import forced_states, opened
from nmtlab.analysis.access.translations import translations
from nmtlab.evaluation.rare_words import bucket_names, bucket_of
from nmtlab.evaluation.suggestions import occurs
from nmtlab.figures.theme import BELOW, SOLID, dressed, name_in_lines, plain, readable, styles
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.annotation import bare
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS
from nmtlab.training.annotation import aligned_words

TIMES = 3
"""`text.annotate` of a run without notes, as if it had them."""


def suggestions(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return what is suggested for the rare source words of a text, and whether a run's translations have it.

    Args:
        run: any. One that annotates has its own suggestions; for another they are those that `text.annotate = 3` would
            take from the corpus' aligned training text.
        corpus: in its languages, with its training text.

    Returns:
        A row for each suggestion: `line`, from 1; `word` of the source; `count` in training; `suggested`; `used`,
        whether it is in the translation; `right`, whether it is in the reference.

    Raises:
        CorpusError: no such split, no training text, or other languages.
    """
    run = in_direction(run, corpus)
    seen, known = _counts(run, corpus), _suggestions(run, corpus)
    texts = translations(run, corpus, split), corpus.lines(split, corpus.target)
    words = Words(corpus.target)
    rows = []
    sides = zip(corpus.lines(split, corpus.source), *texts, strict=True)
    for line, (source, translation, reference) in enumerate(sides, start=1):
        sentences = words.split(translation), words.split(reference)
        for word in _words(run, source):
            if word in known and seen[word] < (run.recipe.text.annotate or TIMES):
                phrase = words.split(known[word])
                used, right = (occurs(phrase, sentence) for sentence in sentences)
                rows.append((line, word, seen[word], known[word], used, right))
    return pd.DataFrame(rows, columns=["line", "word", "count", "suggested", "used", "right"])


def _suggestions(run: Run, corpus: ParallelCorpus) -> dict[str, str]:
    notes = run.pipeline.source.notes
    return dict(notes.suggestions) if notes else aligned_words(run.recipe.text, [corpus])


def _counts(run: Run, corpus: ParallelCorpus) -> Counter[str]:
    pairs = usable_pairs(corpus, run.recipe.text.max_words)
    return Counter(word for source, _ in pairs for word in _words(run, source))


def _words(run: Run, source: str) -> Iterable[str]:
    return map(bare, run.pipeline.source.tokenizer.words(source)[0])


def used_by_frequency(found: pd.DataFrame) -> pd.DataFrame:
    """Return how many suggestions are used, by how often the word is in training.

    Args:
        found: rows of `suggestions`, with their `run`.

    Returns:
        A row for each `run` and `frequency` that has some: `suggested`; `used`, SUG, the share in the translations;
        `right`, the share in the references; `right and used`, SAC, the share of these that are in the translations.
    """
    edges = [0, 1, 2, 5, 10]
    names = bucket_names(edges)
    buckets = pd.Categorical.from_codes([bucket_of(count, edges) for count in found["count"]], names, ordered=True)
    rows = [
        {
            "run": run,
            "frequency": frequency,
            "suggested": len(some),
            "used": some["used"].mean(),
            "right": some["right"].mean(),
            "right and used": some.loc[some["right"].astype(bool), "used"].mean(),
        }
        for (run, frequency), some in found.assign(frequency=buckets).groupby(
            ["run", "frequency"], sort=False, observed=True
        )
    ]
    return pd.DataFrame(rows, columns=["run", "frequency", "suggested", "used", "right", "right and used"])


def suggestions_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the share of suggestions that are in the translations, and of those that are right, for each run.

    Args:
        found: rows of `suggestions`, with their `run`.
    """
    figure, style = go.Figure(), styles(found["run"], SOLID)
    for run, some in found.groupby("run", sort=False):
        shares = some["used"].mean(), some.loc[some["right"].astype(bool), "used"].mean()
        figure.add_bar(
            x=["all that is suggested (SUG)", "what the reference has, too (SAC)"], y=[100 * share for share in shares],
            name=name_in_lines(run), marker_color=style[str(run)]["color"],
            hovertemplate=f"%{{x}}: %{{y:.1f}} %<extra>{name_in_lines(run)}</extra>",
        )  # fmt: skip
    figure.update_yaxes(title_text="used in the translation (%)", range=[0, 100])
    figure.update_layout(legend=BELOW, margin_b=90)
    return dressed(figure, "Suggested translations of rare words that are used", 380)


def _said(found: pd.DataFrame) -> str:
    """Say how many suggestions each run uses."""
    said = [f"{run} {percent(some['used'].mean())} of {len(some):,}" for run, some in found.groupby("run", sort=False)]
    return f"Suggestions that are used: {listed(said)}; {percent(found['right'].mean())} are right." if said else ""


SUGGESTIONS = Analysis(
    "Are suggested translations of rare words used?",
    suggestions,
    source="Pham, Niehues and Waibel 2018",
    version=1,
    columns=("line", "word", "count", "suggested", "used", "right"),
    table=used_by_frequency,
    figure=suggestions_figure,
    finding=_said,
    absent=("no rare word of the text has a suggestion", "take a larger lexicon, or another text"),
    metrics=(
        Metric(
            "suggestions-used", "suggestions used (SUG, %)", "ratio", "%",
            read=lambda found: 100 * found["used"].astype(float).mean(),
            stored=lambda run, corpus: _by_line(run, corpus), amount="used", of="suggestions",
        ),
        Metric(
            "right-suggestions-used", "right suggestions used (SAC, %)", "ratio", "%",
            read=lambda found: 100 * found.loc[found["right"].astype(bool), "used"].astype(float).mean(),
            stored=lambda run, corpus: _by_line(run, corpus), amount="both", of="right",
        ),
    ),
)  # fmt: skip


def _by_line(run: Run, corpus: ParallelCorpus) -> pd.DataFrame | None:
    """Return what each sentence adds to the shares of suggestions that are used; None if they are not stored."""
    found = SUGGESTIONS.stored(run, corpus=corpus)
    if found is None:
        return None
    counted = found[["line", "used", "right"]].astype(int).assign(suggestions=1)
    return counted.assign(both=counted["used"] * counted["right"]).groupby("line").sum().reset_index()


def generated_shares(run: Run, source: str, target: str) -> pd.DataFrame:
    """Return how much of a translation is generated, step by step, and how much is copied from the source.

    Args:
        run: with a copy head.
        target: a translation, the run's or any other.

    Returns:
        A row for each token, EOS last: `position`, from 0; `piece`, as written; `generated`, γ, the share of what is
        generated in the mixture from which it is taken.
    """
    system = opened(run)
    pipeline = system.pipeline
    ids = pipeline.target_ids(target)
    with torch.inference_mode():
        gamma = system.model.generated_share(forced_states(system.model, [pipeline.source_ids(source)], [ids]))
    assert gamma is not None
    order, pieces = pipeline.target.reading_order(ids), [*pipeline.target.tokenizer.split(target), SPECIALS[EOS]]
    return pd.DataFrame({"position": range(len(ids)), "piece": pieces, "generated": gamma[order].tolist()})


def generated_figure(found: pd.DataFrame) -> go.Figure:
    """Draw γ by token as a strip of colours for each run.

    Args:
        found: rows of `generated_shares`, with their `run`.
    """
    figure, runs = go.Figure(), list(dict.fromkeys(found["run"]))
    for run, tokens in found.groupby("run", sort=False):
        figure.add_heatmap(
            x=tokens["position"], y=[name_in_lines(str(run))], z=[tokens["generated"]], zmin=0, zmax=1,
            colorscale="Blues", showscale=run == runs[0], colorbar={"title": "γ"},
            customdata=[readable(tokens["piece"])], hovertemplate="%{customdata}: γ = %{z:.2f}<extra></extra>",
        )  # fmt: skip
    pieces = found[found["run"] == runs[0]] if runs else found
    ticks = [plain(piece) for piece in readable(pieces["piece"])]
    figure.update_xaxes(
        tickmode="array", tickvals=pieces["position"], ticktext=ticks, tickangle=-40, title_text="token"
    )
    return dressed(figure, "What is generated: the lighter a token, the more of it is copied", 180 + 60 * len(runs))


def _least(found: pd.DataFrame) -> str:
    """Say which token is copied most."""
    if found.empty:
        return ""
    least = found.loc[found["generated"].idxmin()]
    share = percent(1 - least["generated"])
    return f"Copies have the largest share of {cited(readable([least['piece']])[0])}: {share}."


GENERATED = Analysis(
    "How much of each token is generated, and how much is copied from the source?",
    generated_shares,
    source="Pham, Niehues and Waibel 2018, eq. 2",
    needs=(*DECODING, COPIES),
    figure=generated_figure,
    finding=_least,
)
