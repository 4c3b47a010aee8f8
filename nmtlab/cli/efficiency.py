"""`nmtlab efficiency`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nmtlab.analysis.search.stored_speed import NOISE, SETTING, marked, medians, new_file, times_file
from nmtlab.analysis.search.translation_speed import Options, Way, where_time_goes
from nmtlab.analysis.search.translation_speed import efficiency as measure
from nmtlab.cli.options import Source, Split, Target, numbers, open_text, write_csv
from nmtlab.cli.tables import print_table
from nmtlab.errors import NmtlabError, RunError
from nmtlab.interchange.folding import check_exportable
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


def efficiency(
    runs: Annotated[list[str], typer.Argument(help="Names of runs.")],
    test: Annotated[str, typer.Option(help="Corpus to translate. (default: that of the first run)")] = "",
    split: Split = "test",
    source: Source = "",
    target: Target = "",
    engines: Annotated[
        str,
        typer.Option(
            help="Engines to compare: nmtlab, ctranslate2, or ctranslate2:PRECISION. (default: nmtlab, and if it has "
            "the parts of every run, ctranslate2 and ctranslate2:int8)"
        ),
    ] = "",
    beams: Annotated[str, typer.Option(help="Beam sizes.")] = "1,4",
    batches: Annotated[str, typer.Option(help="Sizes of decoding batches: padded source tokens times beam.")] = "8192",
    threads: Annotated[str, typer.Option(help="Numbers of CPU threads.")] = "1,2",
    shortlists: Annotated[
        str, typer.Option(help="Most frequent target types to choose from, the rest never; 0 for all.")
    ] = "0",
    rounds: Annotated[int, typer.Option(min=1, help="Number of interleaved rounds.")] = 2,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="CSV file with a row for each setting and round. (default: a new one in the workspace's "
            "data/results/efficiency, which the page Efficiency shows)",
        ),
    ] = None,
) -> None:
    """Measure BLEU against time, memory and size, as in the efficiency task of WNMT 2018.

    Each measurement runs in a separate process; the time for an empty input is subtracted. What copies the source is
    measured beside the runs. A second file, FILE.times.csv, has the time by part of the network, by step and by
    sentence, with one thread. Keep the machine otherwise idle.
    """
    workspace, ways = Workspace.find(), _ways(engines) if engines else []
    first, *others = (open_run(name, workspace) for name in runs)
    ways = ways or _usual_ways([first, *others])
    first, text = open_text(first, workspace, test, source, target)
    beam_sizes, batch_tokens, counts = (
        numbers(given, int, option, 1)
        for given, option in ((beams, "--beams"), (batches, "--batches"), (threads, "--threads"))
    )
    options = Options(ways, beam_sizes, batch_tokens, counts, numbers(shortlists, int, "--shortlists", 0))
    measured = measure([first, *others], text, options, split, rounds, print)
    output = output or new_file(workspace, text.name, split)
    write_csv(measured, output)
    write_csv(where_time_goes([first, *others], text, options, split, print), times_file(output))
    shown = ["seconds", "processor_seconds", "words_per_second", "memory_mib", "size_mib", "bleu", "chrf"]
    found = marked(medians(measured), "seconds")
    found["frontier"] = found["frontier"].map({True: "*", False: ""})
    printed = found[[*SETTING, *shown, "frontier"]]
    rows = printed.map(_number).to_numpy().tolist()
    better = f"*: more than {NOISE:g} BLEU better than the faster ones with *"
    print_table(f"Medians over rounds on {text.name} {split}; {better}", list(printed.columns), rows, {*shown})
    if (found["seconds"] < found["load_seconds"] / 5).any():
        print("  some settings take less than a fifth of their loading time: measure these on a longer text")
    print(f"all measurements: {output}, {times_file(output)}")


def _number(value: object) -> str:
    return ("" if math.isnan(value) else f"{value:,.2f}") if isinstance(value, float) else str(value)


def _usual_ways(runs: Sequence[Run]) -> list[Way]:
    """Return nmtlab, and CTranslate2 in two precisions unless it lacks a part of some run, which is said."""
    try:
        for run in (run for run in runs if run.recipe.model.neural):
            check_exportable(run.name, run.recipe)
    except RunError as error:
        print(f"without ctranslate2: {error.problem}")
        return _ways("nmtlab")
    return _ways("nmtlab,ctranslate2,ctranslate2:int8")


def _ways(engines: str) -> list[Way]:
    """Parse `nmtlab,ctranslate2:int8` and the like."""
    known: dict[str, Way] = {"nmtlab": ("nmtlab", "fp32"), "ctranslate2": ("ctranslate2", "fp32")}
    known |= {f"ctranslate2:{precision}": ("ctranslate2", precision) for precision in ("fp32", "int8", "int16")}
    for name in engines.split(","):
        if name not in known:
            raise NmtlabError(f"--engines {engines}: {name!r} is unknown", f"choose from {', '.join(known)}")
    return [known[name] for name in engines.split(",")]
