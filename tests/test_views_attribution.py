"""Views of contributions, agreement and heads show what the analyses find."""

import pytest

from nmtlab.analysis.attention.heads import all_heads, head_summary
from nmtlab.analysis.attribution.agreement import agreement
from nmtlab.analysis.attribution.contributions import METHODS, contributions
from nmtlab.views_attribution import agreement_view, contribution_view, heads_view


@pytest.mark.parametrize("method", METHODS)
def test_contributions_with_the_largest_to_each_token(trained, method):
    run, _ = trained
    view = contribution_view([run], "das ist", "this is", method, links=[(0, 0)])
    found = contributions(run.name, run, "das ist", "this is", method)
    assert view.frame["nats"].tolist() == pytest.approx(found.groupby("target_position")["weight"].max().tolist())
    assert view.figure.layout.title.text == f"Contribution of each source word, by {method}"


def test_each_method_of_each_run_has_its_shares(trained, tiny_corpus):
    run, _ = trained
    view = agreement_view([run], tiny_corpus, "dev", ("attention", "erasure"), sample=5)
    expected = [agreement(run, tiny_corpus, "dev", method, 5)["on"].item() for method in ("attention", "erasure")]
    assert view.frame["on"].tolist() == pytest.approx(expected)
    linked, first = view.figure.data
    assert list(linked.y) == list(first.y) == ["attention", "erasure"]
    assert list(linked.x) == pytest.approx([100 * share for share in expected])


def test_all_heads_with_their_entropy(trained):
    run, _ = trained
    view = heads_view(run, "das ist", "this is", "encoder self-attention")
    weights = all_heads(run, "das ist", "this is").query("kind == 'encoder self-attention'")
    assert view.frame.equals(head_summary(weights))
    assert view.figure.layout.title.text == f"Encoder self-attention of {run.name}"
