"""The settings of a run: one file per section, and the named recipes."""

from nmtlab.recipe.bytenet import ByteNetSettings
from nmtlab.recipe.convolutional import ConvSettings
from nmtlab.recipe.corpus import CorpusSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.recipe.phrase import PhraseSettings
from nmtlab.recipe.recipe import Recipe, find_recipe, load_recipe, named_recipe, recipe_names
from nmtlab.recipe.rnn import RnnSettings
from nmtlab.recipe.search import SearchSettings
from nmtlab.recipe.text import TextSettings
from nmtlab.recipe.training import TrainingSettings
from nmtlab.recipe.transfer import TransferSettings
from nmtlab.recipe.transformer import TransformerSettings

__all__ = [
    "ByteNetSettings",
    "ConvSettings",
    "CorpusSettings",
    "MachineSettings",
    "PhraseSettings",
    "Recipe",
    "RnnSettings",
    "SearchSettings",
    "TextSettings",
    "TrainingSettings",
    "TransferSettings",
    "TransformerSettings",
    "find_recipe",
    "load_recipe",
    "named_recipe",
    "recipe_names",
]
