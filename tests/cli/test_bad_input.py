"""Bad input: exit code 2, one line that names the place and the remedy, and nothing incomplete left behind."""

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.full_disk import files_of_at_most

TRAIN = ("train", "spoiled", "--recipe", "tiny.toml", "--name", "new")


def change_line(path: Path, number: int, change: Callable[[bytes], bytes]) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = change(lines[number - 1])
    path.write_bytes(b"\n".join(lines))


def content(folder: Path) -> dict[Path, bytes | None]:
    """Return every file and folder, hidden ones included, except the cache."""
    paths = (path for path in folder.rglob("*") if path.relative_to(folder).parts[0] != "cache")
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


@pytest.fixture
def spoiled(data, make_corpus) -> Path:
    """The corpus `spoiled` of the workspace, intact until a test spoils it."""
    folder = data / "corpora" / "spoiled"
    folder.parent.mkdir()
    return make_corpus().rename(folder)


@pytest.fixture
def refused(nmtlab, data):
    """Call the command, check that it refuses in one line and leaves nothing behind, and return the line."""

    def call(*words: object, stdin: str | bytes = "") -> str:
        before = content(data)
        said = nmtlab(*words, stdin=stdin)
        assert said.code == 2
        assert said.err.startswith("nmtlab: ")
        assert said.err.endswith("\n")
        assert said.err.count("\n") == 1
        problem, _, remedy = said.err.partition("; ")
        assert problem
        assert remedy.strip()
        assert content(data) == before
        return said.err.removeprefix("nmtlab: ")

    return call


# A corpus that cannot be used


def test_sides_of_different_length(refused, spoiled):
    with (spoiled / "train.de").open("a", encoding="utf-8") as file:
        file.write("ein hund\nein haus\n")
    assert refused(*TRAIN) == (
        f"{spoiled}: train.de has 302 lines, train.en has 300; line n of one must translate line n of the other\n"
    )


def test_text_that_is_not_utf_8(refused, spoiled):
    change_line(spoiled / "train.de", 7, lambda line: b"gr\xfcn " + line)
    message = refused(*TRAIN)
    assert message.startswith(f"{spoiled / 'train.de'}, line 7: not UTF-8 (byte 3 of the line is 0xfc)")
    assert "iconv" in message


def test_a_nul_byte(refused, spoiled):
    change_line(spoiled / "dev.en", 3, lambda line: line + b"\0")
    assert refused(*TRAIN).startswith(f"{spoiled / 'dev.en'}, line 3: a NUL byte; give plain UTF-8 text")


def test_a_line_of_a_hundred_thousand_words(refused, spoiled):
    change_line(spoiled / "train.en", 12, lambda line: b"word " * 100_000)
    assert refused(*TRAIN) == (
        f"{spoiled / 'train.en'}, line 12: 100,000 words, more than 10,000; put one sentence on each line\n"
    )


def test_empty_files(refused, spoiled):
    for language in ("de", "en"):
        (spoiled / f"train.{language}").write_text("", encoding="utf-8")
    assert refused(*TRAIN) == f"{spoiled}: train.de and train.en: empty; add sentences, or remove the files\n"


def test_a_side_with_nothing_but_blank_lines(refused, spoiled):
    lines = len((spoiled / "train.en").read_text(encoding="utf-8").splitlines())
    (spoiled / "train.en").write_text(" \n" * lines, encoding="utf-8")
    assert refused(*TRAIN) == f"{spoiled}: every line of train.en is blank; add its text\n"


def test_an_empty_folder(refused, data):
    (data / "corpora" / "spoiled").mkdir(parents=True)
    message = refused(*TRAIN)
    assert message.startswith(f"{data / 'corpora' / 'spoiled'}: not a corpus; name its files train.LANG")


def test_a_corpus_that_is_not_there(refused, data):
    message = refused(*TRAIN)
    assert message.startswith(f"corpus 'spoiled': not found (searched {data / 'corpora' / 'spoiled'}, ")
    assert "'nmtlab corpus import'" in message


@pytest.mark.parametrize("side", ["--source", "--target"])
def test_a_language_that_is_not_there(refused, spoiled, side):
    expected = f"{spoiled}: no language 'fr'; choose from de, en\n"
    assert refused(*TRAIN, side, "fr") == expected


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_set_that_overlaps_with_training(refused, spoiled, split):
    for language in ("de", "en"):
        train = (spoiled / f"train.{language}").read_bytes().split(b"\n")
        change_line(spoiled / f"{split}.{language}", 5, lambda _, train=train: train[100])
    message = refused(*TRAIN)
    assert message.startswith(f"corpus 'spoiled': 1 pair of {split} is in train too, first at {split} line 5;")
    assert "removes them from train" in message


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_part_that_training_needs(refused, spoiled, split):
    for language in ("de", "en"):
        (spoiled / f"{split}.{language}").unlink()
    assert refused(*TRAIN).startswith(f"corpus 'spoiled': no {split}.de and {split}.en; add them, or import")


def test_a_vocabulary_that_the_text_has_not(refused, spoiled):
    message = refused(*TRAIN, "--set", "text.segmentation=bpe", "--set", "text.vocabulary_size=30000")
    assert "text.vocabulary_size" in message


# A recipe that cannot be used


RECIPES = {
    "unknown": (("--recipe", "prenrom"), "recipe 'prenrom': unknown; did you mean 'prenorm'?"),
    "no file": (("--recipe", "none.toml"), "recipe none.toml: cannot be read"),
    "field": (("--set", "training.norm=scale"), "recipe: training.norm: no such field; it belongs at model.norm"),
    "value": (("--set", "model.norm=batch"), "recipe: model.norm = 'batch' is not allowed; input should be 'layer'"),
    "range": (("--set", "model.dropout=1"), "recipe: model.dropout = 1 is not allowed; input should be less than 1"),
    "no value": (("--set", "model.norm"), "setting 'model.norm': no value; write it as section.field=value"),
    "together": (("--set", "model.heads=3"), "recipe: model: heads is 3, which does not divide d_model 16; choose"),
}


@pytest.mark.parametrize(("words", "expected"), RECIPES.values(), ids=RECIPES)
def test_a_recipe_that_cannot_be_used(refused, spoiled, words, expected):
    assert refused(*TRAIN, *words).startswith(expected)


def test_a_recipe_file_with_a_mistake(refused, spoiled, data):
    mine = data / "mine.toml"
    mine.write_text('base = "postnorm"\n[model]\nnrom = "layer"\n', encoding="utf-8")
    assert refused(*TRAIN, "--recipe", mine) == f"{mine}: model.nrom: no such field; did you mean model.norm?\n"
    assert refused("recipes", "show", mine).startswith(f"{mine}: model.nrom: no such field")
    mine.write_text("[model\n", encoding="utf-8")
    assert refused("recipes", "show", mine).startswith(f"{mine}: not TOML (")


# A run that cannot be used


def test_a_name_that_is_taken(refused, spoiled):
    message = refused("train", "spoiled", "--recipe", "tiny.toml", "--name", "whole")
    assert message == "run 'whole': already exists; choose another --name, or add --resume to continue it\n"


@pytest.mark.parametrize("name", ["../x", "/abs", "a/b", ".hidden"])
@pytest.mark.parametrize(
    "words",
    [("train", "spoiled", "--recipe", "tiny.toml", "--name"), ("runs", "remove", "--yes"), ("runs", "show")],
    ids=" ".join,
)
def test_a_run_name_that_leaves_the_folder(refused, spoiled, data, words, name):
    outside = data / "x"  # what ../x would mean
    outside.mkdir()
    assert refused(*words, name).startswith(f"run name {name!r}: not allowed; use up to 150 letters, digits")
    assert outside.is_dir()


def test_a_default_run_name_that_is_too_long(refused, spoiled):
    corpus = spoiled.rename(spoiled.with_name("c" * 140))
    said = refused("train", corpus.name, "--recipe", "tiny.toml", "--seed", 1_234_567_890)
    assert said == f"run name '{corpus.name}.tiny.1234567890': not allowed; name the run with --name\n"


@pytest.mark.parametrize(
    "words",
    [("translate", "none"), ("evaluate", "none"), ("compare", "whole", "none"), ("runs", "show", "none"),
     ("runs", "remove", "whole", "none"), ("train", "tiny", "--name", "none", "--resume")],
    ids=" ".join,
)  # fmt: skip
def test_a_run_that_is_not_there(refused, words):
    theirs = "runs list' lists those of the workspace" if "remove" in words else "runs list --packed' lists all runs"
    assert refused(*words) == f"run 'none': not found; 'nmtlab {theirs}\n"


@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing"])
def test_a_checkpoint_that_is_damaged(refused, data, damage, tiny_corpus):
    path = data / "runs" / "whole" / "checkpoints" / "best.safetensors"
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(content if damage == "flipped" else content[:500])
    expected = {
        "truncated": "damaged or truncated",
        "flipped": "checksum mismatch: the file has changed since it was saved; use another checkpoint, or train again",
        "missing": "no such checkpoint; train it until an evaluation, or choose another checkpoint",
    }
    reference = tiny_corpus.folder / "test.en"
    for words in (("translate", "whole"), ("evaluate", "whole"), ("compare", "whole", reference)):
        assert refused(*words, stdin="ein hund\n").startswith(f"{path}: {expected[damage]}")


def test_a_log_that_is_damaged(refused, data):
    log = data / "runs" / "whole" / "metrics.jsonl"
    change_line(log, 2, lambda line: line[:20])
    assert refused("runs", "show", "whole") == f"{log}, line 2: damaged; remove that line\n"


def test_a_log_whose_last_line_is_damaged_when_runs_are_listed(nmtlab, data):
    log = data / "runs" / "whole" / "metrics.jsonl"
    change_line(log, len(log.read_bytes().splitlines()), lambda line: line[:20])
    assert f"whole: {log}, last line: damaged; remove that line\n" in nmtlab("runs", "list").out


DAMAGED = {
    "a number": b"5",
    "a text": b'"text"',
    "a list": b"[]",
    "an infinite step": b'{"kind": "validation", "step": Infinity, "bleu": 1.0, "seconds": 1.0}',
    "10 MB": b"x" * 10_000_000,
    "garbage": bytes(range(128, 256)),
    "deep nesting": b"[" * 100_000,
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
def test_a_log_with_a_damaged_line_that_no_list_needs_when_runs_are_listed(line, nmtlab, data):
    shutil.copytree(data / "runs" / "whole", data / "runs" / "hand")
    log = data / "runs" / "hand" / "metrics.jsonl"
    log.write_bytes(line + b"\n" + log.read_bytes())
    said = nmtlab("runs", "list")
    assert said.code == 0
    assert [row.split()[1] for row in said.out.splitlines() if "finished" in row] == ["whole", "hand"]
    assert nmtlab("runs", "show", "hand").err == f"nmtlab: {log}, line 1: damaged; remove that line\n"


def test_a_run_of_another_user_when_runs_are_listed(nmtlab, data, monkeypatch):
    theirs = shutil.copytree(data / "runs" / "whole", data / "runs" / "theirs")
    readable = os.scandir

    def scandir(folder):
        if Path(folder) == theirs:
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return readable(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    said = nmtlab("runs", "list").out
    assert "theirs: " in said
    assert "cannot be read (Permission denied); check that you may read all its files\n" in said
    assert "runs remove" not in said


def test_a_vocabulary_that_is_damaged(refused, data):
    path = data / "runs" / "whole" / "vocabulary" / "target.tsv"
    path.write_bytes(path.read_bytes()[:-3])
    assert refused("translate", "whole", stdin="ein\n").startswith(f"{path}: checksum mismatch: the file has changed")


def test_a_run_that_has_ended_is_not_resumed(refused):
    message = refused("train", "tiny", "--name", "whole", "--resume")
    assert message == "run 'whole': it has finished and cannot be resumed; train a new run\n"


# Text that cannot be translated or scored


def test_more_translations_than_the_beam_holds(refused):
    message = refused("translate", "whole", "--n-best", 5, "--beam", 3, stdin="ein hund\n")
    assert message == "--n-best 5 is more than the beam size 3; add --beam 5 or more\n"


def test_an_input_file_that_is_missing_or_a_folder(refused, data):
    assert refused("translate", "whole", "--input", data / "none") == f"{data / 'none'}: not found; check the name\n"
    message = refused("translate", "whole", "--input", data)
    assert message == f"{data}: cannot be read (Is a directory); check that it is a readable file\n"


LINES = {
    "latin-1": (b"ein hund\ngr\xfcn\n", "line 2: not UTF-8"),
    "nul": (b"ein hund\nein\n\0\n", "line 3: a NUL byte"),
    "long": (b"ein hund\n" + b"ein " * 100_000 + b"\n", "line 2: 100,000 words, more than 10,000"),
}


@pytest.mark.parametrize(("text", "expected"), LINES.values(), ids=LINES)
def test_a_line_that_cannot_be_translated(refused, data, text, expected):
    (data / "in.txt").write_bytes(text)
    assert refused("translate", "whole", "--input", data / "in.txt").startswith(f"{data / 'in.txt'}, {expected}")
    assert refused("translate", "whole", stdin=text).startswith(f"standard input, {expected}")


def test_an_output_that_cannot_be_written(refused, data):
    (data / "taken").mkdir()
    assert "taken" in refused("translate", "whole", "--output", data / "taken", stdin="ein hund\n")


@pytest.mark.parametrize("words", [("evaluate",), ("compare", "whole")], ids=" ".join)
def test_translations_of_other_text(refused, data, tiny_corpus, words):
    lines = (tiny_corpus.folder / "test.en").read_text(encoding="utf-8").splitlines()
    short = data / "short.txt"
    short.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    assert refused(*words, short, "--corpus", "tiny") == (
        f"{short}: {len(lines) - 1} lines, but tiny test has {len(lines)} sentences; "
        "give one line per sentence, in the same order\n"
    )


def test_a_text_file_without_the_corpus_that_it_translates(refused, data):
    (data / "mine.txt").write_text("one dog\n", encoding="utf-8")
    assert "--corpus" in refused("evaluate", data / "mine.txt")
    (data / "yours.txt").write_text("one dog\n", encoding="utf-8")
    assert "--corpus" in refused("compare", data / "mine.txt", data / "yours.txt")


def test_a_system_that_is_named_twice(refused):
    assert refused("compare", "whole", "whole") == "'whole' is named twice; name each system once\n"


def test_a_field_that_a_trained_run_cannot_change(refused):
    message = refused("translate", "whole", "--set", "model.norm=layer", stdin="ein hund\n")
    assert message.startswith("--set model.norm=layer: the run is already trained; set fields of search or machine")


def test_a_part_or_a_direction_that_is_not_there(refused, tiny_corpus):
    message = refused("evaluate", "whole", "--split", "tset")
    assert message == f"{tiny_corpus.folder}: no tset.de; add it; the corpus has train, dev, test\n"
    message = refused("evaluate", "whole", "--source", "en", "--target", "de")
    assert message.startswith("corpus 'tiny' is en to de, run 'whole' translates de to en; choose a corpus")


def test_one_system_alone_is_not_compared(refused):
    assert refused("compare", "whole").startswith("one system: nothing to compare it with; name a baseline")


# Artificial languages


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--language", "zz"), "zz"),
        (("--vocabulary", "3"), "artificial language: vocabulary is 3; choose a number from 100"),
        (("--ambiguity", "2"), "artificial language: ambiguity is 2.0; choose a number from 0 to 1"),
    ],
    ids=["language", "vocabulary", "ambiguity"],
)
def test_a_language_that_cannot_be_grown(refused, data, words, expected):
    assert expected in refused("corpus", "make", "grown", *words)
    assert not (data / "corpora" / "grown").exists()


def test_a_corpus_name_that_is_taken_or_leaves_the_folder(refused, spoiled):
    assert refused("corpus", "make", "spoiled").startswith("corpus 'spoiled': already exists; choose another")
    assert refused("corpus", "make", "../x").startswith("corpus name '../x': not allowed; use up to 150")


# What disk, memory and streams refuse


def test_what_cannot_be_written_is_named_with_what_to_do(refused, nmtlab, data):
    message = refused("translate", "whole", "--output", "/dev/full", stdin="ein hund\n")
    assert message == "/dev/full: No space left on device; free some space\n"
    with files_of_at_most(100):
        said = nmtlab("corpus", "make", "grown", "--train", 50, "--dev", 5, "--test", 5)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert said.err.endswith("corpora/grown: File too large; allow larger files (ulimit -f)\n")
    assert not (data / "corpora" / "grown").exists()
    assert refused("corpus", "stats", "x" * 5000).endswith("; choose a shorter name\n")


# In a process of its own: oneDNN, once refused memory for a kernel, never makes that kernel again.
LITTLE_MEMORY = """
import re, resource, sys, torch
from nmtlab.cli import main

taken = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (taken + (1 << 30),) * 2)
main()
"""


@pytest.mark.full
def test_memory_that_is_not_there_is_a_line_that_says_what_to_lower(data):
    words = ("evaluate", "whole", "--beam", "100000")
    done = subprocess.run([sys.executable, "-c", LITTLE_MEMORY, *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert re.match(r"nmtlab: out of memory.*; reduce .* the beam, --samples", done.stderr)


def test_what_is_quoted_is_cut_in_the_middle(refused):
    for words in (("--set", "model.norm=" + "x" * 100_000), ("--set", "model.norm=" + "x y " * 30_000)):
        message = refused(*TRAIN, *words)
        assert len(message) < 1300
        assert "x...x" in message or "..." in message
        assert message.endswith("input should be 'layer', 'scale' or 'rms'\n")
    assert len(refused("recipes", "show", "x" * 5000 + ".toml")) < 350


def test_a_score_is_printed_where_the_translations_cannot_be_kept(nmtlab, data):
    folder = data / "runs" / "whole" / "translations"
    expected = nmtlab("evaluate", "whole", "--beam", 2).out
    shutil.rmtree(folder)
    folder.write_text("no folder")
    said = nmtlab("evaluate", "whole", "--beam", 2)
    assert said.code == 0
    assert said.out.startswith(expected)
    assert said.out.removeprefix(expected) == (
        f"the translations could not be stored: {folder}: File exists; choose another path\n"
    )


CLOSED = """
python=$1
"$python" -m nmtlab recipes list >&- ; echo $?
"$python" -m nmtlab runs remove whole <&- ; echo $?
"$python" -m nmtlab translate whole --input in.txt 2>&- ; echo $?
"$python" -m nmtlab translate whole <&- ; echo $?
LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 "$python" -m nmtlab recipes show transformer-tiny | grep -q λ ; echo $?
"""


@pytest.mark.full
def test_streams_that_are_closed_or_ascii_end_in_a_line_or_change_nothing(data):
    Path("in.txt").write_text("\n", encoding="utf-8")
    done = subprocess.run(["bash", "-c", CLOSED, "bash", sys.executable], capture_output=True, text=True)
    out = done.stdout.splitlines()
    assert re.fullmatch(r"remove run whole .*: 2", out.pop(1))
    assert out == ["2", "", "0", "2", "0"]
    assert done.stderr.splitlines() == [
        "nmtlab: standard output: closed; send it to a file, or to /dev/null",
        "nmtlab: standard input: Bad file descriptor; leave it open, or name a file",
        "nmtlab: standard input: cannot be read (Bad file descriptor); check that it is a readable file",
    ]
    assert (data / "runs" / "whole").is_dir()


def test_of_several_processes_one_says_what_is_wrong(nmtlab, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    for rank, lines in (("0", 1), ("1", 0)):
        monkeypatch.setenv("LOCAL_RANK", rank)
        said = nmtlab("runs", "show", "none")
        assert (said.code, said.err.count("\n")) == (2, lines)


# As others see it


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("translate", "none"), "nmtlab: run 'none': not found; 'nmtlab runs list --packed' lists all runs\n"),
        (TRAIN, "nmtlab: {corpus}: train.de has 299 lines, train.en has 300; line n of one must translate"),
    ],
    ids=["translate", "train"],
)
def test_a_process_of_its_own_ends_with_code_2_and_one_line(data, spoiled, words, expected):
    change_line(spoiled / "train.de", 300, lambda line: b"")
    lines = (spoiled / "train.de").read_bytes()
    (spoiled / "train.de").write_bytes(lines[:-1])
    done = subprocess.run([sys.executable, "-m", "nmtlab", *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(expected.format(corpus=spoiled))
    assert done.stderr.count("\n") == 1
    assert [path.name for path in (data / "runs").iterdir()] == ["whole"]
