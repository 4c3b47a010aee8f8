"""What the README shows works."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.foreign_models import marian
from typer.testing import CliRunner

from nmtlab.cli.main import app

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.full
def test_the_python_of_the_readme_trains_translates_and_looks(tmp_path):
    code = "".join(blocks("python"))
    smaller = code.replace("train=4000", "train=400, dev=20, test=20").replace(
        '"training.max_evaluations": 3', '"training.max_evaluations": 1, "training.validate_every": 10'
    )
    assert smaller.count("400,") == smaller.count('_every": 10') == 1
    done = subprocess.run([sys.executable, "-c", smaller], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Translation(texts=" in done.stdout
    assert "bleu" in done.stdout
    assert "spearman" in done.stdout
    assert all(len(block.strip().splitlines()) <= 12 for block in blocks("python"))


@pytest.mark.full
def test_an_imported_folder_gets_to_a_search_tree_as_the_readme_says(tmp_path, tiny_corpus, monkeypatch):
    pytest.importorskip("transformers", reason="it makes the folder; pip install 'nmtlab[test]' brings it")
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    marian(tmp_path / "opus-tr-en", [list(tiny_corpus.lines("train", code)) for code in ("de", "en")])
    (code,) = blocks("ipython")
    importing = ["runs", "import", str(tmp_path / "opus-tr-en"), "--name", "opus"]
    assert CliRunner().invoke(app, importing).exit_code == 0
    assert "nmtlab runs import opus-tr-en --name opus" in README
    *lines, tree = code.strip().splitlines()
    shown = [*lines, f"print({tree})"]
    done = subprocess.run([sys.executable, "-c", "\n".join(shown)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:4] == ["log_prob", "scored_length", "step", "text"]


WORDS = r"nmtlab ([a-z-]+)(?: ([a-z]+))?"
COMMANDS = sorted({tuple(words) for words in re.findall(WORDS, "\n".join(blocks("sh")))})


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_of_the_readme_is_there(words):
    from typer.main import get_command

    command = get_command(app)
    for word in filter(None, words):
        if not hasattr(command, "commands"):
            return
        assert word in command.commands
        command = command.commands[word]


def test_the_set_up_script_is_what_the_readme_says():
    script = (Path(__file__).parents[1] / "nmtlab.sh").read_text(encoding="utf-8")
    first = blocks("sh")[0]
    assert "./nmtlab.sh demo" in first
    assert "./nmtlab.sh test" in first
    assert "= test ]" in script
