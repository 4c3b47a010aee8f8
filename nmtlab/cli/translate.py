"""`nmtlab translate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmtlab.cli.options import Beam, Set, Threads, read_text, run_recipe

if TYPE_CHECKING:
    from nmtlab.translation import Translation, Translator


def translate(
    run: Annotated[str, typer.Argument(help="Name of a run.")],
    input: Annotated[
        Path | None, typer.Option("--input", "-i", help="Text to translate. [default: standard input]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write. [default: standard output]")
    ] = None,
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(min=1, help="Translations of each line, best first.")] = 1,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Put line number, score and log-probability before each, separated by tabs."),
    ] = False,
    last: Annotated[bool, typer.Option("--last", help="Use the last checkpoint instead of the best.")] = False,
    set_: Set = None,
    threads: Threads = None,
) -> None:
    """Translate text, a sentence a line; a blank line stays blank."""
    from nmtlab.errors import RecipeError
    from nmtlab.runs.run import open_run
    from nmtlab.systems import open_system
    from nmtlab.workspace import Workspace

    opened = open_run(run, Workspace.find())
    recipe = run_recipe(opened.recipe, set_, threads, beam)
    if n_best > recipe.search.beam_size:
        raise RecipeError(
            f"--n-best {n_best} is more than the beam size {recipe.search.beam_size}", f"add --beam {n_best} or more"
        )
    lines = read_text(input)
    system = open_system(opened, recipe.search, "last" if last else "best", recipe.machine)
    shown = [
        row
        for number, translation in enumerate(_with_progress(system, lines, n_best), start=1)
        for row in _rows(number, translation, scores)
    ]
    if output is None:
        for row in shown:
            print(row)
    else:
        from nmtlab.text.files import write_lines

        write_lines(output, shown)


def _with_progress(system: "Translator", lines: list[str], n_best: int) -> "list[Translation]":
    from tqdm import tqdm

    with tqdm(total=len(lines), unit=" sentences", disable=None, leave=False) as bar:
        return system.translate(lines, n_best, on_progress=bar.update)


def _rows(number: int, translation: "Translation", scores: bool) -> list[str]:
    if not scores:
        return translation.texts
    if not translation.hypotheses:
        return [f"{number}\t0.0000\t0.0000\t"]
    found = zip(translation.texts, translation.hypotheses, strict=True)
    return [f"{number}\t{h.score:.4f}\t{h.log_prob:.4f}\t{text}" for text, h in found]
