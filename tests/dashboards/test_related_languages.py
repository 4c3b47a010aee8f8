"""The page Related languages on a child and its parent."""

from dashboards.conftest import workspace_of
from dashboards.test_pages import leaves, make, told

GALICIAN = "child-gl-en.4000.transfer-bpe.related-parent.s1"
ARTIFICIAL = "child-qab-en.10000.transfer-bpe.cousin-parent.s1"


def test_cognates_are_shown_for_the_artificial_child_whose_cognates_are_known(tmp_path):
    page = make("languages", workspace_of(tmp_path / "data", (GALICIAN, ARTIFICIAL)))
    page.runs.table.choose([GALICIAN])
    assert page.cognates not in set(leaves(page))
    page.runs.table.choose([ARTIFICIAL])
    assert told(page) == ""
    assert page.cognates in set(leaves(page))
    precision = page.cognates.frame.set_index(["kind", "vectors"])["precision"]
    assert precision["cognate", "child"] > precision["cognate", "spelling alone"] > precision["no cognate", "parent"]
