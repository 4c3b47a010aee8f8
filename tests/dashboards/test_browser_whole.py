"""What all pages have in common, in a browser: addresses, saved files, trainings that outlive them, text that bites."""

import re
import shutil
from itertools import pairwise
from urllib.parse import parse_qs, urlencode

import psutil
import pytest
from support.hostile import BROKEN, HOSTILE, LONG, TINY
from support.shown import PATIENCE, Shown, eventually, near

from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.dynamics.curves import dev_curve
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.figures.theme import readable
from nmtlab.jobs import Job
from nmtlab.runs.listing import open_run
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus

TIED, LEX = "small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1"
ATTENTION, LOGITS, NORMS, DEV = "Attention", "What makes a word win", "Norm of output embeddings", "Dev "
SENTENCES, JOBS, TRANSLATIONS = "Sentences: select one", "Trainings started here", "Translations: select one"
LOG = ".nmtlab-log"


def everything_drawn(page: Shown) -> list[list[dict]]:
    """Return what is drawn in every chart that is to be seen."""
    charts = page.page.locator(".nmtlab-chart:visible")
    titles = charts.evaluate_all("(all) => all.map((chart) => chart.ariaLabel)")
    return [page.traces(title) for title in titles]


# The keyboard

_CONTROLS = """() => {
  const all = 'input, select, textarea, button, a, [tabindex="0"]';
  const seen = [...document.querySelectorAll('.nmtlab-page')].flatMap((page) => [...page.querySelectorAll(all)]);
  const stops = seen.filter((one) => one.tabIndex >= 0 || !one.closest('[role="toolbar"]'));  // it has arrow keys
  return stops.filter((one) => one.offsetParent && !one.disabled).map((one, place) => (one.dataset.place = place));
}"""
_FOCUSED = """() => {
  const one = document.activeElement, slider = one.closest('.widget-slider');
  const own = one.ariaLabel || one.title || one.placeholder || one.innerText;
  const name = own || one.labels?.length || slider?.innerText;
  return [Number(one.dataset.place ?? -1), Boolean(name), getComputedStyle(one).outlineStyle];
}"""


@pytest.mark.parametrize("name", ["logits", "attention", "train"])  # which have every kind of control
def test_every_control_is_reached_by_the_tab_key_has_a_name_and_is_seen_to_be_reached(show, name):
    page = show(name).page
    controls, reached = page.evaluate(_CONTROLS), {}
    for _ in range(len(controls) + 30):  # there are some above the page, too
        page.keyboard.press("Tab")
        place, *looks = page.evaluate(_FOCUSED)
        reached[place] = looks
    assert set(controls) <= set(reached)
    assert [place for place in controls if not reached[place][0] or reached[place][1] == "none"] == []


# Narrow windows

_LOST = """() => [...document.querySelectorAll('.nmtlab-columns > *')]
  .filter((part) => part.offsetParent && part.scrollHeight > part.clientHeight + 20)
  .map((part) => part.innerText)"""


@pytest.mark.parametrize("name", ["attention", "translate", "train"])
def test_columns_stand_below_each_other_in_a_narrow_window_and_are_whole(show, name):
    page = show(name, {"attention": "?open=sentence"}.get(name, "")).page
    page.set_viewport_size({"width": 700, "height": 900})
    columns = page.locator(".nmtlab-columns:visible").all()
    assert columns or name != "attention"
    for column in columns:
        parts = [part.bounding_box() for part in column.locator(":scope > *").all() if part.is_visible()]
        assert all(upper["y"] + upper["height"] <= lower["y"] for upper, lower in pairwise(parts))
    assert page.evaluate(_LOST) == []
    for width in (700, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# Addresses


def test_an_address_opens_the_page_as_it_was(show):
    choices = {
        "runs": "hostile", "text": "hostile dev", "line": "4", "target": "reference", "layer": "2", "head": "2",
        "show": "attention", "position": "0", "attention": "cross-attention", "pinned": "rot haus\tred house",
        "open": "heads,pinned",
    }  # fmt: skip
    page = show("attention", f"?{urlencode(choices)}")
    assert page.message == ""
    eventually(lambda: page.query, f"?{urlencode(choices)}")
    eventually(lambda: page.page.locator(".nmtlab-chart:visible").count(), 3)
    page.choose("Layer", "1")
    page.pick(SENTENCES, "5")
    eventually(lambda: "line=5" in page.query and "layer=1" in page.query, True)
    again = show("attention", page.query)
    assert again.query == page.query
    eventually(lambda: everything_drawn(again), everything_drawn(page))
    assert again.picked(SENTENCES) == ["5"]


def test_an_address_that_asks_for_a_run_that_is_not_here_says_so(show, served):
    page = show("dynamics", "?runs=nobody&score=perplexity")
    eventually(lambda: page.message, "Some of this link is not available here: runs = nobody.")
    curve = dev_curve(open_run(page.picked("Runs")[0], served.workspace))
    eventually(lambda: page.values(DEV), near([curve["perplexity"].tolist()]))


def test_the_link_to_a_page_just_opened_has_its_state_and_is_said_to_be_copied(show):
    opened = show("dynamics")
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    assert parse_qs(opened.query[1:])["runs"] == [",".join(opened.picked("Runs"))]
    opened.press("Copy the link")
    eventually(lambda: "Copied." in opened.notes, True)
    address = opened.page.evaluate("navigator.clipboard.readText()")
    assert address == opened.page.url
    opened.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    opened.press("Copy the link")
    eventually(lambda: f"the link is {address}" in opened.notes, True)


# Choosing runs


def test_runs_are_told_apart_by_short_names_with_the_full_ones_on_hover(show):
    page = show("dynamics", f"?runs={TIED}%2C{LEX}&open=learned")
    eventually(lambda: [trace["name"] for trace in page.traces(DEV)], ["tied", "fixnorm-lex"])
    assert page.column("Best evaluation of each run", "run") == ["tied", "fixnorm-lex"]
    cell = page.table("Best evaluation of each run").locator("td", has_text="fixnorm-lex")
    cell.hover()
    eventually(lambda: cell.get_attribute("title"), LEX)
    legend = page.chart(DEV).locator(".traces", has_text="tied")
    legend.locator(".legendtoggle").hover()
    eventually(lambda: legend.locator("title").text_content(), TIED)


def test_chosen_runs_stand_above_the_list_and_are_removed_and_cleared_there(show):
    page = show("dynamics", f"?runs={TIED}%2C{LEX}")
    chosen = page.open_list("Runs").locator(".nmtlab-table-chosen:visible")
    eventually(chosen.inner_text, "2 chosen\ntied ×\nfixnorm-lex ×\nclear")
    chosen.get_by_text("tied ×").click()
    eventually(lambda: page.picked("Runs"), [LEX])
    page.press("clear")
    eventually(lambda: page.picked("Runs"), [])
    eventually(lambda: "No run is chosen: choose one above." in page.notes, True)
    eventually(lambda: page.page.locator(".nmtlab-chart:visible").count(), 0)
    page.pick("Runs", TIED)
    eventually(lambda: [trace["name"] for trace in page.traces(DEV)], [TIED])


def test_a_panel_is_opened_and_closed_by_the_keyboard_and_by_a_click_outside_and_a_chip_is_removed(show):
    page = show("dynamics", f"?runs={TIED}%2C{LEX}")
    choose, panel = page.page.get_by_role("button", name="Choose runs"), page.page.locator(".nmtlab-panel:popover-open")
    choose.focus()
    page.page.keyboard.press("Enter")
    eventually(lambda: panel.locator('tr[aria-selected="true"]').count(), 2)
    eventually(lambda: page.page.evaluate("document.activeElement.closest('.nmtlab-panel') !== null"), True)
    page.page.keyboard.press("Escape")
    eventually(panel.count, 0)
    assert page.page.evaluate("document.activeElement.className") == "nmtlab-choose"
    choose.click()
    assert panel.is_visible()
    page.page.mouse.click(1490, 1290)
    eventually(panel.count, 0)
    page.page.get_by_role("button", name="Remove tied").click()
    eventually(lambda: page.picked("Runs"), [LEX])
    eventually(lambda: page.page.locator(".nmtlab-chip").count(), 1)


def test_groups_of_runs_are_folded_and_passed_over_by_the_keyboard(show):
    page = show("dynamics", f"?runs={TIED}")
    heading = page.open_list("Runs").get_by_role("button", name="tr-en: small-tr-en")
    before = page.keys("Runs")
    heading.focus()
    page.page.keyboard.press("Enter")
    eventually(lambda: len(page.keys("Runs")) < len(before), True)
    assert TIED not in page.keys("Runs")
    page.page.keyboard.press("Enter")
    eventually(lambda: page.keys("Runs"), before)
    page.row("Runs", before[0]).focus()
    for _ in before:
        page.page.keyboard.press("ArrowDown")
    assert page.page.evaluate("document.activeElement.dataset.key") == before[-1]


# To take away


def test_tables_and_figures_are_downloaded(show, tmp_path):
    page = show("dynamics", f"?runs={TIED}%2C{LEX}&open=learned")
    best = page.table("Best evaluation of each run")
    best.get_by_role("button", name="run").click()  # sorted: fixnorm-lex is first
    files = {}
    for name in ("CSV", "LaTeX"):
        with page.page.expect_download() as downloading:
            best.get_by_role("button", name=name, exact=True).click()
        files[name] = (downloading.value.suggested_filename, downloading.value.path().read_text(encoding="utf-8"))
    name, content = files["CSV"]
    assert name == "nmtlab-best-evaluation-of-each-run.csv"
    assert [line.split(",")[0] for line in content.splitlines()] == ["run", "fixnorm-lex", "tied"]
    assert files["LaTeX"][1].splitlines()[2] == "\\toprule"
    chart = page.chart(DEV)
    chart.locator(".traces", has_text="tied").first.locator(".legendtoggle").click()
    eventually(lambda: chart.evaluate("(div) => div._fullData.map((trace) => trace.visible)"), ["legendonly", True])
    chart.hover()
    chart.locator('[data-title="Size of downloads"]').click()
    form = chart.locator("xpath=..").locator(".nmtlab-chart-size")
    for place, (usual, number) in enumerate([("140", "90"), ("9", "8")]):
        assert form.locator("input").nth(place).input_value() == usual
        form.locator("input").nth(place).fill(number)
        form.locator("input").nth(place).blur()
    chart.hover()
    with page.page.expect_download() as downloading:
        chart.locator('[data-title="Download as SVG"]').click()
    drawn = downloading.value.path().read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert "fixnorm-lex" in drawn
    assert 'width="90mm"' in drawn.partition(">")[0]
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn.partition(">")[0]).groups()
    layout = chart.evaluate("(div) => [div.layout.template.layout.font.size, div.offsetHeight]")
    assert [8 / 72 * 25.4 * float(width) / 90, float(height)] == pytest.approx(layout, rel=1e-3)  # letters of 8 pt
    with page.page.expect_download(timeout=1000 * PATIENCE) as downloading:
        chart.locator('[data-title="Download as PDF"]').click()
    assert downloading.value.suggested_filename == "nmtlab-dev-bleu-during-training.pdf"
    drawn = downloading.value.path().read_bytes()
    assert drawn.startswith(b"%PDF")
    assert float(re.search(rb"/MediaBox *\[0 0 ([\d.]+) ", drawn)[1]) == pytest.approx(90 / 25.4 * 72, abs=1)


# Saved pages


def test_a_saved_page_opens_without_a_server(show, browser, tmp_path):
    page = show("attention", f"?runs=hostile&{urlencode({'text': 'hostile test', 'line': 4})}")
    with page.page.expect_download() as downloading:
        page.press("Save this page")
    assert downloading.value.suggested_filename == "nmtlab-attention.html"
    path = tmp_path / "saved.html"
    downloading.value.save_as(path)
    requests = []
    saved = browser.new_page()
    saved.on("request", lambda request: requests.append(request.url))
    shown = Shown(saved, "file://")
    saved.goto(path.as_uri())
    saved.wait_for_selector(".js-plotly-plot .main-svg")
    assert requests == [path.as_uri()]
    drawn = saved.locator(".js-plotly-plot").first.evaluate("(div) => div._fullData.map((t) => t.type)")
    assert drawn == [trace["type"] for trace in everything_drawn(page)[0]]
    assert HOSTILE[0][0] in saved.inner_text("body")
    shown.check()
    assert saved.locator('script:text-is("alert(1)"), img').count() == 0
    saved.close()


# Text that bites


def test_hostile_text_is_shown_as_text(show, served):
    page = show("attention", f"?runs=hostile&{urlencode({'text': 'hostile dev'})}")
    system = open_system(open_run("hostile", served.workspace))
    shown = [source[:2000] + ("…" if len(source) > 2000 else "") for source, _ in HOSTILE]
    assert page.column(SENTENCES, "source")[: len(HOSTILE)] == shown
    assert "3 runs not shown: no weights (2), incomplete or damaged (1)" in page.notes
    page.open_list("Runs")
    page.page.get_by_text("3 runs not shown").click()
    assert f"incomplete or damaged: {BROKEN};" in page.notes
    page.close_list()
    directions = page.table(SENTENCES).locator("td").evaluate_all("(all) => all.map((cell) => cell.dir)")
    assert set(directions) == {"auto"}
    for line, (source, target) in enumerate(HOSTILE, start=1):
        page.pick(SENTENCES, str(line))
        frame = attention(system, source, target).query("layer == 1 and head == 1")
        pieces = frame.drop_duplicates("source_position")["source_piece"].tolist()
        eventually(lambda: len(page.values(ATTENTION, "z", type="heatmap")[0][0]), len(pieces))
        eventually(lambda source=source: source[:50] in page.notes, True)
        page.check()
    page.type("Sentence", HOSTILE[0][0] + " " + HOSTILE[1][0])
    eventually(lambda: f"{HOSTILE[0][0]} {HOSTILE[1][0]}" in page.notes, True)
    chart = page.page.locator(".nmtlab-chart:visible").first
    eventually(lambda: "script" in chart.inner_text(), True)


def test_hostile_text_is_translated_and_looked_into(show):
    page = show("translate", "?runs=hostile&open=tokens,best")
    field = page.page.locator("textarea")
    field.fill("\n".join([*(source for source, _ in HOSTILE), LONG]))
    field.blur()
    eventually(lambda: set(page.column(TRANSLATIONS, "line")), set(map(str, range(1, len(HOSTILE) + 2))))
    for line in range(1, len(HOSTILE) + 2):
        page.pick(TRANSLATIONS, f"hostile/{line}/1")
        eventually(lambda line=line: f"pick=hostile%2F{line}%2F1" in page.query, True)
    eventually(lambda: "Inspecting hostile on: xxx" in page.notes, True)
    assert page.message == ""


def test_wrong_rare_words_are_found_and_led_to(show, served):
    workspace = served.workspace
    run = open_run("hostile", workspace)
    corpus = ParallelCorpus.open(workspace.corpus_folder("hostile"), "de", "en")
    page = show("logits", f"?runs=hostile&open=errors&{urlencode({'text': 'hostile test'})}")
    expected = rare_choices(run, corpus, "test")
    wrong = expected[~expected["right"]].sort_values(["line", "position"], ignore_index=True)
    assert len(wrong) > 2
    page.press("Find the errors")
    found = "mispredicted rare words, and the largest effect"
    shown = [word[:2000] + "…" * (len(word) > 2000) for word in readable(wrong["gold"])]
    eventually(lambda: page.column(found, "right word"), shown)
    assert page.column(found, "preferred") == readable(wrong["preferred"])
    page.pick(found, "2")
    eventually(lambda: page.picked(SENTENCES), [str(wrong["line"][2])])
    position = page.page.locator(".widget-dropdown").filter(has_text="⟨end⟩").locator("select").first
    eventually(lambda: position.evaluate("(select) => select.selectedIndex"), int(wrong["position"][2]))
    eventually(lambda: f"Reference word: “{wrong['gold'][2]}”" in page.notes, True)


# Trainings


def test_a_training_is_started_watched_stopped_and_gone_on_with(show, served):
    workspace = served.workspace
    page = show("train", "?open=log,settings")
    recipe = [setting for setting in TINY if "max_evaluations" not in setting]
    page.choose("Corpus", "hostile")
    page.choose("Recipe", "prenorm-fixnorm-scalenorm")
    page.type("Settings", "model.dropout=7")
    page.type("Name", "started")
    page.press("Start training")
    eventually(lambda: "model.dropout" in page.message, True)
    assert not (workspace.data / "jobs/started").exists()
    page.type("Settings", "")
    eventually(lambda: "settings=" in page.query, False)
    page.pick("Settings of the recipe", "model.dropout")
    eventually(lambda: page.picked("Settings of the recipe"), ["model.dropout"])
    page.type("New value", "7")
    eventually(lambda: "model.dropout" in page.message, True)
    page.type("New value", "0.3")
    eventually(lambda: "settings=model.dropout%3D0.3" in page.query, True)
    page.type("Settings", " ".join([*recipe, "training.max_evaluations=2000", "training.patience=2000"]))
    page.press("Start training")
    eventually(lambda: page.picked(JOBS), ["started"])
    job = Job.open(workspace.data / "jobs/started")
    eventually(lambda: page.chart(DEV).count(), 1)
    eventually(lambda: len(page.traces(DEV)), 1)
    eventually(lambda: "started: training." in page.answer, True)
    eventually(lambda: " of at most " in "".join(page.page.locator(".nmtlab-progress").all_inner_texts()), True)
    first = len(page.values(DEV)[0])
    eventually(lambda: len(page.values(DEV)[0]) > first, True)
    page.press("Start training")
    eventually(lambda: "run 'started' already exists" in page.message, True)
    first = len(page.values(DEV)[0])
    eventually(lambda: len(page.values(DEV)[0]) > first, True)
    assert "run 'started' already exists" in page.message  # though the page was drawn anew by itself
    page.press("Stop")
    eventually(lambda: page.message, "")
    eventually(lambda: job.alive, False)
    eventually(lambda: page.page.get_by_role("button", name="Resume").is_enabled(), True)
    assert "started: training" not in page.answer
    eventually(lambda: page.page.locator(LOG).inner_text(), job.tail(12).partition("; next: ")[0])
    links = page.page.locator(".nmtlab-links a")
    eventually(lambda: "Training curves" in links.all_inner_texts(), True)
    steps = dev_curve(open_run("started", workspace))["step"].tolist()
    page.press("Resume")
    eventually(lambda: "started: training." in page.answer, True)
    eventually(lambda: len(page.values(DEV)[0]) > len(steps), True)
    assert page.values(DEV, "x")[0][: len(steps)] == steps
    page.press("Stop")
    eventually(lambda: Job.open(workspace.data / "jobs/started").alive, False)
    assert open_run("started", workspace).status == "stopped"
    shutil.rmtree(workspace.runs / "started")
    shutil.rmtree(workspace.data / "jobs/started")


# Kernels


def test_a_page_that_is_left_leaves_no_kernel_behind(show, served):
    def kernels() -> set[int]:
        return {process.pid for process in psutil.Process(served.process.pid).children()}

    before = kernels()
    page = show("depth")
    own = kernels() - before
    assert own
    eventually(lambda: "_xsrf" in [cookie["name"] for cookie in page.page.context.cookies()], True)
    page.page.goto("about:blank")
    eventually(lambda: own & kernels(), set())


# Light and dark, and what a screen reader is told

_GROUND = "(part) => getComputedStyle(part).backgroundColor"
_PAPER = "(chart) => chart._fullLayout.paper_bgcolor"
_DARK = "rgb(22, 25, 29)"


def test_dark_is_chosen_and_remembered(show):
    page = show("attention")
    body, table = page.page.locator("body"), page.table(SENTENCES)
    values = page.values(ATTENTION, "z", type="heatmap")
    toggle = page.page.get_by_role("button", name="Dark")
    assert toggle.get_attribute("aria-pressed") == "false"
    assert table.evaluate(_GROUND) == "rgb(255, 255, 255)"
    toggle.click()
    eventually(lambda: page.chart(ATTENTION).evaluate(_PAPER), "#16191d")
    assert (body.evaluate(_GROUND), table.evaluate(_GROUND)) == (_DARK, _DARK)
    assert page.values(ATTENTION, "z", type="heatmap") == values
    assert toggle.get_attribute("aria-pressed") == "true"
    page.open("translate")
    assert body.evaluate(_GROUND) == _DARK
    page.page.get_by_role("button", name="Dark").click()
    eventually(lambda: body.evaluate(_GROUND), "rgb(255, 255, 255)")
    assert page.page.evaluate("localStorage.nmtlabScheme") is None  # which is what the system prefers


def test_a_page_and_a_saved_page_follow_the_system(show, tmp_path):
    page = show("attention")
    page.page.emulate_media(color_scheme="dark")
    eventually(lambda: page.chart(ATTENTION).evaluate(_PAPER), "#16191d")
    with page.page.expect_download() as download:
        page.press("Save this page")
    download.value.save_as(tmp_path / "saved.html")
    page.page.goto(f"file://{tmp_path / 'saved.html'}")
    papers = f"() => [...document.querySelectorAll('figure .js-plotly-plot')].map({_PAPER})"
    for scheme, colour in (("dark", "#16191d"), ("light", "#ffffff")):
        page.page.emulate_media(color_scheme=scheme)
        eventually(lambda: set(page.page.evaluate(papers)), {colour})
    assert page.page.locator("figure [role=img]").first.get_attribute("aria-label")


@pytest.mark.parametrize("name", ["attention", "dynamics"])
def test_a_screen_reader_is_told_what_is_seen(show, name):
    page = show(name, "?runs=none")
    web = page.page
    assert web.title().endswith(" · nmtlab")
    assert web.locator("main .nmtlab-page").count() == 1
    assert web.locator("main nav").count() == 0
    eventually(lambda: web.get_by_role("alert").all_inner_texts(), [page.message])
    page.open_list("Runs")
    runs = web.get_by_role("grid", name="Runs")
    assert web.get_by_role("dialog", name="Choose runs").count() == 1
    assert runs.get_by_role("row", selected=True).count() >= 1
    runs.get_by_role("button", name="system").click()
    eventually(lambda: runs.get_by_role("columnheader", name="system").get_attribute("aria-sort"), "ascending")
    page.close_list()
    assert web.locator("table:not([aria-label])").count() == 0
    pressed = web.locator(".widget-toggle-button[aria-pressed=true]:visible")
    eventually(lambda: pressed.count() == web.locator(".widget-toggle-buttons:visible").count() > 0, True)
    labels = web.locator(".nmtlab-chart:visible").evaluate_all("(all) => all.map((chart) => chart.ariaLabel)")
    assert all(label.endswith(".") and ". " in label for label in labels)
