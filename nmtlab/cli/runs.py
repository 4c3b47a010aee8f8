"""`nmtlab runs`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from nmtlab.alignment.phrases import LONGEST
from nmtlab.alignment.table import LexicalTable
from nmtlab.analysis.access.needs import ALONE, NEURAL, ONE_SOURCE, check_needs
from nmtlab.analysis.access.reference_links import reference_links
from nmtlab.cli.answer import Answer, Json, print_answer
from nmtlab.cli.options import Threads, check_belongs, open_text, run_recipe
from nmtlab.cli.runs_list import NOT_EVALUATED
from nmtlab.cli.tables import print_table
from nmtlab.errors import NmtlabError, RunError
from nmtlab.runs.archive import ENDING
from nmtlab.runs.listing import open_run, remove_run
from nmtlab.runs.pack import dev_sentences
from nmtlab.runs.pack import pack as pack_run
from nmtlab.runs.pack import unpack as unpack_run
from nmtlab.runs.packed import open_packed
from nmtlab.runs.run import Run
from nmtlab.runs.schemas import Status
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.links import aligned_path, format_alignment, has_gold_links
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.training.inheritance import Inheritance
from nmtlab.workspace import Workspace

_FREQUENT, _TRANSLATIONS, _PHRASES = 100, (5, 10, 20, 50, 100), (10, 50, 100)  # in the lists that `align` shows


class DevEvaluation(Answer):
    """An evaluation on dev during training, in `RunShown`."""

    step: int
    """Updates before it."""
    bleu: float
    """Dev BLEU, in percent; the mean over directions if there are several."""
    chrf: float | None
    """Dev chrF, in percent; the mean over directions if there are several."""
    perplexity: float | None
    """Per token of the dev references."""
    seconds: float
    """Of training before it."""


class DirectionScore(Answer):
    """The best score in a direction that a run was trained in, in `RunShown`."""

    direction: str
    """Codes of the languages, as `gl-en`."""
    dev_bleu: float | None
    """The best of all evaluations, in percent."""


class RunShown(Answer):
    """What `nmtlab runs show --json` prints."""

    name: str
    """Of the run."""
    status: Status
    """How its training ended, or that it is running or was interrupted."""
    overlap: str
    """How much of dev and test is also in its training text, as a sentence; empty if nothing is."""
    limitations: str
    """What a packed or imported run cannot do, as a sentence; empty for any other."""
    updates: int
    """Updates so far; 0 for an imported model."""
    dev_bleu: float | None
    """Of the best checkpoint, in percent; the mean over directions if there are several."""
    evaluations: list[DevEvaluation]
    """In order; none of an imported run."""
    directions: list[DirectionScore]
    """The directions that it was trained in."""
    loss_terms: dict[str, float] | None
    """Loss per target token at the last logged update, as `loss`, and the terms that it is the sum of."""
    inheritance: dict[str, Any] | None
    """What a child has from its parent."""
    environment: dict[str, Any]
    """Versions, kind of machine and checksums of the texts that it was made with."""
    recipe: dict[str, Any]
    """Its complete recipe, by section."""


def show(name: Annotated[str, typer.Argument(help="Name of a run.")], as_json: Json = False) -> None:
    """Show a run: status, evaluations, environment and complete recipe, and the limitations of a packed run.

    For a run of several directions, also the best dev BLEU of each.
    """
    run = open_run(name, Workspace.find())
    if as_json:
        print_answer(_shown(run))
        return
    validations = run.log.metrics("validation")
    print(f"run {run.name}: {run.log.made_of or run.status}\n")
    if run.overlap:
        print(f"{run.overlap}.\n")
    if run.inheritance:
        print(f"{Inheritance.of(run.inheritance).summary()}\n")
    if run.origin.limitations:
        print(f"{run.origin.limitations[0].upper()}{run.origin.limitations[1:]}.\n")
    if len(validations):
        columns = validations.columns.intersection(["step", "bleu", "chrf", "perplexity", "seconds"], sort=False)
        print(validations[columns].round(2).to_string(index=False), "\n")
    if len(run.directions) > 1:
        best = ", ".join(
            f"{name} not evaluated" if bleu is None else f"{name} {bleu:.2f}"
            for name, bleu in _best_by_direction(run).items()
        )
        print(f"best dev BLEU by direction: {best}\n")
    if terms := _last_terms(run):
        summed = " + ".join(f"{value:.2f} {term.replace('_', ' ')}" for term, value in terms.items() if term != "loss")
        print(f"loss per target token at the last logged update: {terms['loss']:.2f} = {summed}\n")
    print(json.dumps(run.environment, indent=1), "\n")
    print(run.recipe.described(), end="")


def _shown(run: Run) -> RunShown:
    """Return what is known of a run."""
    logged = run.log.metrics("validation").reindex(columns=["step", "bleu", "chrf", "perplexity", "seconds"])
    unmeasured = {"chrf": "measured if training.select_by is chrf", "perplexity": "not finite, or not measured"}
    reasons = {
        **NOT_EVALUATED,
        "loss_terms": "no update was logged, or its loss was not finite",
        "inheritance": "trained without a parent",
    }
    return RunShown.of(
        reasons,
        name=run.name,
        status=run.status,
        overlap=run.overlap,
        limitations=run.origin.limitations,
        updates=run.log.last_step,
        dev_bleu=run.checkpoints.best_bleu,
        evaluations=[DevEvaluation.of(unmeasured, **row) for row in logged.to_dict("records")],
        directions=[
            DirectionScore.of(NOT_EVALUATED, direction=name, dev_bleu=bleu)
            for name, bleu in _best_by_direction(run).items()
        ],
        loss_terms=_last_terms(run),
        inheritance=run.inheritance,
        environment=run.environment,
        recipe=run.recipe.model_dump(mode="json"),
    )


def _best_by_direction(run: Run) -> dict[str, float | None]:
    """Return the trained directions, such as `gl-en`, each with its best dev BLEU; None if it was not evaluated."""
    named = ["-".join(direction) for direction in run.directions]
    if len(named) == 1:
        return {named[0]: run.checkpoints.best_bleu}
    best: dict[str, float] = {}
    for evaluation in run.log.metrics("validation").get("directions", []):
        for direction, bleu in evaluation.items():
            best[direction] = max(bleu, best.get(direction, bleu))
    return {name: best.get(name) for name in named}


def _last_terms(run: Run) -> dict[str, float] | None:
    """Return `loss` at the last logged update, and the terms that it is the sum of; None if no update was logged."""
    from nmtlab.analysis.dynamics.curves import loss_curve  # late, as all that loads torch: a list of runs needs none

    losses = loss_curve(run)
    last = losses[losses["step"] == losses["step"].max()]
    return dict(zip(last["term"], last["value"], strict=True)) or None


def remove(
    names: Annotated[list[str], typer.Argument(help="Names of runs.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Remove runs with all their files, after confirmation."""
    workspace = Workspace.find()
    folders = [_removable_folder(name, workspace) for name in names]
    for folder in folders:
        if yes or typer.confirm(f"remove run {folder.name} with its checkpoints and translations?"):
            remove_run(folder)
            print(f"removed {folder.name}")
        else:
            print(f"kept {folder.name}")


def import_(
    folder: Annotated[Path, typer.Argument(help="Folder with config.json, weights and tokenizer of the model.")],
    name: Annotated[str, typer.Option(help="Name of the new run.")],
    source: Annotated[str, typer.Option(help="Source languages, comma-separated; the folder may name them.")] = "",
    target: Annotated[str, typer.Option(help="Target languages, comma-separated; the folder may name them.")] = "",
    corpus: Annotated[str, typer.Option(help="Corpus whose training text supplies word frequencies.")] = "",
    half: Annotated[bool, typer.Option("--half", help="Store and use the weights in half precision.")] = False,
) -> None:
    """Make a run from a Marian, M2M-100 or NLLB model, as stored by huggingface_hub.

    It translates and can be analysed like any other run, and 'nmtlab train CORPUS --from RUN' goes on from it.
    """
    from nmtlab.interchange.huggingface import import_model

    workspace = Workspace.find()
    sources, targets = ([code for code in text.split(",") if code] for text in (source, target))
    first = (codes[0] if codes else "" for codes in (sources, targets))
    text = open_corpus(corpus, workspace, *first) if corpus else None
    run = import_model(folder, name, workspace, sources, targets, text, half)
    print(f"run {run.name}: {', '.join('-'.join(direction) for direction in run.directions)}; {run.origin.limitations}")
    print(f"next: nmtlab translate {run.name}")


def export(
    name: Annotated[str, typer.Argument(help="Name of a run of a Transformer.")],
    to: Annotated[Literal["huggingface", "ctranslate2"], typer.Option(help="Target format.")],
    folder: Annotated[Path, typer.Option(help="New folder to write the model to.")],
    precision: Annotated[
        Literal["fp32", "int8", "int16"], typer.Option(help="Precision of the matrices stored for CTranslate2.")
    ] = "fp32",
    source: Annotated[str, typer.Option(help="Source language, if the run has several.")] = "",
    target: Annotated[str, typer.Option(help="Target language, if the run has several.")] = "",
    vocabulary_map: Annotated[
        int,
        typer.Option(
            min=0,
            max=10_000,
            metavar="N",
            help="Add a vocabulary map for CTranslate2, with the N most frequent types and the N most probable "
            "translations of each source type. (default: none)",
            show_default=False,
        ),
    ] = 0,
    ngrams: Annotated[
        int | None,
        typer.Option(
            min=1, max=LONGEST, help="The map has phrases of source n-grams of up to so many tokens instead of types."
        ),
    ] = None,
) -> None:
    """Write a run's model as a folder for the transformers library or for CTranslate2, with a model card.

    Hugging Face's Marian can represent PostNorm with LayerNorm, its Pegasus PreNorm with LayerNorm and one table;
    CTranslate2 supports every norm. An unsupported component is reported by name, and nothing is written.
    """
    check_belongs("--vocabulary-map", vocabulary_map, {"--ngrams": ngrams})
    workspace = Workspace.find()
    if workspace.runs.resolve() in folder.resolve().parents:
        raise NmtlabError(f"--folder {folder}: among the runs, but it will not be one", "choose another place")
    run = open_run(name, workspace)
    if source or target:
        run = run.directed(source, target)

    from nmtlab.analysis.access.scoring import stored_scores  # after the names are checked: it loads torch
    from nmtlab.interchange.export import export_model

    export_model(run, to, folder, precision, stored_scores(run, workspace), vocabulary_map, ngrams or 0)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"exported {name} to {folder} ({size / 1e6:,.1f} MB); README.md there says how to use it")


Weights = Annotated[bool, typer.Option("--weights", help="Add the best checkpoint in half precision, if it is small.")]
Sentences = Annotated[
    int, typer.Option(min=0, max=200, help="Number of dev sentences to add, with references and translations.")
]
Licence = Annotated[str, typer.Option(help="Name of the licence that permits redistribution of the corpus.")]


def pack(
    name: Annotated[str, typer.Argument(help="Name of a run.")],
    weights: Weights = False,
    sentences: Sentences = 0,
    licence: Licence = "",
    to: Annotated[Path, typer.Option(help="Folder to write the file NAME.tar.xz to.")] = Path(),
    threads: Threads = None,
) -> None:
    """Pack a run as a file to share, with all that can be shown without its model."""
    workspace = Workspace.find()
    run, target = open_run(name, workspace), to / f"{name}{ENDING}"
    with sentences_to_pack(run, workspace, sentences, licence, threads) as text:
        pack_run(run, target, weights, text)
    left_out = "" if weights else ", without its model, which --weights adds"
    print(f"packed {name} into {target} ({target.stat().st_size / 1000:,.0f} kB){left_out}")


def unpack(
    file: Annotated[Path, typer.Argument(help="A packed run, NAME.tar.xz.")],
    name: Annotated[str, typer.Option(help="Name of the new run. (default: that of the packed run)")] = "",
) -> None:
    """Make a run from the file of a packed run."""
    run = unpack_run(file, Workspace.find(), name)
    print(f"run {run.name}: {run.status}; {run.origin.limitations}")


def align(
    name: Annotated[str, typer.Argument(help="Name of a run.")],
    phrases: Annotated[
        bool, typer.Option("--phrases", help="Keep the translations of up to three tokens in a row instead.")
    ] = False,
) -> None:
    """Align the words of a run's training text, and keep p(target | source) with the run, for shortlists.

    The table shows what lists of the 100 most frequent types and some translations of each source type contain.
    """
    workspace = Workspace.find()
    run = open_run(name, workspace)
    check_needs(run, [NEURAL, ONE_SOURCE, ALONE])

    from nmtlab.search.shortlist import Shortlist  # after the name is checked: they load torch
    from nmtlab.training.lexicon import align_phrases, align_run

    table = align_phrases(run, workspace) if phrases else align_run(run, workspace)
    run, text = open_text(run, workspace, "", "", "")
    pipeline, dev = run.pipeline, list(zip(*text.pairs("dev"), strict=True))
    pairs = list(zip(pipeline.encode_source(dev[0]), pipeline.encode_target(dev[1]), strict=True))
    if isinstance(table, LexicalTable):
        lists = {"type": [(n, Shortlist.of(pipeline, table, _FREQUENT, n)) for n in _TRANSLATIONS]}
    else:
        lists = {
            f"{longest}-gram": [(n, Shortlist.of_phrases(pipeline, table, _FREQUENT, n, longest)) for n in _PHRASES]
            for longest in range(1, LONGEST + 1)
        }
    rows = []
    for of, each in lists.items():
        for n, shortlist in each:
            size, share = shortlist.coverage(pairs)
            rows.append([of, f"{n:,}", f"{size:,.0f}", f"{share:.2%}"])
    columns = ["of each source", "translations", "types in a list, mean", "reference tokens in it"]
    print_table(f"{name}, {'-'.join(run.direction)}: shortlists of single dev sentences", columns, rows, {*columns})
    print(f"  of {pipeline.target_allowed.sum():,} types; a batch has the lists of all its sentences together")
    asked = f"--set search.shortlist={_FREQUENT} --set search.shortlist_translations={_TRANSLATIONS[1]}"
    asked += " --set search.shortlist_from=phrases" if phrases else ""
    print(f"next: nmtlab evaluate {name} --split dev {asked}")


def average(
    names: Annotated[list[str], typer.Argument(metavar="RUN", help="A run trained with training.keep_checkpoints.")],
    name: Annotated[str, typer.Option(help="Name of the new run.")],
    last: Annotated[
        int | None, typer.Option(min=1, help="Number of its kept checkpoints, the last ones. (default: all)")
    ] = None,
) -> None:
    """Make a run whose weights are the mean of the last checkpoints that a training kept."""
    if len(names) > 1:
        problem = f"runs {', '.join(map(repr, names))}: the mean of several trainings' weights translates nothing"
        raise RunError(problem, f"name one, or translate with all: nmtlab translate {' --with '.join(names)}")
    workspace = Workspace.find()
    run = open_run(names[0], workspace)

    from nmtlab.training.derived import average_checkpoints  # after the name is checked: it loads torch

    made = average_checkpoints(run, workspace.run_folder(name), last)
    print(f"run {made.name}: {made.log.made_of}")
    print(f"next: nmtlab evaluate {made.name} --split dev")


def prune(
    of: Annotated[str, typer.Argument(metavar="RUN", help="A run with weights.")],
    name: Annotated[str, typer.Option(help="Name of the new run.")],
    share: Annotated[
        float | None, typer.Option(help="Share of the values to set to 0, the smallest ones; above 0 and below 1.")
    ] = None,
    rank: Annotated[
        float | None, typer.Option(help="Share of the singular values to keep, the largest ones; above 0 and below 1.")
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Prune the smallest values of all matrices together, not a share of each.")
    ] = False,
) -> None:
    """Make a run like another, without the smallest values or singular values of its matrices.

    Vectors stay as they are.
    """
    if (share is None) == (rank is None):
        raise NmtlabError("runs prune: give one of --share and --rank", "for example --share 0.4")
    check_belongs("--share", share, {"--blind": blind or None})
    workspace = Workspace.find()
    run = open_run(of, workspace)

    from nmtlab.training.derived import cut_run, prune_run  # after the name is checked: it loads torch

    folder = workspace.run_folder(name)
    made = prune_run(run, folder, share, blind) if share is not None else cut_run(run, folder, rank or 0.0)
    print(f"run {made.name}: {made.log.made_of}")
    print(f"next: nmtlab evaluate {made.name} --split dev")


def _removable_folder(name: str, workspace: Workspace) -> Path:
    """Return the folder of a run; packed runs came with nmtlab, and the command does not remove them."""
    folder = workspace.run_folder(name)
    if folder.is_dir():
        return folder
    if open_packed(name, workspace):
        raise RunError(f"run {name!r}: a packed run, which this command leaves alone", "remove its file by hand")
    raise RunError(f"run {name!r}: not found", "'nmtlab runs list' lists those of the workspace")


@contextmanager
def sentences_to_pack(
    run: Run, workspace: Workspace, number: int, licence: str, threads: int | None
) -> Iterator["ParallelCorpus | None"]:
    """Yield dev sentences to pack with a run, in a temporary folder; None if their number is 0."""
    with TemporaryDirectory() as folder:
        yield _dev_sentences(run, workspace, number, licence, threads, Path(folder) / "dev") if number else None


def _dev_sentences(
    run: Run, workspace: Workspace, number: int, licence: str, threads: int | None, folder: Path
) -> ParallelCorpus:
    """Write a sample of a run's dev sentences to a folder, with the run's translations and an aligner's links."""
    from nmtlab.analysis.access.translations import translations

    languages = run.recipe.corpus
    opened = open_corpus(languages.name, workspace, languages.source, languages.target)
    corpus = replace(opened, also=languages.also_sources)
    sentences = dev_sentences(corpus, number, licence, folder)
    if not has_gold_links(corpus, "dev"):
        links = draw_sample(corpus, "dev", number).of(reference_links(run.pipeline, corpus, "dev"))
        write_lines(aligned_path(sentences, "dev"), [format_alignment(alignment) for alignment in links])
    translations(run, sentences, "dev", machine=run_recipe(run.recipe, None, threads, None).machine)
    return sentences
