"""Every page in a browser, each of its controls by mouse or keyboard: it shows what the analyses say when asked."""

import itertools
import math
import shutil
from urllib.parse import parse_qs, quote, urlencode

import pandas as pd
import pytest
from support.shown import Shown, eventually, near

from nmtlab.analysis.access.texts import sentences, texts
from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.dynamics.curves import dev_curve
from nmtlab.analysis.dynamics.depth import g_by_depth
from nmtlab.analysis.lexical.embedding_norms import word_norms
from nmtlab.analysis.lexical.lexicon import system_translations, table_translations
from nmtlab.analysis.lexical.logits import decompose, logit_steps, with_radius
from nmtlab.analysis.lexical.tokens import token_probabilities
from nmtlab.analysis.search.search_tree import (
    best_of_all,
    continue_from,
    ended_hypotheses,
    path_to,
    ranked,
    search_tree,
)
from nmtlab.analysis.search.stored_speed import NOISE, SETTING, frontier, medians, stored_efficiency
from nmtlab.analysis.search.tree_figure import _NARROWEST
from nmtlab.analysis.states.neighbours import neighbours
from nmtlab.dashboards.frame.headings import headings
from nmtlab.figures.theme import readable
from nmtlab.grids.results.judgement import NOT_KEPT
from nmtlab.grids.results.results import Results
from nmtlab.grids.results.schemas import CELLS
from nmtlab.grids.trainability import MAP
from nmtlab.recipe import SearchSettings
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.thesis.messages import MESSAGES
from nmtlab.thesis.tables.listing import find_table
from nmtlab.translation import Translator
from nmtlab.workspace import RESULTS, Workspace

TIED, FIXNORM, LEX, ARTHUR = (f"small-tr-en.{name}.s1" for name in ("tied", "fixnorm", "fixnorm-lex", "arthur"))
NORMS, LOGITS, WATERFALL = "Norm of output embeddings", "What makes a word win", "From the logit of"
ATTENTION, TOKENS = "Attention of each system", "How sure the system is"
SENTENCES, TRANSLATIONS, WORDS = "Sentences: select one", "Translations: select one", "Source words"
JOBS = "Trainings started here"
TREE, ENDED, BOTH = "Beam search tree", "Finished hypotheses of the beam", "Beam search and exact search"
PREFIX, CONTINUED = "Selected prefix:", "Continued from:"
TABLE, EFFICIENCY = "Test BLEU of all models", "BLEU and "
_EDGES = """(texts) => texts.map((text) => text.getBoundingClientRect())
  .map((box) => [box.left, box.top, box.right, box.bottom])"""
DEPTH, DEV, GRADIENTS = "Learned g", "Dev ", "Global gradient norm"
MAPS = "Which Transformers learn to translate"


@pytest.fixture(scope="module")
def runs(served) -> dict[str, Run]:
    return {name: open_run(name, served.workspace) for name in (TIED, FIXNORM, LEX, ARTHUR, "hostile")}


@pytest.fixture(scope="module")
def systems(runs) -> dict[str, Translator]:
    return {name: open_system(run) for name, run in runs.items() if run.checkpoints.has_weights()}


@pytest.fixture(scope="module")
def packed(runs, served) -> pd.DataFrame:
    """The sentences that were packed with the first run."""
    return sentences([], texts(runs[TIED], served.workspace)[0])


def grids(frames: list[pd.DataFrame], layer: int = 1, head: int = 1) -> list[list[list[float]]]:
    """Return the weights of a head as heatmaps have them."""
    own = [frame[(frame["layer"] == layer) & (frame["head"] == head)] for frame in frames]
    return [o.pivot(index="target_position", columns="source_position", values="weight").values.tolist() for o in own]


def attended(
    systems: dict[str, Translator], names: list[str], source: str, target: str | None = None, layer: int = 1,
    head: int = 1,
) -> object:  # fmt: skip
    return near(grids([attention(systems[name], source, target) for name in names], layer, head))


def cells(column: pd.Series) -> list[str]:
    """Return numbers as tables show them: all with the decimals that they need, up to two, or three of their digits."""
    alone = [f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".") for value in column]
    needed = max(len(text.partition(".")[2]) for text in alone)
    decimals = min(needed, max(2, 2 - math.floor(math.log10(column.abs().max()))))
    shown = [f"{value:.{decimals}f}" for value in column]
    both = zip(shown, alone, column, strict=True)
    return [(text if float(text) or not value else own).replace("-", "−") for text, own, value in both]


# One page after the other


def test_the_start_page_shows_figures_and_numbers_filters_claims_and_leads_to_every_page(start):
    page = start()
    assert page.locator(".figure .main-svg").count() >= len(MESSAGES)
    found = measured_claims()
    marks = page.locator(".mark:visible")
    assert marks.count() == len(found)
    page.locator(".bar .opposite").click()
    opposite = found[found["verdict"] == "contradicted here"]
    assert marks.count() == len(opposite)
    page.get_by_role("button", name="artificial text").click()
    assert marks.count() == opposite["artificial"].sum()
    first = marks.first
    line = found.loc[int(first.get_attribute("data-line"))]
    first.focus()
    page.keyboard.press("Enter")
    numbers = page.locator(".numbers")
    assert numbers.locator("h3").inner_text() == line["claim"]
    assert line["text"] in numbers.inner_text()
    assert line["budget"] in numbers.inner_text()
    first.press("Enter")
    assert numbers.count() == 0
    assert page.locator(".nmtlab-nav a").count() == len(headings()) + 1  # the glossary
    page.locator(".chip").first.click()
    assert numbers.locator("h3").inner_text() == MESSAGES[0].asked[0].claims[0].text
    assert marks.count() == len(found)


def test_the_start_page_opens_at_the_claim_of_its_address(start):
    claim = declared_claims()[0].text
    page = start(f"?claim={quote(claim)}")
    assert page.locator(".numbers h3").inner_text() == claim
    assert page.evaluate("document.documentElement.scrollWidth") <= 1500


def test_a_table_is_drawn_beside_what_was_published_and_leads_to_sentences(show, served):
    page = show("tables", "?table=table-3.6.small&line=tu-en · fixnorm&open=behind")
    lines = Results.latest(find_table("table-3.6"), "small", served.workspace).summary()
    own = lines[(lines["row"] == "tu-en") & (lines["column"] != "tied")]
    for name, kinds in (("", ["better", "worse"]), (", runs not kept", [NOT_KEPT])):
        if drawn := own[own["verdict"].isin(kinds)]["difference"].tolist():
            eventually(
                lambda name=name, drawn=drawn: near(drawn) in page.values(TABLE, "x", name=f"measured, 95 %{name}"),
                True,
            )
    assert page.picked("Means over the seeds") == ["tu-en · fixnorm"]
    assert page.picked("Runs: select one") == [FIXNORM]
    packed = sentences([], texts(open_run(FIXNORM, served.workspace), served.workspace)[0])
    assert page.column("Examples from dev", "source") == packed["source"].tolist()[:200]
    page.press("values")
    decided = ~lines["verdict"].isin(["inconclusive", "underpowered", NOT_KEPT])
    values = lines[(lines["row"] == "tu-en") & decided]["mean"].tolist()
    eventually(lambda: near(values) in page.values(TABLE, "x", name="measured, 95 %"), True)
    page.choose("Table", "table-3.8, small: The norm r of word vectors")
    first = CELLS.read(RESULTS / "table-3.8.small.csv")["run"].iloc[0]
    eventually(lambda: page.picked("Runs: select one"), [first])
    missing = "corpus 'small-tr-en': its part 'tatoeba-tr-en' was not found; add the folder that contains it"
    eventually(lambda: missing in page.notes, True)
    page.choose("Measure", "dev BLEU")
    eventually(lambda: "measure=dev-bleu" in page.query, True)


def test_g_is_drawn_against_depth_and_a_new_run_is_listed_without_a_reload(show, served, runs):
    page = show("depth")
    values = g_by_depth(runs["hostile"])
    expected = [own["g"].tolist() for _, own in values.groupby(["panel", "run", "group"], sort=False)]
    eventually(lambda: page.values(DEPTH, mode="markers"), near(expected))
    assert page.keys("Runs") == ["hostile"]
    assert "6 runs not shown: no values of g (5), incomplete or damaged (1)" in page.notes
    shutil.copytree(runs["hostile"].folder, served.workspace.runs / "later")
    eventually(lambda: sorted(page.keys("Runs")), ["hostile", "later"])
    page.pick("Runs", "later")
    eventually(lambda: page.values(DEPTH, mode="markers"), near(expected * 2))
    page.pick("Runs", "hostile")
    eventually(lambda: page.picked("Runs"), ["later"])
    eventually(lambda: page.query, "?runs=later")
    shutil.rmtree(served.workspace.runs / "later")
    eventually(lambda: page.keys("Runs"), ["hostile"])
    eventually(lambda: page.picked("Runs"), ["hostile"])


def test_training_is_drawn_by_score_and_by_time(show, runs):
    page = show("dynamics")
    curve = dev_curve(runs["hostile"])
    assert page.picked("Runs") == ["hostile"]
    eventually(lambda: page.values(DEV), near([curve["bleu"].tolist()]))
    assert page.values(DEV, "x") == near([curve["step"].tolist()])
    page.press("perplexity")
    eventually(lambda: page.values(DEV), near([curve["perplexity"].tolist()]))
    _are_numbers_that_grow(page, DEV)
    page.press("minutes")
    eventually(lambda: page.values(DEV, "x"), near([curve["minutes"].tolist()]))
    page.pick("Runs", TIED)
    both = [dev_curve(runs[name]) for name in ("hostile", TIED)]
    eventually(lambda: page.values(DEV), near([curve["perplexity"].tolist() for curve in both]))
    there = urlencode({"runs": f"hostile,{TIED}", "score": "perplexity", "over": "minutes"})
    eventually(lambda: page.query.partition("&open=")[0], f"?{there}")


def _are_numbers_that_grow(page: Shown, title: str) -> None:
    """Powers of ten and twice, five times as much: the digits alone would not do."""
    texts = page.chart(title).locator(".ytick text").all_text_contents()
    numbers = [float(text.replace(",", "").replace("−", "-")) for text in texts]
    assert len(numbers) >= 2
    assert numbers == sorted(set(numbers))


def test_gradients_are_drawn_of_every_chosen_run(show):
    page = show("gradients")
    eventually(lambda: len(page.traces(GRADIENTS)), 3)
    _are_numbers_that_grow(page, GRADIENTS)
    page.pick("Runs", TIED)
    eventually(lambda: len(page.traces(GRADIENTS)), 6)


def test_a_map_of_what_learns_is_drawn_when_it_is_opened(show):
    page = show("gains")
    assert page.chart(MAPS).count() == 0
    page.press("Which Transformers learn to translate?")
    made = MAP.read(RESULTS / MAP.ending)
    made["converged"] = (made["verdict"] == "converged").astype(float)
    learned = made.groupby(["placement", "init", "layers", "rate"])["converged"].mean()
    shares = [learned["post", init].unstack().values.tolist() for init in ("xavier", "small")]
    eventually(lambda: page.values(MAPS, "z")[:2], shares)


def test_norms_answer_to_runs_words_and_points(show, runs, systems):
    page = show("norms", f"?runs={TIED}%2C{FIXNORM}&open=near")
    lengths = {name: word_norms(runs[name]) for name in (TIED, FIXNORM)}
    assert all(1000 < len(words) <= 2000 for words in lengths.values())  # so that every second one is drawn
    norms, biases = (lengths[TIED][column].tolist()[::2] for column in ("used_norm", "bias"))
    drawn = [norms, biases, lengths[FIXNORM]["bias"].tolist()[::2]]  # fixed norms are a line
    eventually(lambda: page.values(NORMS, mode="markers"), near(drawn))
    page.pick("Runs", FIXNORM)
    eventually(lambda: page.values(NORMS, mode="markers"), near(drawn[:2]))
    page.type("Word", "book")
    nearest = neighbours(systems[TIED], "book")
    eventually(lambda: page.column(f"Nearest words to book in {TIED}", "word"), readable(nearest["word"]))
    assert page.column("Nearest words", "cos") == cells(nearest["cos"].round(2))
    page.type("Word", "no such word at all")
    eventually(lambda: "not in the en vocabulary" in page.message, True)
    first = lengths[TIED].iloc[0]
    page.click_point(NORMS, float(first["count"]), float(first["used_norm"]))
    near_first = readable(neighbours(systems[TIED], first["word"])["word"])
    eventually(lambda: page.column("Nearest words", "word"), near_first)
    assert page.control("text", "Word").locator("input").input_value() == first["word"]
    eventually(lambda: page.message, "")


def test_logits_answer_to_sentences_positions_and_lengths(show, systems, packed):
    page = show("logits", f"?runs={TIED}&line=1&position=1&open=candidates")
    system = systems[TIED]

    def asked(line: int, position: int) -> pd.DataFrame:
        return decompose(system, packed.loc[line, "source"], packed.loc[line, "reference"], position, top=12)

    def expected(frame: pd.DataFrame) -> list[object]:
        """Return the logits of all candidates, those of the pair, and the steps between these."""
        pair = pd.concat([frame[frame["wanted"]], frame[~frame["wanted"]].head(1)])
        steps = logit_steps(frame)["value"]
        ups = [steps[(steps > 0) == of_other].tolist() for of_other in (False, True)]
        return [near([frame["logit"].tolist()]), near([pair["logit"].tolist()]), near(ups)]

    def shown() -> list[object]:
        bars = page.traces(WATERFALL, type="bar")
        logits = page.values(LOGITS, mode="markers"), page.values(WATERFALL, mode="markers+text")
        return [*logits, [bar.get("y", []) for bar in bars]]

    eventually(shown, expected(asked(1, 0)))
    page.pick(SENTENCES, "4")
    eventually(shown, expected(asked(4, 0)))
    page.control("dropdown", "Word").locator("select").select_option(index=2)
    frame = asked(4, 2)
    eventually(shown, expected(frame))
    page.page.get_by_text("rescale all vectors to norm r").click()
    eventually(shown, expected(with_radius(frame, 5.0)))
    page.slide("r", "ArrowRight", 7)
    eventually(shown, expected(with_radius(frame, 5.7)))
    page.page.get_by_text("rescale all vectors to norm r").click()
    page.type("Sentence", "Tom öldü .")
    said = system.translate(["Tom öldü ."])[0].text
    eventually(shown, expected(decompose(system, "Tom öldü .", said, 2, top=12)))
    asked_for = parse_qs(page.query[1:])
    assert (asked_for["sentence"], asked_for["position"], asked_for["r"]) == (["Tom öldü ."], ["3"], ["5.7"])
    assert "line" not in asked_for


def test_attention_answers_to_sentences_heads_and_a_pin(show, systems, packed):
    page = show("attention", f"?text={quote(f'{TIED} (packed dev)')}&line=1&open=sentence,heads")
    names = [TIED, FIXNORM, LEX]

    def heatmaps(place: int = 0) -> list[list[list[float]]]:
        return page.values(ATTENTION, "z", place, type="heatmap")

    def expected(line: int) -> object:
        return attended(systems, names, *packed.loc[line, ["source", "reference"]])

    eventually(heatmaps, expected(1))
    page.open_list(SENTENCES)
    page.row(SENTENCES, "1").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter", "Escape"):
        page.page.keyboard.press(key)
    eventually(lambda: page.picked(SENTENCES), ["3"])
    eventually(heatmaps, expected(3))
    page.press("Pin this sentence")
    eventually(lambda: heatmaps(1), expected(3))
    page.open_list(SENTENCES).locator("input").fill("Tom")
    lines = [str(line) for line, row in packed.iterrows() if "tom" in " ".join(row).lower()]
    eventually(lambda: set(lines) <= set(page.keys(SENTENCES)) < set(map(str, packed.index)), True)
    page.table(SENTENCES).get_by_role("button", name="line").click()
    page.table(SENTENCES).get_by_role("button", name="line").click()
    last = max(page.keys(SENTENCES), key=int)
    eventually(lambda: page.keys(SENTENCES)[0], last)
    page.pick(SENTENCES, last)
    eventually(heatmaps, expected(int(last)))
    assert heatmaps(1) == expected(3)
    page.press("own translation")
    eventually(heatmaps, attended(systems, names, packed.loc[int(last), "source"]))
    page.pick("Runs", FIXNORM)
    names.remove(FIXNORM)
    page.type("Sentence", "Tom öldü .")
    eventually(heatmaps, attended(systems, names, "Tom öldü ."))
    said = [systems[n].translate(["Tom öldü ."])[0].text for n in names]
    eventually(lambda: page.column("Unknown words", "translation"), said)
    assert page.picked(SENTENCES) == []
    assert "Typed sentence: Tom öldü ." in page.notes
    _a_picked_line_and_a_typed_sentence_replace_each_other(page, last)
    page.pick("Runs", "hostile")
    left_out = "2 of 3 shown: “hostile de-en, hostile” translates de-en."
    eventually(lambda: left_out in page.notes and f"Line {last} of {TIED}" in page.notes, True)
    for name in names:
        page.pick("Runs", name)
    eventually(lambda: "Line 1 of hostile test" in page.notes, True)
    eventually(lambda: page.page.locator(".nmtlab-chart:visible").count(), 2)  # all heads; what was pinned is Turkish
    assert page.message == ""


def _a_picked_line_and_a_typed_sentence_replace_each_other(page: Shown, last: str) -> None:
    field = page.control("text", "Sentence").locator("input")
    page.press("Clear")
    eventually(lambda: page.picked(SENTENCES), [last])
    eventually(field.input_value, "")
    page.type("Sentence", "Tom öldü .")
    eventually(lambda: page.picked(SENTENCES), [])
    page.pick(SENTENCES, last)
    eventually(field.input_value, "")
    eventually(lambda: "sentence=" in page.query, False)
    eventually(lambda: f"Line {last} of {TIED}" in page.notes, True)


def test_a_lexicon_answers_to_a_search_and_a_word(show, runs, systems):
    page = show("lexicon")
    learned = system_translations(systems[LEX])
    aligned = table_translations(runs[ARTHUR].pipeline, runs[ARTHUR].translation_table)
    words = learned["source"].unique().tolist()
    (first,) = page.picked(WORDS)
    assert page.keys(WORDS) == [*words[:200], first]  # the first ones, and the selected one

    def drawn(word: str) -> list[object]:
        tables = (learned, aligned)
        return near([own.loc[own["source"] == word, "probability"].tolist() for own in tables])

    eventually(lambda: page.values("Translations of"), drawn(first))
    word = "kitap"
    page.table(WORDS).locator("input").fill(word)
    eventually(lambda: len(page.keys(WORDS)) < 100 and word in page.keys(WORDS), True)
    page.pick(WORDS, word)
    eventually(lambda: page.values("Translations of"), drawn(word))
    assert page.values("Translations of", "x")[0] == learned.loc[learned["source"] == word, "target"].tolist()
    eventually(lambda: page.query, f"?runs={LEX}&word={word}&selected=source%3A%3A{word}")
    best = learned[learned["source"] == word].iloc[0]
    assert (
        f"learned “{best['target']}” ({best['probability']:.2f})"
        in page.page.locator(".nmtlab-answer").first.inner_text()
    )


def test_a_search_is_drawn_step_by_step_and_ranked_anew(show, systems):
    page = show("search", f"?runs={TIED}&sentence=Tom+öldü+.&beam=3&open=exact,scores")
    search = SearchSettings(score="log-prob", beam_size=3)
    tree = search_tree(systems[TIED], "Tom öldü .", search)
    best = tree[tree["best"]]

    def ends() -> list[int]:
        return [xs[-2] for xs in page.values(TREE, "x", name="the translation returned")]  # before the last gap

    eventually(ends, [int(best["step"].max())])
    ended = ended_hypotheses(tree)
    eventually(lambda: page.column(ENDED, "text"), ranked(ended, search)["text"].tolist())
    page.slide("Step", "Home")
    eventually(ends, [1])
    page.choose("Rank by", "word reward")
    reward = SearchSettings(score="word-reward", gamma=0.5)
    eventually(lambda: page.column(ENDED, "text"), ranked(ended, reward)["text"].tolist())
    found = best_of_all(systems[TIED], "Tom öldü .", search).iloc[0]
    eventually(lambda: f"Proved after {found['expansions']:,} expansions" in page.notes, True)
    eventually(lambda: page.column(BOTH, "search"), ["beam of 3", "exact search"])
    assert page.column(BOTH, "log p") == cells(pd.Series([best["log_prob"].iloc[-1], found["log_prob"]]).round(2))


def test_a_clicked_node_of_a_tree_is_marked_with_its_path_and_continued(show, systems):
    page = show("search", f"?runs={TIED}&sentence=Tom+öldü+.&beam=3")
    search = SearchSettings(score="log-prob", beam_size=3)
    tree = search_tree(systems[TIED], "Tom öldü .", search)
    node = next(tree[(tree["step"] == 2) & ~tree["best"] & ~tree["ended"]].itertuples())
    path = path_to(tree, node.step, node.slot)
    eventually(lambda: "Click a node to select its prefix." in page.notes, True)
    page.click_point(TREE, node.step, node.log_prob)
    eventually(lambda: page.column(PREFIX, "token"), path["piece"].tolist())
    assert page.column(PREFIX, "log p so far") == cells(path["log_prob"].round(2) + 0.0)
    eventually(lambda: page.values(TREE, name="the selected prefix"), near([[0.0, *path["log_prob"]]]))
    page.press("Continue from here")
    found = continue_from(systems[TIED], "Tom öldü .", path["piece"].tolist(), search).iloc[0]
    best = tree[tree["best"]].iloc[-1]
    texts = [text.replace("<unk>", "⟨unknown⟩") for text in (found["text"], best["text"])]
    eventually(lambda: page.column(CONTINUED, "translation"), texts)
    assert page.column(CONTINUED, "log p") == cells(pd.Series([found["log_prob"], best["log_prob"]]).round(2))


def test_no_two_tokens_of_a_tree_overlap_at_1280_and_1920_pixels(show, systems):
    page = show("search", f"?runs={TIED}&line=3&beam=8")
    for width, plot in ((1280, _NARROWEST), (1920, 1022)):
        page.page.set_viewport_size({"width": width, "height": 900})
        drawn = f"Math.abs(document.querySelector('.nmtlab-chart')._fullLayout._size.w - {plot}) < 5"
        page.page.wait_for_function(drawn, timeout=90_000)
        boxes = page.chart(TREE).locator(".annotation-text-g").evaluate_all(_EDGES)
        assert len(boxes) > 10
        for one, other in itertools.combinations(boxes, 2):
            across = max(one[0], other[0]) - min(one[2], other[2])
            down = max(one[1], other[1]) - min(one[3], other[3])
            assert max(across, down) >= 0, (one, other)


def test_text_is_translated_as_it_is_asked_for(show, systems):
    page = show("translate", "?open=tokens,best,attention")
    lines = ["Tom öldü .", "Bu bir kitap ."]
    names = [TIED, LEX]

    def expected(beam: int, best: int) -> list[str]:
        found = {}
        for name in names:
            system = systems[name]
            search = system.settings.model_copy(update={"beam_size": beam})
            found[name] = Translator(system.model, system.pipeline, search).translate(lines, n_best=best)
        return [
            found[name][line].texts[place]
            for line in range(len(lines)) for place in range(best) for name in names
            if place < len(found[name][line].texts)
        ]  # fmt: skip

    def shown() -> list[str]:
        return page.column(TRANSLATIONS, "translation")

    field = page.page.locator("textarea")
    field.fill("\n".join([lines[0], "", lines[1]]))
    field.blur()
    eventually(shown, expected(12, 3))
    beam = page.page.get_by_role("textbox", name="Beam")
    beam.fill("2")
    beam.press("Enter")
    eventually(shown, expected(2, 2))
    page.slide("n-best", "ArrowLeft", 2)
    eventually(shown, expected(2, 1))
    page.pick(TRANSLATIONS, f"{LEX}/3/1")  # as numbered in the box
    text = systems[LEX].translate(lines)[1].text
    text = expected(2, 1)[3]
    chances = token_probabilities(systems[LEX], lines[1], text)["probability"].tolist()
    eventually(lambda: page.values(TOKENS), near([chances]))
    eventually(lambda: page.values(ATTENTION, "z", type="heatmap"), attended(systems, [LEX], lines[1], text))
    page.pick("Runs", LEX)
    names.remove(LEX)
    eventually(shown, expected(2, 1))
    assert parse_qs(page.query[1:])["text"] == ["\n".join([lines[0], "", lines[1]])]


def test_speed_and_quality_are_drawn_and_a_picked_point_is_the_picked_line(show):
    page = show("efficiency", "?open=settings,method")
    stored, _ = stored_efficiency(Workspace(RESULTS.parent))
    found = medians(stored[stored["machine"] == stored["machine"].iloc[0]]).query("engine != 'echo'")
    on_front = found[frontier(found, "processor_milliseconds", margin=NOISE)].sort_values("processor_milliseconds")
    eventually(
        lambda: page.values(EFFICIENCY, "x", name="Pareto front"), near([on_front["processor_milliseconds"].tolist()])
    )
    fastest = on_front.iloc[0]
    page.click_point(EFFICIENCY, fastest["processor_milliseconds"], fastest["bleu"])
    key = " · ".join(str(fastest[name]) for name in SETTING)
    eventually(lambda: page.picked("Settings"), [key])
    best = next(one for one in page.keys("Settings") if one != key)
    page.pick("Settings", best)
    line = found[[" · ".join(str(row[name]) for name in SETTING) == best for _, row in found.iterrows()]]
    eventually(lambda: page.values(EFFICIENCY, name="selected"), near([line["bleu"].tolist()]))
    page.choose("Cost", "peak memory, MiB")
    eventually(lambda: page.values(EFFICIENCY, "x", name="selected"), near([line["memory_mib"].tolist()]))
    assert "other hardware" in page.notes
