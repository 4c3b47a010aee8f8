"""The book is built without a warning and without a network, and shows what its sources have."""

import ast
import csv
import lzma
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from typer.main import get_command

import nmtlab
from nmtlab.cli.answer import declared_answers
from nmtlab.cli.main import app
from nmtlab.recipe import named_recipe, recipe_names
from nmtlab.workspace import RESULTS

pytestmark = pytest.mark.full

pytest.importorskip("sphinx", reason="needs the extra docs")
ROOT = Path(__file__).parents[1]
EXECUTED = {"13-speed-and-quality": 3}
"""The notebook that the book of this test runs, and its figures: it trains nothing, and nbval runs the others."""
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
    few = ["-D", f"executed_notebooks={','.join(EXECUTED)}"]
    command = [sys.executable, "-c", NO_NETWORK, *options(), *few, str(target)]
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
def test_a_notebook_is_a_chapter_with_its_tables_and_with_the_figures_of_a_fresh_run(book, path):
    page = (book / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
    assert page.count("plotly-graph-div") == EXECUTED.get(path.stem, 0)
    scripts = re.findall(r"<script src=\"(\.\./_static/plotly[^\"]+)", page)
    assert all((book / "notebooks" / script).is_file() for script in scripts)
    outputs = [one for cell in nbformat.read(path, as_version=4).cells for one in cell.get("outputs", [])]
    tables = sum("<table" in output.get("data", {}).get("text/html", "") for output in outputs)
    assert page.count('class="dataframe"') >= tables


def test_a_formula_is_drawn_by_the_browser_and_has_the_number_of_the_thesis(book):
    page = (book / "docs/systems/scalenorm.html").read_text(encoding="utf-8")
    assert re.search(r"\(3\.6\)</span><math", page)
    assert "\\frac" not in page


def test_no_formula_needs_a_font_that_a_reader_may_lack(book):
    pages = [path.read_text(encoding="utf-8") for path in (book / "docs/systems").glob("*.html")]
    assert sum(page.count("<math") for page in pages) > 10
    assert not any("<msqrt" in page or "<mroot" in page for page in pages)


def test_the_mean_over_seeds_stands_on_the_page_of_a_system(book):
    with lzma.open(RESULTS / "table-3.6.small.csv.xz", "rt", encoding="utf-8", newline="") as file:
        cells = [line for line in csv.DictReader(file) if (line["row"], line["metric"]) == ("tu-en", "test-bleu")]
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


def test_constants_have_no_place_in_the_reference(book):
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((book / "objects.inv").read_bytes(), uri="").data
    assert [name for name in inventory.get("py:data", {}) if name.rpartition(".")[2].isupper()] == []


def test_each_exported_name_has_an_example_on_the_front_page_of_the_reference(book):
    text = (ROOT / "docs/reference/index.md").read_text(encoding="utf-8")
    examples = dict(re.findall(r"^\| \{py:\w+\}`(\w+) [^|]+ \| `(.+)` \|$", text, flags=re.MULTILINE))
    assert sorted(examples) == nmtlab.__all__
    for name, code in examples.items():
        ast.parse(f"try:\n    pass\n{code}" if code.startswith("except") else code)
        assert f"nmtlab.{name}" in code


def test_every_command_is_described_with_all_of_its_options(book):
    page = (book / "docs/guide/commands.html").read_text(encoding="utf-8")

    def verbs(command, words):
        if not hasattr(command, "commands"):
            return [(words, command.loaded())]
        return [verb for name, one in command.commands.items() for verb in verbs(one, f"{words} {name}")]

    for words, command in verbs(get_command(app), "nmtlab"):
        assert f"<h2>{words}<" in page
        assert all(option in page for one in command.params for option in one.opts if option.startswith("--"))


def test_every_field_of_an_answer_in_json_is_in_the_reference(book):
    page = (book / "docs/reference/json.html").read_text(encoding="utf-8")
    for kind in declared_answers():
        assert f"<h2>{kind.__name__}<" in page
        assert all(f">{name}</span>" in page for name in kind.model_fields)


@pytest.mark.parametrize("section", ["text", "training", "model", "search", "transfer"])
def test_every_setting_is_explained_in_the_guide(book, section):
    pages = "".join(path.read_text(encoding="utf-8") for path in (book / "docs/guide").glob("*.html"))
    for field in named_recipe("prenorm").model_dump()[section]:
        assert f"{section}.{field}</span>" in pages, field


def is_public(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
