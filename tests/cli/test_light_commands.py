"""What a listing or a mistyped name costs: no torch is loaded, and of a log only its end is read."""

import re
import subprocess
import sys

import pytest

from nmtlab.cli.lazy import _docstrings
from nmtlab.runs.log import append_lines, last_line
from nmtlab.runs.training_log import TrainingLog
from nmtlab.thesis.tables.listing import TABLES, listed

PROGRAM = """
import sys
from nmtlab.cli.main import app
try:
    app({words!r})
except BaseException as error:
    print(error, file=sys.stderr)
print("torch" in sys.modules)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["train", "NO_SUCH_CORPUS"],
        ["train", "tiny", "--recipe", "tiedd"],
        ["runs", "list"],
        ["status"],
        ["runs", "show", "whol"],
        ["runs", "export", "whol", "--to", "ctranslate2", "--folder", "exported"],
        ["translate", "whole", "--with", "whol"],
        ["evaluate", "whol"],
        ["evaluate", "whole", "--corpus", "NO_SUCH_CORPUS"],
        ["compare", "whole", "whol"],
        ["compare", "whole", "tiny.toml", "--corpus", "NO_SUCH_CORPUS"],
        ["reproduce", "--help"],
        ["reproduce", "table-3.99"],
        ["reproduce", "table-3.6", "--pair", "NO_SUCH_PAIR"],
    ],
    ids=" ".join,
)
@pytest.mark.full
def test_names_are_checked_and_runs_listed_without_torch(words, data):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(words=words)], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert ("whole" in done.stdout) == (words in (["runs", "list"], ["status"]))


def test_a_listing_reads_no_whole_log(nmtlab, data, monkeypatch):
    read = []
    monkeypatch.setattr(TrainingLog, "metrics", lambda log, kind: read.append(kind))
    said = nmtlab("runs", "list")
    assert "whole" in said.out
    assert read == []


def test_the_last_line_is_found_without_the_others(tmp_path):
    path = tmp_path / "metrics.jsonl"
    append_lines(path, ({"step": step} for step in range(20_000)))
    path.write_bytes(b"damaged\n" + path.read_bytes() + b'{"step": 2000')
    assert last_line(path) == {"step": 19_999}


def test_near_names_are_suggested(nmtlab, data):
    assert "did you mean 'tiny'?" in nmtlab("train", "tinny").err
    assert "did you mean 'whole'?" in nmtlab("runs", "show", "whoole").err


def test_near_names_of_packed_runs_are_suggested(nmtlab, data):
    nmtlab("runs", "pack", "whole", "--to", data / "evidence" / "runs")
    (data / "runs" / "whole").rename(data / "runs" / "another")
    assert "did you mean 'whole'?" in nmtlab("evaluate", "whoole").err


def test_what_a_table_declares_loads_no_torch():
    program = """
import sys
from nmtlab.thesis.tables.listing import TABLES
print(len(TABLES), "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(TABLES)} False\n"


def test_the_help_of_reproduce_lists_every_table():
    assert [one.name for one in TABLES if not re.search(rf" {re.escape(one.name)}[.,]( |$)", listed())] == []


def test_paragraphs_of_a_help_are_as_wide_as_the_terminal_and_commands_keep_their_lines():
    helps = _docstrings("train")["train"].split("\n\n")
    assert [one for one in helps if "\n" in one and not one.startswith(" ")] == []
    assert any(one.startswith("    nmtlab train PARENT") and "\n    nmtlab train CHILD" in one for one in helps)
