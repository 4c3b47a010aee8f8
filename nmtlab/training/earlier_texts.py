"""What earlier runs were trained on: these texts, as far as they are here, and what they share with dev and test."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe import CorpusSettings
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.checks.inspection import shared_lines, shared_targets
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.corpus_builder import synthetic_language, translated_from
from nmtlab.workspace import Workspace


def texts_before(parent: Run, workspace: Workspace) -> tuple[list[ParallelCorpus], bool]:
    """Return the texts here that a parent, and the runs it started from, were trained on; and whether these are all."""
    texts: dict[tuple[str, str, str], ParallelCorpus | None] = {}
    runs = list(_ancestry(parent, workspace))
    for named, checksum in chain.from_iterable(run.trained_on for run in runs if run):
        key = (checksum, named.source, named.target)
        if not texts.get(key):
            texts[key] = _text_as_it_was(named, checksum, workspace)
    known = all(run and not run.origin.imported for run in runs) and None not in texts.values()
    return [text for text in texts.values() if text], known


def text_of(run: Run, workspace: Workspace, purpose: str, instead: str) -> list[ParallelCorpus]:
    """Return the texts that a run was trained on.

    Args:
        purpose: what needs them, for the error.
        instead: what to do without them.

    Raises:
        RunError: one of them is not here, or the run was imported.
    """
    if run.origin.imported:
        raise RunError(f"{purpose} needs the text of {run.name!r}, which was imported", instead)
    texts = []
    known = run.environment.get("documents") or [""] * len(run.trained_on)
    for (named, checksum), documents in zip(run.trained_on, known, strict=True):
        text = _text_as_it_was(named, checksum, workspace)
        if text is None or (documents and documents != text.documents_checksum()):
            problem = f"{purpose} needs the text of {run.name!r}, {named.name}: it is not here as it was"
            raise RunError(problem, f"import it under that name, or {instead}")
        context = bool(run.recipe.text.context)
        texts.append(replace(text, weight=named.weight, origin=named.origin, context=context))
    return texts


def overlap_with(
    role: str, run: Run, trained: Sequence[ParallelCorpus], workspace: Workspace, allow_overlap: bool
) -> tuple[dict[str, int], bool]:
    """Return how many target sentences of dev and test an earlier run was trained on; and whether all its text is here.

    Args:
        role: of that run: parent, teacher or lexicon.

    Raises:
        CorpusError: there are some, without `allow_overlap`.
    """
    texts, all_here = texts_before(run, workspace)
    counted: Counter[str] = Counter()
    known = {corpus.checksum() for corpus in trained}  # among these only whole pairs may not be shared
    others = [text for text in texts if text.checksum() not in known]
    for corpus in trained:
        found = target_overlap(others, corpus)
        for split, number in found.items():
            if not allow_overlap:
                raise CorpusError(
                    f"{role} {run.name!r}: was trained on {number:,} {corpus.target} sentences of {split}",
                    f"choose a {role} with other text, or accept it with --allow-overlap",
                )
        counted.update(found)
    return {f"{split} (target side, in the {role}'s text)": number for split, number in counted.items()}, all_here


def overlap_with_teachers(
    teachers: Iterable[Run],
    parent: Run | None,
    trained: Sequence[ParallelCorpus],
    workspace: Workspace,
    allow_overlap: bool,
) -> dict[str, int]:
    """Return `overlap_with` those who teach, by probabilities or by their translations, and are not the parent."""
    counted: Counter[str] = Counter()
    for run in (*teachers, *_translators(trained, workspace)):
        if not (parent and run.name == parent.name):
            counted.update(overlap_with("teacher", run, trained, workspace, allow_overlap)[0])
    return dict(counted)


def target_overlap(texts: Iterable[ParallelCorpus], corpus: ParallelCorpus) -> dict[str, int]:
    """Count the child's dev and test sentences whose target side is in training texts: split -> number, if any.

    The text whose translations are the child's has the same dev and test, and is compared pair by pair.
    """
    found: Counter[str] = Counter()
    bitext = translated_from(corpus).get("bitext")
    for text in texts:
        checksum = text.checksum()
        if synthetic_language(text) == text.target or checksum == corpus.checksum():
            continue  # the child's text is compared pair by pair before the training
        if checksum == bitext:
            found.update({split: len(lines) for (_, split), lines in shared_lines(text).items()})
        else:
            found.update(shared_targets(text, corpus))
    return dict(found)


def _ancestry(run: Run, workspace: Workspace) -> Iterator[Run | None]:
    """Yield a run and those that it started from, the last one None if it is not here."""
    yield run
    names = {run.name}
    while run.inheritance:
        name = run.inheritance["parent"]
        try:
            run = open_run(name, workspace)
        except RunError:
            name = run.name
        if name in names:  # not here, or a newer run has its name
            yield None
            return
        names.add(name)
        yield run


def _text_as_it_was(named: CorpusSettings, checksum: str, workspace: Workspace) -> ParallelCorpus | None:
    """Return a corpus if it is here and has this checksum."""
    try:
        folder = workspace.corpus_folder(named.name)
        text = ParallelCorpus.open(folder, named.source, named.target, blank=named.blank_source)
        return text if text.checksum() == checksum else None
    except CorpusError:
        return None


def _translators(corpora: Iterable[ParallelCorpus], workspace: Workspace) -> Iterator[Run]:
    """Yield the runs here that have translated the target sides of corpora, each once."""
    made = (translated_from(corpus) for corpus in corpora if synthetic_language(corpus) == corpus.target)
    by = chain.from_iterable((origin, *origin.get("with", [])) for origin in made if origin)
    for name, weights in dict.fromkeys((one["run"], one["weights"]) for one in by):
        with suppress(RunError):
            run = open_run(name, workspace)
            if run.checkpoints.original_digest == weights:
                yield run
