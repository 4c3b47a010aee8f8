"""What a run must have, or be able to do, for an analysis: the one list of capabilities, and checks of a run.

A model family declares what it can do in its settings class in `recipe/`; nothing above asks which family a run is of.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe.family import NO_ATTENTION, NO_DECODER
from nmtlab.runs.packed import open_packed, workspace_of
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline


@dataclass(frozen=True)
class Need:
    """A capability of a run.

    Args:
        lack: what is missing, in a few words.
        problem: the same as an error says it after the run's name.
        remedy: what to do.
        met: whether a run has it.
        packed_text: whether it is text packed with the run, in whose place a corpus can be given.
    """

    lack: str
    problem: str
    remedy: str
    met: Callable[[Run], bool] = field(repr=False)
    packed_text: bool = False


def unmet(run: Run, needs: Iterable[Need]) -> Need | None:
    """Return the first of some needs that a run does not meet; None if it meets all."""
    return next((need for need in needs if not need.met(run)), None)


def check_needs(run: Run, needs: Iterable[Need]) -> None:
    """Raise `RunError` if a run does not meet all of some needs."""
    need = unmet(run, needs)
    if need is WEIGHTS:
        run.origin.check_model()  # says what a packed run has instead
    if need:
        raise RunError(f"run {run.name!r}: {need.problem}", need.remedy)


def parent_of(run: Run) -> Run:
    """Return the parent of a run, from the same folder of runs or packed in the same workspace.

    Raises:
        RunError: it has no parent, or the parent is not there.
    """
    if run.inheritance is None:
        raise RunError(f"run {run.name!r}: has no parent", "choose a run trained with --parent")
    name, workspace = run.inheritance["parent"], workspace_of(run)
    for folder in (run.folder.parent / name, workspace.runs / name):
        if folder.is_dir():
            return Run(folder)
    if packed := open_packed(name, workspace):
        return packed
    raise RunError(f"run {run.name!r}: its parent {name!r} is not here", "put the parent's run beside it")


def _has_parent(run: Run) -> bool:
    try:
        return parent_of(run).checkpoints.has_weights()
    except RunError:
        return False


def continued_from(run: Run) -> Run:
    """Return the run that a run went on from, as `parent_of` finds it.

    Raises:
        RunError: there is none, it is not there, another model has its name now, or the run went on from weights that
            are not its best.
    """
    parent = parent_of(run)
    best = {parent.checkpoints.original_digest, parent.checkpoints.digest}  # of a packed run, in half precision too
    if (run.inheritance or {}).get("weights") in best:
        return parent
    if run.recipe.transfer.keep_optimiser:
        problem = f"run {run.name!r}: went on from the last weights of {parent.name!r}, which are not its best"
        raise RunError(problem, "choose a run that went on from the best, without transfer.keep_optimiser")
    raise RunError(
        f"run {run.name!r}: went on from another model than the one that is called {parent.name!r} now",
        "put the earlier one back under that name",
    )


def check_same_types(run: Run, parent: Run) -> None:
    """Raise `RunError` unless a run has all types of another, with their ids; letters and a tag may have been added."""
    for side in ("source", "target"):
        ours, theirs = (getattr(one.pipeline, side).vocabulary.types for one in (run, parent))
        if ours[: len(theirs)] != theirs:
            problem = f"runs {run.name!r} and {parent.name!r}: different vocabularies"
            raise RunError(problem, "choose the run that it went on from")


NEURAL = Need(
    "phrase-based",
    NO_DECODER,
    "choose a transformer or an rnn",
    lambda run: run.recipe.model.neural,
)
WEIGHTS = Need(
    "no weights", "it has no weights", "train it until its first evaluation", lambda run: run.checkpoints.has_weights()
)
ONE_SOURCE = Need(
    "several sources",
    "it reads several sources together, and this is about one",
    "choose a run of one source",
    lambda run: not run.recipe.corpus.also_sources,
)
ALONE = Need(
    "sentences in context",
    "it reads each sentence after the one before it, and this is about sentences alone",
    "choose a run with text.context = 0",
    lambda run: not run.recipe.text.context,
)
DECODING = (NEURAL, WEIGHTS, ONE_SOURCE)
"""For all that decodes sentences of one source."""

NORMS = Need(
    "no weights or norms",
    "neither weights nor logged norms of word vectors",
    "train it up to an evaluation",
    lambda run: run.checkpoints.has_weights() or bool(run.log.embedding_norm_files),
)
ATTENDS = Need("no attention", *NO_ATTENTION, lambda run: run.recipe.model.attends)
COUNTS = Need(
    "no counts of its types",
    "the frequencies of the model's types are unknown: it was imported without its training text",
    "name a corpus that they are to be counted in: nmtlab runs import ... --corpus CORPUS",
    lambda run: run.pipeline.counts_known,
)
SELF_ATTENTION = Need(
    "not a Transformer",
    "not a Transformer",
    "choose a run whose model.family is transformer",
    lambda run: run.recipe.model.self_attention,
)
RECURRENCE = Need(
    "not recurrent",
    "not recurrent",
    "choose a run whose model.family is rnn",
    lambda run: run.recipe.model.recurrent,
)
COPIES = Need(
    "no copy head",
    "it has no copy head",
    "choose a run whose model.copy_head is true",
    lambda run: run.recipe.model.copies,
)
HEADS = Need(
    "selects no heads",
    "it selects no heads of source words",
    "choose a run whose model.grammar is not 'none'",
    lambda run: run.recipe.model.selects_heads,
)
WORD_TRANSLATIONS = Need(
    "no lexical module, notes or copies",
    "it has no lexical module, writes no notes beside rare words, and has no copy head",
    "choose a run of the recipe fixnorm-lex, annotate-bpe or copy-bpe",
    lambda run: run.recipe.model.lexical_module or run.recipe.text.annotate > 0 or run.recipe.model.copies,
)
PLANNED_LENGTH = Need(
    "no planned lengths",
    "it does not plan lengths",
    "choose a run of the recipe 'planned'",
    lambda run: run.recipe.model.plans_length,
)
END = Need(
    "plans lengths",
    "it plans lengths and generates no EOS to search for",
    "choose a run that does not plan lengths",
    lambda run: not run.recipe.model.plans_length,
)
LOGGED_G = Need(
    "no values of g",
    "no values of g",
    "choose a run with ScaleNorm that was evaluated at least once",
    lambda run: not run.log.g_values().empty,
)
SEVERAL_DIRECTIONS = Need(
    "a single direction",
    "it was trained in a single direction",
    "choose a run of several directions",
    lambda run: len(run.directions) > 1,
)
PARENT = Need(
    "no parent here",
    "its parent is not here",
    "choose a run trained with --parent, and put the parent's run beside it",
    _has_parent,
)

CONTINUED = Need(
    "not continued",
    "it did not go on from another run",
    "choose a run trained with --from",
    lambda run: run.recipe.transfer.continued,
)


def in_direction(run: Run, corpus: ParallelCorpus) -> Run:
    """Return a run in the direction of a corpus, trained or not.

    Raises:
        CorpusError: the run does not translate between these languages.
    """
    direction = corpus.source, corpus.target
    if run.direction == direction:
        return run
    if not run.translates(*direction):
        known = ", ".join(f"{source} to {target}" for source, target in run.directions)
        raise CorpusError(
            f"corpus {corpus.name!r} is {corpus.source} to {corpus.target}, run {run.name!r} translates {known}",
            "choose a corpus in the run's languages, or give --source and --target",
        )
    return run.directed(*direction)


def overlap_warning(run: Run, corpus: ParallelCorpus, split: str) -> str:
    """Return the warning for a run's score on a text that overlaps its training text; empty for any other text."""
    shared = run.environment.get("overlap", {})
    corpus = replace(corpus, also=run.recipe.corpus.also_sources)
    if not shared or (checksum := corpus.checksum()) not in run.checksums:
        return ""
    index = run.checksums.index(checksum)
    title = f"{split} of {run.recipe.corpora[index].name}" if index else split
    affected = shared.get(title) or any(part.startswith(f"{title} {'' if index else '('}") for part in shared)
    return f"run {run.name!r}: {run.overlap}" if affected else ""


def unfinished_warning(run: Run) -> str:
    """Return the warning for a score of a run whose training has not ended; empty for any other run."""
    if run.status not in ("training", "interrupted"):
        return ""
    return f"run {run.name!r}: its training has not ended ({run.status}), and this is its best checkpoint so far"


def check_counts(pipeline: Pipeline) -> None:
    """Raise `RunError` if it is not known how often a run's types occur in training, as of an imported model."""
    if not pipeline.counts_known:
        raise RunError(COUNTS.problem, COUNTS.remedy)
