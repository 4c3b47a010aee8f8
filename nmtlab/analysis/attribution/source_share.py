"""Which translations have little to do with their source? Candidates for hallucinations, sentence by sentence.

A detached translation is predicted from its own beginning: erasing source words hardly changes it (Lee et al. 2018; the
share of the source of Voita, Sennrich and Titov 2021, here by erasure).
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import cited, percent
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import END, NEURAL, WEIGHTS, in_direction
from nmtlab.analysis.attribution.methods import erasure, prefix_erasure
from nmtlab.evaluation.expected_utility import pairwise_chrf
from nmtlab.evaluation.scores import chrf_metric
from nmtlab.figures.theme import BELOW, SOLID, dressed, isolated, name_in_lines, styles
from nmtlab.figures.words import listed
from nmtlab.models.interface import Searchable
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.answers import Row
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.search.searches import Sample
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import EOS

_NGRAM = 4
_SAMPLES = 16


def source_shares(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    sample: int | None = 100,
    machine: MachineSettings | None = None,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield, sentence by sentence, how much a run's translation depends on its source.

    Args:
        run: neural, with weights.
        corpus: in its languages.
        split: train, dev or test.
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`); all if not given.
        machine: where to compute; the recipe's settings if not given.
        start: index of the first of these sentences to yield, from 0.

    Yields:
        A row for each sentence that is not blank: `line` in the text, from 1; `source`; `translation`; `from_source`
        and `from_both`, by how many nats all its tokens together change, in absolute value, if each source token, and
        if each source token and each earlier target token, is erased alone (EOS never is); `source_share`, their ratio;
        `log_prob`, of a token, in nats; `length_ratio`, tokens of translation to source, without EOS; `repeats`, how
        often its most frequent sequence of four words recurs beyond the source's (Raunak, Menezes and Junczys-Dowmunt
        2021); `agreement`, its mean chrF with 16 samples of the model as references (Fomicheva et al. 2020); and
        `chrf`, with the reference.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: a phrase-based run, one that plans lengths, or one without weights.
    """
    run = in_direction(run, corpus)
    system = open_model(run, machine=machine)
    drawn = draw_sample(corpus, split, sample)
    samples, chrf = Sample(run.recipe.search, _SAMPLES), chrf_metric()
    for line, (source, reference) in zip(drawn.lines[start:], drawn.pairs[start:], strict=True):
        (found,) = system.translate([source])
        if not found.hypotheses:
            yield []
            continue
        ids, text = system.pipeline.source_ids(source), found.texts[0]
        numbers = dependence(system.model, ids, [*found.hypotheses[0].tokens, EOS])
        (sampled,) = system.translate([source], search=samples)
        likeness = pairwise_chrf([text, *sampled.texts])[0, 1:]
        yield [
            {
                "line": line, "source": source, "translation": text, **numbers, "repeats": repeats(text, source),
                "agreement": float(likeness.mean()), "chrf": chrf.sentence_score(text, [reference]).score,
            }
        ]  # fmt: skip


def dependence(model: Searchable, source: list[int], target: list[int]) -> dict[str, float]:
    """Return the numbers of `source_shares` that depend on the model, for ids that end in EOS."""
    ((_, forced),) = forced_decode_all(model, [source], [target])
    from_source = float(np.abs(erasure(model, source, target)).sum())
    from_both = from_source + float(np.abs(prefix_erasure(model, source, target)).sum())
    return {
        "from_source": from_source,
        "from_both": from_both,
        "source_share": from_source / from_both if from_source else 0.0,
        "log_prob": forced.log_prob / len(target),
        "length_ratio": (len(target) - 1) / (len(source) - 1),
    }


def repeats(translation: str, source: str) -> int:
    """Return how often the most frequent sequence of four words of a translation recurs beyond that of its source."""
    return _recurrences(translation) - _recurrences(source)


def share_of_text(found: pd.DataFrame) -> float:
    """Return the source's share of all translations together."""
    return float(found["from_source"].sum() / found["from_both"].sum())


def most_detached(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `source_shares`, with their `run`, by their source's share, the smallest first."""
    numbers = ["source_share", "log_prob", "length_ratio", "repeats", "agreement", "chrf"]
    first = ["run", "line", *numbers, "source", "translation"]
    return found.sort_values("source_share", kind="stable", ignore_index=True)[first]


def source_share_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the source's share of each translation against its log-probability: detached but confident is upper left.

    Args:
        found: rows of `source_shares`, with their `run`; the `customdata` of a point is its line.
    """
    figure, style = go.Figure(), styles(found["run"], SOLID)
    for run, rows in found.groupby("run", sort=False):
        figure.add_scatter(
            x=100 * rows["source_share"], y=rows["log_prob"], mode="markers", name=name_in_lines(run), meta=run,
            marker={"color": style[str(run)]["color"], "size": 8, "opacity": 0.7}, customdata=rows[["line"]],
            text=[f"{_in_lines(row.source)}<br>{_in_lines(row.translation)}" for row in rows.itertuples()],
            hovertemplate="line %{customdata[0]}: %{x:.0f} % from the source, %{y:.2f} nats a token<br>%{text}"
            f"<extra>{name_in_lines(run)}</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="share of the source in what the translation depends on (%)", rangemode="tozero")
    figure.update_yaxes(title_text="log-probability per token (nats)")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "Translations that hardly depend on their source are on the left", 440)


def _said(found: pd.DataFrame) -> str:
    """Say how much of what translations depend on is the source, and which depends on it least."""
    if found.empty:
        return ""
    shares = [f"{run} {percent(share_of_text(rows))}" for run, rows in found.groupby("run", sort=False)]
    least = found.loc[found["source_share"].idxmin()]
    example = f"{cited(least['translation'])} ({least['run']}, line {least['line']}: {percent(least['source_share'])})"
    return f"Share of the source in what translations depend on: {listed(shares)}. It is least for {example}."


SOURCE_SHARE = Analysis(
    "Which translations have little to do with their source?",
    source_shares,
    source="Lee et al. 2018; Voita, Sennrich and Titov 2021; Raunak, Menezes and Junczys-Dowmunt 2021",
    needs=(NEURAL, END, WEIGHTS),
    version=2,
    columns=tuple("line source translation source_share log_prob length_ratio repeats agreement chrf".split()),
    metrics=(Metric("source-share", "share from the source", read=share_of_text),),
    table=most_detached,
    figure=source_share_figure,
    finding=_said,
)


def _in_lines(sentence: str) -> str:
    return name_in_lines(isolated(sentence), letters=70)


def _recurrences(text: str) -> int:
    """Return how often the most frequent sequence of four words occurs again."""
    words = text.split()
    counts = Counter(zip(*(words[n:] for n in range(_NGRAM)), strict=False))
    return max(counts.values(), default=1) - 1
