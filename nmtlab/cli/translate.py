"""`nmtlab translate`."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nmtlab.analysis.access.needs import ATTENDS, check_needs
from nmtlab.cli.answer import in_json
from nmtlab.cli.options import (
    OF_BEAMS,
    AskedEngine,
    Beam,
    Set,
    Threads,
    check_belongs,
    check_sampling,
    check_unread,
    read_text,
    run_recipe,
    sentence_bar,
)
from nmtlab.cli.translated import AlignedBy, Fields, link_fields, token_fields, translated_lines
from nmtlab.errors import CorpusError, NmtlabError, RecipeError, RunError
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.context import in_context
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import is_blank, write_lines
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.interchange.served import ServedSystem
    from nmtlab.runs.tensors import Which
    from nmtlab.translation import System, Translation, Translator

_MOST_COMPARED = 1000  # samples: their scores with each other are a few matrices of this size

_printed, _searching, _engine = (
    partial(typer.Option, rich_help_panel=title) for title in ("What is printed", "Other searches", "Engine")
)


def translate(
    run: Annotated[str, typer.Argument(help="Name of a run.")],
    input: Annotated[
        Path | None, typer.Option("--input", "-i", help="Text to translate. (default: standard input)")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. (default: standard output)")
    ] = None,
    to: Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Language to translate into, if several.")] = "",
    from_: Annotated[
        str, typer.Option("--from", metavar="LANGUAGE", help="Language of the text, if the run reads several.")
    ] = "",
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(min=1, help="Translations per line, best first.")] = 1,
    prefix: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Beginning of each translation, one a line.")
    ] = None,
    must: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Phrases that must occur, separated by tabs."),
    ] = None,
    length_bin: Annotated[
        int | None,
        typer.Option(min=0, help="Length token of a run that has some; 0: shortest.", show_default=False),
    ] = None,
    also_source: Annotated[
        list[Path] | None,
        typer.Option(
            "--also-source",
            metavar="FILE",
            help="Text in the next source language of several; repeatable. A blank line is a missing sentence.",
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Document ids, one a line, for a run with context.",
            show_default=False,
        ),
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="Use the last checkpoint instead of the best.")] = False,
    set_: Set = None,
    threads: Threads = None,
    scores: Annotated[bool, _printed("--scores", help="Line number, score, log-probability before each.")] = False,
    alignments: Annotated[
        AlignedBy | None,
        _printed(
            help="Word links after each, as 0-0 1-2.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        _printed("--json", help="JSON, as the book's reference explains it."),
    ] = False,
    token_scores: Annotated[
        bool, _printed("--token-scores", help="Log-probability and entropy of each token, in JSON.")
    ] = False,
    top: Annotated[
        int,
        _printed(min=0, show_default=False, help="Number of the likeliest tokens to list at each position, in JSON."),
    ] = 0,
    samples: Annotated[
        int, _searching(min=0, max=10_000, metavar="N", show_default=False, help="Sample N translations per line.")
    ] = 0,
    temperature: Annotated[float | None, _searching(metavar="T", help="Temperature of sampling. (default: 1)")] = None,
    top_k: Annotated[
        int | None, _searching(min=1, metavar="K", help="Sample from the K likeliest tokens alone.")
    ] = None,
    top_p: Annotated[
        float | None, _searching(metavar="P", help="Sample from the likeliest that have P together.")
    ] = None,
    seed: Annotated[int | None, _searching(min=0, metavar="N", help="Seed of sampling. (default: 1)")] = None,
    mbr: Annotated[
        Literal["chrf", "bleu"] | None,
        _searching(
            help="Print only the sample of highest expected score.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        int,
        _searching(
            min=0, max=100, metavar="N", show_default=False, help="The best of each of N groups of a diverse beam."
        ),
    ] = 0,
    strength: Annotated[
        float | None,
        _searching(min=0, max=1e6, metavar="X", help="Penalty of likeness between groups. (default: 0.5)"),
    ] = None,
    with_: Annotated[
        list[str] | None,
        _searching("--with", metavar="RUN", help="A further run of an ensemble; repeatable."),
    ] = None,
    mean: Annotated[
        Literal["arithmetic", "geometric"] | None,
        _searching(help="Mean of an ensemble. (default: arithmetic)", show_default=False),
    ] = None,
    engine: Annotated[
        AskedEngine,
        _engine(
            help="auto takes ctranslate2 where that finds the same translations sooner.",
        ),
    ] = "auto",
    precision: Annotated[
        Literal["auto", "fp32", "int8", "int16"] | None,
        _engine(
            help="Compute type of CTranslate2; auto is int8 if that loses at most 0.2 BLEU on dev text of the run's "
            "corpus, which the first call translates. (default: fp32)",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Translate text, one sentence per line; a blank line stays blank.

    A run of several languages translates in the direction of its first corpus, or --from any language that it reads
    --to any that it writes, even if it was never trained on the two together.
    """
    also = also_source or []
    ways: dict[str, object] = {
        "--prefix": prefix, "--must": must, "--samples": samples, "--groups": groups, "--with": with_,
    }  # fmt: skip
    drawing = {"--temperature": temperature, "--top-k": top_k, "--top-p": top_p, "--seed": seed}
    check_belongs("--samples", samples, drawing | {"--mbr": mbr})
    check_belongs("--groups", groups, {"--strength": strength})
    check_belongs("--with", with_, {"--mean": mean})
    check_belongs("--engine ctranslate2", engine == "ctranslate2", {"--precision": precision})
    scored = {"--token-scores": token_scores or None, "--top": top or None}
    check_belongs("--json", as_json, scored)
    workspace = Workspace.find()
    opened, *further = (open_run(name, workspace) for name in (run, *(with_ or [])))
    if from_ or to:
        opened = opened.directed(from_, to)
    length = [] if length_bin is None else [f"search.length_bin={length_bin}"]
    recipe = run_recipe(opened.recipe, [*(set_ or []), *length], threads, beam)
    asked = [option for option, value in ways.items() if value]
    inspecting = [option for option, value in scored.items() if value]
    inspecting += ["--alignments attention"] * (alignments == "attention")
    _check_sources(opened, also, alignments is not None)
    unserved = [f"{option}: CTranslate2 searches with a plain beam only" for option in asked]
    unserved += [f"{option}: CTranslate2 shows neither attention nor distributions" for option in inspecting]
    if engine == "ctranslate2" and unserved:
        raise NmtlabError(unserved[0], "leave --engine out")
    _check_neural(opened, inspecting, last)
    check_needs(opened, [ATTENDS] * (alignments == "attention"))
    text = _training_text(opened, workspace) if alignments == "aligner" else None
    _check_ways(opened, [way for way in asked if way != "--with"], 1 if mbr else n_best)
    check_sampling(1.0 if temperature is None else temperature, 1.0 if top_p is None else top_p)
    if samples:
        check_unread("--samples", "samples are drawn without a beam and a score", OF_BEAMS, set_, beam)
    if mbr and n_best > samples:
        raise NmtlabError(f"--n-best {n_best} is more than the samples, {samples}", f"give --samples {n_best} or more")
    if mbr and samples > _MOST_COMPARED:
        raise NmtlabError(f"--mbr: compares at most {_MOST_COMPARED:,} samples", f"give --samples {_MOST_COMPARED}")
    if n_best > recipe.search.beam_size and not mbr:
        problem = f"--n-best {n_best} is more than the beam size {recipe.search.beam_size}"
        raise RecipeError(problem, f"add --beam {n_best} or more")
    lines = read_text(input)
    sources = [_by_line(path, lines, "sentence") for path in also]
    read = _as_read(opened, lines, documents)
    which: Which = "last" if last else "best"

    from nmtlab.analysis.access.texts import corpus_of
    from nmtlab.evaluation.expected_utility import pairwise_bleu, pairwise_chrf
    from nmtlab.evaluation.scores import bleu_words, default_tokenizer
    from nmtlab.interchange.engine import choose_engine
    from nmtlab.interchange.precision import choose_precision
    from nmtlab.interchange.served import open_served
    from nmtlab.search.searches import Diverse, Sample  # after the names are checked: it loads torch
    from nmtlab.systems import open_ensemble, open_system
    from nmtlab.translation import least_risk

    system: System | Translator | ServedSystem
    choice = choose_engine(engine, opened, recipe.search, recipe.machine, unserved)
    if choice.engine == "ctranslate2":
        chosen = precision or "fp32"
        if chosen == "auto":
            dev_text = partial(corpus_of, opened, workspace)
            chosen, why = choose_precision(opened, recipe.search, which, recipe.machine, dev_text)
            print(f"precision: {chosen} ({why})", file=sys.stderr)
        system = open_served(opened, chosen, recipe.search, which, recipe.machine)
    elif further:
        system = open_ensemble([opened, *further], recipe.search, mean or "arithmetic", recipe.machine, which)
    else:
        system = open_system(opened, recipe.search, which, recipe.machine)
    more: dict[str, Any] = {}  # arguments that a phrase-based system does not have
    if prefix:
        more["prefixes"] = _by_line(prefix, lines, "prefix")
    if sources:
        more["more"] = sources
    if must:
        more["must"] = [_phrases(row) for row in _by_line(must, lines, "phrase")]
    if samples:
        shape = temperature or 1.0, top_k or 0, top_p or 1.0
        more["search"] = Sample(recipe.search, samples, *shape, 1 if seed is None else seed)
    elif groups:
        more["search"] = Diverse(recipe.search, groups, 0.5 if strength is None else strength)
    with sentence_bar(len(lines)) as bar:
        found = system.translate(read, n_best, on_progress=bar.update, scored=scores or as_json, **more)
    if mbr:
        pairwise = (
            partial(pairwise_bleu, split=bleu_words(default_tokenizer(opened.direction[1])))
            if mbr == "bleu"
            else pairwise_chrf
        )
        found = [least_risk(drawn, n_best, pairwise) for drawn in found]
    if system.pipeline.left_out:
        print(system.pipeline.left_out, file=sys.stderr)
    if missing := opened.recipe.corpus.also_sources[len(also) :]:
        print(f"without --also-source: <NULL> for every sentence of {', '.join(missing)}", file=sys.stderr)
    links = [link_fields(system, read, found, text)] if alignments else []
    if as_json:
        tokens = [token_fields(system, read, found, top, sources)] if token_scores or top else []
        shown = [in_json(line) for line in translated_lines(lines, found, choice.engine, *tokens, *links)]
    else:
        shown = _table(found, scores, *links)
    if output is None:
        for row in shown:
            print(row)
    else:
        write_lines(output, shown)
    if choice.why and not as_json:
        print(choice, file=sys.stderr)


def _check_ways(run: Run, ways: list[str], n_best: int) -> None:
    """Refuse search methods that exclude each other or that the run does not support."""
    if len(ways) > 1 and ways != ["--prefix", "--must"]:
        raise NmtlabError(f"{ways[0]} and {ways[-1]}: mutually exclusive", "leave one out")
    if ways and not run.recipe.model.neural:
        raise RunError(f"{ways[0]}: run {run.name!r} is phrase-based", "choose a transformer or an rnn")
    if ways in (["--samples"], ["--groups"]) and n_best > 1:
        raise NmtlabError(f"--n-best and {ways[0]}: {ways[0]} is the number of translations", "leave --n-best out")


def _check_sources(run: Run, also: list[Path], aligned: bool) -> None:
    """Refuse more sources than a run reads, and links to words of several."""
    languages = run.recipe.corpus.also_sources
    if len(also) > len(languages):
        reads = " and ".join((run.direction[0], *languages)) if languages else "one source"
        problem = f"--also-source {also[len(languages)]}: run {run.name!r} reads {reads}"
        raise RunError(problem, "leave it out, or choose a run of more sources")
    if aligned and languages:
        raise RunError(f"--alignments: run {run.name!r} reads several sources", "leave it out")


def _check_neural(run: Run, inspecting: list[str], last: bool) -> None:
    """Refuse options that show distributions or attention, or choose a checkpoint, where there are none."""
    if inspecting and not run.recipe.model.neural:
        problem = f"{inspecting[0]}: run {run.name!r} is phrase-based, without attention and distributions of tokens"
        raise RunError(problem, "choose a transformer or an rnn")
    if last and not run.recipe.model.neural:
        raise RunError(f"--last: run {run.name!r} is phrase-based, without checkpoints", "leave it out")


def _training_text(run: Run, workspace: Workspace) -> ParallelCorpus:
    """Return the first corpus that a run was trained on in its direction."""
    from nmtlab.analysis.access.texts import corpus_of  # it loads torch

    try:
        return corpus_of(run, workspace)
    except CorpusError as error:
        raise RunError(f"--alignments aligner: {error.problem}", "use --alignments attention") from None


def _by_line(path: Path, lines: list[str], what: str) -> list[str]:
    """Return the lines of a file that has something for each line of the text."""
    given = read_text(path)
    if len(given) != len(lines):
        problem = f"{path}: {len(given):,} lines, but the text has {len(lines):,}"
        raise NmtlabError(problem, f"give one line per line of the text, empty for no {what}")
    return given


def _as_read(run: Run, lines: list[str], documents: Path | None) -> list[str]:
    """Return the lines as a run reads them: in context, or alone."""
    if not run.recipe.text.context:
        if documents:
            problem = f"--documents: run {run.name!r} reads each sentence alone"
            raise RunError(problem, "leave it out, or choose a run with text.context = 1")
        return lines
    ids = _by_line(documents, lines, "document") if documents else [""] * len(lines)
    if documents and (blank := next((n for n, one in enumerate(ids, start=1) if is_blank(one)), 0)):
        raise NmtlabError(f"{documents}, line {blank}: blank", "give the id of the line's document")
    return list(in_context(lines, ids))


def _phrases(row: str) -> list[str]:
    return [phrase for phrase in map(str.strip, row.split("\t")) if phrase]


def _table(found: Sequence["Translation"], scores: bool, *links: Fields) -> list[str]:
    """Return a line for each translation, with its scores before it and its links after it if there are any."""
    rows = [row for number, one in enumerate(found, start=1) for row in _rows(number, one, scores)]
    for fields in links:
        aligned = (one["links"].alignment for of_line in fields for one in of_line)
        rows = [f"{row}\t{alignment}" for row, alignment in zip(rows, aligned, strict=True)]
    return rows


def _rows(number: int, translation: "Translation", scores: bool) -> list[str]:
    if not scores:
        return translation.texts
    if not translation.hypotheses:
        return [f"{number}\t0.0000\t0.0000\t"]
    found = zip(translation.texts, translation.hypotheses, strict=True)
    return [f"{number}\t{h.score:.4f}\t{h.log_prob:.4f}\t{text}" for text, h in found]
