"""`nmtlab runs align`, and what the lexicon that it keeps is for: shortlists of each batch, and vocabulary maps."""

import shutil

import pytest

from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.shortlist import Shortlist
from nmtlab.systems import open_model, phrases_of
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


def test_phrases_are_kept_with_the_run_for_lists_and_for_a_vocabulary_map(nmtlab, data):
    lists = *LISTS, "--set", "search.shortlist_from=phrases"
    refused = nmtlab("translate", "whole", *lists, stdin=TEXT)
    assert (
        "run 'whole': has no phrases; align its training text first: nmtlab runs align whole --phrases" in refused.err
    )
    said = nmtlab("runs", "align", "whole", "--phrases")
    assert said.code == 0, said.err
    assert said.out.count("-gram") == said.out.count("%") == 9
    assert said.out.endswith("search.shortlist_translations=10 --set search.shortlist_from=phrases\n")
    assert nmtlab("runs", "align", "whole", "--phrases").out == said.out
    run, lines = Run(data / "runs/whole"), TEXT.splitlines()
    types = Shortlist.of_phrases(run.pipeline, phrases_of(run), 2, 1, 2).types(pad(run.pipeline.encode_source(lines)))
    found = nmtlab("translate", "whole", *lists, stdin=TEXT)
    assert found.code == 0, found.err
    settings = SearchSettings(shortlist=2, shortlist_translations=1, shortlist_from="phrases")
    translated = open_model(run, settings).translate(lines)
    assert found.out.splitlines() == [one.text for one in translated]
    assert {token for one in translated for token in one.hypotheses[0].tokens} <= {*types}
    pytest.importorskip("ctranslate2")
    to = "--to", "ctranslate2", "--folder", "out", "--vocabulary-map", 3, "--ngrams", 2
    assert nmtlab("runs", "export", "whole", *to).code == 0
    ngrams = [line.split("\t")[0] for line in (data.parent / "out/vmap.txt").read_text(encoding="utf-8").splitlines()]
    assert ngrams[0] == ""
    assert {ngram.count(" ") for ngram in ngrams} == {0, 1}
    path = run.notes.path("phrases.safetensors")
    path.write_bytes(path.read_bytes()[:20])
    damaged = nmtlab("translate", "whole", *lists, stdin=TEXT)
    assert "remove it, and align again: nmtlab runs align whole --phrases" in damaged.err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["shortlist_from=phrases"], "shortlist_from needs translations; set shortlist_translations to 50"),
        (
            ["shortlist=9", "shortlist_translations=9", "shortlist_ngram=3"],
            "shortlist_ngram is of phrases; set shortlis",
        ),
        (["shortlist=9", "shortlist_translations=9", "shortlist_from=words"], "'words' is not"),
        (["shortlist_ngram=4"], "less than or equal to 3"),
    ],
)
def test_settings_of_phrases_without_phrases_are_refused(nmtlab, data, changes, said):
    found = nmtlab("translate", "whole", *(word for one in changes for word in ("--set", f"search.{one}")), stdin=TEXT)
    assert found.code == 2
    assert said in found.err


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
