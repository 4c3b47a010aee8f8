"""Does a second opinion choose better translations, and does disagreement tell which are wrong? (survey 7.5)

The second opinion is that of a run that writes from right to left (Liu et al. 2016); the control, that of another seed.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import USABLE_BLEU, Metric, Scoring
from nmtlab.analysis.access.needs import DECODING, Need
from nmtlab.analysis.lexical.embedding_norms import spearman
from nmtlab.analysis.search.n_best import Lists
from nmtlab.analysis.search.reranked import chosen_on_dev
from nmtlab.analysis.search.reranking import TITLES
from nmtlab.errors import NmtlabError, RunError
from nmtlab.figures.words import listed, number
from nmtlab.recipe import Recipe
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.packed import workspace_of
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

WAYS = {"alone": "its own features", "by_seed": "another seed", "by_direction": "a run from right to left"}
"""Column of `second_opinion` -> by what its translations are chosen from n-best lists."""

REVERSED = Need(
    "writes from left to right",
    "it writes from left to right",
    "choose a run with text.reversed_target = true",
    lambda run: run.recipe.text.reversed_target,
)


def second_opinion(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    size: int = 20,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Let a run from right to left, and another seed, score the lists of the run that differs in its direction alone.

    A stored answer stays that of the runs that were there when it was first asked.

    Args:
        run: writes from right to left; the two others are beside it (`from_left_to_right`).
        size: as of `n_best`, whose answers are stored with the run that translates.

    Returns:
        A row for each sentence: `line` in the text, from 1; for each of `WAYS` the translation that is chosen by the
        weights of highest dev BLEU of log p, length and expected chrF, and of log p by another seed, or by the run; of
        the search's first translation, in nats per token of it, `log_prob`, and how far that is from log p of the other
        seed, `from_seed`, and of the run, `from_direction`; and its sentence `chrf`.

    Raises:
        RunError: the run writes from left to right, or one of the others is not there.
    """
    first, control = from_left_to_right(run)
    columns: dict[str, Any] = {}
    for way, second in zip(WAYS, (None, control, run), strict=True):
        lists, chosen = chosen_on_dev(first, corpus, split, on_progress, size=size, second=second, machine=machine)
        columns[way] = lists.texts(chosen)
        found = opinions(lists)
        if second:
            columns[f"from_{way.removeprefix('by_')}"] = -found["near second"]
    return pd.DataFrame({"line": lists.lines[lists.first()], **columns, **found[["log_prob", "chrf"]]})


def from_left_to_right(run: Run) -> tuple[Run, Run]:
    """Return the run beside one from right to left that differs in its direction alone, and one with another seed.

    Those that have diverged or have no weights are passed over.

    Raises:
        RunError: the run writes from left to right, or one of the others is not there.
    """
    if not run.recipe.text.reversed_target:
        raise RunError(f"run {run.name!r}: {REVERSED.problem}", REVERSED.remedy)
    by_seed: dict[int, Run] = {}
    for path in sorted(workspace_of(run).runs.glob("*/recipe.toml")):
        with suppress(NmtlabError):  # a damaged run is none of these
            other = Run(path.parent)
            alike = _training(other.recipe) == _training(run.recipe) and not other.recipe.text.reversed_target
            if alike and other.status != "diverged" and other.checkpoints.has_weights():
                by_seed.setdefault(other.recipe.training.seed, other)
    seed = run.recipe.training.seed
    others = [by_seed[one] for one in sorted(by_seed, key=lambda one: (one < seed, one)) if one != seed]
    if seed in by_seed and others:
        return by_seed[seed], others[0]
    lacking = f"a run that differs from it in {'its seed' if seed in by_seed else 'text.reversed_target'} alone"
    problem = f"run {run.name!r}: is compared with {lacking}, which is not here"
    raise RunError(problem, f"train one with {'another seed' if seed in by_seed else 'text.reversed_target = false'}")


def _training(recipe: Recipe) -> Mapping[str, Any]:
    """Return what determines a training, but for its seed and direction."""
    left_out = ("about", "machine.", "search.", "training.seed", "text.reversed_target")
    return {name: value for name, value in recipe.fields().items() if not name.startswith(left_out)}


def opinions(lists: Lists) -> pd.DataFrame:
    """Return signs of a good translation, of the search's first of each sentence, in nats per token of it.

    Returns:
        `log_prob`; for each of `channel` and `second` that the lists have, its log p under that name, and with `near `
        before it minus its distance from log_prob; and `chrf` with the reference.
    """
    places = lists.first()
    found = lists.found.iloc[places].reset_index(drop=True)
    signs = pd.DataFrame({"log_prob": found["log-prob"] / found["length"].clip(lower=1)})
    for other in (one for one in ("channel", "second") if one in lists.features):
        signs[other] = found[other] / found["length"].clip(lower=1)
        signs[f"near {other}"] = -(signs[other] - signs["log_prob"]).abs()
    return signs.assign(chrf=lists.sentence_chrf[places])


def opinions_finding(found: pd.DataFrame) -> str:
    """Say how well the signs of `opinions` go with sentence chrF; empty without another opinion or ranks."""
    signs = [sign for sign in found if sign not in ("log_prob", "chrf")]
    if not signs:
        return ""
    rhos = {sign: spearman(found[sign], found["chrf"]) for sign in ("log_prob", *signs)}
    if any(map(math.isnan, rhos.values())):
        return ""  # one sentence, or all alike
    said = [f"{_title(sign)} {number(rho)}" for sign, rho in rhos.items()]
    return f"Rank correlation with the sentence chrF of the search's first, per token: {listed(said)}."


def _title(sign: str) -> str:
    if sign.startswith("near "):
        return f"how near {TITLES[sign.removeprefix('near ')]} is to it"
    return TITLES["log-prob" if sign == "log_prob" else sign]


def _bleu(way: str) -> Metric:
    label = f"BLEU of lists reranked by {WAYS[way]}"
    scoring = Scoring(made_by=label, column=way)
    return Metric(
        f"reranked-{way.replace('_', '-')}-bleu", label, "score", "BLEU", needs=(REVERSED,), scoring=scoring,
        usable=USABLE_BLEU, if_diverged=0.0,
    )  # fmt: skip


def _correlation(column: str, label: str) -> Metric:
    """Return the metric that correlates what should tell a bad translation with 100 - chrF, by rank."""
    sign = -1 if column == "log_prob" else 1
    return Metric(
        f"rho-{column.replace('_', '-')}", f"rank correlation of {label} with errors", needs=(REVERSED,),
        read=lambda found: spearman(sign * found[column], -found["chrf"]),
    )  # fmt: skip


SECOND_OPINION = Analysis(
    "Does a run from right to left choose better from n-best lists than another seed, and find the bad translations?",
    second_opinion,
    source="Liu et al. 2016; survey 7.5",
    needs=(*DECODING, REVERSED),
    version=1,
    columns=("line", *WAYS, "log_prob", "from_seed", "from_direction", "chrf"),
    metrics=(
        *map(_bleu, WAYS),
        _correlation("log_prob", "a low log-probability"),
        _correlation("from_seed", "disagreement with another seed"),
        _correlation("from_direction", "disagreement of the two directions"),
    ),
)
