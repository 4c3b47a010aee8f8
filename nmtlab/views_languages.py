"""Figures of many languages in one model (thesis 4.2), drawn from measured runs."""

from typing import Literal

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.experiments import Scale
from nmtlab.experiments.claims.declared import declared_claims
from nmtlab.experiments.claims.verdicts import measured_claims
from nmtlab.experiments.measures.languages import OFF_TARGET, PIVOT_BLEU, SACRE_BLEU
from nmtlab.experiments.results.many import direction_means, gains
from nmtlab.experiments.results.sentences import read_sentences
from nmtlab.experiments.results.stored import measured_cells, measured_table
from nmtlab.experiments.results.summary import interval
from nmtlab.experiments.tables.many_languages import (
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
from nmtlab.experiments.tables.related_text import GL_EN
from nmtlab.experiments.tables.transfer import TRANSFER_TRANSFORMER
from nmtlab.plots import (
    Numbers,
    View,
    ablation_figure,
    gain_figure,
)

Group = Literal["iberian", "artificial"]
"""A group of languages that models are trained on together."""

ZeroShotGroup = Literal[Group, "turkic"]
"""A group with directions that no model is trained in."""

_MEASURE = f"run 'nmtlab reproduce {MANY_LANGUAGES.name} --save'"
_MEASURE_ZERO_SHOT = f"run 'nmtlab reproduce {ZERO_SHOT.name} --save'"
_ROWS = {"iberian": IBERIAN_ROWS, "artificial": ARTIFICIAL_ROWS}
_ZERO_SHOT_ROWS = {"iberian": IBERIAN_ZERO_SHOT, "artificial": ARTIFICIAL_ZERO_SHOT, "turkic": TURKIC_ZERO_SHOT}
_CALLED = {"iberian": "Iberian languages", "artificial": "artificial languages"}


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
    cells = measured_cells(MANY_LANGUAGES.name, scale, SACRE_BLEU.name)
    means = direction_means(cells, MANY_LANGUAGES, _ROWS[group], texts, scale)
    if means.empty:
        raise NmtlabError(f"{MANY_LANGUAGES.name}: no system was measured in all {group} directions, {texts}", _MEASURE)
    return View(means, ablation_figure(means, f"{SACRE_BLEU.name} of {_CALLED[group]}", "shared"))


def gain_view(group: Group = "iberian", scale: Scale = "small") -> View:
    """Show what directions gain over separate models, by the size of their text; its table has the differences.

    The systems with one private component, which `ablation_view` shows, are left out.

    Args:
        group: of languages.
        scale: at which `many-languages` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    cells = measured_cells(MANY_LANGUAGES.name, scale, SACRE_BLEU.name)
    sentences = read_sentences(measured_table(MANY_LANGUAGES.name, scale).sentences)
    # Of all systems, which share the variance of the seeds, even of those that are not shown.
    found = gains(cells, MANY_LANGUAGES, _ROWS[group], scale, sentences)
    found = found[~found["system"].isin([system.name.removesuffix(f", {TO_MANY}") for system in ABLATIONS])]
    if found.empty:
        raise NmtlabError(f"{MANY_LANGUAGES.name}: no {group} direction has a separate and a common model", _MEASURE)
    return View(found, gain_figure(found, _CALLED[group]))


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
    stored = measured_table(MANY_LANGUAGES.name, scale)
    claims = [one for one in declared_claims() if (one.table.name, one.scale) == (MANY_LANGUAGES.name, scale)]
    compared = {one.text: one for one in claims if one.system.startswith("half private")}
    found = measured_claims(stored.path.parent, claims).dropna(subset="effect")
    found = found[found["claim"].isin(compared) & found["pair"].isin([row.name for row in _ROWS[group]])]
    if found.empty:
        raise NmtlabError(f"{MANY_LANGUAGES.name}: no {group} direction has half private units and a rival", _MEASURE)
    lines = pd.DataFrame(
        {
            "texts": [compared[claim].system.split(", ")[1] for claim in found["claim"]],
            "direction": found["pair"],
            "than": [str(compared[claim].than).split(", ")[0] for claim in found["claim"]],
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
    rows = {MANY_LANGUAGES.name: "gl-en", TRANSFER_TRANSFORMER.name: GL_EN.name}
    lines = []
    for table, row in rows.items():
        cells = measured_cells(table, scale, SACRE_BLEU.name).dropna(subset="value")
        for system, made in cells[cells["row"] == row].groupby("column", sort=False):
            mean, margin = interval(made["value"].tolist())
            lines.append((system, table, mean, margin, len(made), int(made["updates"].max())))
    names = ["system", "table", SACRE_BLEU.name, "±", "seeds", "updates"]
    return Numbers(pd.DataFrame(lines, columns=names).sort_values(SACRE_BLEU.name, ascending=False, ignore_index=True))


def zero_shot_table(group: ZeroShotGroup = "iberian", scale: Scale = "small") -> Numbers:
    """Return how each system translates in directions without training text, on average over those of a group.

    Its columns are BLEU at once and through English, the share of translations in another language, and the seeds.

    Args:
        group: of languages.
        scale: at which `zero-shot` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    names = [measure.name for measure in (SACRE_BLEU, PIVOT_BLEU, OFF_TARGET)]
    cells = pd.concat([measured_cells(ZERO_SHOT.name, scale, name) for name in names]).dropna(subset="value")
    cells = cells[cells["row"].isin([row.name for row in _ZERO_SHOT_ROWS[group]])]
    if cells.empty:
        raise NmtlabError(f"{ZERO_SHOT.name}: no {group} direction was measured", _MEASURE_ZERO_SHOT)
    cells = cells.assign(system=cells["column"].str.removesuffix(f", {TO_MANY}"))
    means = cells.pivot_table(index="system", columns="metric", values="value", sort=False)[names]
    return Numbers(means.assign(seeds=cells.groupby("system")["seed"].nunique()).reset_index())
