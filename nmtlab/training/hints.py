"""A hint for trainings that learn nothing."""

from nmtlab.recipe import Recipe, named_recipe


def hint(recipe: Recipe) -> str:
    """Return a sentence about a training whose dev BLEU stays below 1, which names recipes for little text."""
    names = recipe.model.for_little_text
    if recipe.about in (named_recipe(name).about for name in names):
        return "dev BLEU is still below 1: more updates may help, or more text"
    return f"dev BLEU is still below 1; for at most some ten thousand pairs, there are the recipes {', '.join(names)}"
