import json
import math
from collections import Counter

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import Limits, normalise
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.corpus_builder import ImportReport, build
from nmtlab.text.corpora.lines import read_lines, write_lines
from nmtlab.text.corpora.splitting import HoldOut
from nmtlab.text.importers.tabular import import_table
from nmtlab.text.importers.text import import_text

NO_SPLIT = HoldOut(dev=0, test=0)
LIMITS = Limits(max_words=50)


def _messy_pairs():
    """300 different pairs and, among them, 30 blank, 20 too long, 25 duplicate and some that share a sentence."""
    good = [(f"gap {n} gap", f"sentence {n // 2}") for n in range(300)]
    blank = [("", f"nothing {n}") for n in range(15)] + [(f"hech narsa {n}", " ") for n in range(15)]
    long = [(f"uzun {n}", "very " * 60 + str(n)) for n in range(20)]
    return good[:100] + blank + good[100:] + long + good[:25]


def _build(folder, pairs, hold_out=NO_SPLIT, published=None, **more):
    report = ImportReport("text", {"text": ["a", "b"]}, "uz", "en")
    return build(folder, report, iter(pairs), LIMITS, hold_out, published, **more)


def _nothing_left_behind(parent, *expected):
    return sorted(path.name for path in parent.iterdir()) == sorted(expected)


def test_every_pair_is_kept_or_dropped_with_its_reason(tmp_path):
    report = _build(tmp_path / "small", _messy_pairs(), HoldOut(dev=0.1, test=0.1))
    assert report.read == 375
    assert report.dropped["input"] == {"blank side": 30, "too long": 20, "duplicate": 25}
    assert sum(report.kept.values()) + report.dropped["train"].total() + report.dropped["dev"].total() == 300
    corpus = ParallelCorpus.open(tmp_path / "small")
    assert corpus.check() == report.kept
    written = {pair for split in corpus.splits for pair in corpus.pairs(split)}
    assert written <= set(_messy_pairs())
    assert len(written) == sum(report.kept.values())


def test_no_sentence_is_in_two_splits(tmp_path):
    pairs = [(f"Gap {n % 90}", f"Sentence {n % 110}") for n in range(9900)]
    report = _build(tmp_path / "small", pairs, HoldOut(dev=40, test=40))
    corpus = ParallelCorpus.open(tmp_path / "small")
    train, dev, test = (
        {normalise(side) for pair in corpus.pairs(split) for side in pair} for split in ("train", "dev", "test")
    )
    assert not train & dev | train & test | dev & test
    assert report.dropped["dev"]["sentence of dev or test"] > 0
    assert report.dropped["train"]["sentence of dev or test"] > 0
    assert report.read == 9900


def test_the_same_input_gives_the_same_corpus_whatever_its_order(tmp_path):
    hold_out = HoldOut(dev=20, test=20)
    one = _build(tmp_path / "one", _messy_pairs(), hold_out)
    again = _build(tmp_path / "again", _messy_pairs(), hold_out)
    other = _build(tmp_path / "other", _messy_pairs()[::-1], hold_out)
    assert one.checksum == again.checksum == ParallelCorpus.open(tmp_path / "one").checksum()
    assert one.kept == other.kept
    for split in ("train", "dev", "test"):
        pairs = [sorted(ParallelCorpus.open(tmp_path / name).pairs(split)) for name in ("one", "other")]
        assert pairs[0] == pairs[1]


@pytest.mark.parametrize(("by", "shared"), [("source", 0), ("target", 1)])
def test_the_chosen_side_decides_the_split(tmp_path, by, shared):
    pairs = [(f"gap {n // 3}", f"sentence {n}") for n in range(300)]
    pairs = [pair if by == "source" else pair[::-1] for pair in pairs]
    report = _build(tmp_path / "small", pairs, HoldOut(dev=30, test=30, by=by))
    corpus = ParallelCorpus.open(tmp_path / "small")
    assert report.kept == {"train": 240, "dev": 30, "test": 30}
    assert set(Counter(pair[shared] for pair in corpus.pairs("test")).values()) == {3}


def test_published_sets_are_taken_as_they_are_and_kept_out_of_train(tmp_path):
    dev = [("a", "x"), ("a", "x"), ("", "blank"), ("very " * 60, "long")]
    train = [("A ", "other"), ("b", "X"), ("b", "y"), ("b", "y"), ("", "z"), ("c", "blank")]
    report = _build(tmp_path / "small", train, HoldOut(dev=0.5), published={"dev": iter(dev)})
    corpus = ParallelCorpus.open(tmp_path / "small")
    assert list(corpus.pairs("dev")) == dev
    assert list(corpus.pairs("train")) == [("b", "y")]
    assert report.kept == {"train": 1, "dev": 4, "test": 0}
    assert report.dropped["train"] == {"sentence of dev or test": 3, "duplicate": 1, "blank side": 1}
    assert report.options == {"max_words": 50, "max_ratio": 0.0}


def test_train_keeps_what_it_shares_with_published_sets_if_that_is_asked_for(tmp_path):
    dev, train = [("a", "x")], [("a", "x"), ("b", "x"), ("b", "x"), ("", "z")]
    report = _build(tmp_path / "small", train, published={"dev": iter(dev)}, allow_overlap=True)
    assert list(ParallelCorpus.open(tmp_path / "small").pairs("train")) == [("a", "x"), ("b", "x")]
    assert report.dropped["train"] == {"duplicate": 1, "blank side": 1}
    assert report.options["allow_overlap"] is True


def test_what_is_held_out_never_overlaps(tmp_path):
    pairs = [(f"Gap {n % 90}", f"Sentence {n % 110}") for n in range(9900)]
    report = _build(tmp_path / "small", pairs, HoldOut(dev=40, test=40), allow_overlap=True)
    assert report.dropped["train"]["sentence of dev or test"] > 0


def test_the_report_is_written_beside_the_corpus(tmp_path):
    report = _build(tmp_path / "small", _messy_pairs(), HoldOut(dev=20, test=0))
    text = (tmp_path / "small" / "import.json").read_text()
    entries = json.loads(text)
    assert entries["checksum"] == ParallelCorpus.open(tmp_path / "small").checksum()
    assert entries["read"] == 375
    assert entries["kept"] == report.kept == {"train": 280, "dev": 20, "test": 0}
    assert entries["dropped"]["input"] == {"blank side": 30, "duplicate": 25, "too long": 20}
    assert entries["options"] == {"max_words": 50, "max_ratio": 0.0, "dev": 20, "test": 0, "most": 1000, "by": "target"}
    assert str(tmp_path) not in text
    assert _nothing_left_behind(tmp_path / "small", "import.json", "train.uz", "train.en", "dev.uz", "dev.en")


@pytest.mark.parametrize("source", ["", "e n", "../en", "en.1"])
def test_a_language_that_is_no_code_is_refused(source):
    with pytest.raises(CorpusError, match="not a language code; use one like uz"):
        ImportReport("text", {}, source, "en")


def test_one_language_on_both_sides_is_refused():
    with pytest.raises(CorpusError, match="'en' is both source and target"):
        ImportReport("text", {}, "en", "en")


def test_nothing_is_left_behind_when_an_import_fails(tmp_path):
    def failing():
        yield from _messy_pairs()
        raise CorpusError("a, line 9: bad", "mend it")

    with pytest.raises(CorpusError, match="line 9"):
        _build(tmp_path / "small", failing())
    with pytest.raises(CorpusError, match="none is left for training; hold out less"):
        _build(tmp_path / "small", [("a", "b")], HoldOut(dev=1, test=1))
    with pytest.raises(CorpusError, match=r"small: nothing to train on, all 2 pairs .*, 2 blank side; give more"):
        _build(tmp_path / "small", [("a", ""), ("", "b")])
    assert _nothing_left_behind(tmp_path)


def test_a_corpus_is_never_replaced(tmp_path):
    _build(tmp_path / "small", [("a", "b")])
    with pytest.raises(CorpusError, match="already exists; choose another name"):
        _build(tmp_path / "small", [("c", "d")])
    assert list(ParallelCorpus.open(tmp_path / "small").pairs("train")) == [("a", "b")]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_two_text_files_become_a_corpus(tmp_path, suffix):
    files = tmp_path / f"uz.txt{suffix}", tmp_path / f"en.txt{suffix}"
    write_lines(files[0], ["bir", "ikki"])
    write_lines(files[1], ["one", "two \u2028 2"])
    report = import_text(tmp_path / "small", files, "uz", "en", Limits(), NO_SPLIT)
    corpus = ParallelCorpus.open(tmp_path / "small")
    assert list(corpus.pairs("train")) == [("bir", "one"), ("ikki", "two \u2028 2")]
    assert report.origin == {"text": [f"uz.txt{suffix}", f"en.txt{suffix}"]}


def test_text_files_of_different_lengths_are_an_error(tmp_path):
    files = tmp_path / "a", tmp_path / "b"
    write_lines(files[0], ["1", "2", "3"])
    write_lines(files[1], ["1"])
    with pytest.raises(CorpusError, match=rf"{files[0]} has 3 lines, {files[1]} has 1; line n"):
        import_text(tmp_path / "small", files, "uz", "en", Limits(), NO_SPLIT)
    assert _nothing_left_behind(tmp_path, "a", "b")


def test_text_files_with_a_dev_set_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in {"a": ["1", "2"], "b": ["one", "two"], "c": ["2"], "d": ["zwei"]}.items():
        write_lines(tmp_path / name, lines)
    path = tmp_path.relative_to(tmp_path)
    dev = {"dev": (path / "c", path / "d")}
    report = import_text(tmp_path / "small", (path / "a", path / "b"), "uz", "en", Limits(), HoldOut(), dev)
    assert report.kept == {"train": 1, "dev": 1, "test": 0}
    assert report.origin == {"text": ["a", "b"], "dev": ["c", "d"]}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("2", "3"), [('"bir', 'one"'), ("ikki", "two")]),
        (("3", "2"), [('one"', '"bir'), ("two", "ikki")]),
        (("uz", "en"), [('"bir', 'one"'), ("ikki", "two")]),
        (("uz", "3"), [('"bir', 'one"'), ("ikki", "two")]),
    ],
)
def test_columns_are_chosen_by_number_or_by_the_header(tmp_path, columns, expected):
    path = tmp_path / "pairs.tsv"
    path.write_bytes('\ufeffid\tuz\ten\r\n1\t"bir\tone"\r\n2\tikki\ttwo\textra\r\n'.encode())
    import_table(tmp_path / "small", path, "tsv", columns, "uz", "en", Limits(), NO_SPLIT)
    assert list(ParallelCorpus.open(tmp_path / "small").pairs("train")) == expected


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("1", "2"), "line 3: 1 columns, no column 2; choose other columns, or fix the line"),
        (("uz", "en"), "line 3: 1 columns, no column 2"),
        (("uz", "tr"), "line 1: no column 'tr'; choose --target-column from uz, en"),
        (("0", "1"), "no column '0'; columns are numbered from 1"),
    ],
)
def test_a_missing_column_is_an_error_that_names_the_line(tmp_path, columns, message):
    path = tmp_path / "pairs.tsv"
    path.write_text("uz\ten\nbir\tone\nikki\n")
    with pytest.raises(CorpusError) as caught:
        import_table(tmp_path / "small", path, "tsv", columns, "uz", "en", Limits(), NO_SPLIT)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert _nothing_left_behind(tmp_path, "pairs.tsv")


def test_a_column_of_an_empty_file_is_missing(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.touch()
    with pytest.raises(CorpusError, match="no column 'uz'"):
        import_table(tmp_path / "small", path, "tsv", ("uz", "en"), "uz", "en", Limits(), NO_SPLIT)


def test_a_large_import_holds_out_the_share_asked_for(tmp_path):
    pairs = [(f"gap {n}", f"sentence {n}") for n in range(5000)]
    report = _build(tmp_path / "small", pairs, HoldOut(dev=0.1, test=0.04))
    deviation = 4 * math.sqrt(5000 * 0.1 * 0.9)
    assert report.kept["dev"] == pytest.approx(500, abs=deviation)
    assert report.kept["test"] == pytest.approx(200, abs=deviation)
    assert (
        sum(1 for _ in read_lines(tmp_path / "small" / "train.uz")) == 5000 - report.kept["dev"] - report.kept["test"]
    )
