"""The page Search over whole texts: translations as long as length tokens ask for."""

import shutil

from support.unfolded import unfolded

from nmtlab.analysis.search.length_tokens import LENGTH_TOKENS, realised
from nmtlab.dashboards.pages.searches import SearchesPage
from nmtlab.training.setup import train


def test_requested_and_realised_lengths_are_shown_of_runs_with_length_tokens(workspace, zoo, tiny_corpus, tiny_recipe):
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora" / tiny_corpus.name)
    zoo.copy("learned", workspace, "ordinary")
    changes = {"text.length_bins": 3, "training.max_evaluations": 1}
    run = train("lengths", tiny_recipe.with_changes(changes), tiny_corpus, workspace)
    page = unfolded(SearchesPage(workspace))
    page.runs.table.choose(["ordinary"])
    assert "None of these runs has length tokens" in page.lengths.answer.value
    page.runs.table.choose(["ordinary", "lengths"])
    found = LENGTH_TOKENS.of(run, corpus=tiny_corpus, split=page.probabilities.text.text.split, sample=50)
    expected = realised(found.assign(run="lengths"))
    assert page.lengths.frame["ratio"].tolist() == expected["ratio"].tolist()
    assert page.lengths.frame["run"].unique().tolist() == ["lengths"]
    assert page.lengths.answer.value.startswith("Target tokens per source token: lengths")
