"""Is what nmtlab computes still the same? Prints a line `what digest` for each thing, to be compared by `diff`.

    python benchmarks/fingerprint.py [updates] [searches] [tables] [answers] [notebooks] > before.txt

Run it before and after a change of structure, on one machine, since rounding differs between processors. `updates` are
the weights and the log after 100 updates of six recipes; `searches`, what every kind of search finds with the packed
weights; `tables`, every stored table as printed, and all lines of claims; `answers`, the stored answers of the packed
runs that their analyses find; `notebooks`, the text and figures of every cell (half an hour).
"""

import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TIMES = {"seconds", "tokens_per_second", "utilisation"}
SMALL = [
    "model.dropout=0.1", "training.validate_every=50", "training.max_evaluations=2", "training.batch_tokens=512",
    "machine.threads=1", "machine.device=cpu",
]  # fmt: skip
TRANSFORMER = [
    "model.d_model=32", "model.d_ff=64", "model.heads=2", "training.warmup_updates=40", "text.vocabulary_size=300",
]  # fmt: skip
RECURRENT = ["model.d_model=32"]
TRAININGS = {
    "tied": ("tied", RECURRENT), "fixnorm-lex": ("fixnorm-lex", RECURRENT),
    "postnorm": ("postnorm", TRANSFORMER), "scalenorm": ("prenorm-fixnorm-scalenorm", TRANSFORMER),
    "planned": ("planned", TRANSFORMER), "private": ("many-shared-private", [*TRANSFORMER, "both-ways"]),
}  # fmt: skip
SEARCHES = {
    "beam": ["--beam", "4"], "greedy": ["--beam", "1"], "n-best": ["--beam", "5", "--n-best", "5"],
    "samples": ["--samples", "3", "--seed", "7"], "groups": ["--beam", "4", "--groups", "2"],
}  # fmt: skip
LINES = {
    "multi30k-de-en.small": "Ein Hund läuft im Schnee.\nZwei Frauen kochen in einer Küche.\n\nEin Xylophon.\n",
    "small-qaa-en.tied.s1": "Yin Tantivel cheryenarni utoqadi , sed rusiyan les Karlimer ob zokduni ten echoddi .\n",
    "small-tr-en.fixnorm-lex.s1": "Tom dün bana bir kitap verdi .\nBana kızgın mısınız?\n",
}  # fmt: skip


def main() -> None:
    kinds = {"updates": updates, "searches": searches, "tables": tables, "answers": answers, "notebooks": notebooks}
    for kind in sys.argv[1:] or kinds:
        for name, digest in kinds[kind]():
            print(f"{kind}: {name} {digest}", flush=True)


def updates() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NMTLAB_DATA"] = folder
        nmtlab("corpus", "make", "text", "--train", 1000, "--dev", 30, "--test", 30)
        for name, (recipe, changes) in TRAININGS.items():
            settings = [word for one in (*SMALL, *changes) if "=" in one for word in ("--set", one)]
            options = ["--both-ways"] if "both-ways" in changes else []
            nmtlab("train", "text", "--recipe", recipe, "--name", name, *settings, *options)
            run = Path(folder) / "runs" / name
            lines = (json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
            yield f"{name} log", digest([{k: v for k, v in line.items() if k not in TIMES} for line in lines])
            yield f"{name} weights", digest(weights(run))
            yield (
                f"{name} translations",
                digest(nmtlab("translate", name, "-i", Path(folder) / "corpora/text/test.qaa")),
            )


def weights(run: Path) -> bytes:
    from safetensors.numpy import load_file

    tensors = load_file(run / "checkpoints/last.safetensors")
    return b"".join(name.encode() + tensors[name].tobytes() for name in sorted(tensors))


def searches() -> Iterator[tuple[str, str]]:
    os.environ["NMTLAB_DATA"] = str(ROOT / "data")
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in LINES.items():
            text = Path(folder) / name
            text.write_text(lines, encoding="utf-8")
            for search, options in SEARCHES.items():
                yield f"{name} {search}", digest(nmtlab("translate", name, "-i", text, "--scores", *options))


def tables() -> Iterator[tuple[str, str]]:
    from nmtlab.thesis.claims.verdicts import measured_claims

    os.environ["NMTLAB_DATA"] = str(ROOT / "data")
    for path in sorted((ROOT / "data/evidence/results").glob("*.small.csv*")):
        name = path.name.partition(".small.csv")[0]
        yield name, digest(nmtlab("reproduce", name, "--stored"))
    for number, line in enumerate(measured_claims().to_dict("records")):
        yield f"line {number} of the claims", digest(line)


def answers() -> Iterator[tuple[str, str]]:
    from nmtlab.analysis.declared import declared_analyses
    from nmtlab.runs.listing import open_run
    from nmtlab.workspace import Workspace

    workspace = Workspace(ROOT / "data")
    for path in sorted((ROOT / "data/evidence/runs").glob("*.tar.xz")):
        run = open_run(path.name.removesuffix(".tar.xz"), workspace)
        for analysis in (one for one in declared_analyses() if one.version):
            stored = [[one.question.arguments, one.frame().to_csv()] for one in analysis.answers(run)]
            if stored:
                yield f"{run.name} {analysis.key}", digest(stored)


def notebooks() -> Iterator[tuple[str, str]]:
    import nbformat
    from nbclient import NotebookClient

    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype"
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        folders = {"metadata": {"path": path.parent}}
        NotebookClient(notebook, timeout=600, iopub_timeout=600, resources=folders).execute()
        for number, cell in enumerate(notebook.cells):
            for output in cell.get("outputs", []):
                for form, content in output.get("data", {}).items():
                    if form in ("text/plain", "application/vnd.plotly.v1+json"):
                        yield f"{path.stem} cell {number} {form}", digest(content)


def nmtlab(*words: object) -> str:
    """Return what a command prints, which must end well."""
    from nmtlab.cli import main as command

    printed, notes = io.StringIO(), io.StringIO()
    sys.argv = ["nmtlab", *map(str, words)]
    with redirect_stdout(printed), redirect_stderr(notes):
        try:
            command()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{sys.argv}: {notes.getvalue()}") from end
    return printed.getvalue()


def digest(content: Any) -> str:
    raw = content if isinstance(content, bytes) else json.dumps(content, sort_keys=True, default=str).encode()
    return hashlib.sha256(raw).hexdigest()[:16]


if __name__ == "__main__":
    main()
