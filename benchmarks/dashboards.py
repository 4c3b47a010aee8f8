"""How long a person waits for the dashboards, alone and with nine others.

    python benchmarks/dashboards.py

Run it in the checkout's root, on a machine with nothing else to do; it needs playwright and Chromium. README.md,
beside it, says what is measured.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil
from playwright.sync_api import BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[1]
WARM = 3  # pages that have a kernel ready
PAGES = ("tables", "attention", "translate", "logits", "search", "dynamics", "lexicon", "depth", "compare", "train")
RUN = "small-tr-en.tied.s1"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip
DRAWN = """() => {
  const small = [...document.querySelectorAll('.nmtlab-argument .figure')];
  if (small.length) return small.every((part) => part.querySelector('.main-svg'));
  const seen = [...document.querySelectorAll('.nmtlab-chart, .nmtlab-table')].filter((part) => part.offsetParent);
  return document.querySelector('[data-answered]') && seen.every((part) => part.dataset.drawn);
}"""
# From an event to the next drawing of a chart, in ms; `act` does the n-th interaction of a page.
TIMED = """
window.timed = (n) => new Promise((answer) => {
  const [act, title] = window.interaction;
  const chart = document.querySelector(`.nmtlab-chart[aria-label^="${title}"]`);
  const begun = performance.now();
  const watch = new MutationObserver(() => { watch.disconnect(); answer(performance.now() - begun); });
  watch.observe(chart, { attributeFilter: ['data-drawn'] });
  act(n);
});
window.often = async (seconds, every) => {
  const times = [], until = performance.now() + 1000 * seconds;
  for (let n = 1; performance.now() < until; n++) {
    times.push(await timed(n));
    await new Promise((rest) => setTimeout(rest, Math.max(0, every - times.at(-1))));
  }
  return times;
};
window.pick = (title, n) => {
  const tables = [...document.querySelectorAll('.nmtlab-table')];
  const table = tables.find((one) => one.querySelector('.nmtlab-table-title').textContent.startsWith(title));
  const row = table.querySelectorAll('tr[data-key]')[n];
  (row ?? document.querySelector('button[title="Next sentence"]')).click();
};
window.press = (n) => {
  const name = n % 2 ? 'perplexity' : 'BLEU';
  [...document.querySelectorAll('button')].find((button) => button.textContent.trim() === name).click();
};
window.slide = (n) => {
  const key = n % 20 < 10 ? 'ArrowRight' : 'ArrowLeft';
  document.querySelector('.noUi-handle').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
};
"""


class Interaction(NamedTuple):
    """Something a person does in a page, and the chart that answers: JavaScript of its number, title."""

    name: str
    page: str
    query: str
    act: str
    chart: str


INTERACTIONS = (
    Interaction("logits: slider r", "logits", f"?runs={RUN}&fixed=True&r=5.0", "slide(n)", "From the logit of"),
    Interaction("attention: sentence", "attention", "", "pick('Sentences', n)", "Attention"),
    Interaction("dynamics: score", "dynamics", f"?runs={RUN}", "press(n)", "Dev "),
    Interaction("lexicon: word", "lexicon", "", "pick('Source words', n + 50)", "Translations of"),
)


@contextmanager
def served() -> Iterator[tuple[str, psutil.Process]]:
    """Serve the packed runs from a new workspace, with a warm kernel for each of the pages most used."""
    with socket.socket() as probe, TemporaryDirectory() as folder:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        (Path(folder) / "evidence").symlink_to(ROOT / "data/evidence")
        environment = {**os.environ, "NMTLAB_DATA": folder, "NMTLAB_CORPORA": ""}
        command = [sys.executable, "-m", "nmtlab", "dashboards", "--port", str(port), "--warm", "1"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield f"http://127.0.0.1:{port}", psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def wait_for_pool(server: psutil.Process, kernels: int) -> None:
    """Wait until so many kernels are there and nothing works any more."""
    quiet = 0
    while quiet < 4:
        own = server.children(recursive=True)
        before = used(own)
        time.sleep(0.5)
        started = sum("/kernel-" in command_of(process) for process in own)
        quiet = quiet + 1 if started >= kernels and used(own) - before < 0.1 else 0


def command_of(process: psutil.Process) -> str:
    """Return the command of a process, empty if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def used(processes: list[psutil.Process]) -> float:
    """Return the seconds of CPU that processes have used."""
    return sum(process.cpu_times().user for process in processes if process.is_running())


def opened(browser: BrowserContext, address: str, name: str, query: str = "") -> Page:
    """Open a page, and print the seconds until it is there and until its charts are drawn."""
    page = browser.new_page()
    begun = time.perf_counter()
    page.goto(f"{address}/voila/render/{name}.ipynb{query}", wait_until="commit")
    page.wait_for_selector(".nmtlab-page, .nmtlab-argument", timeout=120_000)
    there = time.perf_counter() - begun
    page.wait_for_function(DRAWN, timeout=120_000)
    drawn = time.perf_counter() - begun
    print(f"{name:24} {there:8.2f} {drawn:8.2f}", flush=True)
    return page


def ready(browser: BrowserContext, address: str, interaction: Interaction) -> Page:
    """Open a page in which the time of an interaction can be taken."""
    page = opened(browser, address, interaction.page, interaction.query)
    page.evaluate(f"() => {{ {TIMED} }}")
    page.evaluate(f"() => {{ window.interaction = [(n) => {interaction.act}, '{interaction.chart}']; }}")
    time.sleep(1)  # until what an address asks for has been drawn too
    return page


def told(name: str, times: list[float]) -> None:
    """Print median and 95th percentile of ms."""
    percentile = statistics.quantiles(times, n=20)[-1]
    print(f"{name:24} {statistics.median(times):8.0f} {percentile:8.0f} {len(times):6}", flush=True)


def memory(server: psutil.Process) -> tuple[float, float, int]:
    """Return GiB of the server and its kernels, as RSS and with what they share counted once, and their number."""
    all_of_it = [server, *server.children(recursive=True)]
    infos = [process.memory_full_info() for process in all_of_it]
    return sum(info.rss for info in infos) / 2**30, sum(info.pss for info in infos) / 2**30, len(infos)


def opening(browser: BrowserContext, address: str, server: psutil.Process) -> None:
    """Open ten pages, one after the other, and print the seconds of each and the memory of all."""
    print(f"\n{'ten pages, s':24} {'page':>8} {'charts':>8}")
    pages = []
    for place, name in enumerate(PAGES):
        wait_for_pool(server, WARM + place)
        pages.append(opened(browser, address, name))
    wait_for_pool(server, WARM + len(PAGES))
    print_memory("ten pages open", server)
    for page in pages:
        page.close(run_before_unload=True)
    time.sleep(2)  # their kernels end


def print_memory(when: str, server: psutil.Process) -> None:
    rss, pss, processes = memory(server)
    print(f"{when}: {processes} processes, {rss:.2f} GiB RSS, {pss:.2f} GiB with shared pages once", flush=True)


def alone(browser: BrowserContext, address: str, server: psutil.Process) -> None:
    """Measure one person at a time."""
    print(f"\n{'first paint, s':24} {'page':>8} {'charts':>8}")
    page = opened(browser, address, "index")  # as a person does; the browser itself is new, too
    page.close(run_before_unload=True)
    time.sleep(2)  # its kernel ends
    pages = []
    for interaction in INTERACTIONS:
        wait_for_pool(server, WARM + len(pages))
        pages.append(ready(browser, address, interaction))
    wait_for_pool(server, WARM + len(pages))
    print(f"\n{'event to redraw, ms':24} {'median':>8} {'95 %':>8} {'times':>6}")
    for interaction, page in zip(INTERACTIONS, pages, strict=True):
        told(interaction.name, [page.evaluate("(n) => timed(n)", n) for n in range(1, 21)])
        page.close(run_before_unload=True)


def together(browser: BrowserContext, address: str, server: psutil.Process, sessions: int, seconds: int) -> None:
    """Measure several people, each of whom does something every second.

    Their browsers run here too, which in life have a machine each: so once more, with pages that draw nothing.
    """
    time.sleep(2)  # the kernels of closed pages end
    both = INTERACTIONS[:2]
    print(f"\n{'no warm kernels, s':24} {'page':>8} {'charts':>8}")
    pages = [ready(browser, address, both[place % 2]) for place in range(sessions)]
    wait_for_pool(server, WARM + sessions)
    for draws in ("drawn", "answered"):
        for page in pages:
            page.evaluate(f"() => {{ window.times = often({seconds}, 1000); }}")
        times = [page.evaluate("() => window.times") for page in pages]
        print(f"\n{sessions} sessions, {seconds} s; ms {draws:8} {'median':>5} {'95 %':>8} {'times':>6}")
        for place, interaction in enumerate(both):
            told(interaction.name, [ms for own in times[place::2] for ms in own])
        for page in pages:
            page.evaluate("() => { Plotly.react = async () => {}; }")
    print_memory("server and kernels", server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=10, help="people at once; 0: only open pages")
    parser.add_argument("--seconds", type=int, default=30, help="for which they are at work")
    arguments = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with served() as (address, server), sync_playwright() as playwright, TemporaryDirectory() as profile:
        wait_for_pool(server, WARM)
        print(f"load {os.getloadavg()}, {os.cpu_count()} cores")
        print_memory("waiting", server)
        person = playwright.chromium.launch_persistent_context(  # keeps compiled scripts, as a person's browser does
            profile, executable_path=chromium, args=FLAGS, viewport={"width": 1500, "height": 1300}
        )
        opening(person, address, server)
        if arguments.sessions:
            alone(person, address, server)
            together(person, address, server, arguments.sessions, arguments.seconds)
        person.close()
        print(f"load {os.getloadavg()}")


if __name__ == "__main__":
    main()
