"""`nmtlab runs align`, and what the lexicon that it keeps is for: shortlists of each batch, and vocabulary maps."""

import shutil

import pytest

from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.shortlist import Shortlist
from nmtlab.systems import open_model
from nmtlab.text.batching.batches import pad

TEXT = "ein hund singt\nein kind\n"
LISTS = "--set", "search.shortlist=2", "--set", "search.shortlist_translations=1"


@pytest.fixture
def aligned(nmtlab, data) -> Run:
    """A run that has been aligned."""
    assert nmtlab("runs", "align", "whole").code == 0
    return Run(data / "runs/whole")


def test_a_run_is_aligned_once_and_the_table_shows_what_lists_contain(nmtlab, data):
    said = nmtlab("runs", "align", "whole")
    assert said.code == 0, said.err
    table = Run(data / "runs/whole").translation_table
    assert table is not None
    assert "whole, de-en: shortlists of single dev sentences" in said.out
    assert said.out.count("%") == 5
    next_ = "next: nmtlab evaluate whole --split dev --set search.shortlist=100 --set search.shortlist_translations=10"
    assert said.out.endswith(f"{next_}\n")
    made = (data / "runs/whole/translation_table.safetensors").stat().st_mtime_ns
    assert nmtlab("runs", "align", "whole").out == said.out
    assert (data / "runs/whole/translation_table.safetensors").stat().st_mtime_ns == made


def test_translations_are_of_the_types_of_the_list(nmtlab, data, aligned):
    text = "singt child sieht hund\nhaus fluss dog mountain\n"  # that no training sentence is like
    said = nmtlab("translate", "whole", *LISTS, stdin=text)
    assert said.code == 0, said.err
    lines = text.splitlines()
    found = open_model(aligned, SearchSettings(shortlist=2, shortlist_translations=1)).translate(lines)
    assert said.out.splitlines() == [one.text for one in found]
    batch = pad(aligned.pipeline.encode_source(lines))
    types = Shortlist.of(aligned.pipeline, aligned.translation_table, 2, 1).types(batch)
    assert {token for one in found for token in one.hypotheses[0].tokens} <= {*types}
    assert len(types) < len(open_model(aligned).model.output_ids)
    whole = open_model(aligned).translate(lines)  # in which other types have some of the probability
    assert [one.hypotheses[0].log_prob for one in found] != [one.hypotheses[0].log_prob for one in whole]
    assert "engine: nmtlab" in nmtlab("translate", "whole", *LISTS, "--beam", 1, stdin=TEXT).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("translate", "whole", *LISTS), "run 'whole': has no lexicon; align its training "
         "text first: nmtlab runs align whole"),
        (("translate", "whole", *LISTS[2:]), "shortlist_translations adds to shortlist, which is 0"),
        (("runs", "export", "whole", "--to", "ctranslate2", "--folder", "out", "--vocabulary-map", 5),
         "nmtlab runs align whole"),
        (("runs", "export", "whole", "--to", "huggingface", "--folder", "out", "--vocabulary-map", 5),
         "a vocabulary map: for ctranslate2 only; leave it out"),
    ],
)  # fmt: skip
def test_a_list_without_a_lexicon_is_refused_in_a_line(words, said, nmtlab, data):
    found = nmtlab(*words, stdin=TEXT)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert not (data.parent / "out").exists()


def test_without_the_training_text_there_is_nothing_to_align(nmtlab, data, monkeypatch):
    monkeypatch.delenv("NMTLAB_CORPORA")
    found = nmtlab("runs", "align", "whole")
    assert found.code == 2
    assert "word alignment needs the text of 'whole', tiny: it is not here as it was" in found.err


def test_what_may_need_types_of_no_list_is_refused(nmtlab, data, aligned):
    (data / "begun.txt").write_text("a\na\n", encoding="utf-8")
    for words in (
        ("--prefix", data / "begun.txt"),
        ("--must", data / "begun.txt"),
        ("--json", "--token-scores"),
        ("--engine", "ctranslate2"),
    ):
        found = nmtlab("translate", "whole", *LISTS, *words, stdin=TEXT)
        assert (found.code, found.out) == (2, "")
        assert "search.shortlist_translations: " in found.err
        assert "set it to 0" in found.err


def test_a_vocabulary_map_has_frequent_types_and_the_best_translations_of_each_source_type(nmtlab, data, aligned):
    pytest.importorskip("ctranslate2")
    to = "--to", "ctranslate2", "--folder", "out", "--vocabulary-map", 3
    assert nmtlab("runs", "export", "whole", *to).code == 0
    lines = (data.parent / "out/vmap.txt").read_text(encoding="utf-8").splitlines()
    found = {source: targets.split(" ") for source, targets in (line.split("\t") for line in lines)}
    source, target = aligned.pipeline.source.vocabulary.types, aligned.pipeline.target.vocabulary.types
    assert len(found.pop("")) == 3 + 2  # with EOS and UNK
    wanted = {piece: aligned.translation_table.top(number, 3) for number, piece in enumerate(source)}
    assert {piece: set(targets) for piece, targets in found.items()} == {
        piece: {target[number] for number, _ in best} for piece, best in wanted.items() if best
    }


def test_a_training_has_no_lists(nmtlab, data):
    said = nmtlab("train", "tiny", "--recipe", "tiny.toml", "--name", "new", *LISTS)
    assert said.code == 2
    assert (
        "search.shortlist_translations: a training has no lexicon to take shortlists from; leave it out, and give it "
        "to translate or evaluate after nmtlab runs align new"
    ) in said.err
    assert not (data / "runs/new").exists()


def test_a_damaged_lexicon_stops_what_needs_it_alone(nmtlab, data, aligned):
    path = data / "runs/whole/translation_table.safetensors"
    path.write_bytes(path.read_bytes()[:20])
    assert nmtlab("translate", "whole", stdin=TEXT).code == 0
    for words in (("translate", "whole", *LISTS), ("runs", "align", "whole")):
        found = nmtlab(*words, stdin=TEXT)
        assert (found.code, found.out) == (2, "")
        assert "translation_table.safetensors: damaged" in found.err
        assert "remove it, and align again: nmtlab runs align whole" in found.err


def test_an_ensemble_needs_the_lexicon_of_its_first_run_alone(nmtlab, data, learned, aligned):
    shutil.copytree(learned.folder, data / "runs/other")
    alone, both = (nmtlab("translate", "whole", *more, *LISTS, stdin=TEXT) for more in ((), ("--with", "other")))
    assert (both.code, both.out) == (0, alone.out)
    found = nmtlab("translate", "other", "--with", "whole", *LISTS, stdin=TEXT)
    assert (found.code, found.out) == (2, "")
    assert "run 'other': has no lexicon" in found.err
