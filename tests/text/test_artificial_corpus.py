import json
from collections import Counter

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.artificial import ArtificialLanguage, ArtificialSettings, write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.heads import gold_heads

SPLITS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora") / "pair"
    settings = ArtificialSettings(ambiguity=0.5, names=40)
    write_corpus(folder, ["qab", "qac"], settings, train=3000, dev=200, test=100, start=500)
    return folder


def rows(path):
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


def test_a_corpus_can_be_opened(corpus):
    for code in ("qab", "qac"):
        assert ParallelCorpus.open(corpus, code, "en").check() == {"train": 3000, "dev": 200, "test": 100}


def test_a_corpus_has_what_the_language_says(corpus):
    settings = ArtificialSettings(ambiguity=0.5, names=40)
    for code in ("qab", "qac"):
        pairs = list(ArtificialLanguage(code, settings).pairs(200, 500, "dev"))
        assert list(ParallelCorpus.open(corpus, code, "en").pairs("dev")) == [
            (pair.source, pair.target) for pair in pairs
        ]
        links = (corpus / f"gold/dev.{code}-en.align").read_text().splitlines()
        assert links == [" ".join(f"{i}-{j}" for i, j in pair.links) for pair in pairs]
        heads = gold_heads(ParallelCorpus.open(corpus, code, "en"), "dev")
        assert heads == [list(pair.heads) for pair in pairs]
    described = json.loads((corpus / "artificial.json").read_text())
    assert described == {
        "languages": ["qab", "qac"],
        "start": 500,
        "train": 3000,
        "dev": 200,
        "test": 100,
        "seed": 1,
        "vocabulary": 400,
        "names": 40,
        "ambiguity": 0.5,
        "cognates": 1.0,
        "sound_changes": 0,
        "order": "",
    }


def test_no_sentence_is_in_two_splits(corpus):
    for code in ("qab", "qac", "en"):
        lines = [set((corpus / f"{split}.{code}").read_text(encoding="utf-8").splitlines()) for split in SPLITS]
        assert not lines[0] & lines[1] | lines[0] & lines[2] | lines[1] & lines[2]


@pytest.mark.full
def test_a_childs_test_sentences_are_not_in_its_parents_training():
    settings = ArtificialSettings(ambiguity=0.5)
    parent = ArtificialLanguage("qaa", settings).pairs(20_000, 0, "train")
    child = ArtificialLanguage("qac", settings).pairs(1500, 10**7, "test")
    seen = {pair.target for pair in parent}
    assert not seen & {pair.target for pair in child}
    later = {pair.target for pair in ArtificialLanguage("qac", settings).pairs(20_000, 10**7, "train")}
    assert seen & later


def test_the_counts_of_names_can_be_counted_again(corpus):
    words = {split: Counter((corpus / f"{split}.en").read_text().split()) for split in SPLITS}
    names = rows(corpus / "gold/names.qac-en.tsv")
    assert len(names) == 6 * 40 + 60
    assert all(int(row[split]) == words[split][row["target"]] for row in names for split in SPLITS)
    assert sum(int(row["train"]) == 0 for row in names) > 5
    assert sum(int(row["train"]) > 30 for row in names) > 20


def test_the_forms_are_the_links_of_train(corpus):
    corpora = ParallelCorpus.open(corpus, "qab", "en")
    links = (corpus / "gold/train.qab-en.align").read_text().splitlines()
    counts = Counter()
    for (source, target), line in zip(corpora.pairs("train"), links, strict=True):
        for link in line.split():
            i, j = map(int, link.split("-"))
            counts[source.split()[i], target.split()[j]] += 1
    forms = rows(corpus / "gold/forms.qab-en.tsv")
    assert {(row["source"], row["target"]): int(row["count"]) for row in forms} == counts
    sums = Counter()
    for row in forms:
        sums[row["source"]] += float(row["probability"])
    assert list(sums.values()) == pytest.approx([1] * len(sums), abs=0.01)


def test_the_lexicon_on_disk_is_the_languages(corpus):
    entries = ArtificialLanguage("qac", ArtificialSettings(ambiguity=0.5, names=40)).lexicon()
    table = rows(corpus / "gold/lexicon.qac-en.tsv")
    assert [(row["stem"], row["target"], row["forms"]) for row in table] == [
        (entry.stem, entry.target, " ".join(entry.forms)) for entry in entries
    ]
    assert {row["group"] for row in table} == {entry.group for entry in entries}


def test_gold_of_train_can_be_left_out(tmp_path):
    write_corpus(tmp_path / "lean", ["qaa"], train=20, dev=5, test=5, train_gold=False)
    assert sorted(path.name for path in (tmp_path / "lean/gold").iterdir()) == [
        *("dev.qaa-en.align", "dev.qaa-en.heads", "lexicon.qaa-en.tsv", "names.qaa-en.tsv"),
        *("test.qaa-en.align", "test.qaa-en.heads"),
    ]


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(CorpusError, match="already exists; choose another name"):
        write_corpus(tmp_path / "there", ["qaa"], train=10, dev=5, test=5)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert not list((tmp_path / "there").iterdir())


@pytest.mark.full
def test_a_stranger_may_be_among_a_family_and_means_the_same(tmp_path):
    family, stranger = ArtificialSettings(names=10), ArtificialSettings(names=10, cognates=0.0)
    sizes = {"train": 30, "dev": 5, "test": 5}
    write_corpus(tmp_path / "all", ["qaa", "qad"], {"qaa": family, "qad": stranger}, **sizes)
    write_corpus(tmp_path / "near", ["qaa"], family, **sizes)
    write_corpus(tmp_path / "far", ["qad"], {"qad": stranger}, **sizes)
    for alone, code in (("near", "qaa"), ("far", "qad")):
        for name in (
            f"train.{code}",
            "train.en",
            "test.en",
            f"gold/lexicon.{code}-en.tsv",
            f"gold/test.{code}-en.align",
        ):
            assert (tmp_path / alone / name).read_bytes() == (tmp_path / "all" / name).read_bytes()
    described = json.loads((tmp_path / "all/artificial.json").read_text())
    assert described.pop("relatives") == {"qaa": {"cognates": 1.0}, "qad": {"cognates": 0.0}}
    assert described == {
        "languages": ["qaa", "qad"], "start": 0, **sizes, "seed": 1, "vocabulary": 400, "names": 10, "ambiguity": 0.0,
        "sound_changes": 0, "order": "",
    }  # fmt: skip
    assert json.loads((tmp_path / "far/artificial.json").read_text())["cognates"] == 0


def test_languages_whose_sentences_would_differ_are_refused(tmp_path):
    settings = {"qaa": ArtificialSettings(names=10), "qad": ArtificialSettings(names=11)}
    with pytest.raises(
        CorpusError, match=r"names is 11 for qad and 10 for qaa; choose the same .*only cognates, sound"
    ):
        write_corpus(tmp_path / "new", ["qaa", "qad"], settings, train=5, dev=5, test=5)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("languages", "sizes", "message"),
    [
        (["qaz"], {}, "artificial language: no language 'qaz'; choose one of qaa, qab, qac, qad"),
        ([], {}, "artificial language: languages are none; name each one once"),
        (["qaa", "qaa"], {}, "artificial language: languages are qaa, qaa; name each one once"),
        (["qaa"], {"dev": 0}, "artificial language: dev is 0; choose at least 1"),
        (["qaa"], {"start": -1}, "artificial language: start is -1; choose at least 0"),
    ],
)
def test_what_cannot_be_written_is_named_with_a_remedy(tmp_path, languages, sizes, message):
    with pytest.raises(CorpusError) as error:
        write_corpus(tmp_path / "new", languages, **sizes)
    assert str(error.value) == message
    assert not list(tmp_path.iterdir())
