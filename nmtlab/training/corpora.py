"""The corpora of a training: opened as its recipe names them, and how each is used."""

from collections.abc import Sequence
from dataclasses import replace

from nmtlab.errors import RecipeError
from nmtlab.recipe import CorpusSettings, Recipe
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus, languages_in
from nmtlab.text.corpora.corpus_builder import synthetic_language
from nmtlab.workspace import Workspace


def open_corpora(recipe: Recipe, corpus: ParallelCorpus, workspace: Workspace) -> list[ParallelCorpus]:
    """Return all corpora of a training: the first with the recipe's weight and origin, then its `more_corpora`.

    Raises:
        CorpusError: a corpus is not in the workspace, or lacks the languages that the recipe names.
    """
    first = recipe.corpus
    opened = [replace(corpus, weight=first.weight, origin=first.origin, blank=first.blank_source)]
    for named in recipe.more_corpora:
        folder = workspace.corpus_folder(named.name)
        blank = named.blank_source
        way = (named.source or corpus.source, named.target or corpus.target) if blank else (named.source, named.target)
        opened.append(ParallelCorpus.open(folder, *way, named.weight, named.origin, blank))
    return [
        replace(text, also=_also_sources(text, named), context=bool(recipe.text.context) and not named.vocabulary_only)
        for text, named in zip(opened, recipe.corpora, strict=True)
    ]


def _also_sources(corpus: ParallelCorpus, named: CorpusSettings) -> tuple[str, ...]:
    """Return the further sources of a corpus; raise `RecipeError` if it lacks one, or one is in its direction."""
    for code in named.also_sources:
        if code in corpus.direction:
            problem = f"corpus.also_sources: {code!r} is a language of {'-'.join(corpus.direction)} already"
            raise RecipeError(problem, "leave it out, or give another --source or --target")
        if code not in (known := languages_in(corpus.folder)):
            problem = f"corpus.also_sources: corpus {corpus.name!r} has no language {code!r}"
            raise RecipeError(problem, f"choose from {', '.join(known)}")
    return named.also_sources


def by_use(recipe: Recipe, corpora: Sequence[ParallelCorpus]) -> tuple[list[ParallelCorpus], list[ParallelCorpus]]:
    """Return the training corpora, and those from which only subwords are learned."""
    trained: list[ParallelCorpus] = []
    vocabulary_only: list[ParallelCorpus] = []
    for corpus, settings in zip(corpora, recipe.corpora, strict=True):
        (vocabulary_only if settings.vocabulary_only else trained).append(corpus)
    return trained, vocabulary_only


def naming(recipe: Recipe, corpora: Sequence[ParallelCorpus]) -> Recipe:
    """Return a recipe with the name of the first training corpus and the languages of all.

    Raises:
        RecipeError: the recipe does not fit the languages.
    """
    named = [
        settings.model_copy(update={"source": corpus.source, "target": corpus.target})
        for settings, corpus in zip(recipe.corpora, corpora, strict=True)
    ]
    first = named[0].model_copy(update={"name": corpora[0].name})
    named_recipe = recipe.model_copy(update={"corpus": first, "more_corpora": tuple(named[1:])})
    return named_recipe.with_changes({})  # which checks what depends on the languages


def both_ways(recipe: Recipe, corpora: Sequence[ParallelCorpus]) -> Recipe:
    """Return a recipe that trains on every one of its corpora in both directions.

    The reverse of a corpus follows it, unless it is among the corpora; one from which only subwords are learned has
    none, and one with text made by a system has none, as its target would be synthetic.

    Raises:
        RecipeError: the vocabularies are separate, or a corpus has several sources.
    """
    check_joint(recipe)
    if any(corpus.also for corpus in corpora):
        raise RecipeError("corpus.also_sources: several sources have no reverse", "leave out --both-ways")
    named = naming(recipe, corpora)
    ways = {(one.name, one.source, one.target) for one in named.corpora}
    every = []
    for one, corpus in zip(named.corpora, corpora, strict=True):
        reverse = one.model_copy(update={"source": one.target, "target": one.source})
        one_way = one.vocabulary_only or synthetic_language(corpus)
        is_new = not one_way and (one.name, one.target, one.source) not in ways
        every += [one, reverse] if is_new else [one]
    return named.model_copy(update={"more_corpora": tuple(every[1:])})


def check_joint(recipe: Recipe) -> None:
    """Raise `RecipeError` unless a recipe has one vocabulary, as a model of both directions needs."""
    if not recipe.text.joint:
        problem = "text.joint is false, but in both directions each language is on both sides"
        raise RecipeError(problem, "set text.joint to true, or leave out --both-ways")


def synthetic_pairs(mixture: Mixture, trained: Sequence[ParallelCorpus]) -> tuple[int, int]:
    """Return how many pairs of an epoch have a side that a system made, and how many it has.

    Of texts that take turns, the epoch is that of the largest share. The texts of the mixture are `trained`,
    once for each segmentation.
    """
    made = [bool(synthetic_language(corpus)) for corpus in trained] * (len(mixture.texts) // len(trained))
    epochs = [mixture.quotas_of(epoch) for epoch in range(len(made))]
    counts = [
        (sum(quota for quota, is_made in zip(quotas, made, strict=True) if is_made), sum(quotas)) for quotas in epochs
    ]
    return max(counts, key=lambda count: count[0] / count[1])
