import json
from collections import Counter
from functools import partial
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.text.noise.adding import add_noise, with_noise
from nmtlab.text.noise.kinds import NOISES, Kind, Noise

THIRD = [f"tercera {number}" for number in range(300)]
SIDE = {"source": 0, "target": 1}

words = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8).map(" ".join)
corpora = st.lists(st.tuples(words, words), min_size=2, max_size=20)
shares = st.floats(0.5, 3)
seeds = st.integers(0, 5)


def noise_of(kind: Kind) -> Noise:
    return partial(NOISES[kind], third=THIRD) if kind.startswith("wrong-language") else NOISES[kind]


def bad_of(kind: Kind, pairs: list[Pair], share: float, seed: int) -> list[Pair]:
    """Return the bad pairs, after a check of the clean ones and of the number; none if the text allows none."""
    try:
        noisy = with_noise(pairs, noise_of(kind), share, seed)
    except CorpusError:
        assert kind in ("misaligned", "short")
        return []
    assert noisy[: len(pairs)] == pairs
    bad = noisy[len(pairs) :]
    assert len(bad) == round(share * len(pairs))
    return bad


@given(corpora, shares, shares, seeds, st.sampled_from(list(NOISES)))
def test_less_noise_is_the_beginning_of_more(pairs, one, other, seed, kind):
    less, more = (bad_of(kind, pairs, share, seed) for share in sorted((one, other)))
    assert more[: len(less)] == less


@given(corpora, seeds)
def test_misaligned_is_a_derangement_of_the_targets(pairs, seed):
    bad = bad_of("misaligned", pairs, 1.0, seed)
    targets = Counter(target for _, target in pairs)
    assert bool(bad) == (2 * max(targets.values()) <= len(pairs))
    if bad:
        assert Counter(source for source, _ in bad) == Counter(source for source, _ in pairs)
        assert Counter(target for _, target in bad) == targets
    numbered = [(f"{place}", target) for place, (_, target) in enumerate(pairs)]
    for source, target in bad_of("misaligned", numbered, 2.0, seed):
        assert target != pairs[int(source)][1]


@given(corpora, shares, seeds, st.sampled_from(list(SIDE)))
def test_misordered_permutes_the_words_of_one_side(pairs, share, seed, side):
    def unordered(pair: Pair) -> tuple[str, ...]:
        return tuple("".join(sorted(text)) if place == SIDE[side] else text for place, text in enumerate(pair))

    bad = bad_of(f"misordered-{side}", pairs, share, seed)
    assert {unordered(pair) for pair in bad} <= {unordered(pair) for pair in pairs}


@given(corpora, shares, seeds, st.sampled_from(list(SIDE)))
def test_the_wrong_language_is_a_line_of_the_third_text_that_is_used_once(pairs, share, seed, side):
    bad = bad_of(f"wrong-language-{side}", pairs, share, seed)
    lines = [pair[SIDE[side]] for pair in bad]
    assert set(lines) <= set(THIRD)
    assert len(set(lines)) == len(lines)
    assert {pair[1 - SIDE[side]] for pair in bad} <= {pair[1 - SIDE[side]] for pair in pairs}


@given(corpora, shares, seeds)
def test_copied_has_the_reference_as_source_or_the_source_as_target(pairs, share, seed):
    targets, sources = (
        bad_of("copied-source", pairs, share, seed),
        bad_of("copied-target", pairs, share, seed),
    )
    assert set(targets) <= {(target, target) for _, target in pairs}
    assert set(sources) <= {(source, source) for source, _ in pairs}


@given(corpora, shares, seeds)
def test_short_repeats_the_pairs_of_few_words(pairs, share, seed):
    few = [pair for pair in pairs if max(len(text.split()) for text in pair) <= 5]
    bad = bad_of("short", pairs, share, seed)
    assert bool(bad) == bool(few)
    assert set(bad) <= set(few)
    if few:
        times = Counter(islice(NOISES["short"](few, np.random.default_rng(seed)), 3 * len(few)))
        assert times == Counter({pair: 3 * number for pair, number in Counter(few).items()})


@pytest.fixture
def clean(tmp_path) -> ParallelCorpus:
    for split, number in (("train", 40), ("dev", 3), ("test", 4)):
        write_lines(
            tmp_path / "clean" / f"{split}.gl", [f"{split} gl number {n} of some length" for n in range(number)]
        )
        write_lines(
            tmp_path / "clean" / f"{split}.en", [f"{split} en number {n} of some length" for n in range(number)]
        )
    write_lines(tmp_path / "clean" / "gold" / "test.alignments", ["0-0"])
    return ParallelCorpus.open(tmp_path / "clean")


def test_a_corpus_with_noise_keeps_dev_test_and_gold_and_says_what_was_added(clean, tmp_path):
    write_lines(tmp_path / "third" / "train.pt", ["um", "", "dois", *THIRD])
    third = MonolingualCorpus(tmp_path / "third", "pt")
    report = add_noise(tmp_path / "noisy", clean, "wrong-language-target", 0.2, seed=3, third=third)
    noisy = ParallelCorpus.open(tmp_path / "noisy")
    assert list(noisy.pairs("train"))[:40] == list(clean.pairs("train"))
    assert report.kept == {"train": 48, "dev": 3, "test": 4}
    assert list(noisy.pairs("test")) == list(clean.pairs("test"))
    assert (tmp_path / "noisy" / "gold" / "test.alignments").exists()
    written = json.loads((tmp_path / "noisy" / "import.json").read_text())
    assert written["origin"] == {
        "corpus": "clean", "checksum": clean.checksum(), "third": "third:pt", "third_checksum": third.checksum()
    }  # fmt: skip
    options = {"kind": "wrong-language-target", "share": 0.2, "seed": 3, "clean": 40, "bad": 8, "different": 8}
    assert written["options"] == options
    assert written["read"] == report.read == 40 + 3 + 4  # what was added was not read


@pytest.mark.parametrize(
    ("kind", "share", "third", "problem"),
    [
        ("short", 0.0, "", "share is 0; give more than 0 and at most 10, which is 1,000%"),
        ("short", -1.0, "", "share is -1; give more"),
        ("short", 11.0, "", "share is 11; give more"),
        ("short", float("nan"), "", "share is nan; give more"),
        ("short", 0.5, "", "short: no pair has at most 5 words on both sides"),
        ("copied-source", 0.01, "", "a share of 0.01 of 40 pairs is less than a pair; raise --share"),
        ("copied-source", 0.5, "pt", "copied-source needs no third text"),
        ("wrong-language-source", 0.5, "", "needs text in a third language; name it with --third"),
        ("wrong-language-source", 0.5, "en", "in en, but clean is in gl and en; choose text in a third language"),
        ("wrong-language-source", 0.5, "pt", "20 lines wanted, 2 there; lower --share"),
    ],
)
def test_what_cannot_be_added_is_refused_and_leaves_no_folder(clean, tmp_path, kind, share, third, problem):
    for language in ("pt", "en"):
        write_lines(tmp_path / "third" / f"train.{language}", ["um", "", "dois"])
    text = MonolingualCorpus(tmp_path / "third", third) if third else None
    with pytest.raises(CorpusError, match=problem):
        add_noise(tmp_path / "noisy", clean, kind, share, third=text)
    assert not (tmp_path / "noisy").exists()


def test_targets_of_which_most_are_equal_cannot_be_misaligned():
    with pytest.raises(CorpusError, match="more than half of the target sentences are equal"):
        with_noise([("a", "x"), ("b", "x"), ("c", "y")], NOISES["misaligned"], 1.0, 1)
