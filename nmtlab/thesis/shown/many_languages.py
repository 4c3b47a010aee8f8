"""Many languages in one model (thesis 4.2): what is shared, what directions gain, and what was never trained."""

import math
from typing import Literal

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.metrics import find_metric, find_metrics
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.intervals import interval
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, plain, styles, with_subtitle
from nmtlab.figures.view import Numbers, View
from nmtlab.figures.words import listed, number
from nmtlab.grids.declared.corpora import Corpus, Directed
from nmtlab.grids.declared.declaration import Row, Scale, Setup
from nmtlab.grids.results.summary import summary
from nmtlab.languages import is_english
from nmtlab.recipe.training import TrainingSettings
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.thesis.measured import described_cells, measured, measured_cells
from nmtlab.thesis.tables.many_languages import (
    ABLATIONS,
    ARTIFICIAL_ROWS,
    ARTIFICIAL_ZERO_SHOT,
    IBERIAN_ROWS,
    IBERIAN_ZERO_SHOT,
    MANY_LANGUAGES,
    TO_MANY,
    TURKIC_ZERO_SHOT,
    ZERO_SHOT,
)
from nmtlab.thesis.tables.related_text import GL_EN
from nmtlab.thesis.tables.transfer import TRANSFER_TRANSFORMER

Group = Literal["iberian", "artificial"]
"""A group of languages that models are trained on together."""

ZeroShotGroup = Literal[Group, "turkic"]
"""A group with directions that no model is trained in."""

_MEASURE = f"run 'nmtlab reproduce {MANY_LANGUAGES.name} --save'"
_MEASURE_ZERO_SHOT = f"run 'nmtlab reproduce {ZERO_SHOT.name} --save'"
_ROWS = {"iberian": IBERIAN_ROWS, "artificial": ARTIFICIAL_ROWS}
_ZERO_SHOT_ROWS = {"iberian": IBERIAN_ZERO_SHOT, "artificial": ARTIFICIAL_ZERO_SHOT, "turkic": TURKIC_ZERO_SHOT}
_CALLED = {"iberian": "Iberian languages", "artificial": "artificial languages"}
_BLEU = MANY_LANGUAGES.metrics[0]
_COLUMNS = {column.name: column for column in MANY_LANGUAGES.columns}
_KINDS = {column.name: column.kind for column in MANY_LANGUAGES.columns}
_BAR = 34
"""Pixels of a bar."""


def ablation_view(group: Group = "artificial", texts: str = TO_MANY, scale: Scale = "small") -> View:
    """Show the mean score over directions of each system, by what it shares; its table has the means and margins.

    Separate models are beside them.

    Args:
        group: of languages.
        texts: the set of texts on which the systems were trained.
        scale: at which `many-languages` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    cells = measured_cells(MANY_LANGUAGES.name, scale, _BLEU)
    means = direction_means(cells, _ROWS[group], texts, scale)
    if means.empty:
        raise NmtlabError(f"{MANY_LANGUAGES.name}: no system was measured in all {group} directions, {texts}", _MEASURE)
    figure = ablation_figure(means, f"{find_metric(_BLEU).label} of {_CALLED[group]}", "shared")
    figure = with_subtitle(figure, described_cells(cells, f"mean of all directions, {texts}"))
    return View(means, figure, finding=ablation_finding(means))


def gain_view(group: Group = "iberian", scale: Scale = "small") -> View:
    """Show what directions gain over separate models, by the size of their text; its table has the differences.

    The systems with one private component, which `ablation_view` shows, are left out.

    Args:
        group: of languages.
        scale: at which `many-languages` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    cells = measured_cells(MANY_LANGUAGES.name, scale, _BLEU)
    sentences = measured(MANY_LANGUAGES.name, scale).sentences
    # Of all systems, which share the variance of the seeds, even of those that are not shown.
    found = gains(cells, _ROWS[group], scale, sentences)
    found = found[~found["system"].isin([system.kind for system in ABLATIONS])]
    if found.empty:
        raise NmtlabError(f"{MANY_LANGUAGES.name}: no {group} direction has a separate and a common model", _MEASURE)
    figure = with_subtitle(gain_figure(found, _CALLED[group]), described_cells(cells))
    return View(found, figure, finding=gain_finding(found))


def rivals_table(group: Group = "artificial", scale: Scale = "small") -> Numbers:
    """Return by how much half private units translate better than each rival, in every direction that was measured.

    Its columns are the set of texts that the models were trained on, the direction and, for each rival, the difference
    in BLEU with half its 95 % interval, and the verdict on the claim that it is above 0.

    Args:
        group: of languages.
        scale: at which `many-languages` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    stored = measured(MANY_LANGUAGES.name, scale)
    claims = [one for one in declared_claims() if (one.table.name, one.scale) == (MANY_LANGUAGES.name, scale)]
    compared = {one.text: one for one in claims if _COLUMNS[one.system].kind == "half private"}
    found = measured_claims(stored.folder, claims).dropna(subset="effect")
    found = found[found["claim"].isin(compared) & found["pair"].isin([row.name for row in _ROWS[group]])]
    if found.empty:
        raise NmtlabError(f"{MANY_LANGUAGES.name}: no {group} direction has half private units and a rival", _MEASURE)
    lines = pd.DataFrame(
        {
            "texts": [_COLUMNS[compared[claim].system].texts for claim in found["claim"]],
            "direction": found["pair"],
            "than": [_COLUMNS[str(compared[claim].than)].kind for claim in found["claim"]],
            "difference": [
                f"{line.effect:+.2f} ± {(line.high - line.low) / 2:.2f}, {line.verdict.removesuffix(' here')}"
                for line in found.itertuples()
            ],
        }
    )
    wide = lines.set_index(["texts", "direction", "than"])["difference"].unstack(fill_value="", sort=False)
    return Numbers(wide.reset_index().rename_axis(columns=None))


def parent_table(scale: Scale = "small") -> Numbers:
    """Return how Galician is translated into English with other languages in one model, and with a Portuguese parent.

    All are trained on the same Galician text and tested on the same sentences; the best is first. Its columns are the
    system, the table that it is from, mean test BLEU with its margin (95 %, Student's t over seeds), the seeds and the
    updates, those of a parent or of a frozen model not counted.

    Args:
        scale: at which `many-languages` and `transfer-transformer` were run.

    Raises:
        NmtlabError: one of them was not measured at this scale.
    """
    lines = []
    for table, row in ((MANY_LANGUAGES, "gl-en"), (TRANSFER_TRANSFORMER, GL_EN.name)):
        cells = measured_cells(table.name, scale, table.metrics[0]).dropna(subset="value")
        for system, made in cells[cells["row"] == row].groupby("column", sort=False):
            mean, margin = interval(made["value"].tolist())
            lines.append((system, table.name, mean, margin, len(made), int(made["updates"].max())))
    score = find_metric(_BLEU).label
    names = ["system", "table", score, "±", "seeds", "updates"]
    return Numbers(pd.DataFrame(lines, columns=names).sort_values(score, ascending=False, ignore_index=True))


def zero_shot_table(group: ZeroShotGroup = "iberian", scale: Scale = "small") -> Numbers:
    """Return how each system translates in directions without training text, on average over those of a group.

    Its columns are BLEU at once and through English, the share of translations in another language, and the seeds.

    Args:
        group: of languages.
        scale: at which `zero-shot` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    labels = {metric.key: metric.label for metric in find_metrics(ZERO_SHOT.metrics)}
    cells = pd.concat([measured_cells(ZERO_SHOT.name, scale, key) for key in labels]).dropna(subset="value")
    cells = cells[cells["row"].isin([row.name for row in _ZERO_SHOT_ROWS[group]])]
    if cells.empty:
        raise NmtlabError(f"{ZERO_SHOT.name}: no {group} direction was measured", _MEASURE_ZERO_SHOT)
    cells = cells.assign(system=cells["column"].map(_KINDS))
    means = cells.pivot_table(index="system", columns="metric", values="value", sort=False)
    means = means[[*labels]].rename(columns=labels)
    return Numbers(means.assign(seeds=cells.groupby("system")["seed"].nunique()).reset_index())


def direction_means(results: pd.DataFrame, rows: tuple[Row, ...], texts: str, scale: Scale) -> pd.DataFrame:
    """Return the mean score of systems over the directions of one set of texts.

    Args:
        results: `cells` of `Results`, of `many-languages` and one measure.
        rows: the directions, of one group of languages.
        texts: name of the set of texts, such as `many-to-many`.
        scale: the scale at which it was run.

    Returns:
        One line per system that is trained on these texts or, like the table's baseline, on the text of a direction, in
        the table's order: `system`, its name without that of the texts; `seeds`, how many have a value in every
        direction; their `mean` over directions and its `margin` (95 %, Student's t).
    """
    names = {
        system.name: system.kind
        for system in MANY_LANGUAGES.columns
        if system.texts == texts or system.name == MANY_LANGUAGES.baseline
    }
    trained = [row.name for row in rows if isinstance(setup := row.at[scale], Setup) and texts in setup.texts]
    wide = results[results["row"].isin(trained)].pivot_table(
        index=["column", "seed"], columns="row", values="value", dropna=False
    )
    whole = wide.dropna().mean(axis=1) if wide.shape[1] == len(trained) else pd.Series(dtype=float)
    lines = []
    for column, name in names.items():
        if seeds := whole[whole.index.get_level_values(0) == column].tolist():
            lines.append((name, len(seeds), *interval(seeds)))
    return pd.DataFrame(lines, columns=["system", "seeds", "mean", "margin"])


def gains(
    results: pd.DataFrame, rows: tuple[Row, ...], scale: Scale, sentences: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return what each direction gains over a separate model, by the size of its text.

    Args:
        results, rows, scale: as of `direction_means`.
        sentences: lines of `SENTENCES`, if there are any.

    Returns:
        One line per system and direction with a difference, smaller texts first: `texts`, on which the system is
        trained; `system`, without them; `direction`; `to_english`; `pairs` of its training text; its `share` of the
        training sentences; `difference` and `margin`, NaN with a single seed.
    """
    setups = {row.name: setup for row in rows if isinstance(setup := row.at[scale], Setup)}
    sizes = {name: pairs_of(setup.corpus) for name, setup in setups.items()}
    into = {name: is_english(setup.corpus.target) for name, setup in setups.items()}
    of = {name: system.texts for name, system in _COLUMNS.items() if system.texts}
    lines = summary(results[results["row"].isin(list(sizes))], MANY_LANGUAGES, sentences)
    lines = lines[lines["difference"].notna() & lines["column"].isin(list(of))]
    texts = lines["column"].map(of)
    found = lines.assign(
        texts=texts,
        system=lines["column"].map(_KINDS),
        to_english=lines["row"].map(into).astype(bool),
        pairs=lines["row"].map(sizes).astype(int),
        share=[_share(setups[row], one) for row, one in zip(lines["row"], texts, strict=True)],
        order=lines["column"].map(list(of).index).astype(int),
        margin=(lines["high"] - lines["low"]) / 2,
    ).rename(columns={"row": "direction"})
    ordered = found.sort_values(["order", "pairs"], kind="stable", ignore_index=True)
    return ordered[["texts", "system", "direction", "to_english", "pairs", "share", "difference", "margin"]]


def pairs_of(corpus: Corpus) -> int:
    """Return the number of training pairs of a corpus that declares it; 0 if it has all that there are."""
    whole = corpus.corpus if isinstance(corpus, Directed) else corpus
    return getattr(whole, "train", 0)


def gain_finding(found: pd.DataFrame) -> str:
    """Say how often directions gain or lose clearly over separate models, and which gains most.

    Args:
        found: rows of `gains`.
    """
    clear = found[found["difference"].abs() > found["margin"]]
    up, most = int((clear["difference"] > 0).sum()), found.loc[found["difference"].idxmax()]
    margin = "" if math.isnan(most["margin"]) else f" ± {most['margin']:.1f}"
    return (
        f"Clearly better than a separate model: {up} of {len(found)} directions and systems; worse: {len(clear) - up}. "
        f"Most is gained by {most['direction']} with {most['pairs']:,} pairs ({most['texts']}, {most['system']}): "
        f"{number(most['difference'], 1, sign=True)}{margin} BLEU."
    )


def ablation_finding(means: pd.DataFrame) -> str:
    """Return the mean score of each system, the best first.

    Args:
        means: rows of `direction_means`.
    """
    ordered = means.sort_values("mean", ascending=False, kind="stable")
    margins = ["" if math.isnan(margin) else f" ± {margin:.1f}" for margin in ordered["margin"]]
    both = zip(ordered["system"], ordered["mean"], margins, strict=True)
    said = [f"{system} {number(mean, 1)}{margin}" for system, mean, margin in both]
    return f"Mean BLEU over directions: {listed(said)}."


def ablation_figure(lines: pd.DataFrame, metric: str = "BLEU", baseline: str = "") -> go.Figure:
    """Draw the mean score of each system, such as one for each component with private units, with 95 % intervals.

    Args:
        lines: `system`, `mean` and `margin`, NaN if not known; from top to bottom.
        metric: what the mean is of.
        baseline: the system with a line across the figure, if any.
    """
    figure = go.Figure(
        go.Bar(
            x=lines["mean"], y=[plain(name) for name in lines["system"]], orientation="h",
            marker_color=[FAINT if name == baseline else COLOURS[0] for name in lines["system"]],
            error_x={"type": "data", "array": lines["margin"], "thickness": 1.5, "width": 4},
            customdata=lines["margin"],
            hovertemplate="%{y}: %{x:.2f} ± %{customdata:.2f}<extra></extra>",
        )
    )  # fmt: skip
    for mean in lines.loc[lines["system"] == baseline, "mean"]:
        figure.add_vline(mean, line={"color": FAINT, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text=f"{metric} (%), mean and 95 % interval", rangemode="tozero")
    figure.update_yaxes(title_text="system", type="category", autorange="reversed", showgrid=False)
    title = f"{metric[:1].upper()}{metric[1:]}, by what is shared and what is private"
    return dressed(figure, title, 150 + _BAR * len(lines))


def gain_figure(found: pd.DataFrame, about: str) -> go.Figure:
    """Draw what directions gain over separate models by the size of their text: a panel for each set of directions.

    Args:
        found: rows of `gains`.
        about: the group of languages.
    """
    panels = found[["texts", "to_english"]].drop_duplicates().reset_index(drop=True)
    titles = [f"{one.texts}: {'into' if one.to_english else 'from'} English" for one in panels.itertuples()]
    figure = make_subplots(cols=max(1, len(panels)), shared_yaxes=True, subplot_titles=titles)
    style = styles(found["system"])
    shown = set()
    for column, panel in enumerate(panels.itertuples(index=False), start=1):
        of_panel = found[(found["texts"] == panel.texts) & (found["to_english"] == panel.to_english)]
        for system, lines in of_panel.groupby("system", sort=False):
            name = plain(str(system))
            figure.add_scatter(
                x=lines["pairs"], y=lines["difference"], mode="lines+markers", name=name, legendgroup=name,
                showlegend=name not in shown, line=style[str(system)], customdata=lines[["direction", "margin"]],
                error_y={"type": "data", "array": lines["margin"], "thickness": 1, "width": 3},
                hovertemplate="%{customdata[0]}: %{y:+.2f} ± %{customdata[1]:.2f}<extra>" + name + "</extra>",
                row=1, col=column,
            )  # fmt: skip
            shown.add(name)
        figure.add_hline(0, line={"color": FAINT, "width": 1, "dash": "dot"}, row=1, col=column)
    sizes = sorted(set(found["pairs"]))
    ticks = {"tickvals": sizes, "ticktext": [f"{size:,}" for size in sizes]}
    figure.update_xaxes(title_text="training pairs of the direction", type="log", **ticks)
    figure.update_yaxes(title_text="BLEU minus that of a separate model", col=1)
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, f"What a direction gains in one model of many languages: {about}", 480)


def _share(setup: Setup, texts: str) -> float:
    """Return the share of a direction in the training sentences of a set of texts: pairs^τ; NaN if not declared."""
    exponent = TrainingSettings().sampling_exponent
    whole = sum(pairs_of(one) ** exponent for one in setup.texts[texts].corpora)
    return pairs_of(setup.corpus) ** exponent / whole if whole else math.nan
