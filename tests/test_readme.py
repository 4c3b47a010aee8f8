"""What the front page and the guide show works: commands parse, links lead somewhere, the Python runs."""

import csv
import lzma
import re
import shlex
import statistics
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.foreign_folder import changed, in_cache, write_marian
from support.foreign_models import marian
from typer.main import get_command
from typer.testing import CliRunner

from nmtlab.cli.main import app
from nmtlab.dashboards.frame.headings import headings
from nmtlab.recipe import recipe_names
from nmtlab.text.corpora.lines import write_lines
from nmtlab.workspace import RESULTS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
GUIDE = ROOT / "docs/guide"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), ROOT / "benchmarks/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAX_LINES = 150

every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(path), flags=re.DOTALL)


def commands(path: Path) -> list[str]:
    """Return the calls of nmtlab in the shell blocks of a document and in its running text."""
    shown = "\n".join(blocks(path, "sh")).splitlines()
    shown += re.findall(r"`((?:\./nmtlab\.sh|nmtlab) [^`]+)`", re.sub(r"```.*?```", "", text_of(path), flags=re.DOTALL))
    without_remarks = (re.sub(r"\s+", " ", line.partition(" #")[0]).strip() for line in shown)
    calls = [re.search(r"(?:\./nmtlab\.sh|\bnmtlab) ([a-z].*)", line) for line in without_remarks]
    return sorted({call[1] for call in calls if call})


def scripts_in(text: str) -> list[str]:
    return re.findall(r"\bpython\s+([\w./-]+\.py)", text)


def check(call: str) -> None:
    """Check that the verbs of a call and its options are there, and that options have the values they need."""
    words = shlex.split(re.split(r"\s[<|>]\s", call)[0])
    command = get_command(app)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands, f"nmtlab {call}: there is no {words[0]}"
        command = command.commands[words.pop(0)]
    if words in (["..."], ["--help"], []):
        return
    assert not hasattr(command, "commands"), f"nmtlab {call}: {words[0]} is no option of a group"
    command = command.loaded()
    options = {name: one for one in command.params for name in one.opts if name.startswith("-")}
    plain = []
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            plain.append(word)
            continue
        assert word in options, f"nmtlab {call}: there is no option {word}"
        if not options[word].is_flag:
            assert words, f"nmtlab {call}: {word} needs a value"
            check_value(word, words.pop(0), call)
    needed = [one for one in command.params if one.param_type_name == "argument" and one.required]
    taken = [one for one in command.params if one.param_type_name == "argument"]
    assert plain == [] or len(plain) >= len(needed), f"nmtlab {call}: arguments are missing"
    assert len(plain) <= len(taken) or any(one.nargs == -1 for one in taken), f"nmtlab {call}: too many arguments"


def check_value(option: str, value: str, call: str) -> None:
    if option == "--recipe" and not value.endswith(".toml") and not value.isupper():
        assert value in recipe_names(), f"nmtlab {call}: there is no recipe {value}"


def test_the_front_page_is_short():
    assert len(text_of(README).splitlines()) <= MAX_LINES


@every_document
def test_every_command_of_a_document_is_there_with_its_options(path):
    for call in commands(path):
        if call.split()[0] not in ("test", "docs", "pip"):  # the first two are those of nmtlab.sh
            check(call)


def test_commands_are_found_and_wrong_ones_noticed():
    assert {"demo", "corpus stats ha-news", "translate lexicon --n-best 3 --scores"} <= {*commands(README)}
    assert sum(len(commands(path)) for path in GUIDE.glob("*.md")) > 40
    for wrong in ("trian x", "train x --recipe unheard-of", "train x --colour blue", "train x y", "train x --name"):
        with pytest.raises(AssertionError):
            check(wrong)


@every_document
def test_every_relative_link_of_a_document_leads_to_a_file(path):
    links = re.findall(r"\]\(<?([^)#>\s]+)", re.sub(r"```.*?```", "", text_of(path), flags=re.DOTALL))
    relative = [link for link in links if not re.match(r"\w+:", link)]
    assert [link for link in relative if not (path.parent / link).exists()] == []


@every_document
def test_every_script_that_a_document_calls_is_there(path):
    assert [script for script in scripts_in(text_of(path)) if not (ROOT / script).is_file()] == []


@every_document
def test_no_document_installs_a_package_of_the_same_name(path):
    assert re.findall(r"pip3? install[^\n]*\bnmtlab(?!-workbench)\b", text_of(path)) == []
    assert "nmtlab[" not in text_of(path)


def test_every_page_is_in_the_guide_and_with_its_group_on_the_front_page():
    guide, front = text_of(GUIDE / "dashboards.md"), text_of(README).splitlines()
    for page in headings()[1:]:
        assert f"| {page.title} |" in guide
        assert any(line.startswith(f"| {page.group} |") and page.title in line for line in front), page


def test_the_findings_of_the_front_page_are_those_of_the_results():
    def mean(table: str, row: str, system: str, metric: str = "test-bleu") -> float:
        with lzma.open(RESULTS / f"{table}.small.csv.xz", "rt", encoding="utf-8", newline="") as file:
            lines = [line for line in csv.DictReader(file) if (line["row"], line["metric"]) == (row, metric)]
        return statistics.fmean(float(line["value"]) for line in lines if line["column"] == system)

    text = re.sub(r"\s+", " ", text_of(README))
    gain = mean("table-3.6", "tu-en", "fixnorm+lex") - mean("table-3.6", "tu-en", "tied")
    assert f"{gain:+.1f} ± 1.2 on Turkish" in text
    alone, far, near = (
        mean("child-size", "gl-en (500)", name) for name in ("BPE", "BPE + unrelated parent", "BPE + transfer")
    )
    assert f"BLEU of {alone:.1f} alone, {far:.1f} with a Hungarian parent and {near:.1f} with a Portuguese one" in text
    metric = "empty-global-best"
    empty = [mean("search-errors", row, "PostNorm + LayerNorm", metric) for row in ("gl-en", "de-en")]
    empty.append(mean("search-errors-trained-out", "de-en", "PostNorm + LayerNorm", metric))
    short = rf"empty for {empty[0]:.1f} % .* of software strings, and for {empty[1]:.1f} % .* of captions"
    assert re.search(rf"{short}; after up to 5,000 updates .*, for {empty[2]:.1f} % .* of captions", text)


def test_each_file_of_results_has_a_line_that_says_how_it_was_made():
    with (RESULTS / "provenance.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    names = [line["file"] for line in lines]
    assert len(names) == len({*names})
    assert [name for name in names if not (RESULTS / name).is_file()] == []
    kinds = (".csv", ".xz", ".txt")
    files = {path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.*") if path.suffix in kinds}
    written_with = tuple(f"{name.removesuffix('.xz').rpartition('.')[0]}." for name in names)
    assert [name for name in sorted(files - {"provenance.csv"}) if not name.startswith(written_with)] == []
    for line in lines:
        if line["command"].startswith("nmtlab "):
            check(line["command"].removeprefix("nmtlab "))
        assert [script for script in scripts_in(line["command"]) if not (ROOT / script).is_file()] == []


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("NMTLAB_DATA", raising=False)

    def run(code: str) -> str:
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_python_of_the_front_page_is_that_of_the_guide():
    (first,), (same, *_) = blocks(README, "python"), blocks(GUIDE / "library.md", "python")
    assert same.startswith(first)


@pytest.mark.full
def test_the_python_of_the_guide_trains_translates_and_looks(in_folder, tmp_path):
    for code in ("ha", "en"):
        write_lines(tmp_path / f"news.{code}", (f"{code} {number}" for number in range(40)))
    shown = blocks(GUIDE / "library.md", "python")
    smaller = (
        "".join(shown)
        .replace("train=4000", "train=400, dev=20, test=20")
        .replace('"training.max_evaluations": 3', '"training.max_evaluations": 1, "training.validate_every": 10')
    )
    assert smaller.count("400,") == smaller.count('_every": 10') == 1
    printed = in_folder(smaller)
    assert "Translation(texts=" in printed
    assert "ParallelCorpus 'nara': qaa-en, train, dev, test 400 Run 'first': nara qaa-en, finished" in printed
    assert "bleu" in printed
    assert "norm as used" in printed
    assert "ρ" in printed
    assert all(len(block.strip().splitlines()) <= 12 for block in shown)


def test_the_table_of_the_page_on_extensions_can_be_declared():
    (code,) = blocks(ROOT / "docs/development/extending.md", "python")
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["MINE"].baseline in {column.name for column in names["MINE"].columns}
    assert names["MINE"].rows[0].at["tiny"]


@pytest.mark.full
def test_an_imported_folder_gets_to_a_search_tree_as_the_guide_says(tmp_path, tiny_corpus, monkeypatch):
    pytest.importorskip("transformers", reason="it makes the folder")
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    marian(tmp_path / "opus-tr-en", [list(tiny_corpus.lines("train", code)) for code in ("de", "en")])
    page = GUIDE / "import-and-export.md"
    (code,) = blocks(page, "ipython")
    importing = ["runs", "import", str(tmp_path / "opus-tr-en"), "--name", "opus"]
    assert CliRunner().invoke(app, importing).exit_code == 0
    assert all("nmtlab runs import opus-tr-en --name opus" in text_of(path) for path in (README, page))
    *lines, tree = code.strip().splitlines()
    shown = [*lines, f"print({tree})"]
    done = subprocess.run([sys.executable, "-c", "\n".join(shown)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:4] == ["log_prob", "scored_length", "step", "text"]


@pytest.mark.full  # trains
def test_a_folder_of_the_hub_is_tuned_compared_and_exported_as_the_front_page_says(tmp_path, tiny_corpus, monkeypatch):
    (block,) = (one for one in blocks(README, "sh") if "runs import" in one)
    download, *calls = [line.partition(" #")[0].strip() for line in block.splitlines()]
    assert download == "hf download Helsinki-NLP/opus-mt-tr-en --local-dir opus-tr-en"
    write_marian(tmp_path / "files")
    changed(tmp_path / "files", "tokenizer_config.json", source_lang="tr")
    cache = in_cache(tmp_path / "files", tmp_path / "hub/models--Helsinki-NLP--opus-mt-tr-en", "0a" * 20)
    (tmp_path / "opus-tr-en").symlink_to(cache)
    corpus = tmp_path / "data/corpora/tr-en"
    corpus.mkdir(parents=True)
    for split, (theirs, ours) in product(("train", "dev", "test"), (("de", "tr"), ("en", "en"))):
        write_lines(corpus / f"{split}.{ours}", tiny_corpus.lines(split, theirs))
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    short = "--set training.validate_every=5 --set training.max_evaluations=1 --threads 1"
    said = {}
    for call in calls:
        words = shlex.split(call.removeprefix("nmtlab ") + f" {short}" * call.startswith("nmtlab train"))
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        said[words[0]] = done.output
    assert [call.split()[1] for call in calls] == ["runs", "train", "compare", "runs"]
    assert "tuned against opus:" in said["compare"]
    card = (tmp_path / "tuned-hf/README.md").read_text(encoding="utf-8")
    assert "It was trained on tr-en, going on from opus, imported from Helsinki-NLP/opus-mt-tr-en." in card
    assert (tmp_path / "tuned-hf/model.safetensors").exists()


def test_the_set_up_script_is_what_the_front_page_says():
    script = (ROOT / "nmtlab.sh").read_text(encoding="utf-8")
    assert "./nmtlab.sh demo" in blocks(README, "sh")[0]
    assert "./nmtlab.sh test" in "".join(blocks(README, "sh"))
    assert "= test ]" in script
