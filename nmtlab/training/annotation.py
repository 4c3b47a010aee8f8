"""What is suggested beside rare source words: a lexicon's entries, of the training text or a run, or a file's lines."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import RecipeError, RunError
from nmtlab.reading import read_bytes
from nmtlab.recipe.text import TextSettings
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.annotation import bare, suggestions_of
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.workspace import Workspace

LEAST_PROBABLE = 0.2
"""The lowest p(target | source) of a translation that is suggested."""


def suggestions_for(
    settings: TextSettings, trained: Sequence[ParallelCorpus], workspace: Workspace
) -> dict[str, str] | None:
    """Return source word -> suggested translation, for the training texts of a recipe; None if it suggests nothing.

    Raises:
        RecipeError: the texts have several directions, or a line of the file is wrong.
        RunError: there is no such run, it has no lexicon of words, or one of another pair of languages.
    """
    if not settings.annotate:
        return None
    directions = {corpus.direction for corpus in trained}
    if len(directions) > 1:
        ways = ", ".join(sorted("-".join(way) for way in directions))
        raise RecipeError(
            f"text.annotate: suggestions are of one pair of languages, and the texts have {ways}", "set it to 0"
        )
    if not settings.annotate_from:
        return aligned_words(settings, trained)
    run = lexicon_run(settings, workspace)
    return _of_run(run, trained[0].direction) if run else _of_file(Path(settings.annotate_from))


def lexicon_run(settings: TextSettings, workspace: Workspace) -> Run | None:
    """Return the run whose lexicon makes suggestions, if a recipe names one.

    Raises:
        RunError: there is no such run.
    """
    is_run = settings.annotate_from and not settings.annotate_from.endswith(".tsv")
    return open_run(settings.annotate_from, workspace) if is_run else None


def without_folder(settings: TextSettings) -> TextSettings:
    """Return settings as a run keeps them: of a file that suggests, which is in the run, only the name."""
    name = Path(settings.annotate_from).name if settings.annotate_from.endswith(".tsv") else settings.annotate_from
    return settings.model_copy(update={"annotate_from": name})


def aligned_words(settings: TextSettings, texts: Sequence[ParallelCorpus]) -> dict[str, str]:
    """Return the most probable translation of each source word of some training texts, of which the words are aligned.

    Args:
        settings: of whose text section limits and rules of words count.
        texts: in one direction.
    """
    from nmtlab.alignment.aligner import translation_table  # its library takes a second to load

    words = TextSettings(
        segmentation="word",
        word_rules=settings.word_rules if settings.segmentation == "word" else "unicode",
        vocabulary_size=0,
        joint=False,
        max_words=settings.max_words,
    )
    pipeline = Pipeline.learn(words, *texts)
    pairs = chain.from_iterable(usable_pairs(text, settings.max_words) for text in texts)
    ids = ((pipeline.source_ids(source)[:-1], pipeline.target_ids(target)[:-1]) for source, target in pairs)
    return _best(translation_table(ids, pipeline.source.size), pipeline)


def _of_file(path: Path) -> dict[str, str]:
    try:
        return suggestions_of(read_bytes(path).decode())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RecipeError(
            f"text.annotate_from: {path}: {reason}",
            "give a UTF-8 file with a source word, a tab and its translation on each line",
        ) from error


def _of_run(run: Run, direction: tuple[str, str]) -> dict[str, str]:
    where, pipeline = f"text.annotate_from: run {run.name!r}", run.pipeline
    if pipeline.languages != direction:
        raise RunError(
            f"{where}: its lexicon is of {'-'.join(pipeline.languages)}, the text is {'-'.join(direction)}",
            "choose a run of the same languages, in the same direction",
        )
    if pipeline.settings.segmentation != "word":
        raise RunError(f"{where}: its types are subwords, not words", "choose a run whose text.segmentation is 'word'")
    table = run.translation_table
    if table is None:
        raise RunError(f"{where}: has no lexicon", f"make it with nmtlab runs align {run.name}")
    return _best(table, pipeline)


def _best(table: LexicalTable, pipeline: Pipeline) -> dict[str, str]:
    """Return the most probable translation of each word of a pipeline, if it is probable enough."""
    source, target = pipeline.source.vocabulary, pipeline.target.vocabulary
    found: dict[str, str] = {}
    for number in source.is_text.nonzero()[0].tolist():
        word = bare(source.types[number])
        for translation, probability in table.top(number, 1):
            if word and probability >= LEAST_PROBABLE and target.is_text[translation]:
                found.setdefault(word, target.types[translation])
    return found
