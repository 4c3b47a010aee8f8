"""`nmtlab search-errors`, `nmtlab beam-sweep` and `nmtlab length-errors`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nmtlab.cli.options import Beam, Set, Source, Split, Target, Threads, open_corpus, run_recipe, say_overlap

if TYPE_CHECKING:
    import pandas as pd

    from nmtlab.recipe import MachineSettings, SearchSettings
    from nmtlab.runs.run import Run
    from nmtlab.text.corpus import ParallelCorpus

RunName = Annotated[str, typer.Argument(help="Name of a run.")]
CorpusName = Annotated[str, typer.Option(help="Corpus to translate. (default: the run's own)")]
Limit = Annotated[int | None, typer.Option(min=1, help="Sentences, the first. (default: all)")]
Score = Annotated[
    Literal["log-prob", "average", "length-normalised", "word-reward"] | None,
    typer.Option(
        help="What is searched for; alpha, gamma and coverage by --set search.alpha=... (default: log-prob)",
        show_default=False,
    ),
]
Csv = Annotated[Path | None, typer.Option("--csv", help="Also write the numbers behind it into this file.")]


def search_errors(
    run: RunName,
    corpus: CorpusName = "",
    split: Split = "test",
    limit: Limit = None,
    score: Score = None,
    budget: Annotated[
        int, typer.Option(min=1, help="Most hypotheses that exact search continues, a sentence.")
    ] = 20000,
    beam: Beam = None,
    beams: Annotated[str, typer.Option(help="Beams of other sizes that are asked as well, 1,4,100.")] = "",
    source: Source = "",
    target: Target = "",
    set_: Set = None,
    threads: Threads = None,
    csv: Csv = None,
) -> None:
    """Find the translation that the model holds to be best of all, and say how often a beam misses it.

    Each sentence's answer is kept with the run: after Ctrl-C the same command goes on.
    """
    import pandas as pd
    from tqdm import tqdm

    from nmtlab.analysis.access.measure import measure, measure_by_sentence
    from nmtlab.analysis.search.beams import described, missed_by_beams
    from nmtlab.analysis.search.search_errors import by_reference_length, error_rates
    from nmtlab.analysis.search.search_errors import search_errors as errors
    from nmtlab.cli.options import numbers
    from nmtlab.cli.tables import print_table

    sizes = numbers(beams, int, "--beams", least=1) if beams else []
    opened, text, search, machine = _asked(run, corpus, source, target, set_, threads, beam, score)
    with tqdm(total=min(limit or text.count(split), text.count(split)), unit=" sentences", disable=None) as bar:
        found = measure_by_sentence(
            opened, errors, bar.update, corpus=text, split=split, search=search, budget=budget, limit=limit,
            machine=machine,
        )  # fmt: skip
    _write(found, csv)
    say_overlap(opened, text, split)
    rates = error_rates(found)
    if not rates["complete"]:
        print(f"none of {len(found)} sentences was searched to the end within {budget:,} hypotheses: raise --budget")
        return
    shares = {"errors": "missed by the beam", "empty": "best is empty", "beam_empty": "beam's is empty"}
    print_table(
        f"{run}, {text.name} {split}: beam {search.beam_size}, {described(opened, search)}",
        ["sentences", "searched to the end", *shares.values(), "length of the best", "of the beam's", "rank of empty"],
        [
            [f"{rates['sentences']:.0f}", f"{rates['complete']:.1%}", *(f"{rates[name]:.1%}" for name in shares)]
            + [f"{rates[name]:.3f}" for name in ("length_ratio", "beam_length_ratio")]
            + [f"{rates['empty_rank']:,.0f}"]
        ],
        set(),
    )
    print("  lengths are to the reference's, in tokens; what was not searched to the end counts in the first two alone")
    print("  rank of empty: the smallest beam that the empty translation enters, the median of the sentences")
    bins = by_reference_length(found)
    ends = zip(bins["from"], bins["to"], strict=True)
    shown = {
        "tokens": pd.Series([f"{one:g} to {to:g}" if to < math.inf else f"{one:g} or more" for one, to in ends]),
        "sentences": bins["sentences"].map("{:,}".format),
        "best": bins["exact_length"].map("{:.1f}".format),
        "beam's": bins["beam_length"].map("{:.1f}".format),
        "best is empty": bins["empty"].map("{:.1%}".format),
    }
    print_table("Mean lengths, by length of the reference", list(shown), _rows(shown), set(shown) - {"tokens"})
    if not sizes:
        return
    with tqdm(total=len(sizes) * len(found), unit=" sentences", disable=None, leave=False) as bar:
        asked = {"split": split, "search": search, "budget": budget, "limit": limit, "machine": machine}
        missed = measure(opened, missed_by_beams, corpus=text, beams=sizes, on_progress=bar.update, **asked)
    shown = {"beam": missed["beam_size"].map(str), "missed": missed["errors"].map("{:.1%}".format)}
    print_table("Missed by beams", list(shown), _rows(shown), set(shown))
    print("  of what was searched to the end: translations that score below the best")


def beam_sweep(
    run: RunName,
    corpus: CorpusName = "",
    split: Split = "test",
    limit: Limit = None,
    score: Score = None,
    beams: Annotated[str, typer.Option(help="Beam sizes. (default: 1,2,4,8,12,16,32,64,100,200)")] = "",
    alphas: Annotated[str, typer.Option(help="Values of alpha, with one beam instead.")] = "",
    gammas: Annotated[str, typer.Option(help="Values of gamma, with one beam instead.")] = "",
    lengths: Annotated[
        str, typer.Option(help="How many lengths are tried, with one beam instead, of a run that plans them.")
    ] = "",
    beam: Beam = None,
    source: Source = "",
    target: Target = "",
    set_: Set = None,
    threads: Threads = None,
    csv: Csv = None,
) -> None:
    """Translate with ever larger beams, and say what becomes of BLEU, of lengths and of empty translations.

    With --split dev and --gammas or --alphas, the reward of a word or the strength of length normalisation is tuned.
    What was found is kept with the run: after Ctrl-C the same command goes on with the next value.
    """
    from tqdm import tqdm

    from nmtlab.analysis.access.checks import plans_length
    from nmtlab.analysis.search.beams import described, sweep, varied
    from nmtlab.cli.tables import print_table
    from nmtlab.errors import NmtlabError

    field, values = _swept({"--beams": beams, "--alphas": alphas, "--gammas": gammas, "--lengths": lengths}, beam)
    needed = {"alpha": "length-normalised", "gamma": "word-reward"}.get(field)
    if needed and score not in (None, needed):
        raise NmtlabError(f"--{field}s: the score {score} has none", f"leave --score out, or give {needed}")
    opened, text, search, machine = _asked(run, corpus, source, target, set_, threads, beam, needed or score)
    if field == "length_candidates" and not plans_length(opened):
        raise NmtlabError(f"--lengths: run {run!r} plans none", "choose one of the recipe 'planned'")
    searches = varied(search, field, values)
    total = len(searches) * min(limit or text.count(split), text.count(split))
    with tqdm(total=total, unit=" sentences", disable=None, leave=False) as bar:
        found = sweep(opened, text, searches, split, limit, bar.update, machine)
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
    print("  length is to the reference's, in words")


def length_errors(
    run: RunName,
    corpus: CorpusName = "",
    split: Split = "test",
    limit: Limit = None,
    source: Source = "",
    target: Target = "",
    csv: Csv = None,
) -> None:
    """Compare the lengths that a run plans with the references', and say whether it knows how sure it can be.

    What was found is kept with the run.
    """
    from nmtlab.analysis.access.measure import measure
    from nmtlab.analysis.search.lengths import length_calibration, planned_lengths
    from nmtlab.analysis.search.lengths import length_errors as errors
    from nmtlab.cli.tables import print_table

    opened, text, _, _ = _asked(run, corpus, source, target, None, None, None, None)
    found = measure(opened, planned_lengths, corpus=text, split=split, limit=limit)
    _write(found, csv)
    say_overlap(opened, text, split)
    summed = errors(found)
    shares = {"among 1": "right", "among 5": "among the 5 likeliest", "among 10": "among 10"}
    print_table(
        f"{run}, {text.name} {split}: the likeliest length against the reference's",
        ["sentences", "off by, tokens", "longer by", *shares.values()],
        [
            [f"{summed['sentences']:.0f}", f"{summed['error']:.2f}", f"{summed['bias']:.2f}"]
            + [f"{summed[name]:.1%}" for name in shares]
        ],
        set(),
    )
    bins = length_calibration(found)
    shown = {
        "sentences": bins["sentences"].map("{:,}".format),
        "probability": bins["probability"].map("{:.3f}".format),
        "right": bins["right"].map("{:.3f}".format),
        "±": bins["margin"].map("{:.3f}".format),
    }
    print_table("How often right, by how sure", list(shown), _rows(shown), set(shown))


def _swept(options: dict[str, str], beam: int | None) -> tuple[str, list[float]]:
    """Return which field is varied, and its values."""
    from nmtlab.cli.options import numbers
    from nmtlab.errors import NmtlabError

    given = [option for option, values in options.items() if values]
    if len(given) > 1:
        raise NmtlabError(f"{given[0]} and {given[1]}: one at a time", "leave one out")
    if given == ["--beams"] and beam:
        raise NmtlabError("--beams and --beam: which is it?", "leave one out")
    option = given[0] if given else "--beams"
    field, kind, least = {
        "--beams": ("beam_size", int, 1), "--alphas": ("alpha", float, 0), "--gammas": ("gamma", float, -math.inf),
        "--lengths": ("length_candidates", int, 1),
    }[option]  # fmt: skip
    return field, numbers(options[option] or "1,2,4,8,12,16,32,64,100,200", kind, option, least=least)


def _asked(
    run: str, corpus: str, source: str, target: str, set_: list[str] | None, threads: int | None, beam: int | None,
    score: str | None,
) -> "tuple[Run, ParallelCorpus, SearchSettings, MachineSettings]":  # fmt: skip
    """Return the run, the text, the way of searching and the machine that are asked for."""
    from nmtlab.analysis.access.checks import plans_length
    from nmtlab.errors import NmtlabError
    from nmtlab.runs.listing import open_run
    from nmtlab.workspace import Workspace

    workspace = Workspace.find()
    opened = open_run(run, workspace)
    if score and plans_length(opened):
        raise NmtlabError(
            f"run {run!r} plans lengths: it is searched by p(length) times p alone", "leave the score out"
        )
    own = opened.recipe.corpus
    text = open_corpus(workspace, corpus or own.name, source or own.source, target or own.target)
    recipe = run_recipe(opened.recipe, [f"search.score={score or 'log-prob'}", *(set_ or [])], threads, beam)
    return opened, text, recipe.search, recipe.machine


def _rows(columns: "dict[str, pd.Series]") -> list[list[str]]:
    return [list(row) for row in zip(*columns.values(), strict=True)]


def _write(found: "pd.DataFrame", csv: Path | None) -> None:
    from nmtlab.files import writing

    if csv:
        with writing(csv) as place:
            place.write_text(found.to_csv(index=False), encoding="utf-8")
