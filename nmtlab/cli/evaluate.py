"""`nmtlab evaluate`."""

import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from nmtlab.analysis.access.ceiling import word_ceiling
from nmtlab.cli.options import (
    Beam,
    Set,
    Source,
    Split,
    Target,
    Threads,
    open_text,
    run_recipe,
    say_overlap,
    sentence_bar,
)
from nmtlab.errors import CorpusError, NmtlabError, error_of_the_machine
from nmtlab.evaluation.order import out_of_order
from nmtlab.recipe import Recipe
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.text.corpora.lines import read_lines
from nmtlab.workspace import Workspace


def evaluate(
    run: Annotated[str, typer.Argument(help="Name of a run, or a text file with translations made elsewhere.")],
    corpus: Annotated[str, typer.Option(help="Corpus to score on. (default: that of the run)")] = "",
    split: Split = "test",
    source: Source = "",
    target: Target = "",
    all_directions: Annotated[
        bool, typer.Option("--all-directions", help="Score on the text of every direction that the run was trained in.")
    ] = False,
    beam: Beam = None,
    set_: Set = None,
    threads: Threads = None,
) -> None:
    """Translate a test set and score it: BLEU and chrF with their signatures, tokenized BLEU, perplexity.

    BLEU is sacrebleu on detokenized text; tokenized BLEU is multi-bleu on Moses tokens, omitted for text without spaces
    between words. Translations are stored with the run, and reused if nothing has changed. A run of several directions
    is scored in that of its first corpus, unless --source and --target choose another one, or --all-directions all of
    them, with their mean.
    """
    workspace = Workspace.find()
    if all_directions and (corpus or source or target or Path(run).is_file()):
        raise NmtlabError("--all-directions: scores a run on all its corpora", "leave out file, corpus and languages")
    if Path(run).is_file():
        if not corpus:
            raise CorpusError(f"{run}: no reference", "name the corpus it translates with --corpus")
        text = open_corpus(corpus, workspace, source, target)
        _print_scores(run, text, split, read_translations(Path(run), text, split))
        return
    opened = open_run(run, workspace)
    recipe = run_recipe(opened.recipe, set_, threads, beam)
    if not all_directions:
        _evaluated(*open_text(opened, workspace, corpus, source, target), split, recipe)
        return
    texts = _every_text(opened, workspace, split)
    scores = [_evaluated(opened, text, split, recipe) for text in texts]
    means = (f"{sum(one[metric] for one in scores) / len(scores):.2f}" for metric in ("bleu", "chrf"))
    print("mean of {} direction{}: BLEU {}, chrF {}".format(len(scores), "s" * (len(scores) > 1), *means))


def _every_text(run: Run, workspace: Workspace, split: str) -> list[ParallelCorpus]:
    """Return the first corpus with a split in each direction that a run was trained in."""
    found: dict[tuple[str, str], ParallelCorpus] = {}
    for named in run.recipe.corpora:
        if named.name and not named.vocabulary_only and (named.source, named.target) not in found:
            text = open_corpus(named.name, workspace, named.source, named.target)
            if split in text.splits:
                found[text.direction] = text
    if not found:
        raise CorpusError(f"run {run.name!r}: none of its corpora has {split} text", "choose another --split")
    return [found[direction] for direction in run.directions if direction in found]


def _evaluated(run: Run, text: ParallelCorpus, split: str, recipe: Recipe) -> dict[str, Any]:
    """Translate a text, print the scores, and return them."""
    from nmtlab.analysis.access.scoring import run_perplexity  # after the names are checked: it loads torch
    from nmtlab.analysis.access.translations import translations

    unkept = list[OSError]()
    with sentence_bar(text.count(split)) as bar:
        lines = translations(run, text, split, recipe.search, recipe.machine, bar.update, unkept.append)
    perplexity = run_perplexity(run, text, split, recipe.machine) if recipe.model.neural else None
    scores = _print_scores(run.name, text, split, lines)
    if run.recipe.text.segmentation == "word":
        ceiling = word_ceiling(text.references(split)[0], text.target, run.recipe.text.word_rules)
        print(f"word ceiling    {ceiling:6.2f}  BLEU of the reference, split into words and joined again")
    if perplexity is not None:
        unknown = "1 token" if perplexity[1] == 1 else f"{perplexity[1]:,} tokens"
        print(f"perplexity      {perplexity[0]:6.2f}  per token; {unknown} scored as unknown")
    say_overlap(run, text, split)
    for error in unkept:
        print(f"the translations could not be stored: {error_of_the_machine(error)}")
    return scores


def _print_scores(name: str, text: ParallelCorpus, split: str, lines: list[str]) -> dict[str, Any]:
    """Print the scores of translations, and return them."""
    from nmtlab.analysis.access.scoring import score_texts

    scores = score_texts(lines, text.references(split), text.target)
    print(f"{name} on {text.name} {split} ({text.source} to {text.target}, {scores['sentences']:,} sentences)")
    print(f"BLEU            {scores['bleu']:6.2f}  {scores['bleu_signature']}")
    print(f"chrF            {scores['chrf']:6.2f}  {scores['chrf_signature']}")
    tokenized = scores["tokenized_bleu"]
    if math.isnan(tokenized):
        print(f"tokenized BLEU     n/a  the text in {text.target} has no spaces between words")
    else:
        print(f"tokenized BLEU  {tokenized:6.2f}  Moses tokens, case-sensitive, no smoothing (multi-bleu)")
    return scores


def read_translations(path: Path, corpus: ParallelCorpus, split: str) -> list[str]:
    """Return translations made elsewhere, one for each sentence of a split; warn if they seem to be in another order.

    Raises:
        CorpusError: there are more or fewer lines than sentences.
    """
    lines, sentences = list(read_lines(path)), corpus.count(split)
    if len(lines) != sentences:
        problem = f"{path}: {len(lines):,} lines, but {corpus.name} {split} has {sentences:,} sentences"
        raise CorpusError(problem, "give one line per sentence, in the same order")
    if out_of_order(lines, corpus.references(split)[0]):
        warning = "most lines match references of other lines, not their own; check that the file is in the order of"
        print(f"{path}: {warning} {corpus.name} {split}", file=sys.stderr)
    return lines
