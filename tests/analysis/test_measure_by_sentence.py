"""A long answer is computed sentence by sentence, once, and goes on where it was interrupted."""

import importlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import pandas as pd
import pytest

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.runs.log import read_log
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

CALLS: list[str] = []


@pytest.fixture
def run(trained, tmp_path) -> Run:
    CALLS.clear()
    return Run(shutil.copytree(trained[0].folder, tmp_path / "run"))


def word_rows(run: Run, start: int, corpus: ParallelCorpus, split: str, stop: int = 1000) -> Iterator[list[dict]]:
    """Yield a row a word of each sentence, and none of every third; end as by an accident at sentence `stop`."""
    for number, line in list(enumerate(corpus.lines(split, corpus.source)))[start:]:
        if len(CALLS) == stop:
            raise KeyboardInterrupt
        CALLS.append(str(number))
        yield [{"sentence": number, "word": word} for word in line.split() if number % 3]


WORD_ROWS = Analysis("?", word_rows, version=1)


def test_a_long_answer_is_that_of_all_sentences_and_is_computed_once(run, tiny_corpus):
    told: list[int] = []
    number = tiny_corpus.count("dev")
    for _ in range(2):
        frame = WORD_ROWS.of(run, told.append, corpus=tiny_corpus, split="dev")
        words = [(n, w) for n, line in enumerate(tiny_corpus.lines("dev", "de")) for w in line.split() if n % 3]
        assert list(frame.itertuples(index=False, name=None)) == words
    assert [str(place) for place in range(number)] == CALLS
    assert told == [0] + [1] * number
    assert [path.suffix for path in (run.folder / "measures").iterdir()] == [".parquet"]


def test_a_long_answer_that_was_interrupted_goes_on_with_the_next_sentence(run, tiny_corpus):
    told: list[int] = []
    expected = pd.DataFrame([row for rows in word_rows(run, 0, tiny_corpus, "dev") for row in rows])
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        WORD_ROWS.of(run, corpus=tiny_corpus, split="dev", stop=7)
    assert WORD_ROWS.answers(run) == []
    CALLS.append("interrupted")
    found = WORD_ROWS.of(run, told.append, corpus=tiny_corpus, split="dev", stop=7)
    pd.testing.assert_frame_equal(found, expected)
    assert CALLS.index("interrupted") == 7
    assert [call for call in CALLS if call != "interrupted"] == [str(n) for n in range(tiny_corpus.count("dev"))]
    assert told[0] == 7


MODULE = """
import os, signal

from nmtlab.analysis.access.analysis import Analysis

def squares(run, start):
    for number in range(start, 12):
        with (run.folder / "asked").open("a") as file:
            file.write(f"{number}\\n")
        if len((run.folder / "asked").read_text().split()) == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        yield [{"number": number, "square": number**2}]

SQUARES = Analysis("Which squares?", squares, version=1)
"""
PROGRAM = """
import sys
from pathlib import Path
from squares_of_numbers import SQUARES
from nmtlab.runs.run import Run

SQUARES.of(Run(Path(sys.argv[1])))
"""


@pytest.mark.full
def test_a_long_answer_survives_its_process_being_killed(run, tmp_path, monkeypatch):
    (tmp_path / "squares_of_numbers.py").write_text(MODULE, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    killed = subprocess.run([sys.executable, "-c", PROGRAM, str(run.folder)], env=environment, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    (log,) = (run.folder / "measures").iterdir()
    assert len(read_log(log)) == 4
    log.write_bytes(log.read_bytes()[:-5])  # and the machine went down while the last line was written
    monkeypatch.syspath_prepend(tmp_path)
    squares = importlib.import_module("squares_of_numbers").SQUARES
    assert squares.of(run)["square"].tolist() == [number**2 for number in range(12)]
    # Sentence 4 was under way, and that of number 3 was not whole on the disk.
    assert (run.folder / "asked").read_text().split() == [str(n) for n in (0, 1, 2, 3, 4, *range(3, 12))]


def test_a_long_answer_that_cannot_be_stored_is_given_all_the_same(run, tiny_corpus):
    (run.folder / "measures").write_text("in the way", encoding="utf-8")
    rows = WORD_ROWS.of(run, corpus=tiny_corpus, split="dev")
    assert len(rows) > 10
    assert os.listdir(run.folder).count("measures") == 1
