"""Packed runs, to be shared: without the model by default, a few hundred kilobytes that open like any run."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nmtlab
from nmtlab.errors import CorpusError, NmtlabError, RunError
from nmtlab.files import write_text
from nmtlab.reading import reading
from nmtlab.runs.archive import ENDING, MAX_BYTES, read_archive, write_archive
from nmtlab.runs.inherited_weights import with_inherited
from nmtlab.runs.log import pack_log, read_log, round_log, thinned, write_log
from nmtlab.runs.origin import IMPORTED, PACKED
from nmtlab.runs.run import ENVIRONMENT, INHERITANCE, TABLE, Run
from nmtlab.runs.tensors import save_tensors
from nmtlab.runs.training_log import G_VALUES, LOGS, METRICS
from nmtlab.runs.vocabularies import complete
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.heads import format_heads, gold_heads, has_gold_heads, heads_path
from nmtlab.text.corpora.lines import new_folder, read_lines, write_lines
from nmtlab.text.corpora.links import format_alignment, gold_links, has_gold_links
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.workspace import Workspace

MAX_WEIGHTS = 4 << 20
"""Largest size of the weights in half precision, in bytes: two million parameters."""
MAX_SENTENCES = 200
"""Most dev sentences: a packed run illustrates its corpus but does not republish it."""

_FILES = re.compile(
    r"recipe\.toml|(environment|inheritance|imported|packed)\.json|translation_table\.safetensors|checkpoints/best\.safetensors"
    r"|vocabulary/(pipeline\.json|(source|target)\.(((languages|counted)\.)?tsv|model|truecase)|joint\.model)"
    r"|metrics\.jsonl(\.xz)?|probes/(gradient_norm|g)\.jsonl(\.xz)?|probes/embedding_norms/\d+\.npz"
    r"|measures/[^/]+\.parquet|translations/[^/]+\.(txt|json)"
    r"|sentences/(LICENCE|LINES|dev\.[^/]+|(gold|aligned)/dev\.[^/]+\.align|gold/dev\.[^/]+\.heads)"
)
FIRST = ("recipe.toml", ENVIRONMENT, PACKED)
"""Files that come first in an archive, so that they are read without the rest."""
_MAX_ANSWER = 10 << 10  # bytes, of a run packed small
_UPDATES = 100  # logged ones that are packed of a training in the evidence
_MAX_NORMS = 100 << 10  # bytes; more embedding norms than these are thinned out
_LICENCE, _LINES = "LICENCE", "LINES"


def pack(run: Run, target: Path | str, weights: bool = False, sentences: ParallelCorpus | None = None) -> Path:
    """Pack a run: recipe, environment, vocabulary, logs, probes and answers; the model only on request.

    If the embedding norms are large, those of the first, the best and the last validation are packed. The last
    checkpoint and the optimiser's state are never packed.

    Args:
        run: any run, finished or not.
        target: a new folder; or, ending in `.tar.xz`, a new file.
        weights: add the best checkpoint in half precision.
        sentences: made by `dev_sentences`; they are added with the run's stored translations of them.

    Raises:
        RunError: `target` exists, the run is damaged, or its weights or all files together are too large.
        CorpusError: `sentences` are in other languages, too many, or without a licence.
    """
    target = Path(target)
    if target.exists():
        raise RunError(f"{target}: already exists", "remove it, or choose another path")
    if not target.name.endswith(ENDING):
        with new_folder(target) as folder:
            fill(folder, run, weights, sentences)
        return target
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / run.name
        folder.mkdir()
        fill(folder, run, weights, sentences)
        write_archive(folder, target, FIRST)
    return target


def unpack(file: Path | str, workspace: Workspace, name: str = "") -> Run:
    """Unpack a packed run's file into the workspace; nothing in it is executed.

    Args:
        file: written by `pack`; it may come from an untrusted source.
        workspace: where to put the run.
        name: of the run; the name it was packed with if not given.

    Raises:
        RunError: the file is damaged, is not a packed run, or contains other files; or the name is taken or not
            allowed.
    """
    file = Path(file)
    folders = read_archive(file)
    if len(folders) != 1:
        raise RunError(f"{file}: contains {len(folders)} folders, expected 1", "have the run packed again")
    ((packed_name, files),) = folders.items()
    check_files(files, file)
    files = with_inherited(file, complete(file, files))
    folder = workspace.run_folder(name or packed_name)
    if folder.exists():
        raise RunError(f"run {folder.name!r}: already exists", "choose another --name")
    with new_folder(folder) as unfinished:
        write_files(unfinished, files)
        try:
            run = Run(unfinished)
            _ = (
                run.recipe,
                run.environment,
                run.pipeline,
                run.status,
                run.checkpoints.best_step,
                run.origin.limitations,
                run.translation_table,
            )
            if run.checkpoints.has_weights():
                run.checkpoints.weights()
        except NmtlabError as error:
            problem = error.problem.replace(f"{unfinished}/", "")
            raise RunError(f"{file}: incomplete or damaged packed run ({problem})", "have it packed again") from error
    return Run(folder)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a packed run, relative path -> content, to a folder."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def check_files(files: Iterable[str], archive: Path) -> None:
    """Raise `RunError` unless the relative paths in an archive are those of a packed run."""
    if PACKED not in files:
        raise RunError(f"{archive}: not a packed run: it has no {PACKED}", "have it packed with 'nmtlab runs pack'")
    for path in files:
        if not _FILES.fullmatch(path):
            raise RunError(f"{archive}: contains {path}, which no packed run has", "do not trust it")


def packed_lines(sentences: ParallelCorpus) -> list[int]:
    """Return the numbers, in the corpus that they are of, of the sentences packed with a run.

    Raises:
        RunError: the file is damaged.
    """
    path = sentences.folder / _LINES
    count = sentences.count("dev")
    if not path.exists():  # packed by version 0.1: the first ones
        return list(range(1, count + 1))
    with reading(path, "have the run packed again"):
        numbers = [int(line) for line in read_lines(path)]
        if len(numbers) != count:
            raise ValueError(f"{len(numbers)} numbers for {count} sentences")
        return numbers


def dev_sentences(corpus: ParallelCorpus, number: int, licence: str, folder: Path | str) -> ParallelCorpus:
    """Write a sample of the dev sentences of a corpus, with all their references, as a corpus that can be packed.

    The numbers of their lines are written beside them, and gold word alignments, which artificial languages have.

    Args:
        corpus: the corpus that a run was trained on.
        number: of sentences, 1 to 200.
        licence: name of the corpus' licence, which must allow redistributing its text.
        folder: a new folder.

    Raises:
        CorpusError: no licence, no dev text, or too many sentences.
    """
    if not licence.strip():
        raise CorpusError(
            f"corpus {corpus.name!r}: no licence to redistribute its sentences",
            "name the licence that allows it with --licence, or pack the run without --sentences",
        )
    if not 1 <= number <= MAX_SENTENCES:
        raise CorpusError(f"{number} dev sentences cannot be packed", f"choose 1 to {MAX_SENTENCES}")
    folder = Path(folder)
    folder.mkdir(parents=True)
    drawn = draw_sample(corpus, "dev", number)
    write_lines(folder / f"dev.{corpus.source}", drawn.sources)
    for language in corpus.also:
        write_lines(folder / f"dev.{language}", drawn.of(list(corpus.lines("dev", language))))
    for index, lines in enumerate(corpus.references("dev")):
        suffix = f".{index}" if index else ""
        write_lines(folder / f"dev.{corpus.target}{suffix}", drawn.of(lines))
    write_lines(folder / _LINES, map(str, drawn.lines))
    if has_gold_links(corpus, "dev"):
        links = [format_alignment(pairs) for pairs in drawn.of(gold_links(corpus, "dev"))]
        write_lines(folder / "gold" / f"dev.{corpus.source}-{corpus.target}.align", links)
    if has_gold_heads(corpus, "dev"):
        heads = drawn.of(gold_heads(corpus, "dev"))
        write_lines(heads_path(ParallelCorpus(folder, corpus.source, corpus.target), "dev"), map(format_heads, heads))
    write_text(folder / _LICENCE, f"{len(drawn.lines)} dev sentences of {corpus.name}: {licence.strip()}\n")
    return ParallelCorpus(folder, corpus.source, corpus.target)


def describe(folder: Path, run: Run, **facts: Any) -> None:
    """Write what every packed run has: recipe, environment, inheritance, vocabulary, and facts about the packing."""
    run.recipe.save(folder / "recipe.toml")
    write_text(folder / ENVIRONMENT, json.dumps(run.environment, indent=1) + "\n")
    if run.inheritance:
        copy_into(run.folder / INHERITANCE, folder)
    if run.origin.imported:
        copy_into(run.folder / IMPORTED, folder)
    facts = {
        "nmtlab": nmtlab.__version__,
        "best_step": run.checkpoints.best_step,
        "weights": run.checkpoints.original_digest,
        **facts,
    }
    write_text(folder / PACKED, json.dumps(facts, indent=1) + "\n")
    run.pipeline.save(folder / "vocabulary")


def copy_into(path: Path, folder: Path) -> None:
    """Copy a file into a folder, which need not exist yet."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, folder / path.name)


def fill(folder: Path, run: Run, weights: bool = False, sentences: ParallelCorpus | None = None) -> None:
    """Write the files of a packed run to a folder; arguments and errors as of `pack`."""
    describe(folder, run)
    for log in LOGS:
        pack_log(run.folder / log, folder / log)
    for path in _embedding_norms(run):
        copy_into(path, folder / "probes/embedding_norms")
    for answer in run.notes.answers():
        copy_into(answer.path, folder / "measures")
    if weights:
        _add_weights(folder, run)
    if sentences:
        _add_sentences(folder, run, sentences)
    _check_size(folder, run)


def fill_small(folder: Path, run: Run) -> None:
    """Write what tables show of a run to a folder, about 20 kB packed: neither its model nor norms of any kind.

    That is its recipe, environment and vocabulary; the log of its training, with numbers of four digits except at
    evaluations; g; its translations of dev and test texts; and answers of at most 10 KiB.

    Raises:
        RunError: the run is damaged.
    """
    describe(folder, run, bundled=True)
    round_log(run.folder / METRICS, folder / METRICS, lambda line: line["kind"] != "train")
    round_log(run.folder / G_VALUES, folder / G_VALUES, lambda line: False)
    for answer in run.notes.answers():
        if answer.path.stat().st_size <= _MAX_ANSWER:
            copy_into(answer.path, folder / "measures")
    for facts, lines in run.notes.translations():
        if facts["split"] in ("dev", "test"):
            copy_into(lines.with_suffix(".json"), folder / "translations")
            copy_into(lines, folder / "translations")


def thin_log(folder: Path) -> None:
    """Leave about 100 logged updates in the training log of a packed run, uncompressed: its archive compresses it."""
    lines = thinned(read_log(folder / METRICS), _UPDATES)
    (folder / f"{METRICS}.xz").unlink(missing_ok=True)
    if lines:
        write_log(folder / METRICS, lines)


def _embedding_norms(run: Run) -> list[Path]:
    paths = run.log.embedding_norm_files
    if sum(path.stat().st_size for path in paths) <= _MAX_NORMS:
        return paths
    return [path for path in paths if path in (paths[0], paths[-1]) or int(path.stem) == run.checkpoints.best_step]


def _add_weights(folder: Path, run: Run) -> None:
    run.origin.check_model()
    if not run.checkpoints.has_weights():
        raise RunError(f"run {run.name!r}: it has no best checkpoint", "pack it without weights")
    tensors, facts = run.checkpoints.weights("best")
    halves = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    import torch

    for name, tensor in halves.items():
        if not torch.isfinite(tensor).all():
            raise RunError(
                f"run {run.name!r}: weight {name!r} is too large for half precision", "pack it without weights"
            )
    size = sum(tensor.nbytes for tensor in halves.values())
    table = run.folder / TABLE
    if table.exists():
        size += table.stat().st_size
        shutil.copyfile(table, folder / TABLE)
    if size > MAX_WEIGHTS:
        raise RunError(
            f"run {run.name!r}: its weights take {size / 2**20:.1f} MiB in half precision, more than "
            f"{MAX_WEIGHTS >> 20} MiB",
            "pack it without weights",
        )
    save_tensors(folder / "checkpoints/best.safetensors", halves, facts)


def _add_sentences(folder: Path, run: Run, sentences: ParallelCorpus) -> None:
    if run.recipe.text.context:
        problem = f"run {run.name!r}: it reads sentences in context, and a sample of them has none"
        raise RunError(problem, "pack it without sentences")
    languages = run.recipe.corpus
    if (sentences.source, sentences.target) != (languages.source, languages.target):
        raise CorpusError(
            f"{sentences.folder}: other languages than those of run {run.name!r}", "choose the run's corpus"
        )
    licensed = (sentences.folder / _LICENCE).exists()
    if not licensed or sentences.splits != ("dev",) or sentences.count("dev") > MAX_SENTENCES:
        raise CorpusError(f"{sentences.folder}: not a corpus of packable sentences", "make it with dev_sentences")
    shutil.copytree(sentences.folder, folder / "sentences")
    text = hashlib.sha256("\n".join(sentences.lines("dev", sentences.source)).encode()).hexdigest()
    for facts, lines in run.notes.translations():
        if facts["text"] == text:
            copy_into(lines.with_suffix(".json"), folder / "translations")
            copy_into(lines, folder / "translations")


def _check_size(folder: Path, run: Run) -> None:
    sizes = {path.relative_to(folder): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    if sum(sizes.values()) > MAX_BYTES:
        largest = max(sizes, key=sizes.__getitem__)
        raise RunError(
            f"run {run.name!r}: more than {MAX_BYTES >> 20} MiB; {largest} alone takes {sizes[largest] >> 20} MiB",
            "leave that out",
        )
