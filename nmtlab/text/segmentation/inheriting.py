"""What a child's pipeline takes over from its parent's: whether it can have its types, and which it may generate."""

from collections.abc import Mapping

import numpy as np

from nmtlab.errors import RecipeError, RunError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.vocabulary import Vocabulary


def check_reused(ours: TextSettings, theirs: TextSettings, source: Vocabulary) -> None:
    """Check that the types of a parent's pipeline can be those of a child's.

    Args:
        ours: text section of the child's recipe.
        theirs, source: the parent's text section, and the vocabulary of its source.

    Raises:
        RunError: no child can have them.
        RecipeError: a setting of the child's does not go with the parent's.
    """
    if theirs.segmentation == "imported":
        raise RunError(
            "an imported model's subwords do not extend", "go on from it with its own: nmtlab train CORPUS --from RUN"
        )
    if source.added_tags:
        raise RunError("the parent was given a tag later", "go on from it: nmtlab train CORPUS --from RUN")
    if ours.segmentation == "word":
        return  # words are learned anew
    kinds = ours.segmentation, theirs.segmentation
    if "byte" in kinds and kinds[0] != kinds[1]:
        problem = f"text.segmentation = {kinds[0]!r}: a child has its parent's types, which are of {kinds[1]!r}"
        raise RecipeError(problem, f"set it to {kinds[1]}")
    if ours.context != theirs.context:
        raise RecipeError(f"text.context = {ours.context}: the parent has {theirs.context}", "choose the same")
    if ours.length_bins != theirs.length_bins:
        problem = f"text.length_bins = {ours.length_bins}: the parent has {theirs.length_bins} length tokens"
        raise RecipeError(problem, f"set it to {theirs.length_bins}")


def inherited_targets(target: Side, parent: Vocabulary, allowed: Mapping[str, np.ndarray]) -> tuple[int, ...]:
    """Return the types that a parent can generate in any language of a child's `target`, and the training text lacks.

    Args:
        parent: vocabulary of the parent's target.
        allowed: language -> `(parent.size,)` bool, the types that the parent may generate in it.
    """
    vocabulary = target.vocabulary
    masks = [mask for language, mask in allowed.items() if language in target.languages]
    known = {parent.types[number] for number in np.flatnonzero(np.any([*masks, np.zeros(parent.size, bool)], axis=0))}
    absent = np.flatnonzero(vocabulary.counts == 0)
    return tuple(int(number) for number in absent if vocabulary.is_text[number] and vocabulary.types[number] in known)
