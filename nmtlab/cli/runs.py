"""`nmtlab runs`."""

from typing import Annotated

import typer

app = typer.Typer(help="List, show and remove runs.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the runs, newest first, with their best dev BLEU."""
    from nmtlab.cli.tables import print_table
    from nmtlab.runs.run import list_runs
    from nmtlab.workspace import Workspace

    runs, broken = list_runs(Workspace.find())
    rows = []
    for run in runs:
        validations = run.metrics("validation")
        best = f"{validations['bleu'].max():.2f}" if len(validations) else "-"
        step = f"{int(validations['step'].max()):,}" if len(validations) else "0"
        corpus = run.recipe.corpus
        rows.append([run.name, f"{corpus.name} {corpus.source}-{corpus.target}", run.status, step, best])
    columns = ["run", "corpus", "status", "updates", "dev BLEU"]
    if rows:
        print_table("Runs", columns, rows, {"updates", "dev BLEU"})
    else:
        print("no runs yet; 'nmtlab demo' or 'nmtlab train' makes some")
    for name in broken:
        print(f"{name}: not a whole run; 'nmtlab runs remove {name}' removes it")


@app.command()
def show(name: Annotated[str, typer.Argument(help="Name of a run.")]) -> None:
    """Show a run: status, evaluations, environment and its whole recipe."""
    import json

    from nmtlab.runs.run import open_run
    from nmtlab.workspace import Workspace

    run = open_run(name, Workspace.find())
    validations = run.metrics("validation")
    print(f"run {run.name}: {run.status}\n")
    if len(validations):
        print(validations[["step", "bleu", "perplexity", "seconds"]].round(2).to_string(index=False), "\n")
    print(json.dumps(run.environment, indent=1), "\n")
    print(run.recipe.described(), end="")


@app.command()
def remove(
    names: Annotated[list[str], typer.Argument(help="Names of runs.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove runs with all that they hold, after asking."""
    import shutil

    from nmtlab.errors import RunError
    from nmtlab.workspace import Workspace

    workspace = Workspace.find()
    folders = [workspace.run_folder(name) for name in names]
    for folder in folders:
        if not folder.is_dir():
            raise RunError(f"run {folder.name!r}: not found", "'nmtlab runs list' shows what there is")
    for folder in folders:
        if yes or typer.confirm(f"remove run {folder.name} with its checkpoints and translations?"):
            shutil.rmtree(folder)
            print(f"removed {folder.name}")
        else:
            print(f"kept {folder.name}")
