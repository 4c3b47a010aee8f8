"""A run that corrects damaged references: two sources, and one attention to both."""

from pathlib import Path
from typing import NamedTuple

from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.triplets import damaged_triplets
from nmtlab.workspace import Workspace
from support.zoo import made_once

SETTINGS = {
    "text.segmentation": "bpe", "text.vocabulary_size": 60, "corpus.also_sources": ["en-x-mt"], "search.beam_size": 2,
    "model.family": "rnn", "model.d_model": 16, "model.combine": "joint", "training.max_evaluations": 2,
}  # fmt: skip


class Editor(NamedTuple):
    """The run, its triplets and their workspace."""

    run: Run
    corpus: ParallelCorpus
    workspace: Workspace


def editor_in(folder: Path, corpus: ParallelCorpus, recipe: Recipe) -> Editor:
    """Return the run on triplets of a corpus, trained when it is first asked for."""

    def make(place: Path) -> None:
        workspace = Workspace(place)
        damaged_triplets(workspace.new_corpus_folder("edits"), corpus, 0.2)
        train("editor", recipe.with_changes(SETTINGS), _triplets(workspace), workspace)

    workspace = Workspace(made_once(folder, make))
    return Editor(Run(workspace.run_folder("editor")), _triplets(workspace), workspace)


def _triplets(workspace: Workspace) -> ParallelCorpus:
    return ParallelCorpus.open(workspace.corpus_folder("edits"), "de", "en")
