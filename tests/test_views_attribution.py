"""Views of contributions, agreement and heads show what the analyses find."""

import pytest

from nmtlab.analysis.attribution.agreement import agreement
from nmtlab.views_attribution import agreement_view


@pytest.mark.full
def test_each_method_of_each_run_has_its_shares(trained, tiny_corpus):
    run, _ = trained
    view = agreement_view([run], tiny_corpus, "dev", ("attention", "erasure"), sample=5)
    expected = [agreement(run, tiny_corpus, "dev", method, 5)["on"].item() for method in ("attention", "erasure")]
    assert view.frame["on"].tolist() == pytest.approx(expected)
    linked, first = view.figure.data
    assert list(linked.y) == list(first.y) == ["attention", "erasure"]
    assert list(linked.x) == pytest.approx([100 * share for share in expected])
