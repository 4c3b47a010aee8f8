"""Views of contributions and of all heads show what the analyses find."""

import pytest

from nmtlab.analysis.attention.heads import all_heads, head_summary
from nmtlab.analysis.attribution.contributions import METHODS, contributions
from nmtlab.views_attribution import contribution_view, heads_view


@pytest.mark.parametrize("method", METHODS)
def test_contributions_with_the_largest_to_each_token(trained, method):
    run, _ = trained
    view = contribution_view([run], "das ist", "this is", method, links=[(0, 0)])
    found = contributions(run.name, run, "das ist", "this is", method)
    assert view.frame["nats"].tolist() == pytest.approx(found.groupby("target_position")["weight"].max().tolist())
    assert view.figure.layout.title.text == f"Contribution of each source word, by {method}"


def test_all_heads_with_their_entropy(trained):
    run, _ = trained
    view = heads_view(run, "das ist", "this is", "encoder self-attention")
    weights = all_heads(run, "das ist", "this is").query("kind == 'encoder self-attention'")
    assert view.frame.equals(head_summary(weights))
    assert view.figure.layout.title.text == f"Encoder self-attention of {run.name}"
