"""Does minimum Bayes risk make length normalisation superfluous, and from how many samples on? (Eikema and Aziz 2022)

view = LEAST_RISK.view(run, corpus=corpus, sample=200)
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import USABLE_BLEU, Metric, Scoring
from nmtlab.analysis.access.needs import DECODING, END, in_direction
from nmtlab.analysis.search.beams import OUTCOME
from nmtlab.analysis.search.search_errors import FEW, SAMPLED
from nmtlab.analysis.search.searched import text_of_sample, unknowns_as_in
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.figures.theme import BELOW, DASHES, dressed, name_in_lines, spaced, styles
from nmtlab.figures.words import number
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.searches import Sample
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.translation import Translation, least_risk

SAMPLES = (4, 16, 64)
"""Numbers of samples that are compared; the smaller sets are the first of the largest."""

MBR = "minimum Bayes risk"
_BEAMS = {"log-prob": "by log-probability", "length-normalised": "with length normalisation"}
_PANELS = {"bleu": "BLEU", "length_ratio": "length relative to the reference"}


def least_risks(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    sample: int | None = None,
    seed: int = 1,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text by minimum Bayes risk, with different numbers of samples.

    Args:
        run: neural, with weights; one that plans lengths cannot be sampled.
        corpus: in its languages.
        split: train, dev or test.
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`); all if not given.
        seed: of the samples.
        on_progress: called with the number of sentences just translated.
        machine: where to compute; the recipe's settings if not given.

    Returns:
        A row for each sentence: `line` in the text, from 1; `text_4`, `text_16` and `text_64`, of that many samples the
        one with the highest expected chrF.
    """
    run = in_direction(run, corpus)
    drawn = draw_sample(corpus, split, sample)
    search = Sample(run.recipe.search, SAMPLES[-1], seed=seed)
    found = open_model(run, machine=machine).translate(drawn.sources, search=search, on_progress=on_progress)
    texts = {f"text_{n}": [least_risk(_first(n, samples)).text for samples in found] for n in SAMPLES}
    return pd.DataFrame({"line": list(drawn.lines), **texts})


def _first(n: int, samples: Translation) -> Translation:
    parts = {name: getattr(samples, name)[:n] for name in ("texts", "hypotheses", "replacements")}
    return replace(samples, **parts)


def _bleu(n: int) -> Metric:
    label = f"BLEU by {MBR}, {n} samples {SAMPLED}"
    scoring = Scoring(made_by=label, column=f"text_{n}", text=text_of_sample(FEW))
    return Metric(
        f"bleu-mbr-{n}", label, "score", "BLEU", given={"sample": FEW}, scoring=scoring, usable=USABLE_BLEU,
        if_diverged=0.0,
    )  # fmt: skip


LEAST_RISKS = Analysis(
    "Which of a model's samples is most like the others?",
    least_risks,
    source="Eikema and Aziz 2022",
    needs=(*DECODING, END),
    version=1,
    columns=("line", *(f"text_{n}" for n in SAMPLES)),
    metrics=tuple(_bleu(n) for n in SAMPLES),
    in_context=True,
)


def by_samples(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    sample: int | None = None,
    seed: int = 1,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Compare minimum Bayes risk with beams of 4; arguments as for `least_risks`, whose answer is stored too.

    Returns:
        A row for each way: `way`, minimum Bayes risk, log-prob or length-normalised; `samples`, 0 of a beam; `bleu`
        (sacrebleu, over all references); `length_ratio` to the closest reference, in words; `empty`, the share of
        empty translations of lines that are not blank. All replace UNKs if the recipe does.
    """
    asked: dict[str, Any] = {"corpus": corpus, "split": split, "sample": sample, "machine": machine}
    found = LEAST_RISKS.of(run, on_progress, seed=seed, **asked)
    drawn, metric = draw_sample(corpus, split, sample), bleu_metric(default_tokenizer(corpus.target))
    references = [drawn.of(lines) for lines in corpus.references(split)]
    spoken = [bool(line.strip()) for line in drawn.sources]
    rows = []
    for n in SAMPLES:
        texts = found[f"text_{n}"].tolist()
        score = metric.corpus_score(texts, references)
        rows.append((MBR, n, score.score, score.sys_len / score.ref_len, found.loc[spoken, f"text_{n}"].eq("").mean()))
    for way in _BEAMS:
        beam = OUTCOME.of(run, search=unknowns_as_in(run, SearchSettings(score=way, beam_size=4)), **asked).iloc[0]
        rows.append((way, 0, *beam[["bleu", "length_ratio", "empty"]]))
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = ["way", "samples", "bleu", "length_ratio", "empty"]


def samples_figure(found: pd.DataFrame) -> go.Figure:
    """Draw BLEU and length by the number of samples, and those of beams of 4 as horizontal lines.

    Args:
        found: rows of `by_samples`; with `run`, a colour for each.
    """
    figure = make_subplots(rows=1, cols=2, subplot_titles=list(_PANELS.values()), horizontal_spacing=0.12)
    style = styles(found["run"].unique())
    for place, column in enumerate(_PANELS, start=1):
        for run, rows in found.groupby("run", sort=False):
            ways = [(MBR, "solid", rows[rows["way"] == MBR])]
            for way, dash in zip(_BEAMS, DASHES[1:], strict=False):
                flat = rows[rows["way"] == way]
                ways.append((f"{way}, beam 4", dash, pd.concat([flat, flat]).assign(samples=(SAMPLES[0], SAMPLES[-1]))))
            for way, dash, curve in ways:
                name = f"{name_in_lines(run)}, {way}"
                figure.add_scatter(
                    x=curve["samples"], y=curve[column], mode="lines+markers" if way == MBR else "lines", name=name,
                    legendgroup=name, showlegend=place == 1, line={**style[str(run)], "dash": dash},
                    hovertemplate=f"%{{x}} samples: %{{y:.2f}}<extra>{name}</extra>" if way == MBR
                    else f"%{{y:.2f}}<extra>{name}</extra>", row=1, col=place,
                )  # fmt: skip
    sizes = spaced(pd.Series(SAMPLES))
    figure.update_xaxes(type="log", tickvals=sizes, ticktext=[f"{size:g}" for size in sizes], title_text="samples")
    figure.update_layout(legend=BELOW, margin_b=150)
    return dressed(figure, "Minimum Bayes risk by its number of samples, against beams", 460)


def _said(found: pd.DataFrame) -> str:
    """Say the BLEU of each number of samples, and of the beams."""
    parts = []
    for run, rows in found.groupby("run", sort=False) if len(found) else ():
        risks = rows[rows["way"] == MBR]
        of_samples = ", ".join(f"{number(row.bleu, 1)} of {row.samples}" for row in risks.itertuples())
        by_way = rows.set_index("way")["bleu"]
        beams = " and ".join(f"{number(by_way[way], 1)} {how}" for way, how in _BEAMS.items())
        parts.append(f"BLEU of {run} by {MBR}: {of_samples} samples; with a beam of 4, {beams}.")
    return " ".join(parts)


LEAST_RISK = Analysis(
    "Does minimum Bayes risk translate better than a beam, and from how many samples on?",
    by_samples,
    source="Eikema and Aziz 2022",
    needs=(*DECODING, END),
    version=2,
    columns=tuple(_COLUMNS),
    figure=samples_figure,
    finding=_said,
    in_context=True,
)
