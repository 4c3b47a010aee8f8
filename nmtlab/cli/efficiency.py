"""`nmtlab efficiency`."""

from pathlib import Path
from typing import Annotated

import typer

from nmtlab.cli.options import Source, Split, Target, numbers, open_text

ENGINES = "nmtlab,ctranslate2,ctranslate2:int8"


def efficiency(
    runs: Annotated[list[str], typer.Argument(help="Names of runs.")],
    test: Annotated[str, typer.Option(help="Corpus to translate. (default: that of the first run)")] = "",
    split: Split = "test",
    source: Source = "",
    target: Target = "",
    engines: Annotated[
        str, typer.Option(help="Engines to compare: nmtlab, ctranslate2, or ctranslate2:PRECISION.")
    ] = ENGINES,
    beams: Annotated[str, typer.Option(help="Beam sizes.")] = "1,4",
    batches: Annotated[str, typer.Option(help="Sizes of a decoding batch: padded source tokens times beam.")] = "8192",
    threads: Annotated[str, typer.Option(help="Numbers of CPU threads.")] = "1,2",
    rounds: Annotated[int, typer.Option(min=1, help="How often everything is measured, in turns.")] = 2,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="CSV file with a row for each setting and round.")
    ] = Path("efficiency.csv"),
) -> None:
    """Measure BLEU against time, memory and size, as the efficiency task of WNMT 2018 does.

    Each measurement is a process of its own, and the time that an empty input takes is subtracted. Let the machine do
    nothing else.
    """
    from nmtlab.analysis.search.efficiency import SETTING, Options, frontier
    from nmtlab.analysis.search.efficiency import efficiency as measure
    from nmtlab.cli.tables import print_table
    from nmtlab.files import writing
    from nmtlab.runs.listing import open_run
    from nmtlab.workspace import Workspace

    workspace = Workspace.find()
    first, *others = (open_run(name, workspace) for name in runs)
    first, text = open_text(first, workspace, test, source, target)
    beam_sizes, batch_tokens, counts = (
        numbers(given, int, option, 1)
        for given, option in ((beams, "--beams"), (batches, "--batches"), (threads, "--threads"))
    )
    options = Options(_ways(engines), beam_sizes, batch_tokens, counts)
    measured = measure([first, *others], text, options, split, rounds, print)
    with writing(output) as temporary:
        measured.to_csv(temporary, index=False)
    shown = ["words_per_second", "memory_mib", "size_mib", "bleu"]
    means = measured.groupby(SETTING, sort=False)[["seconds", *shown]].median().reset_index()
    means["frontier"] = frontier(means, "seconds").map({True: "*", False: ""})
    rows = [
        [
            *map(str, row[: len(SETTING)]),
            f"{row[len(SETTING)]:.2f}",
            *(f"{value:,.1f}" for value in row[len(SETTING) + 1 : -1]),
            row[-1],
        ]
        for row in means.itertuples(index=False)
    ]
    title = f"Medians of {rounds} rounds on {text.name} {split}; *: nothing is as good in less time"
    print_table(title, list(means.columns), rows, {"seconds", *shown})
    print(f"all measurements: {output}")


def _ways(engines: str) -> list[tuple[str, str]]:
    """Parse `ctranslate2:int8` and the like."""
    from nmtlab.errors import NmtlabError

    ways = [
        (engine, precision or "fp32") for engine, _, precision in (name.partition(":") for name in engines.split(","))
    ]
    known = [("nmtlab", "fp32"), *(("ctranslate2", precision) for precision in ("fp32", "int8", "int16"))]
    for way in ways:
        if way not in known:
            raise NmtlabError(
                f"--engines {engines}: {':'.join(way)} is unknown",
                f"choose from {', '.join(':'.join(one) for one in known)}",
            )
    return ways
