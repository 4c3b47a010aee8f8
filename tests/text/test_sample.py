"""Samples of a text."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.sample import draw_apart, draw_sample, drawn

# Sorted by length, as are many texts: the first of them say nothing about the others.
SORTED = [" ".join(f"w{n}{i}" for i in range(1 + n // 20)) for n in range(500)]


def mean_length(sentences: list[str]) -> float:
    return sum(len(sentence.split()) for sentence in sentences) / len(sentences)


def test_a_sample_is_about_as_long_as_the_whole():
    whole = mean_length(SORTED)
    assert mean_length(SORTED[:100]) < whole / 3
    for size in (20, 50, 100, 200):
        assert mean_length([SORTED[place] for place in drawn(SORTED, size)]) == pytest.approx(whole, rel=0.06)


def test_each_tenth_by_length_has_its_share():
    places = drawn(["a" * n for n in range(500)], 100)
    assert [sum(50 * n <= place < 50 * (n + 1) for place in places) for n in range(10)] == [10] * 10


def test_a_larger_sample_contains_a_smaller_one_and_the_whole_is_all():
    samples = [set(drawn(SORTED, size)) for size in (1, 5, 17, 100, 499)]
    for smaller, larger in pairwise(samples):
        assert smaller < larger
    assert [len(sample) for sample in samples] == [1, 5, 17, 100, 499]
    assert drawn(SORTED, 500) == drawn(SORTED, 10**6) == drawn(SORTED) == list(range(500))
    assert drawn([], 3) == []


def test_the_order_of_the_lines_does_not_matter():
    backwards = SORTED[::-1]
    assert {SORTED[place] for place in drawn(SORTED, 60)} == {backwards[place] for place in drawn(backwards, 60)}


def test_equal_sentences_are_drawn_one_by_one():
    places = drawn(["the same"] * 30, 12)
    assert len(set(places)) == 12
    assert places == sorted(places)


def test_another_process_with_another_seed_of_hashes_draws_the_same(tmp_path):
    script = "from nmtlab.text.corpora.sample import drawn; print(drawn([f'ä {n} {n * n}' for n in range(40)], 9))"
    said = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert said == {f"{drawn([f'ä {n} {n * n}' for n in range(40)], 9)}\n"}
    assert drawn([f"ä {n} {n * n}" for n in range(40)], 9) == PINNED


PINNED = [1, 8, 14, 16, 20, 21, 28, 33, 38]
"""What every machine and every Python draws."""


def test_a_corpus_is_drawn_with_its_line_numbers(tiny_corpus):
    sample = draw_sample(tiny_corpus, "dev", 7)
    pairs = list(tiny_corpus.pairs("dev"))
    assert (
        [pairs[line - 1] for line in sample.lines]
        == sample.pairs
        == list(zip(sample.sources, sample.targets, strict=True))
    )
    assert sample.of([target for _, target in pairs]) == sample.targets
    assert draw_sample(tiny_corpus, "dev").pairs == pairs


GALICIAN = Path(__file__).parents[3] / "shared/data/libreoffice-gl-en"


@pytest.mark.skipif(not GALICIAN.is_dir(), reason="no real corpora beside the checkout")
def test_of_software_text_the_first_lines_are_too_short_and_a_sample_is_not():
    lines = list(ParallelCorpus.open(GALICIAN, "gl", "en").lines("test", "gl"))
    whole = mean_length(lines)
    assert mean_length(lines[:200]) < 0.75 * whole
    for size in (100, 200):
        assert mean_length([lines[place] for place in drawn(lines, size)]) == pytest.approx(whole, rel=0.06)


def test_samples_that_are_drawn_apart_have_no_sentence_twice(tmp_path):
    corpora = [_with_common_english(tmp_path / language, language) for language in ("de", "nl")]
    first, second = draw_apart(corpora, "test", 100)
    assert len(first) == len(second) == 20
    sentences = [sentence for pair in (*first, *second) for sentence in pair]
    assert len(set(sentences)) == len(sentences)
    assert [sample[:5] for sample in draw_apart(corpora, "test", 5)] == [first[:5], second[:5]]
    backwards = [ParallelCorpus(corpora[0].folder, "en", "de"), corpora[0]]
    there, back = draw_apart(backwards, "test", 100)
    assert len(there) == len(back) == 15
    assert not {source for source, _ in there} & {target for _, target in back}


def test_nothing_is_drawn_of_no_text(make_corpus):
    assert draw_apart([ParallelCorpus.open(make_corpus(), "de", "en")], "dev", 0) == [[]]
    assert draw_apart([], "dev", 3) == []


def _with_common_english(folder: Path, language: str) -> ParallelCorpus:
    """Return 30 pairs, 20 of them with English sentences that are the same for every language."""
    english = [*(f"both {n}" for n in range(20)), *(f"only {language} {n}" for n in range(10))]
    write_lines(folder / "test.en", english)
    write_lines(folder / f"test.{language}", [f"{language} {sentence}" for sentence in english])
    return ParallelCorpus(folder, language, "en")
