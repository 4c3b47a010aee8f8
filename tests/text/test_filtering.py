"""Filtering training text by rules."""

import json
import random

import pytest

from nmtlab.errors import CorpusError
from nmtlab.evaluation import alignment_error
from nmtlab.text.artificial import write_corpus
from nmtlab.text.corpora.cleaning import Limits, normalise
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.filtering import KEPT, Filter, Filtered, filter_corpus, filtered
from nmtlab.text.corpora.lines import write_lines, write_pairs
from nmtlab.text.corpora.links import gold_links, has_gold_links

PAIRS = {
    "fayl": "file",  # kept
    " ": "blank",
    "uzun " * 9: "long",
    "bir ikki uch": "one",
    "OK OK": "ok ok",
    "файл": "a file",
    "English words": "Inglizcha",
    "fayl\t": "file",  # kept: no duplicate
    "Faylni hozir oching": "something new",
}
REASONS = {
    "blank side": " ",
    "too long": "uzun " * 9,
    "length ratio": "bir ikki uch",
    "same on both sides": "OK OK",
    "another script": "файл",
    "another language": "English words",
    "similar to dev or test": "Faylni hozir oching",
}
FILTER = Filter(Limits(8, 2.5), is_other=lambda line, code: line == "English words" and code == "uz", alike=0.7)


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "noisy"
    folder.mkdir()
    write_pairs(folder / "train.uz", folder / "train.en", [*PAIRS.items(), ("fayl", "file")])
    write_pairs(folder / "dev.uz.gz", folder / "dev.en", [("hozir faylni oching!", "x"), (" ", "x"), ("x", "x")])
    write_lines(folder / "dev.en.1", ["y", "y", "y"])
    (folder / "gold").mkdir()
    return ParallelCorpus.open(folder)


def kept_by(chosen: Filter, corpus: ParallelCorpus) -> tuple[list[str], Filtered]:
    found = Filtered(chosen.limits)
    return [source for source, _ in filtered(corpus, chosen, found)], found


def test_each_rule_drops_its_pair_and_shows_it(corpus):
    kept, found = kept_by(FILTER, corpus)
    assert kept == ["fayl", "fayl\t"]
    lines = {source: number for number, source in enumerate(PAIRS, start=1)}
    expected = {reason: [(lines[source], (source, PAIRS[source]))] for reason, source in REASONS.items()}
    assert found.examples == {**expected, "duplicate": [(10, ("fayl", "file"))]}
    assert found.pairs == {KEPT: 2, **dict.fromkeys([*REASONS, "duplicate"], 1)}
    assert set(FILTER.reasons) == {*REASONS, "duplicate"}


def test_a_rule_that_is_off_drops_nothing(corpus):
    chosen = Filter(Limits(10_000), copies=False, scripts=False)
    kept, found = kept_by(chosen, corpus)
    assert kept == [source for source in PAIRS if source != " "]
    assert chosen.reasons == ["blank side", "too long", "duplicate"]
    assert found.pairs.total() == len(PAIRS) + 1


def test_a_pair_counts_under_the_first_rule_that_drops_it(tmp_path):
    write_pairs(
        tmp_path / "train.uz", tmp_path / "train.en", [("а б в г", "а б в г"), ("файл", "Файл"), ("x", "файл")] * 2
    )
    _, found = kept_by(Filter(Limits(3)), ParallelCorpus.open(tmp_path))
    assert found.pairs == {"too long": 2, "same on both sides": 2, "another script": 2}


def test_what_is_similar_is_what_comparing_all_pairs_finds(tmp_path):
    draw = random.Random(1)
    text = [
        tuple(" ".join(draw.choices(signs, k=draw.randint(1, 6))) for signs in ("abcdefgh", "stuvwxyz"))
        for _ in range(400)
    ]
    for split, pairs in (("dev", text[:30]), ("test", text[30:60]), ("train", text[60:])):
        write_pairs(tmp_path / f"{split}.qaa", tmp_path / f"{split}.en", pairs)
    kept, _ = kept_by(Filter(copies=False, alike=0.6), ParallelCorpus.open(tmp_path))

    def alike(one: str, other: str) -> bool:
        first, second = set(one.split()), set(other.split())
        return len(first & second) >= 0.6 * len(first | second)

    new = [p for p in dict.fromkeys(text[60:]) if not any(any(map(alike, p, held_out)) for held_out in text[:60])]
    assert kept == [source for source, _ in new]
    assert 0 < len(kept) < len(text[60:])


def test_a_new_corpus_has_what_is_kept_and_dev_and_test_as_they_are(corpus, tmp_path):
    report = filter_corpus(tmp_path / "new", corpus, FILTER, Filtered(FILTER.limits))
    new = ParallelCorpus.open(tmp_path / "new")
    assert list(new.pairs("train")) == [("fayl", "file"), ("fayl\t", "file")]
    held_out = {"dev.uz.gz", "dev.en", "dev.en.1"}
    assert {path.name for path in new.folder.iterdir()} == {"train.uz", "train.en", "import.json", *held_out}
    for name in held_out:
        assert (new.folder / name).read_bytes() == (corpus.folder / name).read_bytes()
    stored = json.loads((new.folder / "import.json").read_text(encoding="utf-8"))
    assert stored["kind"] == "filter"
    assert stored["origin"] == {"corpus": "noisy"}
    assert stored["kept"] == report.kept == {"train": 2, "dev": 3}
    assert stored["dropped"] == {"train": dict.fromkeys([*REASONS, "duplicate"], 1)}
    assert stored["options"]["alike"] == 0.7
    assert stored["options"]["languages"] is True
    assert stored["checksum"] == new.checksum()


def test_gold_links_of_dev_and_test_are_kept(tmp_path):
    write_corpus(tmp_path / "made", ["qaa"], train=30, dev=10, test=5)
    made = ParallelCorpus.open(tmp_path / "made")
    chosen = Filter(Limits(8))
    filter_corpus(tmp_path / "new", made, chosen, Filtered(chosen.limits))
    new = ParallelCorpus.open(tmp_path / "new")
    assert 0 < new.count("train") < 30
    for split in ("dev", "test"):
        gold = gold_links(new, split)
        assert gold == gold_links(made, split)
        assert alignment_error(gold, gold).error_rate == 0
    assert not has_gold_links(new, "train")


def test_filtering_twice_drops_nothing_more(corpus, tmp_path):
    filter_corpus(tmp_path / "new", corpus, FILTER, Filtered(FILTER.limits))
    again = filter_corpus(tmp_path / "newer", ParallelCorpus.open(tmp_path / "new"), FILTER, Filtered(FILTER.limits))
    assert again.dropped["train"] == {}


def test_if_nothing_is_kept_nothing_is_written(corpus, tmp_path):
    strict = Filter(Limits(1), is_other=lambda line, code: True)
    with pytest.raises(CorpusError, match=r"all 10 training pairs would be dropped, .*; look at them with --dry-run"):
        filter_corpus(tmp_path / "new", corpus, strict, Filtered(strict.limits))
    assert not (tmp_path / "new").exists()
    with pytest.raises(CorpusError, match="already exists"):
        filter_corpus(corpus.folder, corpus, FILTER, Filtered(FILTER.limits))


def test_without_training_text_there_is_nothing_to_filter(corpus, tmp_path):
    for path in corpus.folder.glob("train.*"):
        path.unlink()
    with pytest.raises(CorpusError, match=r"no train\.uz"):
        filter_corpus(tmp_path / "new", corpus, FILTER, Filtered(FILTER.limits))


def test_lengths_and_ratios_are_counted_and_examples_few(tmp_path):
    pairs = [(f"{'a ' * number}{number}", "x y z") for number in range(1, 100)]
    write_pairs(tmp_path / "train.uz", tmp_path / "train.en", pairs)
    chosen = Filter(Limits(50))
    _, found = kept_by(chosen, ParallelCorpus.open(tmp_path))
    assert found.lengths[KEPT] == {3: 2, **dict.fromkeys(range(4, 51), 1)}
    assert found.lengths["too long"] == dict.fromkeys(range(51, 101), 1)
    assert found.ratios[KEPT][1.5] == 1
    assert sum(counter.total() for counter in found.ratios.values()) == 99
    assert len(found.examples["too long"]) == 3
    table = found.table(chosen.reasons)
    assert list(table["rule"]) == [
        "blank side",
        "too long",
        "",
        "",
        "same on both sides",
        "another script",
        "duplicate",
        "kept",
    ]
    assert table["pairs"].dropna().sum() == 99
    assert table["share"].sum() == pytest.approx(1)
    assert all(normalise(pairs[int(row.line) - 1][0]) == row.source for row in table.dropna(subset="line").itertuples())
