"""`nmtlab search-errors`, `nmtlab beam-sweep` and `nmtlab length-errors`."""

import math
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer
from tqdm import tqdm

from nmtlab.analysis.search.beams import MISSED_BY_BEAMS, described, sweep, varied
from nmtlab.analysis.search.length_baselines import length_models
from nmtlab.analysis.search.planned_lengths import PLANNED_LENGTHS, length_calibration
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, by_reference_length, error_rates
from nmtlab.cli.options import Beam, Set, Source, Split, Target, Threads, numbers, open_text, run_recipe, say_overlap
from nmtlab.cli.tables import print_table
from nmtlab.errors import NmtlabError
from nmtlab.files import writing
from nmtlab.recipe import MachineSettings, SearchSettings
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
    Literal["log-prob", "average", "length-normalised", "word-reward"] | None,
    typer.Option(
        help="Score to maximise; set alpha, gamma and coverage by --set search.alpha=... (default: log-prob)",
        show_default=False,
    ),
]
Csv = Annotated[Path | None, typer.Option("--csv", help="Also write the underlying numbers to this file.")]


def search_errors(
    run: RunName,
    corpus: CorpusName = "",
    split: Split = "test",
    sample: SampleSize = None,
    score: Score = None,
    budget: Annotated[int, typer.Option(min=1, help="Most hypotheses that exact search expands per sentence.")] = 20000,
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
    with tqdm(total=min(sample or text.count(split), text.count(split)), unit=" sentences", disable=None) as bar:
        found = SEARCH_ERRORS.of(
            opened, bar.update, corpus=text, split=split, search=search, budget=budget, sample=sample,
            machine=machine,
        )  # fmt: skip
    _write(found, csv)
    say_overlap(opened, text, split)
    rates = error_rates(found)
    if not rates["complete"]:
        print(f"none of {len(found)} sentences was searched to the end within {budget:,} hypotheses: raise --budget")
        return
    shares = {"errors": "search errors", "empty": "empty global best", "beam_empty": "empty from the beam"}
    print_table(
        f"{run}, {text.name} {split}: beam {search.beam_size}, {described(opened, search)}",
        [
            "sentences",
            "searched exactly",
            *shares.values(),
            "global best's length",
            "beam's length",
            "rank of empty",
        ],
        [
            [f"{rates['sentences']:.0f}", f"{rates['complete']:.1%}", *(f"{rates[name]:.1%}" for name in shares)]
            + [f"{rates[name]:.3f}" for name in ("length_ratio", "beam_length_ratio")]
            + [f"{rates['empty_rank']:,.0f}"]
        ],
        set(),
    )
    print("  lengths are ratios to the reference, in tokens; only the first two columns include incomplete searches")
    print("  rank of empty: the smallest beam that contains the empty translation, median over sentences")
    bins = by_reference_length(found)
    ends = zip(bins["from"], bins["to"], strict=True)
    shown = {
        "tokens": pd.Series([f"{one:g} to {to:g}" if to < math.inf else f"{one:g} or more" for one, to in ends]),
        "sentences": bins["sentences"].map("{:,}".format),
        "best": bins["exact_length"].map("{:.1f}".format),
        "beam's": bins["beam_length"].map("{:.1f}".format),
        "best is empty": bins["empty"].map("{:.1%}".format),
    }
    print_table("Mean lengths by reference length", list(shown), _rows(shown), set(shown) - {"tokens"})
    if not sizes:
        return
    with tqdm(total=len(sizes) * len(found), unit=" sentences", disable=None, leave=False) as bar:
        asked = {"split": split, "search": search, "budget": budget, "sample": sample, "machine": machine}
        missed = MISSED_BY_BEAMS.of(opened, corpus=text, beams=sizes, on_progress=bar.update, **asked)
    shown = {"beam": missed["beam_size"].map(str), "search errors": missed["errors"].map("{:.1%}".format)}
    print_table("Search errors by beam", list(shown), _rows(shown), set(shown))
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

    With --split dev, --gammas tunes the word reward, and --alphas the strength of length normalisation. Results are
    stored with the run: after Ctrl-C, the same command resumes with the next value.
    """
    field, values = _swept({"--beams": beams, "--alphas": alphas, "--gammas": gammas, "--lengths": lengths}, beam)
    needed = {"alpha": "length-normalised", "gamma": "word-reward"}.get(field)
    if needed and score not in (None, needed):
        raise NmtlabError(f"--{field}s: the score {score} has no {field}", f"leave --score out, or give {needed}")
    opened, text, search, machine = _inputs(run, corpus, source, target, set_, threads, beam, needed or score)
    if field == "length_candidates" and not opened.recipe.model.plans_length:
        raise NmtlabError(f"--lengths: run {run!r} plans no lengths", "choose a run of the recipe 'planned'")
    searches = varied(search, field, values)
    total = len(searches) * min(sample or text.count(split), text.count(split))
    with tqdm(total=total, unit=" sentences", disable=None, leave=False) as bar:
        found = sweep(opened, text, searches, split, sample, bar.update, machine)
    if field not in found:
        found.insert(0, field, values)
    _write(found, csv)
    say_overlap(opened, text, split)
    shown = {
        field.replace("beam_size", "beam"): found[field].map("{:g}".format),
        "BLEU": found["bleu"].map("{:.2f}".format),
        "length": found["length_ratio"].map("{:.3f}".format),
        "empty": found["empty"].map("{:.1%}".format),
        "cut off": found["cut_off"].map("{:.1%}".format),
        "log p": found["log_prob"].map("{:.2f}".format),
    }
    sentences = found["sentences"].iloc[0]
    how = described(opened, search) if field == "beam_size" else f"beam {search.beam_size}, {needed or 'planned'}"
    print_table(f"{run}, {text.name} {split}, {sentences:,} sentences, {how}", list(shown), _rows(shown), set(shown))
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

    Baselines that know only the length of the source stand beside it, on the corpus that it was trained on.
    Results are stored with the run.
    """
    opened, text, _, _ = _inputs(run, corpus, source, target, None, None, None, None)
    found = PLANNED_LENGTHS.of(opened, corpus=text, split=split, sample=sample)
    _write(found, csv)
    say_overlap(opened, text, split)
    lines = length_models(opened, text, split, sample)
    shares = {"among 1": "exact", "among 5": "in the top 5", "among 10": "in the top 10"}
    errors = {
        "predicted by": lines["system"],
        "mean absolute error (tokens)": lines["error"].map("{:.2f}".format),
        "mean error (tokens)": lines["bias"].map("{:.2f}".format),
        **{title: lines[name].map("{:.1%}".format) for name, title in shares.items()},
        "loss (nats)": lines["nll"].map("{:.3f}".format),
    }
    title = f"{run}, {text.name} {split}, {len(found):,} sentences: the most probable length against the reference's"
    print_table(title, list(errors), _rows(errors), set(errors) - {"predicted by"})
    bins = length_calibration(found)
    shown = {
        "sentences": bins["sentences"].map("{:,}".format),
        "probability": bins["probability"].map("{:.3f}".format),
        "accuracy": bins["right"].map("{:.3f}".format),
        "95 %": bins.apply(lambda one: f"{one['low']:.3f} to {one['high']:.3f}", axis=1),
    }
    print_table("Calibration: accuracy by predicted probability", list(shown), _rows(shown), set(shown))


def _swept(options: dict[str, str], beam: int | None) -> tuple[str, list[float]]:
    """Return the field to sweep, and its values."""
    given = [option for option, values in options.items() if values]
    if len(given) > 1:
        raise NmtlabError(f"{given[0]} and {given[1]}: one at a time", "leave one out")
    if given == ["--beams"] and beam:
        raise NmtlabError("--beams and --beam: one excludes the other", "leave one out")
    option = given[0] if given else "--beams"
    field, kind, least = {
        "--beams": ("beam_size", int, 1), "--alphas": ("alpha", float, 0), "--gammas": ("gamma", float, -math.inf),
        "--lengths": ("length_candidates", int, 1),
    }[option]  # fmt: skip
    return field, numbers(options[option] or "1,2,4,8,12,16,32,64,100,200", kind, option, least=least)


def _inputs(
    run: str, corpus: str, source: str, target: str, set_: list[str] | None, threads: int | None, beam: int | None,
    score: str | None,
) -> tuple[Run, ParallelCorpus, SearchSettings, MachineSettings]:  # fmt: skip
    """Return the run, the corpus, the search settings and the machine settings of a command."""
    workspace = Workspace.find()
    opened = open_run(run, workspace)
    if score and opened.recipe.model.plans_length:
        raise NmtlabError(f"run {run!r} plans lengths: it is only searched by p(length) times p", "leave --score out")
    opened, text = open_text(opened, workspace, corpus, source, target)
    recipe = run_recipe(opened.recipe, [f"search.score={score or 'log-prob'}", *(set_ or [])], threads, beam)
    if left_out := opened.pipeline.shortlisted(recipe.search.shortlist).left_out:
        print(left_out)
    return opened, text, recipe.search, recipe.machine


def _rows(columns: dict[str, pd.Series]) -> list[list[str]]:
    return [list(row) for row in zip(*columns.values(), strict=True)]


def _write(found: pd.DataFrame, csv: Path | None) -> None:
    if csv:
        with writing(csv) as place:
            place.write_text(found.to_csv(index=False), encoding="utf-8")
