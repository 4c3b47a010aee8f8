import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.text.checks.inspection import shared_lines
from nmtlab.text.corpora.corpus import ParallelCorpus, aligned
from nmtlab.text.corpora.lines import write_lines

SHARED = Path(__file__).parents[2].parent / "shared/data"


def _fill(folder, **files):
    """Write files named as train_uz, dev_en_1_gz (for dev.en.1.gz), each of lines separated by |."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        write_lines(folder / name.replace("_", "."), lines.split("|") if lines else [])
    return folder


def _problem(function, *arguments):
    with pytest.raises(CorpusError) as caught:
        function(*arguments)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
    return str(caught.value)


@pytest.mark.parametrize(
    ("languages", "given_", "direction"),
    [
        ("uz en", ("", ""), ("uz", "en")),
        ("en vi", ("", ""), ("vi", "en")),
        ("de cs", ("", ""), ("cs", "de")),
        ("eng tur", ("", ""), ("tur", "eng")),
        ("eng_Latn zho_Hans", ("", ""), ("zho_Hans", "eng_Latn")),
        ("en-GB tr", ("", ""), ("tr", "en-GB")),
        ("en_US uz", ("", ""), ("uz", "en_US")),
        ("EN tr", ("", ""), ("tr", "EN")),
        ("en tr", ("", ""), ("tr", "en")),
        ("en vi", ("en", ""), ("en", "vi")),
        ("en vi", ("", "vi"), ("en", "vi")),
        ("en vi", ("vi", ""), ("vi", "en")),
        ("en vi tr", ("tr", "vi"), ("tr", "vi")),
        ("pt-BR uz-Cyrl", ("", ""), ("pt-BR", "uz-Cyrl")),
    ],
)
def test_the_direction_is_found_from_the_files(tmp_path, languages, given_, direction):
    for language in languages.split():
        write_lines(tmp_path / f"train.{language}", ["a"])
    corpus = ParallelCorpus.open(tmp_path, *given_)
    assert (corpus.source, corpus.target) == direction


def test_the_name_is_that_of_the_folder(tmp_path, monkeypatch):
    folder = _fill(tmp_path / "small", dev_uz="a", dev_en="b")
    monkeypatch.chdir(folder)
    assert ParallelCorpus.open(Path()).name == "small"


def test_opening_says_what_is_wrong_with_a_folder(tmp_path):
    assert re.search("nowhere: no such folder; give", _problem(ParallelCorpus.open, tmp_path / "nowhere"))
    assert "not a corpus; name its files train.LANG" in _problem(ParallelCorpus.open, tmp_path)
    _fill(tmp_path, train_en="a")
    assert "monolingual text in en, but sentence pairs are needed; translate it" in _problem(
        ParallelCorpus.open, tmp_path
    )
    _fill(tmp_path, dev_uz="a")
    assert "no split has both uz and en; put aligned files" in _problem(ParallelCorpus.open, tmp_path)
    _fill(tmp_path, train_uz="a", train_tr="b")
    assert "has 3 languages (en, tr, uz); give both" in _problem(ParallelCorpus.open, tmp_path)
    assert "no language 'xx'; choose from en, tr, uz" in _problem(ParallelCorpus.open, tmp_path, "xx", "en")
    assert "'en' is both source and target" in _problem(ParallelCorpus.open, tmp_path, "en", "en")


def test_a_file_both_plain_and_compressed_is_refused(tmp_path):
    _fill(tmp_path, train_uz="a", train_en="b", train_en_xz="b")
    assert "both train.en and train.en.xz; remove one" in _problem(ParallelCorpus.open, tmp_path)


def test_splits_are_those_with_both_sides_in_order(tmp_path):
    _fill(tmp_path, test_uz="a", test_en_gz="b", dev_uz="a", train_uz="a", train_en_xz="b")
    corpus = ParallelCorpus.open(tmp_path)
    assert corpus.splits == ("train", "test")
    assert "no dev.en; add it; the corpus has train, test" in _problem(corpus.pairs, "dev")
    assert "no dev.en" in _problem(corpus.check)
    assert list(corpus.lines("dev", "uz")) == ["a"]


def test_pairs_are_read_in_step_and_blank_lines_stay(tmp_path):
    corpus = ParallelCorpus.open(_fill(tmp_path, train_uz="bir||uch", train_en_gz="one|two|"))
    assert list(corpus.pairs("train")) == [("bir", "one"), ("", "two"), ("uch", "")]
    assert corpus.count("train") == 3


@pytest.mark.parametrize(("uz", "en", "counts"), [("1|2|3", "1", (3, 1)), ("1", "1|2|3", (1, 3)), ("1|2", "", (2, 0))])
def test_sides_of_different_lengths_are_an_error_with_both_counts(tmp_path, uz, en, counts):
    corpus = ParallelCorpus.open(_fill(tmp_path, train_uz=uz, train_en=en))
    expected = f"{tmp_path}: train.uz has {counts[0]} lines, train.en has {counts[1]}; line n"
    for method in (lambda: list(corpus.pairs("train")), lambda: corpus.count("train"), corpus.check):
        assert expected in _problem(method)


@given(st.integers(0, 5), st.integers(0, 5))
def test_alignment_says_the_true_lengths(sources, targets):
    if sources == targets != 0:
        lines = [str(number) for number in range(sources)]
        assert list(aligned(iter(lines), iter(lines), "x", "y")) == list(zip(lines, lines, strict=True))
    else:
        message = _problem(list, aligned(iter(["a"] * sources), iter(["b"] * targets), "x", "y"))
        assert ("x and y: empty" if sources == targets else f"x has {sources} lines, y has {targets}") in message


def test_an_empty_split_is_an_error(tmp_path):
    corpus = ParallelCorpus.open(_fill(tmp_path, train_uz="a", train_en="b", dev_uz="", dev_en=""))
    assert "empty" in _problem(corpus.check)
    assert "dev.uz and dev.en: empty; add sentences" in _problem(corpus.count, "dev")


def test_a_side_that_is_all_blank_is_found(tmp_path):
    corpus = ParallelCorpus.open(_fill(tmp_path, train_uz="a|b", train_en=" |"))
    assert "every line of train.en is blank" in _problem(corpus.check)


def test_check_counts_every_split_and_finds_bad_text_in_the_last(tmp_path):
    corpus = ParallelCorpus.open(_fill(tmp_path, train_uz="a|b", train_en="c|d", test_uz="e", test_en="f"))
    assert corpus.check() == {"train": 2, "test": 1}
    (tmp_path / "test.en").write_bytes(b"\xff\n")
    assert "test.en, line 1: not UTF-8" in _problem(corpus.check)


def test_further_references_are_found_for_the_target_only(tmp_path):
    _fill(tmp_path, dev_uz="a|b", dev_en="A|B", dev_en_1_gz="C|D", dev_en_2="E|F", dev_en_4="G|H")
    assert ParallelCorpus.open(tmp_path).references("dev") == [["A", "B"], ["C", "D"], ["E", "F"]]
    assert ParallelCorpus.open(tmp_path, "en", "uz").references("dev") == [["a", "b"]]


def test_a_reference_of_another_length_is_an_error(tmp_path):
    corpus = ParallelCorpus.open(_fill(tmp_path, dev_uz="a|b", dev_en="A|B", dev_en_1="C"))
    for method in (lambda: corpus.references("dev"), corpus.check):
        assert "dev.en.1: 1 lines, but dev has 2 pairs; give every reference" in _problem(method)


def test_the_checksum_depends_on_the_text_alone(tmp_path):
    plain = _fill(tmp_path / "a", train_uz="a|b", train_en="c|d", dev_uz="e", dev_en="f")
    packed = _fill(tmp_path / "b", train_uz_gz="a|b", train_en_xz="c|d", dev_uz="e", dev_en_gz="f")
    windows = _fill(tmp_path / "c", train_uz="a|b", train_en="c|d", dev_en="f")
    (windows / "dev.uz").write_bytes(b"e\r\n")
    sums = {ParallelCorpus.open(folder).checksum() for folder in (plain, packed, windows)}
    assert sums == {ParallelCorpus.open(plain, "en", "uz").checksum()}
    assert re.fullmatch("[0-9a-f]{64}", sums.pop())


def test_the_checksum_changes_with_every_change_of_text(tmp_path):
    files = {"train_uz": "a|b", "train_en": "c|d", "dev_uz": "e", "dev_en": "f"}
    variants = [
        files,
        files | {"train_uz": "a|B"},
        files | {"train_uz": "b|a"},
        files | {"train_uz": "c|d", "train_en": "a|b"},
        files | {"train_uz": "a|b|e", "train_en": "c|d|f"},
        {"train_uz": "a|b", "train_en": "c|d", "test_uz": "e", "test_en": "f"},
        {"train_uz": "a|b", "train_en": "c|d"},
    ]
    folders = [_fill(tmp_path / str(number), **variant) for number, variant in enumerate(variants)]
    assert len({ParallelCorpus.open(folder).checksum() for folder in folders}) == len(variants)


@pytest.fixture(scope="module")
def overlap_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("overlap")


PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=12)


@given(train=PAIRS, dev=PAIRS)
@settings(max_examples=25)
def test_overlap_is_every_line_whose_pair_is_in_train(overlap_folder, train, dev):
    for split, pairs in (("train", train), ("dev", dev)):
        for side, language in enumerate(("uz", "en")):
            write_lines(overlap_folder / f"{split}.{language}", [pair[side] for pair in pairs])
    found = shared_lines(ParallelCorpus.open(overlap_folder))
    assert found.get((0, "dev"), []) == [number for number, pair in enumerate(dev, start=1) if pair in train]


def test_a_checksum_is_that_of_the_text_as_it_is_now_however_often_it_is_asked_for(tmp_path):
    write_lines(tmp_path / "train.uz", ["a b"])
    write_lines(tmp_path / "train.en", ["x y"])
    corpus = ParallelCorpus.open(tmp_path)
    long_ago = time.time() - 100
    sums = []
    for text in ("a b", "a c", "a b"):
        write_lines(tmp_path / "train.uz", [text])
        sums.append(corpus.checksum())
        for file in tmp_path.iterdir():
            os.utime(file, (long_ago, long_ago))
        sums.append(corpus.checksum())
        long_ago += 10
    assert sums[0] == sums[1] == sums[4] == sums[5]
    assert sums[2] == sums[3] != sums[0]


@pytest.mark.parametrize("name", ["tatoeba-ug-en", "tico19-ta-en", "mturk-ur-en", "ntrex-ja-en"])
def test_real_corpora_have_the_numbers_their_description_says(name):
    if not SHARED.is_dir():
        pytest.skip("no real corpora beside the checkout")
    row = next(line for line in (SHARED / "README.md").read_text().splitlines() if line.startswith(f"| {name} |"))
    said = [int(cell.replace(",", "")) for cell in row.split("|")[3:6] if cell.strip() != "-"]
    corpus = ParallelCorpus.open(SHARED / name)
    assert corpus.target == "en"
    assert list(corpus.check().values()) == said
    assert len(corpus.references("dev")) == (4 if name.startswith("mturk") else 1)
    if "train" in corpus.splits:
        assert (0, "test") not in shared_lines(corpus)


def test_a_corpus_is_opened_by_a_string_printed_counted_and_indexed(make_corpus):
    folder = make_corpus()
    corpus = ParallelCorpus.open(str(folder))
    assert corpus == ParallelCorpus.open(folder)
    assert repr(corpus).startswith(f"ParallelCorpus {folder.name!r}: ")
    pairs = list(corpus.pairs("train"))
    assert (len(corpus), corpus[0], corpus[-1], list(corpus)) == (len(pairs), pairs[0], pairs[-1], pairs)
    with pytest.raises(IndexError):
        corpus[len(pairs)]
