"""mtdata and sacrebleu themselves, on data put where they keep what they have downloaded: no network is used."""

import os
import re
import subprocess
import sys
from collections import Counter
from hashlib import md5

import pytest

from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.splitting import HoldOut
from nmtlab.text.importers import mtdata as mtdata_importer
from nmtlab.text.importers.mtdata import THESIS, DatasetSelection, find_selection, import_mtdata
from nmtlab.text.importers.sacrebleu import import_sacrebleu

HOST = "nowhere.invalid"
NO_SPLIT = HoldOut(dev=0, test=0)
INDEX = """
import pickle, sys, types

# An index as mtdata caches it, made before mtdata would make its own of 290,000 entries.
module = types.ModuleType("mtdata.index")
class Index: pass
Index.__module__, module.Index = "mtdata.index", Index
sys.modules["mtdata.index"] = module

from mtdata import cached_index_file
from mtdata.entry import Entry

index = Index()
index.entries, index.papers = {}, {}
for did, *urls in (line.split() for line in sys.stdin):
    entry = Entry(did=did, url=tuple(urls), ext="txt")
    index.entries[entry.did] = entry
cached_index_file.parent.mkdir(parents=True, exist_ok=True)
with cached_index_file.open("wb") as file:
    pickle.dump(index, file)
"""


def _url(name):
    return f"https://{HOST}/{name}"


@pytest.fixture
def mtdata(tmp_path, monkeypatch):
    """A cache of mtdata that knows Group-{train,dev,test,gone}-1-eng-vie and has downloaded all but the last."""
    pytest.importorskip("mtdata", reason="needs the extra 'download'")
    cache = tmp_path / "mtdata"
    monkeypatch.setenv("MTDATA", str(cache))
    texts = {
        "train": [("a sentence", "một câu"), ("a sentence", "một câu"), ("", "trống"), ("Test one", "x"), ("b", "c")],
        "dev": [("dev one", "dev một"), ("dev one", "dev một")],
        "test": [("test one", "test một"), ("", "test hai")],
    }
    for name, pairs in texts.items():
        for side, language in enumerate(("en", "vi")):
            key = md5(_url(f"{name}.{language}").encode()).hexdigest()
            path = cache / HOST / key[:4] / key[4:] / f"{name}.{language}"
            path.parent.mkdir(parents=True)
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
            path.with_name(f"{path.name}._valid").touch()
    ids = [f"Group-{name}-1-eng-vie {_url(f'{name}.en')} {_url(f'{name}.vi')}" for name in (*texts, "gone")]
    subprocess.run([sys.executable, "-c", INDEX], input="\n".join(ids), text=True, check=True, env=dict(os.environ))


def test_data_sets_of_mtdata_become_a_corpus(tmp_path, mtdata):
    recipe = DatasetSelection(
        "vi", "en", ("Group-train-1-eng-vie",), ("Group-dev-1-eng-vie",), ("Group-test-1-eng-vie",)
    )
    report = import_mtdata(tmp_path / "small", recipe, Limits(), HoldOut())
    corpus = ParallelCorpus.open(tmp_path / "small")
    assert (corpus.source, corpus.target) == ("vi", "en")
    assert list(corpus.pairs("train")) == [("một câu", "a sentence"), ("c", "b")]
    assert list(corpus.pairs("dev")) == [("dev một", "dev one")] * 2
    assert list(corpus.pairs("test")) == [("test một", "test one"), ("test hai", "")]
    assert report.dropped["train"] == {"duplicate": 1, "blank side": 1, "sentence of dev or test": 1}
    assert report.origin["dev"] == ["Group-dev-1-eng-vie"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Group-gone-1-eng-vie",
            f"'Group-gone-1-eng-vie': mtdata could not get it .*{HOST}.*; check the network, and the",
        ),
        ("Group-other-1-eng-vie", "'Group-other-1-eng-vie': mtdata could not get it"),
        ("Group-train-1-eng-tur", "'Group-train-1-eng-tur': not of eng and vie; give the languages in its name"),
    ],
)
def test_a_data_set_that_cannot_be_had_is_an_error_and_leaves_nothing(tmp_path, mtdata, name, message):
    with pytest.raises(CorpusError) as caught:
        import_mtdata(tmp_path / "small", DatasetSelection("en", "vi", (name,)), Limits(), NO_SPLIT)
    assert re.search(message, str(caught.value))
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mtdata"]


def test_a_language_that_mtdata_does_not_know_is_an_error(tmp_path):
    pytest.importorskip("mtdata", reason="needs the extra 'download'")
    with pytest.raises(CorpusError, match="languages qqx and en: unknown to mtdata"):
        import_mtdata(tmp_path / "small", DatasetSelection("qqx", "en", ("Group-train-1-eng-vie",)), Limits(), NO_SPLIT)


def test_without_mtdata_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mtdata", None)
    with pytest.raises(NmtlabError, match="mtdata is not installed; pip install 'mtdata"):
        import_mtdata(tmp_path / "small", THESIS["ted-gl-en"], Limits(), NO_SPLIT)


def test_something_to_train_on_must_be_named(tmp_path):
    pytest.importorskip("mtdata", reason="needs the extra 'download'")
    with pytest.raises(CorpusError, match="no data set to train on; give a data set's id, or a recipe"):
        import_mtdata(tmp_path / "small", DatasetSelection("en", "vi", ()), Limits(), NO_SPLIT)


def test_rows_of_mtdata_with_a_further_column_are_dropped_and_counted(tmp_path, monkeypatch):
    rows = "a\tx\nb\ty\tz\nc\n"
    monkeypatch.setattr(mtdata_importer, "_mtdata", lambda arguments, path, problem: path.write_text(rows))
    dropped = Counter()
    pairs = mtdata_importer._pairs(("Group-train-1-eng-vie",), ["vie", "eng"], tmp_path, dropped)
    assert list(pairs) == [("x", "a"), ("", "c")]
    assert dropped == {"more than two columns": 1}


def test_recipes_are_found_by_name():
    assert find_selection("ted-gl-en").train == ("Neulab-tedtalks_train-1-eng-glg",)
    with pytest.raises(CorpusError, match="recipe 'ted-xx': unknown; choose from ted-gl-en, ted-sk-en"):
        find_selection("ted-xx")


@pytest.fixture
def sacrebleu_folder(tmp_path, monkeypatch):
    """sacrebleu's folder for two of its test sets, here, and an address for them that does not exist."""
    from sacrebleu.dataset import DATASETS

    for name in ("multi30k/2016", "wmt17/tworefs"):
        monkeypatch.setattr(DATASETS[name], "_outdir", str(tmp_path / "cache" / name))
        monkeypatch.setattr(DATASETS[name], "_rawdir", str(tmp_path / "cache" / name / "raw"))
        monkeypatch.setattr(DATASETS[name], "data", [_url("set.tar.gz")])
    return tmp_path / "cache"


def _put(folder, name, languages, **fields):
    (folder / name).mkdir(parents=True)
    for field, lines in fields.items():
        path = folder / name / f"{name.replace('/', '_')}.{languages}.{field.replace('_', '-')}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_test_sets_of_sacrebleu_become_a_corpus_as_they_are(tmp_path, sacrebleu_folder):
    _put(sacrebleu_folder, "multi30k/2016", "en-de", src=["a", "a", "", "b"], ref=["A", "A", "X", ""])
    report = import_sacrebleu(tmp_path / "small", "en", "de", test="multi30k/2016")
    corpus = ParallelCorpus.open(tmp_path / "small", "en", "de")
    assert list(corpus.pairs("test")) == [("a", "A"), ("a", "A"), ("", "X"), ("b", "")]
    assert corpus.splits == ("test",)
    assert (report.kept, report.read, report.checksum) == ({"test": 4}, 4, corpus.checksum())
    assert report.origin == {"test": "multi30k/2016"}


def test_further_references_come_along(tmp_path, sacrebleu_folder):
    fields = {"src": ["a", "b"], "ref_0": ["A", "B"], "ref_1": ["C", "D"]}
    rest = {field: ["x", "x"] for field in ("docid", "genre", "origlang")}
    _put(sacrebleu_folder, "wmt17/tworefs", "en-fi", **fields, **rest)
    import_sacrebleu(tmp_path / "small", "en", "fi", dev="wmt17/tworefs", test="wmt17/tworefs")
    for split in ("dev", "test"):
        assert ParallelCorpus.open(tmp_path / "small", "en", "fi").references(split) == [["A", "B"], ["C", "D"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test": "multi30k/2016"}, "'multi30k/2016': sacrebleu could not fetch it .*; try with a network"),
        ({"dev": "wmt99"}, "'wmt99': unknown to sacrebleu for en-de; choose from .*wmt17"),
        ({}, "no test set named; name one for dev"),
    ],
)
def test_a_test_set_that_cannot_be_had_is_an_error_and_leaves_nothing(tmp_path, sacrebleu_folder, arguments, message):
    with pytest.raises(CorpusError, match=message):
        import_sacrebleu(tmp_path / "small", "en", "de", **arguments)
    assert not [path for path in tmp_path.iterdir() if path.name != "cache"]


def test_languages_without_test_sets_are_an_error(tmp_path):
    with pytest.raises(CorpusError, match="for uz-ug; choose other languages, or swap them"):
        import_sacrebleu(tmp_path / "small", "uz", "ug", test="wmt17")
