"""The n-gram language model, against its interpolation by hand and its counts."""

import random
from collections import Counter
from itertools import product
from math import exp, log

import pytest

from nmtlab.errors import CorpusError, RunError
from nmtlab.language_model import NgramModel, learn_language_model, tune_language_model
from nmtlab.language_model.learning import write_language_model_weights

TEXT = [["a", "b"], ["a", "b", "b"], ["b", "a"]]


def counted(lines: list[list[str]], order: int) -> Counter[tuple[str, ...]]:
    """Count n-grams, and the empty one for all tokens; a word of no earlier sentence is `<unk>`."""
    counts: Counter[tuple[str, ...]] = Counter()
    seen: set[str] = set()
    for line in lines:
        words = ["<s>", *(word if word in seen else "<unk>" for word in line), "</s>"]
        seen |= set(line)
        for end in range(1, len(words) + 1):
            for begin in range(max(0, end - order), end + 1):
                counts[tuple(words[begin:end])] += 1
    return counts


def interpolated(counts: Counter[tuple[str, ...]], weights: list[float], word: str, context: tuple[str, ...]) -> float:
    """Return p(word | context): the relative frequency of each order, mixed with the order below."""
    types = sum(len(ngram) == 1 for ngram in counts) + 1  # the library counts one more
    below = interpolated(counts, weights, word, context[1:]) if context else 1 / types
    times = counts[context]
    weight = weights[3 * len(context) + min(times // 10, 2)]
    return weight * (counts[(*context, word)] / times if times else 0) + (1 - weight) * below


def by_hand(lines: list[list[str]], weights: list[float], sentence: list[str]) -> float:
    order = len(weights) // 3
    counts = counted(lines, order)
    words = ["<s>", *(word if counts[(word,)] else "<unk>" for word in sentence), "</s>"]
    return sum(
        log(interpolated(counts, weights, words[i], tuple(words[max(0, i - order + 1) : i])))
        for i in range(1, len(words))
    )


def test_a_bigram_of_three_sentences_by_hand():
    model = NgramModel.learn(TEXT, order=2)
    # Of 13 tokens, 3 are </s>; there are six types; of three first tokens, none is </s>.
    assert model.log_prob([]) == pytest.approx(log((0 + (3 / 13 + 1 / 6) / 2) / 2), rel=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_sentence_has_the_probability_of_the_interpolation(order, tmp_path):
    draw = random.Random(order)
    lines = [draw.choices("abcd", k=draw.randint(0, 8)) for _ in range(20)]
    weights = [round(draw.uniform(0.1, 0.9), 6) for _ in range(3 * order)]
    learn_language_model(tmp_path, lines, order)
    write_language_model_weights(tmp_path, order, weights)
    model = NgramModel(tmp_path)
    for sentence in ([], ["a"], ["unseen"], *(draw.choices("abcdz", k=7) for _ in range(10))):
        assert model.log_prob(sentence) == pytest.approx(by_hand(lines, weights, sentence), rel=1e-4)


def test_the_counts_are_those_of_the_text(tmp_path):
    learn_language_model(tmp_path, TEXT, 3)
    rows = [line.split(" ") for line in (tmp_path / "lm").read_text(encoding="utf-8").splitlines()]
    counts = counted(TEXT, 3)
    assert {tuple(ngram): int(count) for *ngram, _, count in rows} == {n: c for n, c in counts.items() if n}
    assert all(int(context) == counts[tuple(ngram[:-1])] for *ngram, context, _ in rows)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_word_of_a_given_vocabulary_is_known_from_the_first_time_on_and_without_being_seen(order):
    vocabulary = ["a", "b", "never"]
    counts: Counter[tuple[str, ...]] = Counter({("never",): 0, ("<unk>",): 0})
    for line in [*TEXT, ["c", "b"]]:
        words = ["<s>", *(word if word in vocabulary else "<unk>" for word in line), "</s>"]
        counts.update(tuple(words[i:j]) for j in range(1, len(words) + 1) for i in range(max(0, j - order), j + 1))
    model = NgramModel.learn([*TEXT, ["c", "b"]], order, vocabulary)

    def log_prob(*words: str) -> float:
        places = range(1, len(words))
        before = [tuple(words[max(0, i - order + 1) : i]) for i in places]
        return sum(log(interpolated(counts, [0.5] * 3 * order, words[i], before[i - 1])) for i in places)

    assert model.log_prob(["a", "b", "never"]) == pytest.approx(log_prob("<s>", "a", "b", "never", "</s>"), rel=1e-5)
    assert model.log_prob(["b", "c"]) == pytest.approx(log_prob("<s>", "b", "<unk>", "</s>"), rel=1e-5)
    assert model.log_prob(["never"]) < model.log_prob(["other"])


def test_cross_entropy_is_per_token_with_the_end():
    model = NgramModel.learn(TEXT)
    assert model.cross_entropy(["a", "b"]) == -model.log_prob(["a", "b"]) / 3
    assert model.cross_entropy([]) == -model.log_prob([])


@pytest.mark.parametrize("order", [1, 2])
def test_the_sum_over_all_sentences_rises_from_below_to_what_the_interpolation_leaves_them(order):
    """Less than 1: <s> and the library's additional type never occur, but have a part of each distribution."""
    model, counts = NgramModel.learn(TEXT, order), counted(TEXT, order)
    words = ["a", "b", "<unk>"]

    def p(word: str, before: str) -> float:
        return interpolated(counts, [0.5] * 3 * order, word, (before,)[: order - 1])

    left = dict.fromkeys(["<s>", *words], 0.0)  # p(the sentence ends sometime), by fixed-point iteration
    for _ in range(500):
        left = {before: p("</s>", before) + sum(p(word, before) * left[word] for word in words) for before in left}
    sums = []
    for length in range(9):
        sums.append(sum(exp(model.log_prob(sentence)) for sentence in product(words, repeat=length)))
    totals = [sum(sums[:length]) for length in range(1, 10)]
    assert totals == sorted(totals)
    assert totals[-1] < left["<s>"] < 1
    ratio = sums[-1] / sums[-2]
    assert totals[-1] + sums[-1] * ratio / (1 - ratio) == pytest.approx(left["<s>"], abs=2e-3)


def test_a_model_is_the_same_after_it_was_saved(tmp_path):
    model = NgramModel.learn(TEXT)
    model.save(tmp_path / "new")
    opened = NgramModel(tmp_path / "new")
    assert [opened.log_prob(line) for line in TEXT] == [model.log_prob(line) for line in TEXT]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["lm", "lm.weights"]


def test_tuned_weights_give_dev_text_more_probability(tmp_path):
    draw = random.Random(1)
    lines = [draw.choices("abcd", weights=(8, 4, 2, 1), k=5) for _ in range(60)]
    learn_language_model(tmp_path, lines[:40], 2)
    before = NgramModel(tmp_path)
    tune_language_model(tmp_path, lines[40:], 2)
    after = NgramModel(tmp_path)
    assert sum(map(after.log_prob, lines[40:])) > sum(map(before.log_prob, lines[40:]))


def test_a_text_without_sentences_is_refused():
    for vocabulary in (None, ["a"]):
        with pytest.raises(CorpusError, match="no sentence"):
            NgramModel.learn([], vocabulary=vocabulary)


@pytest.mark.parametrize("name", ["lm", "lm.weights"])
@pytest.mark.parametrize("content", [None, b"", b"2 3 10", b"a 1 2\n", b"\xff\xfe", b"a 6 2\nb "])
def test_missing_and_damaged_files_are_named(name, content, tmp_path):
    NgramModel.learn(TEXT).save(tmp_path)
    path = tmp_path / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(RunError, match=rf"{name}: .*learn the model again"):
        NgramModel(tmp_path)
