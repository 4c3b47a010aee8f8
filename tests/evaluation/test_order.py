"""Files of translations whose lines are in another order than the references."""

import random

import pytest
from support.packed import packed_folder

from nmtlab.evaluation.order import out_of_order

_SYLLABLES = [f"{start}{middle}" for start in "bdfgklmnprst" for middle in "aeiou"]
WORDS = ["".join(random.Random(number).choices(_SYLLABLES, k=3)) for number in range(600)]


@pytest.fixture(scope="module")
def references() -> list[str]:
    generator = random.Random(1)
    return [" ".join(generator.choices(WORDS, k=generator.randint(4, 12))) for _ in range(300)]


def translated(references: list[str], share: float) -> list[str]:
    """Return translations with that share of wrong words."""
    generator = random.Random(2)
    wrong = [
        [word if generator.random() > share else generator.choice(WORDS) for word in r.split()] for r in references
    ]
    return [" ".join(words) for words in wrong]


def moved(lines: list[str], how: str) -> list[str]:
    if how == "shifted":
        return [*lines[1:], lines[0]]
    if how == "reversed":
        return lines[::-1]
    return random.Random(3).sample(lines, len(lines))


@pytest.mark.parametrize("how", ["shifted", "reversed", "shuffled"])
@pytest.mark.parametrize("share", [0, 0.2])
def test_another_order_is_found(references, how, share):
    lines = translated(references, share)
    assert not out_of_order(lines, references)
    assert out_of_order(moved(lines, how), references)


@pytest.mark.parametrize("first", [60, 150, 240, 270])
@pytest.mark.parametrize("share", [0, 0.2])
@pytest.mark.parametrize("blank", [True, False])
def test_lines_that_are_shifted_from_one_on_are_found_with_that_one(references, first, share, blank):
    lines = translated(references, share)
    lost = [*lines[:first], *lines[first + 1 :], ""]
    added = [*lines[:first], "", *lines[first:-1]]
    assert abs(out_of_order(lost if blank else added, references) - (first + 1)) <= 3


def test_a_few_lines_at_the_end_are_not_enough(references):
    assert not out_of_order([*references[:-6], *references[-5:], references[-6]], references)


def test_in_a_long_file_the_line_is_that_of_the_sample():
    generator = random.Random(4)
    references = [" ".join(generator.choices(WORDS, k=8)) for _ in range(1200)]
    found = out_of_order([*references[:800], *references[801:], ""], references)
    assert abs(found - 801) <= 6


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_bad_translations_in_order_are_not_taken_for_another_order(references, share):
    assert not out_of_order(translated(references, share), references)


def test_neither_are_blank_repeated_nor_few_ones(references):
    assert not out_of_order([""] * 300, references)
    assert not out_of_order([references[7]] * 300, references)
    assert not out_of_order([references[number % 20 + 20] for number in range(300)], references)
    assert not out_of_order(references[:5][::-1], references[:5])
    assert not out_of_order([], [])


def test_a_training_that_failed_and_writes_the_same_few_sentences_is_in_order():
    """A good system's lines are the references."""
    good = dev_lines("small-de-en.prenorm-fixnorm-scalenorm.label_smoothing-0.encoder_layers-6.decoder_layers-6.s1")
    bad = dev_lines("small-de-en.postnorm.encoder_layers-6.decoder_layers-6.warmup_updates-100.s1")
    assert not out_of_order(bad, good)
    assert out_of_order(good[::-1], good)


def dev_lines(run: str) -> list[str]:
    return next(packed_folder(run).glob("translations/dev-*.txt")).read_text(encoding="utf-8").splitlines()
