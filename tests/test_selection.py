"""Selection of lines, against cross-entropies by hand, texts of known origin, and forced scores one by one."""

import json
import math
import random
from collections import Counter
from itertools import compress

import numpy as np
import pytest
import torch
from support.learned import LEARNED

from nmtlab import selection
from nmtlab.errors import CorpusError, RunError
from nmtlab.models.interface import on_device
from nmtlab.runs.run import Run
from nmtlab.selection import (
    DIFFERENCE,
    DUAL,
    Costs,
    best,
    costs_by_runs,
    cross_entropy_differences,
    select,
    selected_from,
    stored_costs,
)
from nmtlab.systems import open_model
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.corpus_builder import synthetic_language
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus, sampled
from nmtlab.text.noise.adding import add_noise
from nmtlab.training.objective import sentence_log_probs
from nmtlab.training.setup import train
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace

few_lines = pytest.mark.filterwarnings("ignore:.*lines are few to learn its domain from")


def text_of(folder, lines, language="en") -> MonolingualCorpus:
    write_lines(folder / f"train.{language}", lines)
    return MonolingualCorpus(folder, language)


def by_hand(lines: list[str], vocabulary: list[str], line: str) -> float:
    """Return the cross-entropy of a line under a trigram model of lines with all weights 0.5, in nats per token."""

    def words_of(text: str) -> list[str]:
        return ["<s>", *(word if word in vocabulary else "<unk>" for word in text.split()), "</s>"]

    counts: Counter[tuple[str, ...]] = Counter()
    for words in map(words_of, lines):
        counts.update(tuple(words[i:j]) for j in range(1, len(words) + 1) for i in range(max(0, j - 3), j + 1))
    types = len({*vocabulary, "<s>", "</s>", "<unk>"}) + 1  # the library counts one more

    def p(word: str, context: tuple[str, ...]) -> float:
        below = p(word, context[1:]) if context else 1 / types
        return (counts[(*context, word)] / counts[context] if counts[context] else 0) / 2 + below / 2

    words = words_of(line)
    return -sum(math.log(p(words[i], tuple(words[max(0, i - 2) : i]))) for i in range(1, len(words))) / (len(words) - 1)


@few_lines
def test_the_difference_is_that_of_two_models_by_hand_and_no_line_is_scored_by_a_model_that_has_read_it(tmp_path):
    domain = ["the sea is wide", "the sea is deep", "a wide bay"]
    vocabulary = ["the", "sea", "is", "wide"]
    lines = ["the sea", "The market is wide", "a deep crisis", "", "is the market wide", "wide sea", "buy the dip"]
    costs = cross_entropy_differences(text_of(tmp_path / "all", lines), [text_of(tmp_path / "sea", domain)], seed=4)
    drawn = [[*sampled(range(7), 7, 3, 4, part)] for part in (0, 1)]
    small = [line.lower() for line in lines]
    for place, line in enumerate(small):
        general = [small[i] for i in drawn[place in drawn[0]] if small[i]]
        wanted = by_hand(domain, vocabulary, line) - by_hand(general, vocabulary, line) if line else np.nan
        assert costs.values[place] == pytest.approx(wanted, rel=1e-4, nan_ok=True), line
        assert place not in drawn[place in drawn[0]]
    assert costs.by == DIFFERENCE


WORDS = {"sea": ["ship", "wave", "port", "sail", "crew"], "law": ["court", "judge", "claim", "party", "rule"]}


def lines_on(topic: str, number: int, seed: int) -> list[str]:
    """Return lines of shared words, of which about a third are of one topic."""
    draw = random.Random(seed)
    words = [*WORDS[topic], "the", "a", "of", "and", "in", "is", "was", "by", "for", "new"]
    return [" ".join(draw.choices(words, k=draw.randint(6, 14))) for _ in range(number)]


def mixed(tmp_path, number: int = 600) -> tuple[MonolingualCorpus, list[bool]]:
    """Return a text of so many lines, each fifth one on the sea, and which they are."""
    marks = [place % 5 == 0 for place in range(number)]
    sea, law = iter(lines_on("sea", number, 1)), iter(lines_on("law", number, 2))
    return text_of(tmp_path / "mixed", [next(sea if mark else law) for mark in marks]), marks


def test_the_lines_of_a_domain_are_found_in_a_mixture_also_those_that_the_general_model_has_read(tmp_path):
    text, marks = mixed(tmp_path)
    costs = cross_entropy_differences(text, [text_of(tmp_path / "sea", lines_on("sea", 200, 3))])
    chosen = best(costs.values, 120)
    assert (chosen & marks).sum() >= 100  # 24 by chance
    read = np.isin(np.arange(600), [*sampled(range(600), 600, 200, 1)]) & marks
    assert (chosen & read).sum() >= 0.9 * read.sum()


def test_both_sides_of_pairs_are_added_and_one_side_counts_alone(tmp_path):
    text, _ = mixed(tmp_path, 120)
    write_lines(tmp_path / "mixed" / "train.xx", lines_on("law", 120, 5))
    write_lines(tmp_path / "sea" / "train.xx", lines_on("sea", 60, 6))
    english, other = text_of(tmp_path / "sea", lines_on("sea", 60, 3)), MonolingualCorpus(tmp_path / "sea", "xx")
    pairs = ParallelCorpus.open(tmp_path / "mixed", "xx", "en")
    both, alone = cross_entropy_differences(pairs, [other, english]), cross_entropy_differences(pairs, [english])
    sides = (text, english), (MonolingualCorpus(tmp_path / "mixed", "xx"), other)
    one, another = (cross_entropy_differences(side, [domain]) for side, domain in sides)
    assert np.array_equal(alone.values, one.values)
    assert np.allclose(both.values, one.values + another.values)
    write_lines(tmp_path / "mixed" / "train.xx", ["", *lines_on("law", 120, 5)[1:]])
    (blank,) = np.flatnonzero(np.isnan(cross_entropy_differences(pairs, [english]).values))
    assert blank == 0


@few_lines
def test_words_of_a_language_without_spaces_are_letters(tmp_path):
    costs = cross_entropy_differences(
        text_of(tmp_path / "all", ["海は広い", "市場は広い", "海 は 広い"], "ja"),
        [text_of(tmp_path / "sea", ["海は深い", "広い海"], "ja")],
    )
    assert costs.values[0] < costs.values[1]


def test_equal_costs_are_taken_in_their_order_and_blank_lines_never():
    costs = np.array([2.0, 1.0, np.nan, 1.0, 2.0, 1.0])
    assert best(costs, 2).tolist() == [False, True, False, True, False, False]
    assert best(costs, 4).tolist() == [True, True, False, True, False, True]
    assert best(costs, 0.6).tolist() == best(costs, 3).tolist()  # of five
    assert best(costs, 5).tolist() == np.isfinite(costs).tolist()


@pytest.mark.parametrize(
    ("keep", "problem"),
    [
        (0, "keep is 0; give a share above 0 and below 1, or a whole number of lines"),
        (-0.5, "keep is -0.5"),
        (1.5, "keep is 1.5"),
        (float("nan"), "keep is nan"),
        (0.1, r"a share of 0.1 of 3 lines is less than a line; raise --keep"),
        (4, "4 lines wanted, 3 there; lower --keep"),
    ],
)
def test_what_cannot_be_kept_is_refused(keep, problem):
    with pytest.raises(CorpusError, match=problem):
        best(np.array([1.0, np.nan, 3.0, 2.0]), keep)


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        ([], "text sea: no word occurs twice"),
        (["", " "], "text sea: no word occurs twice; give more text of the domain"),
        (["each word once"], "text sea: no word occurs twice"),
    ],
)
def test_a_domain_without_text_is_refused(tmp_path, domain, problem):
    with pytest.raises(CorpusError, match=problem):
        cross_entropy_differences(text_of(tmp_path / "all", ["a", "b"]), [text_of(tmp_path / "sea", domain)])


def test_a_domain_in_another_language_is_refused_and_a_small_one_gets_a_warning(tmp_path):
    text = text_of(tmp_path / "all", ["a b", "b a"])
    with pytest.raises(CorpusError, match="text sea: in de, but all is in en; name text in en"):
        cross_entropy_differences(text, [text_of(tmp_path / "sea", ["a a"], "de")])
    with pytest.warns(UserWarning, match="text sea: 1 lines are few"):
        cross_entropy_differences(text, [text_of(tmp_path / "sea", ["a a"])])
    with pytest.raises(CorpusError, match="text one: has a single line"):
        cross_entropy_differences(text_of(tmp_path / "one", ["a"]), [text_of(tmp_path / "sea", ["a a"])])


def test_selected_lines_are_a_corpus_that_says_how_it_was_chosen(tmp_path):
    text, _ = mixed(tmp_path, 120)
    domain = text_of(tmp_path / "sea", lines_on("sea", 60, 3))
    costs = cross_entropy_differences(text, [domain])
    select(tmp_path / "made", text, costs, 0.2)
    made = MonolingualCorpus(tmp_path / "made", "en")
    assert [*made.lines()] == [*compress(text.lines(), best(costs.values, 24))]
    report = json.loads((tmp_path / "made" / "import.json").read_text())
    assert (report["kind"], report["kept"]) == ("mono", {"train": 24})
    assert report["dropped"] == {"train": {"not selected": 96}}
    assert report["origin"]["text"] == "mixed"
    assert report["origin"]["checksum"] == text.checksum()
    assert report["origin"]["like"] == [{"text": "sea", "language": "en", "checksum": domain.checksum()}]
    assert report["checksum"] == made.checksum()
    stored = stored_costs(tmp_path / "made")
    assert np.array_equal(stored.values, costs.values)
    assert (stored.by, stored.origin["text"]) == (DIFFERENCE, "mixed")
    workspace = Workspace(tmp_path / "data", (tmp_path,))
    assert selected_from(tmp_path / "made", workspace) == text
    write_lines(text.folder / "train.en", ["other text"])
    assert selected_from(tmp_path / "made", workspace) is None
    assert report["options"] == {"by": DIFFERENCE, "keep": 0.2, "highest": max(costs.values[best(costs.values, 24)])}
    with pytest.raises(CorpusError, match="made: already exists"):
        select(tmp_path / "made", text, costs, 0.2)


def test_selected_pairs_keep_dev_and_test_and_which_side_a_system_made(tiny_corpus, tmp_path):
    values = np.arange(300.0)
    values[7] = np.nan
    (tmp_path / "text").mkdir()
    for path in tiny_corpus.folder.iterdir():
        (tmp_path / "text" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "text" / "import.json").write_text('{"synthetic": "de"}')
    text = ParallelCorpus.open(tmp_path / "text")
    report = select(tmp_path / "made", text, Costs(values, DUAL, {"run": "a"}), 10)
    made = ParallelCorpus.open(tmp_path / "made")
    assert [*made.pairs("train")] == [
        pair for place, pair in enumerate(text.pairs("train")) if place < 11 and place != 7
    ]
    assert all([*made.pairs(split)] == [*text.pairs(split)] for split in ("dev", "test"))
    assert (report.kind, report.dropped["train"]) == ("select", {"not selected": 289, "blank side": 1})
    assert synthetic_language(made) == "de"


@pytest.fixture(scope="module")
def forward(zoo) -> Run:
    return zoo("learned")


@pytest.fixture(scope="module")
def backward(tiny_corpus, tiny_recipe, tmp_path_factory) -> Run:
    """A run of the direction that the shared one has not."""
    reverse = ParallelCorpus.open(tiny_corpus.folder, "en", "de")
    recipe = tiny_recipe.with_changes({**LEARNED, "training.max_evaluations": 1})
    return train("back", recipe, reverse, Workspace(tmp_path_factory.mktemp("back")))


@pytest.fixture
def some(tiny_corpus, tmp_path) -> ParallelCorpus:
    """Training pairs in other words, one with a blank side, one of which is no translation."""
    pairs = [*tiny_corpus.pairs("dev")][:8]
    pairs = [*pairs[:4], ("", pairs[4][1]), (pairs[5][0], pairs[6][1]), *pairs[6:]]
    for language, side in zip(tiny_corpus.direction, zip(*pairs, strict=True), strict=True):
        write_lines(tmp_path / "some" / f"train.{language}", side)
    return ParallelCorpus.open(tmp_path / "some")


def alone(system: Translator, source: str, target: str) -> float:
    """Return the cross-entropy of one target by a pass over all of its tokens at once, as in training."""
    ids = system.pipeline.encode_source([source]), system.pipeline.encode_target([target])
    with torch.inference_mode():
        return -float(
            sentence_log_probs(system.model, on_device(batch_of(*map(pad, ids)), system.model.device))[0]
        ) / len(ids[1][0])


def test_the_costs_by_runs_are_those_of_each_pair_scored_alone(forward, backward, some):
    done = []
    costs, by_one = costs_by_runs(some, forward, backward, on_progress=done.append), costs_by_runs(some, forward)
    one_way, other_way = open_model(forward), open_model(backward)
    for place, (source, target) in enumerate(some.pairs("train")):
        if not source:
            assert np.isnan([costs.values[place], by_one.values[place]]).all()
            continue
        one, other = alone(one_way, source, target), alone(other_way, target, source)
        assert by_one.values[place] == pytest.approx(one, rel=1e-4)
        assert costs.values[place] == pytest.approx(abs(one - other) + (one + other) / 2, rel=1e-4)
        weight = math.exp(-(abs(one - other) + (one + other) / 2))
        assert math.exp(-costs.values[place]) == pytest.approx(weight, rel=1e-3)
    assert sum(done) == len(costs.values) == 8
    assert by_one.origin == {"run": forward.name, "weights": forward.checkpoints.original_digest}
    assert costs.origin["weights"] == forward.checkpoints.original_digest
    assert costs.origin["back_weights"] == backward.checkpoints.original_digest


def test_pairs_are_scored_alike_in_parts_of_any_size(forward, backward, some, monkeypatch):
    whole = costs_by_runs(some, forward, backward)
    monkeypatch.setattr(selection, "_LINES_AT_ONCE", 3)
    parts = costs_by_runs(some, forward, backward)
    assert parts.values == pytest.approx(whole.values, rel=1e-5, nan_ok=True)


def test_pairs_of_which_one_side_was_shuffled_are_found(forward, backward, tiny_corpus, tmp_path):
    add_noise(tmp_path / "noisy", tiny_corpus, "misaligned", 0.5)
    noisy = ParallelCorpus.open(tmp_path / "noisy")
    costs = costs_by_runs(noisy, forward, backward)
    chosen = best(costs.values, 300)
    assert chosen[:300].sum() >= 255  # 200 by chance


def test_runs_of_one_direction_are_refused(forward, backward, some):
    with pytest.raises(RunError, match="run 'whole': translates de to en, not en to de; choose runs in"):
        costs_by_runs(some, forward, forward)
    with pytest.raises(RunError, match="run 'back': translates en to de, not de to en"):
        costs_by_runs(some, backward, forward)
