"""Lines of a text that stand beside translations of their neighbours."""

import random
import warnings

import pytest

from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_pairs
from nmtlab.text.corpora.shift import find_shift, warn_if_shifted
from nmtlab.text.importers.text import import_text

LINES = 400


def lengths(noise: float, lines: int = LINES) -> tuple[list[int], list[int]]:
    """Return lengths of sources, and of targets a third longer give or take the share `noise`."""
    draw = random.Random(1)
    sources = [int(draw.lognormvariate(4, 0.5)) + 5 for _ in range(lines)]
    return sources, [int(1.3 * length * draw.lognormvariate(0, noise)) for length in sources]


def moved(targets: list[int], first: int, by: int) -> list[int]:
    """Return targets of which those from a place on stand `by` places further down, or up if it is negative."""
    if by > 0:
        return [*targets[:first], *[0] * by, *targets[first:-by]]
    return [*targets[:first], *targets[first - by :], *[0] * -by]


@pytest.mark.parametrize("noise", [0.05, 0.2, 0.3])
@pytest.mark.parametrize("by", [-5, -1, 1, 3])
@pytest.mark.parametrize("first", [0, 200, 320])
def test_a_shift_is_found_with_its_place(noise, by, first):
    sources, targets = lengths(noise)
    found = find_shift(sources, moved(targets, first, by))
    assert found.by == by
    assert abs(found.first - 1 - max(first, -by)) <= 10
    assert found.last >= LINES - 10


def test_it_may_end_before_the_text_does():
    sources, targets = lengths(0.1)
    shifted = [*targets[:100], 0, *targets[100:199], *targets[200:]]
    first, last, by = find_shift(sources, shifted)
    assert (first, by) == (101, 1)
    assert abs(last - 199) <= 2


@pytest.mark.parametrize("noise", [0, 0.1, 0.5, 2.0])
def test_aligned_text_has_none(noise):
    sources, targets = lengths(noise, 5000)
    assert find_shift(sources, targets) is None
    assert find_shift(targets, sources) is None


def test_neither_has_text_in_any_order_nor_one_of_equal_or_few_lines():
    sources, targets = lengths(0.1, 5000)
    assert find_shift(sources, random.Random(2).sample(targets, len(targets))) is None
    assert find_shift([7] * 100, [7] * 100) is None
    assert find_shift(sorted(sources), sorted(targets)) is None
    assert find_shift([], []) is None
    assert find_shift([1, 2, 3, 4, 5], [2, 3, 4, 5, 1]) is None


def written(folder, shift: int) -> list[tuple[str, str]]:
    """Write `train` and `dev`, the latter with its targets from the middle on moved, and return its pairs."""
    sources, targets = ["a" * length for length in lengths(0.1)[0]], ["b" * length for length in lengths(0.1)[1]]
    write_pairs(folder / "train.uz", folder / "train.en", zip(sources, targets, strict=True))
    targets = [*targets[: LINES // 2], *targets[LINES // 2 + shift :], *["-"] * shift]
    pairs = list(zip(sources, targets, strict=True))
    write_pairs(folder / "dev.uz", folder / "dev.en", pairs)
    return pairs


def test_reading_a_whole_corpus_warns_of_it_with_the_line(tmp_path):
    pairs = written(tmp_path, 2)
    place = r"dev\.uz and dev\.en: by their lengths, the translations of lines 20\d to 400 seem to be 2 lines up; check"
    with pytest.warns(UserWarning, match=place):
        assert ParallelCorpus.open(tmp_path).check() == {"train": LINES, "dev": LINES}
    with pytest.warns(UserWarning, match="it: by their lengths"):
        assert list(warn_if_shifted(pairs, "it")) == pairs


def test_importing_shifted_files_warns_and_others_do_not(tmp_path):
    written(tmp_path, 1)
    for split, number in (("dev", 1), ("train", 0)):
        files = tmp_path / f"{split}.uz", tmp_path / f"{split}.en"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import_text(tmp_path / f"from {split}", files, "uz", "en")
        assert [str(one.message).partition(":")[0] for one in caught] == [f"{files[0]} and {files[1]}"] * number
