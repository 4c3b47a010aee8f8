"""On the page Attention: contributions by other methods, a contrast, all heads, and the agreement with links."""

import pytest
from dashboards.conftest import workspace_of
from support.unfolded import unfolded

from nmtlab.analysis.attention.places import PEAK_PLACES
from nmtlab.analysis.attribution.agreement import AGREEMENT_OF, EXPLANATIONS
from nmtlab.analysis.attribution.contributions import Instead, contributions
from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.pages.attention import SENTENCE, AttentionPage
from nmtlab.dashboards.parts.heads import Heads
from nmtlab.workspace import Workspace

TIED, LEX, GERMAN = "small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1", "multi30k-de-en.small"


@pytest.fixture
def page(tmp_path) -> AttentionPage:
    page = unfolded(AttentionPage(workspace_of(tmp_path / "data", (TIED, LEX, GERMAN))))
    page.runs.table.choose([TIED, LEX])
    page.sentences.table.choose([1])
    return page


def drawn(page: AttentionPage) -> list:
    return [trace for trace in page.chart.figure.data if trace.type == "heatmap"]


def expected(page: AttentionPage, method: str, instead: Instead | None = None) -> list[list[float]]:
    frames = [
        contributions(system_of(run), page.sentences.source, page.sentences.reference, method, instead)
        for run in page.sentences.runs
    ]
    return [frame["weight"].tolist() for frame in frames]


@pytest.mark.full
@pytest.mark.parametrize("method", EXPLANATIONS[1:])
def test_the_heatmaps_show_the_chosen_method(page, method):
    page.explained.shown.value = method
    assert page._message.value == ""
    for trace, weights in zip(drawn(page), expected(page, method), strict=True):
        assert trace.z.ravel() == pytest.approx(weights)
    assert page.layer.layout.display == page.head.layout.display == "none"
    page.explained.shown.value = "attention"
    assert page.chart.figure.layout.title.text.startswith("Attention of each system")
    assert page.layer.layout.display == ""


@pytest.mark.full
def test_a_token_is_compared_with_another_word_until_the_sentence_changes(page):
    page._opened("?show=erasure&position=1&instead=was")
    assert page._message.value == ""
    for trace, weights in zip(drawn(page), expected(page, "erasure", Instead(1, "was")), strict=True):
        assert trace.z.ravel() == pytest.approx(weights)
    assert page.chart.figure.layout.yaxis.ticktext[1] == "is, not was"
    page.state["instead"].value = "qqqq"
    assert "&#x27;qqqq&#x27;: not in the en vocabulary" in page._message.value
    page.sentences.table.choose([2])
    assert page.state["instead"].value == ""
    assert page._message.value == ""


@pytest.mark.full
def test_only_systems_with_the_chosen_token_compare_it(page):
    page.said.value = "own"
    for place, compared in ((0, [True, True]), (1, [True, False])):  # <unk> <unk> a ..., and <unk> is never ...
        page._opened(f"?show=erasure&position={place}&instead=was")
        labels = [axis.ticktext[place] for axis in page.chart.figure.select_yaxes()]
        assert [", not was" in label for label in labels] == compared


@pytest.mark.full
def test_all_heads_of_a_transformer_and_a_click_on_one(page):
    assert page.heads.chart.layout.display == "none"
    assert page.heads.answer.value == "None of these runs is a Transformer."
    page.runs.table.choose([GERMAN])
    assert page.heads.chart.layout.display == ""
    assert page.heads.answer.value.startswith("Most focused: head ")
    layers = page.layer.options
    assert len(page.heads.chart.figure.data) == len(layers) * (len(page.head.options) + 1)
    page.heads._clicked({"meta": [1, 3]})
    assert (page.layer.value, page.head.value) == (1, 3)
    page.heads._clicked({"meta": [2, 0]})  # the mean is no head
    assert (page.layer.value, page.head.value) == (1, 3)
    page.heads.kind.value = "decoder self-attention"
    assert page.heads.chart.figure.layout.title.text.startswith("Decoder self-attention")
    page.heads._clicked({"meta": [2, 2]})
    assert (page.layer.value, page.head.value) == (1, 3)
    page.runs.table.choose([TIED])
    assert page.heads.chart.layout.display == "none"


@pytest.mark.full
def test_agreement_is_measured_once_and_stored_with_the_runs(page, monkeypatch):
    monkeypatch.setattr("nmtlab.dashboards.parts.agreement.EXPLANATIONS", EXPLANATIONS[:2])
    page.runs.table.choose([TIED])
    assert page.agreement.table.frame.empty
    page.agreement._button.click()
    frame, (run,) = page.agreement.table.frame, page.sentences.runs
    assert frame["method"].tolist() == list(EXPLANATIONS[:2])
    text = page.sentences.chosen_text
    for method, share in zip(frame["method"], frame["on the aligned word, %"], strict=True):
        stored = AGREEMENT_OF.stored(run, corpus=text.corpus, part=text.split, method=method)
        assert share == round(100 * stored["on"].item())
    assert page.agreement._button.layout.display == "none"
    page.runs.table.choose([GERMAN])  # which has no text
    assert page.agreement.table.frame.empty
    assert page.agreement.table.why == "No text with word links of these runs is here."
    assert page.agreement._button.layout.display == "none"


@pytest.mark.full
def test_integrated_gradients_of_a_large_model_are_refused(page, monkeypatch):
    monkeypatch.setattr("nmtlab.dashboards.frame.systems._MAX_PARAMETERS", 1000)
    page.runs.table.choose([TIED])
    assert [method for _, method in page.agreement._asked()] == [*EXPLANATIONS[:-1]]
    page.explained.shown.value = "integrated gradients"
    assert "choose another method" in page._message.value
    assert not drawn(page)


@pytest.mark.full
def test_the_page_opens_on_a_sentence_in_which_tied_attends_to_the_first_word_and_the_lexicon_to_the_aligned_ones():
    page = AttentionPage(Workspace.find())
    assert page.sentences.line == SENTENCE[1]
    places = PEAK_PLACES.among(page.runs.chosen).query(f"line == {SENTENCE[1]}")
    sink = places[places["sink"]].groupby("run")["words"].sum()
    aligned = places[places["shift"] == 0].groupby("run")["words"].sum()
    assert sink["tied"] > aligned["tied"]
    assert aligned["fixnorm-lex"] > 3 * aligned["tied"]
    assert "fixnorm-lex" not in sink


def test_a_decoder_that_averages_has_heads_of_the_other_kinds_only(zoo):
    heads = Heads(lambda *_: None)
    heads.show([zoo("averaging")], "ein Hund singt", "a dog sings", "a sentence")
    assert heads.chart.layout.display == ""
    heads.kind.value = "decoder self-attention"
    heads.show([zoo("averaging")], "ein Hund singt", "a dog sings", "a sentence")
    assert heads.chart.layout.display == "none"
    assert heads.answer.value == "This decoder has no self-attention: it averages the words so far."
