import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from nmtlab.cli.main import app
from nmtlab.errors import CorpusError
from nmtlab.text.checks.inspection import shared_lines
from nmtlab.text.corpora.cleaning import normalise
from nmtlab.text.corpora.concatenation import join
from nmtlab.text.corpora.corpus import SPLITS, ParallelCorpus
from nmtlab.text.corpora.lines import write_lines

DATA = Path(__file__).parents[2].parent / "shared/data"


def corpus(folder: Path, **splits: list[tuple[str, str]]) -> ParallelCorpus:
    folder.mkdir(parents=True)
    for split, pairs in splits.items():
        for language, side in (("uz", 0), ("en", 1)):
            write_lines(folder / f"{split}.{language}", [pair[side] for pair in pairs])
    return ParallelCorpus.open(folder, "uz", "en")


def pairs(name: str, *numbers: int) -> list[tuple[str, str]]:
    return [(f"{name} gap {number}", f"{name} sentence {number}") for number in numbers]


def test_the_splits_of_all_parts_follow_each_other_in_the_order_of_the_parts(tmp_path):
    news = corpus(tmp_path / "news", train=pairs("a", 1, 2), dev=pairs("a", 3), test=pairs("a", 4))
    tales = corpus(tmp_path / "tales", train=pairs("b", 1), test=pairs("b", 2))
    report = join(tmp_path / "both", [tales, news])
    both = ParallelCorpus.open(tmp_path / "both", "uz", "en")
    assert list(both.pairs("train")) == pairs("b", 1) + pairs("a", 1, 2)
    assert list(both.pairs("dev")) == pairs("a", 3)
    assert list(both.pairs("test")) == pairs("b", 2) + pairs("a", 4)
    assert report.kept == {"train": 3, "dev": 1, "test": 2}
    assert report.read == 6


def test_every_pair_that_falls_is_counted_with_its_reason(tmp_path):
    one = corpus(
        tmp_path / "one",
        train=[*pairs("a", 1, 2, 1), ("A GAP 4", "something else"), ("", "blank"), *pairs("a", 9)],
        dev=[*pairs("a", 3), ("yangi", "a sentence 4")],
        test=pairs("a", 4, 5),
    )
    two = corpus(tmp_path / "two", train=[*pairs("a", 2), *pairs("b", 1)], test=pairs("a", 5))
    report = join(tmp_path / "both", [one, two])
    assert report.dropped["test"] == {"duplicate": 1}
    assert report.dropped["dev"] == {"sentence of dev or test": 1}
    assert report.dropped["train"] == {"duplicate": 2, "blank side": 1, "sentence of dev or test": 1}
    assert list(ParallelCorpus.open(tmp_path / "both", "uz", "en").pairs("train")) == pairs("a", 1, 2, 9) + pairs(
        "b", 1
    )
    assert report.read == 6 + 2 + 2 + 2 + 1
    saved = json.loads((tmp_path / "both/import.json").read_text(encoding="utf-8"))
    assert (saved["kind"], saved["origin"], saved["read"]) == ("join", {"parts": ["one", "two"]}, 13)
    assert saved["dropped"]["train"] == dict(report.dropped["train"])


sentences = st.sampled_from([f"{word}{case}" for word in "abcdef" for case in ("", " B", " b")])
texts = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=12)


@settings(max_examples=25)
@given(texts, texts, texts, texts, st.integers(0, 5))
def test_whatever_is_joined_no_pair_is_lost_uncounted_and_no_sentence_is_in_two_splits(
    tmp_path_factory, train, more, dev, test, most
):
    folder = tmp_path_factory.mktemp("join")
    one = corpus(folder / "one", train=train, dev=dev)
    two = corpus(folder / "two", train=more, test=test)
    report = join(folder / "both", [one, two], {"train": most})
    assert report.read == len(train) + len(more) + len(dev) + len(test)
    both = ParallelCorpus(folder / "both", "uz", "en")
    written = {split: list(both.pairs(split)) if split in both.splits else [] for split in SPLITS}
    assert {split: len(there) for split, there in written.items()} == report.kept
    assert not most or len(written["train"]) <= most
    assert Counter(written["train"]) <= Counter(set(train + more))
    sides = {split: {normalise(side) for pair in there for side in pair} for split, there in written.items()}
    assert not sides["train"] & (sides["dev"] | sides["test"])
    assert not sides["dev"] & sides["test"]
    # The oracle: what is neither held out nor cut is all there, once.
    clean = {pair for pair in train + more if not {normalise(side) for side in pair} & _kept(dev, test)}
    assert most or set(written["train"]) == clean


def _kept(dev: list[tuple[str, str]], test: list[tuple[str, str]]) -> set[str]:
    """Return the sentences of test and of what dev does not share with it."""
    in_test = {normalise(side) for pair in test for side in pair}
    rest = [pair for pair in dev if not {normalise(side) for side in pair} & in_test]
    return in_test | {normalise(side) for pair in rest for side in pair}


def test_a_smaller_choice_is_part_of_a_larger_one_and_of_the_same_size_always_the_same(tmp_path):
    whole = corpus(tmp_path / "whole", train=pairs("a", *range(200)), dev=pairs("d", *range(30)))
    chosen = {}
    for name, most in (("few", 20), ("many", 60), ("again", 60)):
        report = join(tmp_path / name, [whole], {"train": most, "dev": 10})
        chosen[name] = list(ParallelCorpus.open(tmp_path / name, "uz", "en").pairs("train"))
        assert report.kept == {"train": most, "dev": 10, "test": 0}
        assert report.dropped["train"] == {"more than wanted": 200 - most}
    assert set(chosen["few"]) < set(chosen["many"])
    assert chosen["many"] == chosen["again"]
    places = [pairs("a", *range(200)).index(pair) for pair in chosen["many"]]
    assert places == sorted(places)  # in their own order
    assert places != list(range(60))


def test_train_is_the_same_whatever_the_size_of_dev_and_test(tmp_path):
    whole = corpus(tmp_path / "whole", train=pairs("a", *range(40)), dev=pairs("a", *range(30, 50)))
    for name, most in (("all", 0), ("few", 2)):
        join(tmp_path / name, [whole], {"dev": most})
    every, few = (ParallelCorpus.open(tmp_path / name, "uz", "en") for name in ("all", "few"))
    assert list(every.pairs("train")) == list(few.pairs("train")) == pairs("a", *range(30))


def test_further_references_are_left_out_and_that_is_said(tmp_path):
    many = corpus(tmp_path / "many", train=pairs("a", 1), dev=pairs("a", 2, 3))
    for number in (1, 2):
        write_lines(tmp_path / f"many/dev.en.{number}", ["another", "and another"])
    report = join(tmp_path / "both", [many, corpus(tmp_path / "one", dev=pairs("b", 1))])
    assert report.options["references_left_out"] == {"many dev": 2}
    assert len(ParallelCorpus.open(tmp_path / "both", "uz", "en").references("dev")) == 1


def test_bad_input_names_the_part_and_what_to_do(tmp_path):
    one = corpus(tmp_path / "one", train=pairs("a", 1), dev=pairs("a", 2))
    swapped = ParallelCorpus(one.folder, "en", "uz")
    with pytest.raises(CorpusError, match=r"one: en to uz, but .*one is uz to en; join corpora of the same"):
        join(tmp_path / "both", [one, swapped])
    with pytest.raises(CorpusError, match="no parts to join; name the corpora"):
        join(tmp_path / "both", [])
    with pytest.raises(CorpusError, match="dev is -1; give 1 or more pairs, or 0"):
        join(tmp_path / "both", [one], {"dev": -1})
    with pytest.raises(CorpusError, match="one: already exists; choose another name"):
        join(tmp_path / "one", [one])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]


def test_a_part_that_cannot_be_read_leaves_nothing_behind(tmp_path):
    one = corpus(tmp_path / "one", train=pairs("a", 1, 2))
    write_lines(tmp_path / "one/train.en", ["only one line"])
    with pytest.raises(CorpusError, match=r"one: train\.uz has 2 lines"):
        join(tmp_path / "both", [one])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]


def test_the_command_joins_by_name_or_path_and_says_what_fell(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NMTLAB_CORPORA", str(tmp_path / "elsewhere"))
    corpus(tmp_path / "elsewhere/news", train=pairs("a", *range(9)), dev=pairs("d", 1))
    tales = corpus(tmp_path / "tales", train=pairs("a", 0, 20), dev=pairs("e", *range(5)))
    write_lines(tales.folder / "dev.en.1", ["another"] * 5)
    words = ["corpus", "join", "both", "news", str(tales.folder), "--train", "4", "--dev", "3", "--source", "uz"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "both: uz to en" in said
    assert "dropped from train │ more than wanted │ 6" in said
    assert "dropped from train │ duplicate │ 1" in said
    assert "left out: 1 further reference of tales dev" in said
    assert ParallelCorpus.open(tmp_path / "data/corpora/both", "uz", "en").check() == {"train": 4, "dev": 3}


@pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")
def test_real_corpora_of_one_language_are_joined(tmp_path):
    parts = [ParallelCorpus.open(DATA / name) for name in ("software-uz-en", "libreoffice-uz-en")]
    report = join(tmp_path / "uz-en", parts, {"dev": 200})
    assert report.read == sum(part.count(split) for part in parts for split in SPLITS)
    assert report.kept["dev"] == 200
    assert shared_lines(ParallelCorpus.open(tmp_path / "uz-en")) == {}


# Corpora that differ in their source language alone


def test_of_train_only_target_sentences_that_all_have_are_kept_each_once(tmp_path):
    texts = {
        "uz": [("bir", "One."), ("ikki", "two"), ("ikki!", "Two!"), ("uch", "three"), ("olti", "six")],
        "tr": [("bir", "one"), ("iki", "two"), ("dört", "four"), ("üç", "Three")],
        "hu": [("egy", "one"), ("kettő", "two"), ("három", "three")],
    }
    corpora = []
    for code, lines in texts.items():
        (tmp_path / code).mkdir()
        for split, some in (("train", lines), ("dev", [("yetti", "three")])):
            write_lines(tmp_path / code / f"{split}.{code}", [source for source, _ in some])
            write_lines(tmp_path / code / f"{split}.en", [target for _, target in some])
        corpora.append(ParallelCorpus.open(tmp_path / code, code, "en"))
    report = join(tmp_path / "made", corpora[:1], among=corpora)
    made = ParallelCorpus.open(tmp_path / "made", "uz", "en")
    assert list(made.pairs("train")) == [("bir", "One."), ("ikki", "two")]
    assert list(made.pairs("dev")) == [("yetti", "three")]
    assert report.dropped["train"] == {"target sentence not in all": 2, "sentence of dev or test": 1}
    assert report.options["among"] == ["uz", "tr", "hu"]


@pytest.mark.full
@pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")
def test_real_parents_can_be_cut_to_the_english_sentences_of_all(tmp_path):
    parts = [ParallelCorpus.open(DATA / f"libreoffice-{code}-en") for code in ("pt", "es", "hu", "tr")]
    report = join(tmp_path / "pt", parts[:1], among=parts)
    assert 0 <= 21_628 - report.kept["train"] < 30  # the number in their description, before cleaning


@pytest.mark.parametrize("skip", [1, 30, 99])
def test_the_pairs_after_the_first_are_all_the_others_in_their_order(tmp_path, skip):
    whole = corpus(tmp_path / "whole", train=pairs("a", *range(100)), dev=pairs("b", 1), test=pairs("b", 2))
    join(tmp_path / "first", [whole], {"train": skip})
    report = join(tmp_path / "rest", [whole], skip=skip)
    first, rest = (list(ParallelCorpus.open(tmp_path / name, "uz", "en").pairs("train")) for name in ("first", "rest"))
    assert rest == [pair for pair in whole.pairs("train") if pair not in first]
    assert report.kept == {"train": 100 - skip, "dev": 1, "test": 1}
    assert report.dropped["train"] == {"among the first, which are skipped": skip}
    assert report.options["skip"] == skip


def test_of_the_pairs_after_the_first_as_many_are_kept_as_wanted(tmp_path):
    whole = corpus(tmp_path / "whole", train=pairs("a", *range(100)))
    kept = {}
    for name, skip, most in (("first", 0, 50), ("some", 20, 30), ("all", 20, 90)):
        report = join(tmp_path / name, [whole], {"train": most}, skip=skip)
        kept[name] = set(ParallelCorpus.open(tmp_path / name, "uz", "en").pairs("train"))
        assert len(kept[name]) == report.kept["train"] == min(most, 100 - skip)
        assert report.read == 100
    assert kept["some"] < kept["first"]
    assert kept["some"] < kept["all"]


@pytest.mark.parametrize(("skip", "problem"), [(3, "has 3 training pairs, 3 are to be skipped"), (-1, "train is -1")])
def test_skipping_all_pairs_is_refused(tmp_path, skip, problem):
    whole = corpus(tmp_path / "whole", train=pairs("a", 1, 2, 3), dev=pairs("b", 1))
    with pytest.raises(CorpusError, match=problem):
        join(tmp_path / "rest", [whole], skip=skip)
    assert not (tmp_path / "rest").exists()
