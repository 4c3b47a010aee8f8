"""Packing, sending and showing runs with the command."""

import re
import shutil
from pathlib import Path

import pytest
import torch

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.lexical.embedding_norms import WORD_NORMS
from nmtlab.runs.packed import open_packed
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.workspace import Workspace

WITHOUT_MODEL = "packed without its model, it can neither translate nor answer new questions; it has its logs, "


def rows(said) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.out.splitlines() if line.startswith("│")]


def size_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_run_is_added_to_the_evidence_and_shown_from_there(nmtlab, data):
    WORD_NORMS.of(Run(data / "runs/whole"))
    target = data / "evidence/runs/whole.tar.xz"
    said = nmtlab("evidence", "add-run", "whole")
    assert said == (0, f"added {target} ({target.stat().st_size / 1000:,.0f} kB)\n", "")
    whole = nmtlab("runs", "list")
    assert [row[2] for row in rows(whole)] == ["finished"]
    shown = nmtlab("runs", "show", "whole").out
    digest = Run(data / "runs/whole").checkpoints.digest
    assert nmtlab("runs", "remove", "whole", "--yes").code == 0

    ((name, *others),) = rows(nmtlab("runs", "list", "--packed"))
    ((_, *before),) = rows(whole)
    assert (name, others[1]) == ("whole", "finished, packed")
    assert [others[0], *others[2:]] == [before[0], *before[2:]]
    answers = f"stored answers (word norms) from the original weights, digest {digest[:12]}"
    sentence = f"P{WITHOUT_MODEL[1:]}its vocabulary and {answers}.\n\n"
    assert nmtlab("runs", "show", "whole").out == shown.replace("finished\n\n", f"finished\n\n{sentence}", 1)


@pytest.mark.parametrize(
    "words", [("translate", "whole"), ("evaluate", "whole"), ("compare", "whole", "{data}/perfect.txt")]
)
def test_what_a_packed_run_cannot_do_is_said_in_a_line(nmtlab, data, tiny_corpus, words):
    shutil.copy(tiny_corpus.folder / "test.en", data / "perfect.txt")
    nmtlab("evidence", "add-run", "whole")
    nmtlab("runs", "remove", "whole", "--yes")
    said = nmtlab(*(word.format(data=data) for word in words), stdin="ein hund\n")
    assert said.code == 2
    assert said.out == ""
    expected = f"{WITHOUT_MODEL}its vocabulary and no stored answers"
    assert said.err == f"nmtlab: run 'whole': {expected}; use these, or train its recipe again\n"


def test_a_run_is_sent_as_a_file_and_unpacked_under_another_name(nmtlab, data, tmp_path):
    said = nmtlab("runs", "pack", "whole", "--to", "sent/here")
    without = "without its model, which --weights adds"
    assert re.fullmatch(rf"packed whole into sent/here/whole\.tar\.xz \(\d+ kB\), {without}\n", said.out)
    assert "without" not in nmtlab("runs", "pack", "whole", "--weights", "--to", "sent/whole").out
    again = nmtlab("runs", "unpack", "sent/here/whole.tar.xz", "--name", "again")
    assert again == (0, f"run again: finished; {WITHOUT_MODEL}its vocabulary and no stored answers\n", "")
    assert sorted(row[0] for row in rows(nmtlab("runs", "list"))) == ["again", "whole"]
    twice = nmtlab("runs", "unpack", "sent/here/whole.tar.xz")
    assert (twice.code, twice.err) == (2, "nmtlab: run 'whole': already exists; choose another --name\n")
    (tmp_path / "no.tar.xz").write_text("x", encoding="utf-8")
    for file in ("no.tar.xz", "none.tar.xz"):
        refused = nmtlab("runs", "unpack", file)
        assert refused.code == 2
        assert refused.err.startswith(f"nmtlab: {file}: ")
        assert refused.err.count("\n") == 1


def test_with_weights_a_packed_run_translates(nmtlab, data):
    nmtlab("runs", "pack", "whole", "--weights", "--to", ".")
    nmtlab("runs", "unpack", "whole.tar.xz", "--name", "half")
    text = "ein hund\nkatze sieht haus\n"
    assert nmtlab("translate", "half", "--threads", 1, stdin=text) == nmtlab("translate", "whole", stdin=text)
    assert (
        "Packed with weights in half precision, it cannot be trained further; new log-probabilities may differ"
        in nmtlab("runs", "show", "half").out
    )


def test_packed_sentences_come_with_their_translations(nmtlab, data, tiny_corpus):
    said = nmtlab("evidence", "add-run", "whole", "--sentences", 4, "--licence", "CC0", "--threads", 1)
    assert said.code == 0
    packed = open_packed("whole", Workspace(data))
    assert not packed.checkpoints.has_weights()
    assert list(packed.sentences.pairs("dev")) == draw_sample(tiny_corpus, "dev", 4).pairs
    expected = translations(Run(data / "runs/whole"), packed.sentences, "dev")
    assert translations(packed, packed.sentences, "dev") == expected
    assert all(expected)


def test_sentences_are_packed_only_with_a_licence(nmtlab, data):
    before = sorted(data.rglob("*"))
    said = nmtlab("runs", "pack", "whole", "--sentences", 4)
    assert said.code == 2
    assert said.err.startswith("nmtlab: corpus 'tiny': no licence to redistribute its sentences; name the licence")
    assert nmtlab("runs", "pack", "whole", "--sentences", 201, "--licence", "CC0").code == 2
    assert sorted(data.rglob("*")) == before


def test_runs_without_weights_or_evaluations_are_listed_shown_and_packed(nmtlab, data, tiny_recipe, tiny_corpus):
    phrase = tiny_recipe.with_changes({"model.family": "phrase"})
    run = Run.create(data / "runs" / "phrase", phrase, {}, Pipeline.learn(phrase.text, tiny_corpus))
    (run.folder / "phrase").mkdir()
    (run.folder / "phrase" / "table").write_text("x" * 100_000, encoding="utf-8")
    assert ["phrase", "-", "interrupted", "0", "-"] in rows(nmtlab("runs", "list"))
    assert nmtlab("runs", "show", "phrase").out.startswith("run phrase: interrupted\n")
    assert nmtlab("evidence", "add-run", "phrase").code == 0
    assert not (open_packed("phrase", Workspace(data)).folder / "phrase").exists()
    assert size_in(data / "evidence") < 10_000
    said = nmtlab("runs", "pack", "phrase", "--weights", "--to", ".")
    assert said.err == "nmtlab: run 'phrase': it has no best checkpoint; pack it without weights\n"
    shutil.rmtree(run.folder)
    assert ["phrase", "-", "interrupted, packed", "0", "-"] in rows(nmtlab("runs", "list", "--packed"))


def test_packed_runs_are_counted_in_a_line_and_listed_when_asked_for(nmtlab, data):
    nmtlab("evidence", "add-run", "whole")
    assert "packed runs" not in nmtlab("runs", "list").out  # the workspace has a run of this name
    (data / "runs" / "whole").rename(data / "runs" / "mine")
    said, all_of_them = nmtlab("runs", "list"), nmtlab("runs", "list", "--packed")
    assert [row[0] for row in rows(said)] == ["mine"]
    assert said.out.endswith("\n1 packed run comes with nmtlab: 'nmtlab runs list --packed'\n")
    assert [row[0] for row in rows(all_of_them)] == ["mine", "whole"]
    assert "--packed" not in all_of_them.out


def test_a_packed_run_is_not_removed_with_a_word_and_not_written_twice(nmtlab, data):
    nmtlab("evidence", "add-run", "whole")
    nmtlab("runs", "remove", "whole", "--yes")
    said = nmtlab("runs", "remove", "whole", "--yes")
    file = data / "evidence/runs/whole.tar.xz"
    expected = "run 'whole': a packed run, which this command leaves alone; remove its file by hand"
    assert (said.code, said.err) == (2, f"nmtlab: {expected}\n")
    assert file.exists()
    again = nmtlab("evidence", "add-run", "whole")
    expected = "already exists; a packed run is written once; remove it to write another"
    assert again.err == f"nmtlab: {file}: {expected}\n"


def test_weights_that_are_too_large_are_refused(nmtlab, data):
    run = Run(data / "runs" / "whole")
    tensors, facts = run.checkpoints.weights()
    RunWriter(run).save_best({**tensors, "large": torch.zeros(10 << 20)}, facts)
    said = nmtlab("evidence", "add-run", "whole", "--weights")
    assert said.err.startswith(
        "nmtlab: run 'whole': its weights take 20.0 MiB in half precision, more than 4 MiB; pack"
    )
    assert not (data / "evidence").exists()
