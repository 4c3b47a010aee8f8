"""The start page shows each claim with its verdict, leads to its line and to a page with its runs, nowhere in vain."""

import importlib
import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from dashboards.conftest import workspace_of

from nmtlab.analysis.metrics import find_metric
from nmtlab.dashboards.frame.about import pages
from nmtlab.dashboards.frame.headings import headings
from nmtlab.dashboards.frame.links import links_to, pages_about
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.pages.index import index_page
from nmtlab.dashboards.pages.runs import runs_page
from nmtlab.dashboards.parts.argument import VERDICTS, argument, argument_markup
from nmtlab.grids.results.judgement import RULE
from nmtlab.runs.listing import open_run
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.thesis.messages import MESSAGES
from nmtlab.workspace import RESULTS, Workspace

CHECKOUT = Workspace(Path(__file__).parents[2] / "data")


def hrefs(markup: str) -> list[str]:
    return [unescape(address) for address in re.findall(r"href='([^']*)'", markup)]


def page_of(address: str) -> str:
    return urlsplit(address).path.removesuffix(".ipynb")


def runs_of(address: str) -> list[str]:
    return parse_qs(urlsplit(address).query)["runs"][0].split(",")


def data_of(markup: str) -> dict[str, Any]:
    """Return the numbers in the start page's content."""
    return json.loads(markup.split("<script type='application/json'>")[1].split("</script>")[0])


def some_results(folder: Path, *tables: str) -> Path:
    """Return a folder with the results of some tables."""
    folder.mkdir()
    for table in tables:
        for path in RESULTS.glob(f"{table}.small*.csv*"):
            shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def content() -> str:
    return argument(CHECKOUT)


@pytest.fixture(scope="module")
def links(content) -> Mapping[str, list[str]]:
    """The addresses that each measured claim leads to."""
    return {one["claim"]: hrefs("".join(one["links"])) for one in data_of(content)["claims"]}


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
def test_the_bar_counts_the_verdicts_and_each_mark_is_its_line(content):
    found = measured_claims()
    kinds = Counter(VERDICTS[verdict].kind for verdict in found["verdict"])
    counted = re.findall(r"data-filter='(\w+)' data-value='([^']+)' aria-pressed='false'[^>]*><b>(\d+)</b>", content)
    shown = {(of, value): int(count) for of, value, count in counted}
    assert {value: count for (of, value), count in shown.items() if of == "kind"} == dict(kinds)
    assert {value: count for (of, value), count in shown.items() if of == "origin"} == dict(Counter(found["origin"]))
    assert shown["text", "artificial"] == found["artificial"].sum()
    marks = re.findall(
        r"class='mark (\w+)' style='[^']*' data-line='(\d+)' data-kind='(\w+)' data-origin='([^']*)' data-text='(\w+)'",
        content,
    )
    assert sorted(int(line) for _, line, *_ in marks) == found.index.tolist()
    for kind, line, same, origin, text in marks:
        own = found.loc[int(line)]
        assert kind == same == VERDICTS[own["verdict"]].kind
        assert (origin, text == "artificial") == (own["origin"], own["artificial"])
    rows = re.findall(r"<tr data-claim='(\d+)'><th scope='row'>([^<]*)</th>(.*?)</tr>", content)
    claims = data_of(content)["claims"]
    assert [unescape(text) for _, text, _ in sorted(rows, key=lambda row: int(row[0]))] == found[
        "claim"
    ].unique().tolist()
    for number, _, cells in rows:
        assert sorted(map(int, re.findall(r"data-line='(\d+)'", cells))) == claims[int(number)]["lines"]


@pytest.mark.full
def test_the_numbers_of_a_claim_say_what_was_decided_and_why_not(content):
    assert RULE in unescape(content)
    found = measured_claims()
    for claim in data_of(content)["claims"]:
        own, numbers = found[found["claim"] == claim["claim"]], dict(claim["numbers"])
        assert claim["texts"] == own["text"].tolist()
        assert numbers["verdict"] == [VERDICTS[verdict].name for verdict in own["verdict"]]
        assert numbers.get("why undecided", [""] * len(own)) == own["reason"].tolist()
        assert numbers.get("runs", [""] * len(own)) == [", ".join(names) for names in own["runs"]]
        assert [float(effect.replace("−", "-") or "nan") for effect in numbers.get("effect", ["nan"] * len(own))] == (
            pytest.approx(own["effect"].tolist(), abs=0.005, nan_ok=True)
        )
        assert numbers["seeds"] == own["seeds"].astype(str).tolist()
        assert ("q" in numbers) == own["q"].notna().any()
        assert {"95 % interval", "detectable effect", "interval covers", "budget"} <= {*numbers} or own[
            "low"
        ].isna().all()


@pytest.mark.full
def test_every_message_is_shown_with_its_figure_verdicts_and_a_link(content):
    figures = data_of(content)["figures"]
    assert [*figures] == [message.key for message in MESSAGES]
    sections = re.findall(r"<section><h3>(.*?)</section>", content)
    assert len(sections) == len(MESSAGES)
    for message, section in zip(MESSAGES, sections, strict=True):
        assert f"data-figure='{message.key}'" in section
        assert section.count("class='chip'") >= 2
        assert page_of(hrefs(section)[0]) == message.page
        assert json.loads(figures[message.key])["data"]


def test_where_some_results_are_there_the_rest_is_said_to_be_missing(tmp_path):
    folder = some_results(tmp_path / "results", "attention-sink")
    markup = argument_markup(Workspace(tmp_path), folder)
    assert markup.count("Not here: ") == len(MESSAGES)
    assert "nmtlab reproduce lexical-choice" in unescape(markup)
    assert "In tied, more attention peaks would be on the linked word" in markup
    assert "Runs: 0 here" in markup


def test_without_results_the_start_page_says_how_to_get_them(tmp_path):
    markup = argument_markup(Workspace(tmp_path), tmp_path)
    assert "No results are here" in markup
    assert "<script" not in markup


def test_a_damaged_file_is_named_as_text_and_the_rest_stands(tmp_path):
    folder = some_results(tmp_path / "<b>results", "attention-sink", "gradients")
    (folder / "gradients.small.csv.xz").write_text("no table", encoding="utf-8")
    markup = argument_markup(Workspace(tmp_path), folder)
    (problem,) = re.findall(r"<p role='alert'>(.*?)</p>", markup)
    assert "gradients.small.csv" in problem
    assert "<b>results" not in markup
    assert "In tied, more attention peaks would be on the linked word" in markup


def test_in_the_book_links_lead_to_chapters(tmp_path):
    folder = some_results(tmp_path / "results", "lexical-choice", "attention-sink")
    markup = argument_markup(Workspace(tmp_path), folder, linked=False)
    assert ".ipynb" not in markup
    assert {"results/lexical-choice.html"} == {*hrefs(markup)}


def test_what_json_holds_ends_no_script(tmp_path):
    folder = some_results(tmp_path / "results", "attention-sink")
    markup = argument_markup(Workspace(tmp_path), folder)
    assert "<" not in markup.split("<script type='application/json'>")[1].split("</script>")[0]


@pytest.mark.full
def test_the_page_in_jupyterlab_has_the_same_content(content):
    page = index_page(CHECKOUT)
    (widget,) = page.body.children
    assert content.startswith(widget.markup)
    assert widget.markup in widget.as_html()


def test_the_page_of_runs_begins_with_a_run_that_most_pages_can_show(tmp_path):
    workspace = workspace_of(tmp_path / "data", ["deep-de-en.pre-scalenorm", "multi30k-de-en.small"])
    (name,) = runs_page(workspace).state["runs"].chosen
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
    of_table = defaultdict(list)
    for address in sorted({address for addresses in links.values() for address in addresses}):
        if page_of(address) == "tables":
            asked = parse_qs(urlsplit(address).query)
            of_table[asked["table"][0], asked["measure"][0]].append((address, asked["line"][0]))
    for addresses in of_table.values():
        assert follow(page, addresses[0][0]) == ""
        assert {line for _, line in addresses} <= set(page.lines.frame.index)


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
        **dict.fromkeys(("norms", "logits", "attention", "dynamics", "gradients"), turkish),
        **dict.fromkeys(("search", "searches", "reranking", "detached", "pruning", "translate"), turkish),
        "lexicon": [names[3]],
        "depth": [names[2]], "compare": [names[0]], "correct": [names[1]],
    }  # fmt: skip
    assert [page_of(link) for link in hrefs(links_to([open_run(names[0], CHECKOUT)]))] == ["compare"]
