"""Parameters by the size of the vocabulary: Table 4 of the survey, and the counts of models that have it."""

import pytest

from nmtlab.analysis.languages.parameters import PARAMETER_COUNTS
from nmtlab.analysis.lexical.vocabulary_cost import VOCABULARY_COST, rnnsearch_cost, vocabulary_cost
from nmtlab.training.setup import train

TABLE_4 = {30_000: (55.8, 83.7), 50_000: (93.1, 121.0), 150_000: (279.2, 307.1)}
"""Types -> millions of parameters in embeddings, and of all, as printed; the rest is 27.9."""


@pytest.mark.parametrize(("types", "printed"), TABLE_4.items())
def test_the_cost_of_rnnsearch_is_that_of_table_4(types, printed):
    cost = rnnsearch_cost(types)
    assert cost.embeddings / 1e6 == pytest.approx(printed[0], rel=2e-3)
    assert cost.embeddings == 3 * 620 * types
    assert cost.embeddings / 1e6 + 27.9 == pytest.approx(printed[1], rel=1e-3)
    assert cost.body == 28_511_000  # 2.2 % above the 27.9 million that are printed
    assert sum(cost) / 1e6 == pytest.approx(printed[1], rel=8e-3)
    share = {30_000: 67, 50_000: 77, 150_000: 91}[types]
    assert 100 * printed[0] / printed[1] == pytest.approx(share, abs=0.6)


CHANGES = {
    "one table": {},
    "two tables": {"model.shared_embeddings": False},
    "recurrent": {"model.family": "rnn", "model.d_model": 8, "model.tied": False, "search.replace_unknown": False},
}


@pytest.mark.parametrize("kind", CHANGES)
def test_at_its_own_size_a_model_has_its_own_parameters(tiny_recipe, tiny_corpus, workspace, kind):
    recipe = tiny_recipe.with_changes({"training.max_evaluations": 1, **CHANGES[kind]})
    run = train("one", recipe, tiny_corpus, workspace)
    size = run.pipeline.target.size
    counts = PARAMETER_COUNTS.of(run).set_index("count").loc["stored"]
    (row,) = vocabulary_cost(run, [size]).itertuples()
    assert (row.embeddings, row.body, row.total) == (counts["embeddings"], counts["body"], counts["total"])
    assert row.share == pytest.approx(counts["embeddings"] / counts["total"])
    larger = vocabulary_cost(run, [size, 3 * size])
    assert larger["embeddings"].tolist() == [row.embeddings, 3 * row.embeddings]


def test_it_is_drawn_beside_rnnsearch(zoo):
    view = VOCABULARY_COST.view([zoo("learned")])
    assert view.figure.data[-1].name == "RNNsearch (2015)"
    assert view.figure.data[-1].y[3] == pytest.approx(84.311)
    assert view.finding.startswith("In word tables are, of the parameters: ")
