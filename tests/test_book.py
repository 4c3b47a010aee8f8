"""The book is built without a warning and without a network, and shows what its sources have."""

import ast
import csv
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from nmtlab.recipe import recipe_names

pytest.importorskip("sphinx", reason="needs the extra docs")
ROOT = Path(__file__).parents[1]
NO_NETWORK = (
    "import socket, sys\n"
    "def connect(*address): raise OSError(f'the book needs the network: {address}')\n"
    "socket.socket.connect = connect\n"
    "from sphinx.cmd.build import main\n"
    "sys.exit(main(sys.argv[1:]))"
)


def options() -> list[str]:
    """Return the options with which `./nmtlab.sh docs` calls Sphinx, without the target."""
    script = (ROOT / "nmtlab.sh").read_text(encoding="utf-8")
    (line,) = re.findall(r"-m sphinx (.*) build/book$", script, re.MULTILINE)
    return shlex.split(line)


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("book") / "book"
    command = [sys.executable, "-c", NO_NETWORK, *options(), str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def pages(book: Path) -> dict[str, str]:
    return {str(path.relative_to(book)): path.read_text(encoding="utf-8") for path in book.rglob("*.html")}


def test_the_first_address_leads_to_the_first_page(book):
    (address,) = re.findall(r"url=([^\"]+)", (book / "index.html").read_text(encoding="utf-8"))
    assert (book / address).is_file()


def test_no_page_loads_anything_from_elsewhere(book):
    loaded = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]+)|<link\b[^>]*\bhref=\"([^\"]+)")
    found = {address for text in pages(book).values() for pair in loaded.findall(text) for address in pair if address}
    assert len(found) > 50
    assert [address for address in found if re.match(r"\w+:|//", address) and not address.startswith("data:")] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in book.rglob("*.css"))
    assert [url for url in re.findall(r"url\(['\"]?([^)'\"]+)", styles) if re.match(r"https?:|//", url)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_a_chapter_with_all_of_its_figures(book, path):
    cells = nbformat.read(path, as_version=4).cells
    figures = sum("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", []))
    page = (book / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
    images = re.findall(r"<img [^>]*src=\"(\.\./_images/[^\"]+)", page)
    assert len(images) == figures
    assert all((book / "notebooks" / image).is_file() for image in images)


def test_a_formula_is_drawn_by_the_browser_and_has_the_number_of_the_thesis(book):
    page = (book / "docs/systems/scalenorm.html").read_text(encoding="utf-8")
    assert re.search(r"\(3\.6\)</span><math", page)
    assert "\\frac" not in page


def test_no_formula_needs_a_font_that_a_reader_may_lack(book):
    pages = [path.read_text(encoding="utf-8") for path in (book / "docs/systems").glob("*.html")]
    assert sum(page.count("<math") for page in pages) > 10
    assert not any("<msqrt" in page or "<mroot" in page for page in pages)


def test_the_mean_over_seeds_stands_on_the_page_of_a_system(book):
    with (ROOT / "data/evidence/results/table-3.6.small.csv").open(encoding="utf-8", newline="") as file:
        cells = [line for line in csv.DictReader(file) if (line["row"], line["metric"]) == ("tu-en", "test BLEU")]
    mean = statistics.fmean(float(line["value"]) for line in cells if line["column"] == "fixnorm+lex")
    page = (book / "docs/systems/fixnorm-lex.html").read_text(encoding="utf-8")
    (row,) = re.findall(r"<td><p>tr-en, Tatoeba</p></td>\n((?:<td>.*</td>\n)+)</tr>", page)[:1]
    assert re.findall(r"<p>([\d.]+) ±", row)[2] == f"{mean:.1f}"
    assert "reproduced here" in page


@pytest.mark.parametrize("name", [name for name in recipe_names() if not re.match("transformer-|thesis-", name)])
def test_every_recipe_of_a_system_is_on_its_page(name):
    systems = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/systems").glob("*.md"))
    assert re.search(rf"{{recipe}} {name}\n|`{name}`", systems)


@pytest.mark.parametrize("room", ["analysis", "evaluation", "recipe", "search", "text", "training"])
def test_every_public_function_is_in_the_reference(book, room):
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((book / "objects.inv").read_bytes(), uri="").data
    missing = set()
    for path in (ROOT / "nmtlab" / room).rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        functions = [node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if is_public(node)]
        missing |= {f"{module}.{name}" for name in functions} - set(inventory["py:function"])
    assert missing == set()


def is_public(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
