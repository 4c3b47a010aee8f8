"""The index leads from each claim to its line in the tables and to a page that shows its runs, and nowhere in vain."""

import importlib
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import ipywidgets as widgets
import pytest
from dashboards.conftest import workspace_of

from nmtlab.analysis.metrics import find_metric
from nmtlab.dashboards.frame.about import pages
from nmtlab.dashboards.frame.headings import headings
from nmtlab.dashboards.frame.links import links_to, pages_about
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.pages.index import index_page
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.grids.results.judgement import RULE
from nmtlab.runs.listing import open_run
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.workspace import Workspace

CHECKOUT = Workspace(Path(__file__).parents[2] / "data")


def hrefs(markup: str) -> list[str]:
    return [unescape(address) for address in re.findall(r"href='([^']*)'", markup)]


def page_of(address: str) -> str:
    return urlsplit(address).path.removesuffix(".ipynb")


def runs_of(address: str) -> list[str]:
    return parse_qs(urlsplit(address).query)["runs"][0].split(",")


def look(page: Page) -> str:
    """Return the links below the numbers of the picked claim."""
    return next(part.value for part in page.body if isinstance(part, widgets.HTML) and "evidence in" in part.value)


@pytest.fixture(scope="module")
def links() -> Mapping[str, list[str]]:
    """The addresses that each measured claim leads to."""
    page = index_page(CHECKOUT)
    found = {}
    for claim in measured_claims()["claim"].unique():
        page.state["claim"].choose([claim])
        found[claim] = hrefs(look(page))
    return found


def test_every_claim_names_pages():
    named = [pages_about(claim.metric) for claim in declared_claims()]
    assert all(named)
    assert {page for some in named for page in some} <= {page.name for page in headings()[1:]}


def test_what_a_page_illustrates_is_a_metric_or_has_some():
    for page in pages():
        for one in page.illustrates:
            assert find_metric(one) if isinstance(one, str) else one.metrics


@pytest.mark.full
def test_a_claim_leads_to_its_lines_and_to_no_pages_but_its_own(links):
    found = measured_claims()
    pages = {claim.text: pages_about(claim.metric) for claim in declared_claims()}
    for claim, addresses in links.items():
        lines = [address for address in addresses if page_of(address) == "tables"]
        assert len(lines) == (found["claim"] == claim).sum()
        assert {page_of(address) for address in addresses} <= {"tables", *pages[claim]}
    g = "g grows with depth in the encoder attention sublayers."
    assert [page_of(address) for address in links[g]] == ["tables", "depth"]
    rare = "fixnorm+lex translates better than tied."
    assert {page_of(address) for address in links[rare]} == {"tables", "compare", "dynamics"}


@pytest.mark.full
def test_a_claim_leads_to_its_runs_alone_of_one_pair_a_link(links):
    found = measured_claims().groupby("claim")["runs"].sum()
    for claim, addresses in links.items():
        for address in addresses:
            if page_of(address) != "tables":
                names = runs_of(address)
                assert set(names) <= set(found[claim])
                assert set.intersection(*(set(open_run(name, CHECKOUT).directions) for name in names))


@pytest.mark.full
def test_the_numbers_of_a_claim_say_what_was_decided_and_why_not():
    page = index_page(CHECKOUT)
    assert any(RULE in part.value for part in page.body if isinstance(part, Note))
    found = measured_claims()
    (numbers,) = (part for part in page.body if isinstance(part, Table) and part.title == "By text")
    (counts,) = (part for part in page.body if isinstance(part, Table) and part.title.startswith("Whose claims"))
    whose, verdicts = counts.frame.set_index(["origin", "kind of text"]), found["verdict"].value_counts()
    assert whose.drop(columns="claims").sum().to_dict() == verdicts.to_dict()
    natural = found[(found["origin"] == "claimed") & ~found["artificial"]]
    assert whose.loc[("claimed by the thesis", "natural"), "claims"] == natural["claim"].nunique()
    for claim in (
        "A distant relative, too, helps more than an unrelated parent.",
        "The lexical module adds to what fixnorm gains.",
    ):
        page.state["claim"].choose([claim])
        own = found[found["claim"] == claim]
        shown = numbers.frame
        assert shown["text"].tolist() == own["text"].tolist()
        assert shown["verdict"].tolist() == own["verdict"].tolist()
        assert shown["why undecided"].tolist() == own["reason"].tolist()
        assert {"95 % interval", "detectable effect", "interval covers", "budget", "runs"} <= set(shown.columns)
        assert ("q" in shown.columns) == own["q"].notna().any()


def test_the_start_page_begins_with_a_run_that_most_pages_can_show(tmp_path):
    workspace = workspace_of(tmp_path / "data", ["deep-de-en.pre-scalenorm", "multi30k-de-en.small"])
    (name,) = index_page(workspace).state["runs"].chosen
    assert open_run(name, workspace).checkpoints.has_weights()


def make(name: str, workspace: Workspace) -> Page:
    return getattr(importlib.import_module(f"nmtlab.dashboards.pages.{name}"), f"{name}_page")(workspace)


def follow(page: Page, address: str) -> str:
    """Return what a page tells of an address."""
    page.tell("")
    page._opened(f"?{urlsplit(address).query}")
    return page._message.value


@pytest.mark.full
def test_no_link_of_a_claim_asks_for_a_line_that_is_not_there(links, tmp_path):
    page = make("tables", Workspace(tmp_path))  # whatever runs are here, lines are those of the checkout's results
    lines = {address for addresses in links.values() for address in addresses if page_of(address) == "tables"}
    assert {address: told for address in sorted(lines) if (told := follow(page, address))} == {}


@pytest.mark.full
@pytest.mark.parametrize("name", sorted({page for claim in declared_claims() for page in pages_about(claim.metric)}))
def test_no_link_of_a_claim_asks_a_page_for_runs_that_it_cannot_show(links, name):
    page = make(name, CHECKOUT)
    own = sorted({address for addresses in links.values() for address in addresses if page_of(address) == name})
    if not own:
        pytest.skip("no claim that this page shows is measured yet")
    offered = page.state["runs"]
    for address in own:
        assert set(runs_of(address)) <= set(offered.frame.index)
        assert offered.multiple or len(runs_of(address)) == 1
    assert follow(page, own[-1]) == ""


def test_chosen_runs_lead_to_the_pages_that_can_show_them_with_those_that_they_can():
    names = ["small-qaa-en.moses", "small-tr-en.tied.s1", "multi30k-de-en.small", "small-tr-en.fixnorm-lex.s1"]
    links = hrefs(links_to([open_run(name, CHECKOUT) for name in names]))
    turkish = [names[1], names[3]]
    assert {page_of(link): runs_of(link) for link in links} == {
        **dict.fromkeys(("norms", "logits", "attention", "dynamics", "search", "detached", "translate"), turkish),
        "lexicon": [names[3]],
        "depth": [names[2]], "compare": [names[0]],
    }  # fmt: skip
    assert [page_of(link) for link in hrefs(links_to([open_run(names[0], CHECKOUT)]))] == ["compare"]
