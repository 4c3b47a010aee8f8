"""Every function that users give a path to takes a string too, and a corpus is opened by its name."""

import subprocess
import sys

import pytest

import nmtlab
from nmtlab.errors import CorpusError
from nmtlab.recipe import load_recipe
from nmtlab.runs.pack import dev_sentences, pack, unpack
from nmtlab.text.corpora.concatenation import join
from nmtlab.text.corpora.lines import read_lines, write_lines
from nmtlab.text.corpora.splitting import HoldOut

SOURCES = [f"kitob {number}" for number in range(40)]
TARGETS = [f"book {number}" for number in range(40)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("NMTLAB_CORPORA", raising=False)
    return tmp_path


def test_text_is_imported_joined_and_opened_by_strings(here):
    assert (write_lines("a.uz", SOURCES), write_lines("a.en", TARGETS)) == (40, 40)
    assert list(read_lines("a.uz")) == SOURCES
    published = {"test": ("a.uz", "a.en")}
    report = nmtlab.import_text("one", ("a.uz", "a.en"), "uz", "en", published=published, allow_overlap=True)
    assert report.origin == {"text": ["a.uz", "a.en"], "test": ["a.uz", "a.en"]}
    write_lines("b.tsv.gz", (f"{source}\t{target}" for source, target in zip(SOURCES, TARGETS, strict=True)))
    hold_out = HoldOut(dev=4, test=4)
    nmtlab.import_table("data/corpora/two", "b.tsv.gz", "tsv", ("", ""), "uz", "en", hold_out=hold_out)
    assert nmtlab.open_corpus("two").check() == {"train": 32, "dev": 4, "test": 4}
    join("three", [nmtlab.open_corpus("./one"), nmtlab.open_corpus("two", source="uz", target="en")])
    assert len(nmtlab.ParallelCorpus.open("three")) > 0


def test_software_is_imported_by_strings(here):
    entries = "".join(f'msgid "{en}"\nmsgstr "{uz}"\n\n' for uz, en in zip(SOURCES, TARGETS, strict=True))
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    (here / "uz.po").write_text(header + entries, encoding="utf-8")
    assert nmtlab.import_gettext("software", ["uz.po"], "uz").origin == {"places": ["uz.po"], "catalogues": 1}


def test_a_recipe_a_vocabulary_and_a_run_are_saved_and_read_by_strings(here, trained, tiny_corpus):
    run, _ = trained
    run.recipe.save("mine.toml")
    assert load_recipe("mine.toml") == run.recipe
    run.pipeline.save("words")
    assert nmtlab.Pipeline.load("words").checksum() == run.pipeline.checksum()
    sentences = dev_sentences(tiny_corpus, 2, "CC0", "sentences")
    unpacked = unpack(str(pack(run, "packed.tar.xz", sentences=sentences)), nmtlab.Workspace.find(), "again")
    assert unpacked.recipe == run.recipe


def test_a_mistyped_corpus_names_the_near_one(here):
    nmtlab.write_corpus("data/corpora/nara", ["qaa"], train=20, dev=5, test=5)
    with pytest.raises(CorpusError, match="did you mean 'nara'"):
        nmtlab.open_corpus("narra")


def test_corpora_are_opened_without_torch():
    program = "import sys, nmtlab; nmtlab.open_corpus, nmtlab.import_text; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
