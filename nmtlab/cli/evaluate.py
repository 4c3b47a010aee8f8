"""`nmtlab evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from nmtlab.cli.options import (
    Beam,
    Set,
    Source,
    Split,
    Target,
    Threads,
    open_corpus,
    read_translations,
    run_recipe,
    say_overlap,
)


def evaluate(
    run: Annotated[str, typer.Argument(help="Name of a run, or a text file with translations made elsewhere.")],
    corpus: Annotated[str, typer.Option(help="Corpus to score on. (default: that of the run)")] = "",
    split: Split = "test",
    source: Source = "",
    target: Target = "",
    beam: Beam = None,
    set_: Set = None,
    threads: Threads = None,
) -> None:
    """Translate a test set and score it: BLEU and chrF with their signatures, tokenized BLEU, perplexity.

    BLEU is sacrebleu on detokenized text; tokenized BLEU is multi-bleu on Moses tokens. Translations are stored with
    the run, and reused if nothing has changed.
    """
    from nmtlab.analysis.access.scores import run_perplexity, score_texts
    from nmtlab.analysis.access.translations import translations
    from nmtlab.errors import CorpusError, error_of_the_machine
    from nmtlab.runs.listing import open_run
    from nmtlab.workspace import Workspace

    workspace = Workspace.find()
    perplexity, unkept = None, list[OSError]()
    if Path(run).is_file():
        if not corpus:
            raise CorpusError(f"{run}: no reference", "name the corpus it translates with --corpus")
        text = open_corpus(workspace, corpus, source, target)
        lines = read_translations(Path(run), text, split)
    else:
        opened = open_run(run, workspace)
        recipe = run_recipe(opened.recipe, set_, threads, beam)
        languages = (source or recipe.corpus.source, target or recipe.corpus.target)
        text = open_corpus(workspace, corpus or recipe.corpus.name, *languages)
        from tqdm import tqdm

        with tqdm(total=text.count(split), unit=" sentences", disable=None, leave=False) as bar:
            lines = translations(opened, text, split, recipe.search, recipe.machine, bar.update, unkept.append)
        if recipe.model.neural:
            perplexity = run_perplexity(opened, text, split, recipe.machine)
    scores = score_texts(lines, text.references(split), text.target)
    print(f"{run} on {text.name} {split} ({text.source} to {text.target}, {scores['sentences']:,} sentences)")
    print(f"BLEU            {scores['bleu']:6.2f}  {scores['bleu_signature']}")
    print(f"chrF            {scores['chrf']:6.2f}  {scores['chrf_signature']}")
    print(f"tokenized BLEU  {scores['tokenized_bleu']:6.2f}  Moses tokens, case-sensitive, no smoothing (multi-bleu)")
    if perplexity is not None:
        print(f"perplexity      {perplexity[0]:6.2f}  per token; {perplexity[1]} tokens scored as unknown")
    if not Path(run).is_file():
        say_overlap(opened, text, split)
    for error in unkept:
        print(f"the translations could not be stored: {error_of_the_machine(error)}")
