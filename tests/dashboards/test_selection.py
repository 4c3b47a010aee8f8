"""One selected token on every page: chosen anywhere, marked everywhere, taken along by links."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from dashboards.conftest import workspace_of
from dashboards.test_pages import make, told
from support.unfolded import unfolded

from nmtlab.dashboards.frame.about import Sentence
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.pages.attention import PAGE as ATTENTION
from nmtlab.figures.marks import Token

TIED, FIXNORM, LEX = (f"small-tr-en.{name}.s1" for name in ("tied", "fixnorm", "fixnorm-lex"))
RUNS = (TIED, FIXNORM, LEX, "small-tr-en.arthur.s1")
SUBWORDS = "multi30k-de-en.small"
PACKED = f"{TIED} (packed dev)"
SOURCE = "Yarın öğleden sonra boş olacak mısın?"  # line 3
SAID = "Are you going to be free tomorrow afternoon?"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return workspace_of(tmp_path_factory.mktemp("selection") / "data", (*RUNS, SUBWORDS))


@pytest.fixture
def opened(workspace):
    """Open pages at an address."""

    def at(name: str, query: str = "") -> Page:
        page = unfolded(make(name, workspace))
        page._opened(query)
        unfolded(page)
        assert told(page) == ""
        return page

    return at


def address(runs: tuple[str, ...] = (TIED, FIXNORM), token: str = "", **more: str) -> str:
    known = {"runs": ",".join(runs), "text": PACKED, "line": "3", **more} | ({"selected": token} if token else {})
    return "?" + "&".join(f"{key}={value}" for key, value in known.items())


def marked(page: Page) -> dict[str, list[str]]:
    """Return the marked tokens of each line of a page's sentence."""
    return {line["name"]: [line["tokens"][place] for place in line["marked"]] for line in page.selection.lines}


def shapes(chart) -> Iterator[tuple[str, float]]:
    """Return the axis and the start of each outline of a figure."""
    for shape in chart.figure.layout.shapes:
        if shape.type == "rect":
            along = "y" if "domain" in shape.xref else "x"
            yield shape[f"{along}ref"], shape[f"{along}0"]


@pytest.mark.full
def test_a_cell_of_a_heatmap_selects_the_token_of_its_row_in_all_that_shows_it_and_again_selects_none(opened):
    page = opened("attention", address())
    cell = {"x": 4, "y": 2, "xaxis": "x", "yaxis": "y", "customdata": [], "meta": None}
    page.chart._handle_custom_msg(cell, [])
    assert page.selection.value == "target:3:going"
    assert "selected=target%3A3%3Agoing" in page._browser.query
    assert marked(page) == {"source": [], "target": ["going"]}
    assert page.selection.said == "Selected: going (target, 3)"
    assert list(shapes(page.chart)) == [("y", 1.5), ("y2", 1.5)]
    assert page.chart.label.endswith("Marked: going.")
    assert page.sentences.table.marked == page.copies.marked == "going"
    page.chart._handle_custom_msg(cell, [])
    assert page.selection.value == page.sentences.table.marked == ""
    assert list(shapes(page.chart)) == []


@pytest.mark.full
def test_a_selected_token_is_marked_in_all_heads_and_a_head_is_chosen_without_clearing_it(opened):
    page = opened("attention", f"?runs={SUBWORDS}")
    row = {"x": 0, "y": 1, "xaxis": "x3", "yaxis": "y3", "customdata": [], "meta": [1, 2]}
    piece = next(line["tokens"][1] for line in page.selection.lines if line["side"] == "target")
    for _ in range(2):
        page.heads.chart._handle_custom_msg(row, [])
        assert (page.head.value, page.selection.token) == (2, Token("target", 2, piece))
    maps = len(page.heads.chart.figure.data)
    assert len(list(shapes(page.heads.chart))) == maps
    page.heads.kind.value = "encoder self-attention"
    assert list(shapes(page.heads.chart)) == []  # a target token is not in it
    page.selection.select(Token("source", 1, page.selection.lines[0]["tokens"][0]))
    assert len(list(shapes(page.heads.chart))) == 2 * len(page.heads.chart.figure.data)  # attending and attended to


@pytest.mark.full
def test_the_question_why_is_of_the_selected_target_token(opened):
    page = opened("attention", address(token="target:3:going", show="erasure"))
    assert page.explained.state["position"].value == 2
    page.selection.select(Token("target", 2, "you"))
    assert page.explained.state["position"].value == 1
    assert list(shapes(page.chart)) == [("y", 0.5), ("y2", 0.5)]


@pytest.mark.full
def test_another_sentence_has_no_token_selected_and_a_word_stays_selected(opened):
    page = opened("attention", address(token="target:3:going"))
    page.sentences.table.choose([5])
    assert page.selection.value == ""
    page.selection.select(Token("target", None, "Tom"))
    page.sentences.table.choose([6])
    assert page.selection.value == "target::Tom"


@pytest.mark.full
def test_a_token_that_the_sentence_lacks_is_said_to_be_not_in_it(opened):
    page = opened("attention", address(token="target:3:zebra"))
    assert page.selection.said == "Selected: zebra (target, 3, not in this sentence)"


@pytest.mark.full
def test_what_is_no_token_is_refused_in_words(workspace):
    page = make("attention", workspace)
    page._opened(address(token="somewhere"))
    assert "selected = somewhere" in told(page)
    assert page.selection.value == ""


def test_why_a_word_wins_follows_a_token_and_its_position(opened):
    page = opened("logits", address(token="target:3:going"))
    assert page.position.value == 3
    assert page.near.position.value == 2
    page.position.value = 2
    assert page.selection.value == "target:2:you"
    page.terms.choose(page.terms.frame.index[3:4])
    assert page.terms.value is None
    assert page.selection.value == f"target::{page.terms.frame.iloc[3]['word']}"
    assert page.position.value == 2
    assert told(page) == ""


def test_on_norms_a_word_is_marked_in_every_figure_and_its_neighbours_are_listed(opened):
    page = opened("norms", f"?runs={TIED},{FIXNORM}&selected=target::going")
    assert page.word.value == "going"
    for chart, panels in ((page.norms.chart, 3), (page.projection.chart, 2)):  # of two systems, one with fixed norms
        words = [shape for shape in chart.figure.layout.shapes if shape.type == "path"]
        assert len(words) == panels
    assert page.neighbours.title.startswith("Nearest words to going")
    page.word.value = "book"
    assert page.selection.value == "target::book"
    page.neighbours.choose(page.neighbours.frame.index[:1])
    assert page.neighbours.value is None
    assert page.selection.token.position is None
    assert page.selection.token.word == page.word.value != "book"
    assert told(page) == ""


def test_a_source_token_asks_for_the_encoders_state(opened):
    page = opened("logits", address(token="source:2:öğleden", position="4"))
    assert (page.near.where.value, page.near.position.value) == ("encoder", 1)
    assert page.position.value == 4


@pytest.mark.full
def test_a_node_of_the_tree_selects_its_token_with_its_prefix_and_again_neither(opened):
    page = opened("search", address((TIED,), beam="4"))
    best = page.tree.tree[page.tree.tree["best"]].iloc[2]
    node = {"customdata": [int(best["step"]), int(best["slot"])], "x": int(best["step"]), "y": best["log_prob"]}
    page.tree._clicked(node)
    assert page.selection.token == Token("target", 3, best["piece"])
    assert page.tree.chart.label.endswith(f"Marked: {best['piece']}.")
    assert page.ended.marked == page.both.marked == best["piece"]
    assert marked(page)["beam search"] == [best["piece"]]
    page.tree.prefix.choose([0])
    assert page.selection.token == Token("target", 1, page.tree.prefix.frame.loc[0, "token"])
    page.tree._clicked(node)
    assert (page.selection.value, page.tree._path) == ("", None)


def test_on_translate_a_bar_selects_a_token_that_is_offered_for_an_intervention(opened):
    page = unfolded(opened("translate", f"?runs={TIED},{LEX}&text={SOURCE}&origin=3 {PACKED}"))
    bar = {"x": 2, "y": 0.5, "xaxis": "x", "yaxis": "y", "customdata": [], "meta": None}
    page.tokens._handle_custom_msg(bar, [])
    assert page.selection.value == "target:3:going"
    assert (list(shapes(page.tokens)), list(shapes(page.attention))) == ([("x", 1.5)], [("y", 1.5)])
    assert page.intervention.position.value == 2
    assert page.found.marked == "going"
    assert marked(page) == {"source": [], "target": ["going"], "reference": ["going"]}
    page.selection.select(Token("source", 2, "öğleden"))
    assert (page.intervention.position.value, page.intervention.place.value) == (2, 1)


def test_on_translate_a_changed_sentence_is_no_longer_the_line_of_a_text(opened):
    page = unfolded(opened("translate", f"?runs={TIED}&text={SOURCE}&origin=3 {PACKED}&selected=target:3:going"))
    assert all("line=3" in link["href"] for link in page.selection.links)
    page.typed.value = "Tom öldü ."
    page.selection.select(Token("target", 1, "Tom"))
    assert page.selection.links
    assert all("sentence=Tom" in link["href"] for link in page.selection.links)
    assert [line["name"] for line in page.selection.lines] == ["source", "target"]


def test_on_lexicon_a_word_is_selected_and_a_sentence_with_it(opened):
    page = opened("lexicon")
    page.words.choose(["öğleden"])
    assert page.selection.value == "source::öğleden"
    assert page.sentences.marked == "öğleden"
    page.sentences.choose(page.sentences.frame.index[:1])
    assert page.selection.value == "source:2:öğleden"
    assert (page.text.value, page.line.value) == (f"{LEX} (packed dev)", "3")
    assert marked(page) == {"source": ["öğleden"], "reference": []}
    page.chart._handle_custom_msg({"x": "afternoon", "y": 0.3, "xaxis": "x", "yaxis": "y", "customdata": None}, [])
    assert page.selection.value == "target::afternoon"
    assert page.words.value == "öğleden"


@pytest.mark.full
def test_on_compare_a_token_is_marked_in_all_translations(opened):
    page = opened("compare", address(token="target:3:going"))
    assert marked(page) == {"source": [], "reference": ["going"], "tied": ["going"], "fixnorm": ["going"]}
    assert page.lines.marked == page.ngrams.marked == "going"


@pytest.mark.full
def test_links_take_sentence_and_token_along_and_other_pages_open_with_them(opened):
    page = opened("attention", address((TIED, LEX), token="target:3:going"))
    links = {link["page"]: link["href"] for link in page.selection.links}
    assert set(links) == {"Why this word?", "Search", "Translate", "Compare"}
    for link in links.values():
        parts = urlsplit(link)
        there = opened(parts.path.removesuffix(".ipynb"), f"?{parts.query}")
        assert there.selection.value == "target:3:going"
        assert marked(there)["reference" if "reference" in marked(there) else "target"] == ["going"]
        (back,) = [one for one in there.selection.links if one["page"] == "Attention"]
        state = parse_qs(urlsplit(back["href"]).query)
        assert (state["line"], state["text"], state["selected"]) == (["3"], [PACKED], ["target:3:going"])
        assert state["runs"] == [f"{TIED},{LEX}"]


@pytest.mark.full
def test_a_system_that_lacks_the_text_gets_the_sentence_typed(opened):
    page = opened("attention", address((TIED, LEX), token="source:2:öğleden"))
    (link,) = [one["href"] for one in page.selection.links if one["page"] == "Lexicon"]
    state = parse_qs(urlsplit(link).query)
    assert (state["runs"], state["sentence"]) == ([LEX], [SOURCE])
    there = opened("lexicon", f"?{urlsplit(link).query}")
    assert there.words.value == "öğleden"
    assert marked(there) == {"source": ["öğleden"], "reference": []}  # which is among its own lines, too


@pytest.mark.full
def test_only_pages_that_can_say_something_of_the_token_are_offered(opened):
    page = opened("attention", address(token="source:2:öğleden"))
    without_lexicon = {"Why this word?", "Translate"}
    assert {link["page"] for link in page.selection.links} == without_lexicon
    page.sentences.typed.value = "Tom öldü ."
    page.selection.select(Token("target", 1, "Tom"))
    assert "Compare" not in {link["page"] for link in page.selection.links}


@pytest.mark.full
def test_a_saved_page_has_the_tokens_and_the_selected_one_marked(opened):
    page = opened("attention", address(token="target:3:going"))
    assert "<mark>going</mark>" in page.selection.as_html()
    page.selection.offer([], page.sentences.where, [page.selection._lines[0]._replace(tokens=["<b>"])])
    assert "<b>" not in page.selection.as_html()


def test_tokens_are_read_as_words_and_stay_the_pieces_that_they_are():
    selection = Selection(ATTENTION, [], [])
    selection.offer([], Sentence("▁ev i"), [Line("source", "source", ["▁ev", "i", "<unk>"])])
    selection.value = "source:3:<unk>"
    (line,) = selection.lines
    assert line["tokens"] == ["▁ev", "i", "<unk>"]
    assert (line["shown"], line["marked"]) == (["ev", "·i", "⟨unknown⟩"], [2])
    assert selection.said == "Selected: ⟨unknown⟩ (source, 3)"
    assert "ev ·i <mark>⟨unknown⟩</mark>" in selection.as_html()
