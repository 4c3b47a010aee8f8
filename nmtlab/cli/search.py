"""`nmtlab search-errors`, `nmtlab beam-sweep` and `nmtlab length-errors`."""

import math
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from nmtlab.analysis.search.beams import MISSED_BY_BEAMS, described, learned_reward, sweep, varied
from nmtlab.analysis.search.length_baselines import length_models
from nmtlab.analysis.search.planned_lengths import PLANNED_LENGTHS, length_calibration
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, by_reference_length, error_rates
from nmtlab.cli.options import (
    Beam,
    Set,
    Source,
    Split,
    Target,
    Threads,
    changed,
    numbers,
    open_text,
    run_recipe,
    say_overlap,
    sentence_bar,
    write_csv,
)
from nmtlab.cli.tables import print_frame, print_table
from nmtlab.errors import NmtlabError
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.recipe.search import Score as Form
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

RunName = Annotated[str, typer.Argument(help="Name of a run.")]
CorpusName = Annotated[str, typer.Option(help="Corpus to translate. (default: that of the run)")]
SampleSize = Annotated[
    int | None, typer.Option("--sample", min=1, help="Use a sample of this many sentences. (default: all)")
]
Score = Annotated[
    Form | None,
    typer.Option(
        help="Score to maximise; set alpha, gamma and coverage by --set search.alpha=... (default: log-prob)",
        show_default=False,
    ),
]
Csv = Annotated[Path | None, typer.Option("--csv", help="Also write the underlying numbers to this file.")]

_OF_LEARNING = [("tokens lacking", "gap", "{:.2f}")]
_OF_SWEEP = [
    ("length", "length_ratio", "{:.3f}"), ("empty", "empty", "{:.1%}"), ("cut off", "cut_off", "{:.1%}"),
    ("log p", "log_prob", "{:.2f}"),
]  # fmt: skip


def search_errors(
    run: RunName,
    corpus: CorpusName = "",
    split: Split = "test",
    sample: SampleSize = None,
    score: Score = None,
    budget: Annotated[int, typer.Option(min=1, help="Maximum expansions of exact search per sentence.")] = 20000,
    beam: Beam = None,
    beams: Annotated[str, typer.Option(help="Further beam sizes to evaluate, such as 1,4,100.")] = "",
    source: Source = "",
    target: Target = "",
    set_: Set = None,
    threads: Threads = None,
    csv: Csv = None,
) -> None:
    """Find the model's global best translations by exact search, and report how often a beam misses them.

    The result of each sentence is stored with the run: after Ctrl-C, the same command resumes.
    """
    sizes = numbers(beams, int, "--beams", least=1) if beams else []
    opened, text, search, machine = _inputs(run, corpus, source, target, set_, threads, beam, score)
    asked = {"split": split, "search": search, "budget": budget, "sample": sample, "machine": machine}
    with sentence_bar(_drawn(text, split, sample)) as bar:
        found = SEARCH_ERRORS.of(opened, bar.update, corpus=text, **asked)
    _report(found, csv, opened, text, split)
    rates = error_rates(found)
    if not rates["complete"]:
        print(f"exact search finished for none of {len(found)} sentences within {budget:,} expansions: raise --budget")
        return
    columns = ["sentences", "searched exactly", "search errors", "empty global best", "empty from the beam"]
    columns += ["global best's length", "beam's length", "rank of empty"]
    shares = (f"{rates[name]:.1%}" for name in ("complete", "errors", "empty", "beam_empty"))
    ratios = (f"{rates[name]:.3f}" for name in ("length_ratio", "beam_length_ratio"))
    row = [f"{rates['sentences']:.0f}", *shares, *ratios, f"{rates['empty_rank']:,.0f}"]
    how = f"beam {search.beam_size}, {described(opened, search)}"
    print_table(f"{run}, {text.name} {split}: {how}", columns, [row], set())
    print("  lengths are ratios to the reference, in tokens; only the first two columns include incomplete searches")
    print("  rank of empty: the smallest beam that contains the empty translation, median over sentences")
    bins = by_reference_length(found)
    bins["tokens"] = [
        f"{first:g} to {last:g}" if last < math.inf else f"{first:g} or more"
        for first, last in zip(bins["from"], bins["to"], strict=True)
    ]
    shown = [("tokens", "tokens", "{}"), ("sentences", "sentences", "{:,}"), ("best", "exact_length", "{:.1f}")]
    shown += [("beam's", "beam_length", "{:.1f}"), ("best is empty", "empty", "{:.1%}")]
    print_frame("Mean lengths by reference length", bins, shown)
    if not sizes:
        return
    with sentence_bar(len(sizes) * len(found)) as bar:
        missed = MISSED_BY_BEAMS.of(opened, corpus=text, beams=sizes, on_progress=bar.update, **asked)
    print_frame("Search errors by beam", missed, [("beam", "beam_size", "{:d}"), ("search errors", "errors", "{:.1%}")])
    print("  share of the exactly searched sentences whose translation scores below the global best")


def beam_sweep(
    run: RunName,
    corpus: CorpusName = "",
    split: Split = "test",
    sample: SampleSize = None,
    score: Score = None,
    beams: Annotated[str, typer.Option(help="Beam sizes. (default: 1,2,4,8,12,16,32,64,100,200)")] = "",
    alphas: Annotated[str, typer.Option(help="Values of alpha to sweep at a single beam size.")] = "",
    gammas: Annotated[str, typer.Option(help="Values of gamma to sweep at a single beam size.")] = "",
    learn_gamma: Annotated[
        int, typer.Option(min=0, metavar="UPDATES", help="Learn gamma from how many tokens translations lack.")
    ] = 0,
    lengths: Annotated[
        str, typer.Option(help="Numbers of lengths to try at a single beam size, for a run that plans lengths.")
    ] = "",
    beam: Beam = None,
    source: Source = "",
    target: Target = "",
    set_: Set = None,
    threads: Threads = None,
    csv: Csv = None,
) -> None:
    """Translate with larger and larger beams, and report BLEU, lengths and empty translations.

    With --split dev, --gammas tunes the word reward, and --alphas the strength of length normalisation; --learn-gamma
    finds the reward by which translations have as many tokens as the references, a row for each value on the way.
    Results are stored with the run: after Ctrl-C, the same command resumes with the next value.
    """
    learned = {"--learn-gamma": "0" if learn_gamma else ""}
    options = {"--beams": beams, "--alphas": alphas, "--gammas": gammas, "--lengths": lengths, **learned}
    field, values = _swept(options, beam)
    swept = next((one for one in set_ or [] if one.startswith(f"search.{field}=")), "")
    if swept and not learn_gamma:
        raise NmtlabError(f"--set {swept}: its values are swept", "leave it out")
    if learn_gamma and split == "test":
        raise NmtlabError("--learn-gamma: it would learn from test", "give --split dev")
    needed = _needed_score(field, score, "--learn-gamma" if learn_gamma else f"--{field}s")
    opened, text, search, machine = _inputs(run, corpus, source, target, set_, threads, beam, needed or score)
    if field == "length_candidates" and not opened.recipe.model.plans_length:
        raise NmtlabError(f"--lengths: run {run!r} plans no lengths", "choose a run of the recipe 'planned'")
    searches = varied(search, field, values)
    with sentence_bar((len(searches) + learn_gamma) * _drawn(text, split, sample)) as bar:
        more: dict[str, Any] = {"split": split, "sample": sample, "on_progress": bar.update, "machine": machine}
        if learn_gamma:
            found = learned_reward(opened, text, learn_gamma, search=search, **more)
        else:
            found = sweep(opened, text, searches, **more)
    if field not in found:
        found.insert(0, field, values)
    found.insert(found.columns.get_loc("gamma") + 1, "reward_ratio", search.reward_ratio)
    _report(found, csv, opened, text, split)
    how = described(opened, search) if field == "beam_size" else f"beam {search.beam_size}, {needed or 'planned'}"
    title = f"{run}, {text.name} {split}, {found['sentences'].iloc[0]:,} sentences, {how}"
    shown = [(field.replace("beam_size", "beam"), field, "{:g}"), ("BLEU", "bleu", "{:.2f}")]
    print_frame(title, found, [*shown, *(_OF_LEARNING if learn_gamma else ()), *_OF_SWEEP])
    print("  length is the ratio to the reference, in words")


def length_errors(
    run: RunName,
    corpus: CorpusName = "",
    split: Split = "test",
    sample: SampleSize = None,
    source: Source = "",
    target: Target = "",
    csv: Csv = None,
) -> None:
    """Compare the lengths that a run plans with the reference lengths, and report how well calibrated they are.

    Baselines that know only the source length are shown for comparison, on the corpus that the run was trained on.
    Results are stored with the run.
    """
    opened, text, _, _ = _inputs(run, corpus, source, target, None, None, None, None)
    found = PLANNED_LENGTHS.of(opened, corpus=text, split=split, sample=sample)
    _report(found, csv, opened, text, split)
    errors = [("predicted by", "system", "{}"), ("mean absolute error (tokens)", "error", "{:.2f}")]
    errors += [("mean error (tokens)", "bias", "{:.2f}"), ("exact", "among 1", "{:.1%}")]
    errors += [(f"in the top {most}", f"among {most}", "{:.1%}") for most in (5, 10)]
    title = f"{run}, {text.name} {split}, {len(found):,} sentences: the most probable length against the reference's"
    print_frame(title, length_models(opened, text, split, sample), [*errors, ("loss (nats)", "nll", "{:.3f}")])
    bins = length_calibration(found)
    bins["interval"] = [f"{one.low:.3f} to {one.high:.3f}" for one in bins.itertuples()]
    shown = [("sentences", "sentences", "{:,}"), ("probability", "probability", "{:.3f}")]
    shown += [("accuracy", "right", "{:.3f}"), ("95 %", "interval", "{:>}")]
    print_frame("Calibration: accuracy by predicted probability", bins, shown)


def _swept(options: dict[str, str], beam: int | None) -> tuple[str, list[float]]:
    """Return the field to sweep, and its values."""
    given = [option for option, values in options.items() if values]
    if len(given) > 1:
        raise NmtlabError(f"{given[0]} and {given[1]}: only one at a time", "leave one out")
    if given == ["--beams"] and beam:
        raise NmtlabError("--beams and --beam: mutually exclusive", "leave one out")
    option = given[0] if given else "--beams"
    known: dict[str, tuple[str, type[float], float]] = {
        "--beams": ("beam_size", int, 1), "--alphas": ("alpha", float, 0), "--gammas": ("gamma", float, -math.inf),
        "--lengths": ("length_candidates", int, 1), "--learn-gamma": ("gamma", float, 0),
    }  # fmt: skip
    field, kind, least = known[option]
    return field, numbers(options[option] or "1,2,4,8,12,16,32,64,100,200", kind, option, least=least)


def _needed_score(field: str, score: Form | None, option: str) -> Form | None:
    """Return the score that a swept field needs, None if any has it; raise an error if another is asked for."""
    if field not in ("alpha", "gamma"):
        return None
    needed: Form = "length-normalised" if field == "alpha" else "word-reward"
    if field == "gamma" and score == "bounded-reward":
        return score
    if score not in (None, needed):
        raise NmtlabError(f"{option}: the score {score} has no {field}", f"leave --score out, or give {needed}")
    return needed


def _inputs(
    run: str, corpus: str, source: str, target: str, set_: list[str] | None, threads: int | None, beam: int | None,
    score: str | None,
) -> tuple[Run, ParallelCorpus, SearchSettings, MachineSettings]:  # fmt: skip
    """Return the run, the corpus, the search settings and the machine settings of a command."""
    workspace = Workspace.find()
    opened = open_run(run, workspace)
    if score and opened.recipe.model.plans_length:
        raise NmtlabError(f"run {run!r} plans lengths: its score is p(length) · p(tokens)", "leave --score out")
    opened, text = open_text(opened, workspace, corpus, source, target)
    scored = changed(opened.recipe, [f"search.score={score or 'log-prob'}"], None)
    recipe = run_recipe(scored, set_, threads, beam)
    if left_out := opened.pipeline.shortlisted(recipe.search.fixed_shortlist).left_out:
        print(left_out)
    return opened, text, recipe.search, recipe.machine


def _drawn(text: ParallelCorpus, split: str, sample: int | None) -> int:
    return min(sample or text.count(split), text.count(split))


def _report(found: pd.DataFrame, csv: Path | None, run: Run, text: ParallelCorpus, split: str) -> None:
    """Write the numbers if a file is named, and print a warning if the text overlaps with the training text."""
    if csv:
        write_csv(found, csv)
    say_overlap(run, text, split)
