"""Comparisons of translations: worked by hand, and against compare-mt."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.comparison.compared import Compared, Given
from nmtlab.analysis.comparison.outputs import output_statistics
from nmtlab.analysis.comparison.sentence_scores import (
    comparison_finding,
    marked,
    scales,
    scores_figure,
    sentence_scores,
    wins_and_losses,
)
from nmtlab.analysis.comparison.stored import vocabulary_frequency
from nmtlab.analysis.comparison.words import (
    FIFTHS,
    by_frequency,
    by_kind,
    by_line,
    by_position,
    line_buckets,
    lines_with,
    matched,
    ngram_differences,
    word_accuracy,
    word_accuracy_finding,
    word_matches,
)
from nmtlab.errors import CorpusError
from nmtlab.grids.results.score_differences import score_differences, scores_by
from nmtlab.recipe import TextSettings, find_recipe
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline

SOURCE = ["Hund Fauci sieht 3 Katzen .", "der Hund geht", "ein Kind singt im Haus , sagt Chan"]
REFERENCE = ["the dog Fauci sees 3 cats .", "the dog goes", "a child sings in the house , says Chan"]
GOOD = ["the dog Fauci sees 3 cats .", "the dog goes", "a child sings in a house , says Chan"]
BAD = ["the dog Chan sees sees sees cats .", "", "a child child sings , says Fauci"]
COUNTS = {"the": 500, "dog": 50, "sees": 20, "child": 7, ",": 900, ".": 900, "a": 300, "Chan": 9, "cats": 3}


@pytest.fixture
def compared():
    return Compared(SOURCE, [REFERENCE], {"bad": [BAD], "good": [GOOD]}, ("de", "en"), COUNTS)


def test_a_word_is_matched_as_often_as_the_other_side_has_it():
    assert matched("a b a a".split(), "a a c".split()) == [True, False, True, False]
    assert marked(["a", "b"], ["a"]) == [("a", True), ("b", False)]


def test_accuracy_by_frequency_is_counted_by_hand(compared):
    found = word_accuracy(by_frequency(word_matches(compared), COUNTS)).set_index(["bucket", "system"])
    # 5 to 9 times in training: child and Chan; the bad one has child twice, and Chan where it should not
    row = found.loc[("5-9", "bad")]
    assert (row["words"], row["produced"], row["matched"]) == (2, 3, 1)
    assert (row["recall"], row["precision"], row["f1"]) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    assert found.loc[("5-9", "good"), "difference"] == pytest.approx(1 - 2 / 5)
    assert math.isnan(found.loc[("5-9", "bad"), "difference"])
    assert set(found.index.get_level_values(0)) == {"0", "2-4", "5-9", "10-99", "100+"}


def test_kinds_of_words(compared):
    matches = by_kind(word_matches(compared), compared.source_words, {"Chan"})
    kinds = dict(zip(matches["word"], matches["bucket"], strict=True))
    assert kinds == kinds | {
        ".": "punctuation", "3": "number", "Chan": "name", "Fauci": "copied", "dog": "other", "the": "other",
    }  # fmt: skip
    fauci = matches[(matches["word"] == "Fauci") & (matches["system"] == "bad")]
    # copied in line 1, where the source has it; capitalised in line 3, where it does not
    assert fauci[["line", "bucket"]].to_numpy().tolist() == [[1, "copied"], [3, "capitalised"]]


def test_words_by_their_position_are_in_the_fifth_of_their_side_that_a_loop_finds(compared):
    matches = by_position(word_matches(compared))
    lines = {
        "reference": [compared.reference_words] * 2,
        "translation": [compared.words[name][0] for name in ("bad", "good")],
    }
    for row in matches.itertuples():
        length = len(lines[row.side][row.system == "good"][row.line - 1])
        middle = (row.position + 0.5) / length
        assert FIFTHS.index(row.bucket) == sum(middle >= edge for edge in (0.2, 0.4, 0.6, 0.8))
    found = word_accuracy(matches).set_index(["bucket", "system"])
    # last fifth of the references: "." of 7 words, "goes" of 3, "says Chan" of 9; the bad one has the first and "says"
    assert (found.loc[("last fifth", "bad"), "words"], found.loc[("last fifth", "bad"), "matched"]) == (4, 2)
    assert found.loc[("first fifth", "good"), "f1"] == 1


def test_one_who_errs_more_and_more_is_worst_in_the_last_fifth_and_its_reverse_in_the_first():
    right = [f"w{place}" for place in range(10)]
    erring = [*right[:7], "x", "y", "z"]
    backwards = ["x", "y", "z", *right[3:]]
    systems = {name: [[" ".join(line)] * 3] for name, line in (("forwards", erring), ("backwards", backwards))}
    found = word_accuracy(
        by_position(word_matches(Compared(["s"] * 3, [[" ".join(right)] * 3], systems, ("de", "en"))))
    )
    recall = found.pivot(index="system", columns="bucket", values="recall")[list(FIFTHS)]
    assert recall.loc["forwards"].tolist() == [1, 1, 1, 0.5, 0]
    assert recall.loc["backwards"].tolist() == recall.loc["forwards"].tolist()[::-1]


def test_words_by_the_length_of_their_line(compared):
    matches = by_line(word_matches(compared), line_buckets(compared)["length of the sentence"])
    buckets = [set(words["bucket"]) for _, words in matches.groupby("line")]
    assert buckets == [{"6-10"}, {"0-5"}, {"6-10"}]


def test_accuracy_is_the_mean_over_seeds(compared):
    twice = Compared(SOURCE, [REFERENCE], {"both": [BAD, GOOD], "good": [GOOD, GOOD]}, ("de", "en"))
    found = word_accuracy(by_frequency(word_matches(twice), COUNTS)).set_index(["bucket", "system"])
    row = found.loc[("5-9", "both")]
    assert (row["words"], row["produced"], row["matched"]) == (2, 2.5, 1.5)
    assert found.loc[("5-9", "good"), "f1"] == 1


def test_intervals_of_systems_that_are_alike_leave_nothing_open():
    same = Compared(SOURCE, [REFERENCE], {"one": [BAD], "other": [BAD]}, ("de", "en"))
    found = word_accuracy(by_frequency(word_matches(same), COUNTS))
    assert (found.loc[found["system"] == "other", ["difference", "low", "high"]].to_numpy() == 0).all()


def test_intervals_cover_the_difference_of_many_lines():
    generator = np.random.default_rng(1)
    words = ["right" if draw else "wrong" for draw in generator.random(400) < 0.6]
    compared = Compared(["x"] * 400, [["right"] * 400], {"all": [["right"] * 400], "some": [words]}, ("de", "en"))
    (row,) = (
        word_accuracy(by_frequency(word_matches(compared), {"right": 5}))
        .query("system == 'some' and bucket == '5-9'")
        .to_dict("records")
    )
    assert row["low"] < row["difference"] < row["high"]
    # F1 is 2k / (400 + k) of k right words, whose deviation is √(400 · 0.6 · 0.4), about 10
    assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * 10 * 800 / 640**2, rel=0.2)


def test_compare_mt_counts_the_same_words(compared):
    bucketers = pytest.importorskip("compare_mt.bucketers")
    theirs = bucketers.FreqWordBucketer(freq_counts=COUNTS, bucket_cutoffs=[1, 2, 5, 10, 100])
    outputs = [compared.words[name][0] for name in ("bad", "good")]
    statistics, *_ = theirs.calc_statistics(compared.reference_words, outputs)
    ours = word_accuracy(by_frequency(word_matches(compared), COUNTS)).set_index(["bucket", "system"])
    names = ["0", "1", "2-4", "5-9", "10-99", "100+"]
    for system, of_buckets in zip(("bad", "good"), statistics, strict=True):
        for name, (both, reference, produced, recall, precision, f1) in zip(names, of_buckets, strict=True):
            if reference or produced:
                row = ours.loc[(name, system)]
                assert (row["matched"], row["words"], row["produced"]) == (both, reference, produced)
                known = row[["recall", "precision", "f1"]].astype(float).fillna(0)
                assert known.tolist() == pytest.approx([recall, precision, f1])


def test_compare_mt_counts_the_same_ngrams(compared):
    theirs = pytest.importorskip("compare_mt.ngram_utils")
    ours = ngram_differences(compared, "bad", "good").set_index(["right", "ngram"])
    for column, name in (("one", "bad"), ("other", "good")):
        _, match, over, _ = theirs.compare_ngrams(compared.reference_words, compared.words[name][0])
        for right, counts in ((True, match), (False, over)):
            mine = ours.loc[right, column]
            assert mine[mine > 0].to_dict() == {" ".join(ngram): times for ngram, times in counts.items()}


def test_ngrams_that_one_gets_and_the_other_does_not(compared):
    found = ngram_differences(compared, "good", "bad")
    the_dog = found[(found["ngram"] == "the dog") & found["right"]].iloc[0]
    assert (the_dog["one"], the_dog["other"]) == (2, 1)
    assert the_dog["share"] == pytest.approx(3 / 5)
    sees = found[(found["ngram"] == "sees") & ~found["right"]].iloc[0]
    assert (sees["one"], sees["other"]) == (0, 2)
    assert (found["share"] - 0.5).abs().is_monotonic_decreasing
    assert lines_with(compared.words["bad"][0], "sees sees") == [1]
    assert lines_with(compared.reference_words, "the dog") == [1, 2]


def test_sentences_are_won_and_lost(compared):
    scores = sentence_scores(compared)
    assert scores.index.tolist() == [1, 2, 3]
    assert scores.loc[2].tolist() == [0, 100]
    assert wins_and_losses(scores, "good", "bad") == {"wins": 3, "ties": 0, "losses": 0}
    assert wins_and_losses(scores, "bad", "bad") == {"wins": 0, "ties": 3, "losses": 0}
    both = Compared(SOURCE, [REFERENCE], {"both": [BAD, GOOD]}, ("de", "en"))
    assert sentence_scores(both)["both"].tolist() == pytest.approx(scores.mean(axis=1).tolist())


def test_what_translations_look_like(compared):
    found = output_statistics(compared).set_index("system")
    assert found.loc["reference", ["length", "empty", "repetition"]].tolist() == [1, 0, 0]
    bad = found.loc["bad"]
    assert bad["empty"] == pytest.approx(1 / 3)
    assert bad["length"] == pytest.approx(15 / 19)
    # 7 + 6 bigrams, of which "sees sees" is there twice
    assert bad["repetition"] == pytest.approx(1 / 13)
    # Fauci and Chan, of the 16 words of letters alone
    assert found.loc["reference", "copied"] == pytest.approx(2 / 16)
    unseen = [word for line in compared.reference_words for word in line if word not in COUNTS]
    assert found.loc["reference", "unseen"] == pytest.approx(len(unseen) / 19)
    unknown = Compared(SOURCE, [REFERENCE], {"bad": [BAD]}, ("de", "en"))
    assert output_statistics(unknown)["unseen"].isna().all()


@pytest.mark.parametrize(
    ("systems", "problem"),
    [({}, "0 systems"), ({"one": []}, "one: no translations"), ({"one": [BAD[:2]]}, "one: 2 translations of 3")],
)
def test_what_cannot_be_compared_is_refused(systems, problem):
    with pytest.raises(CorpusError, match=problem):
        Compared(SOURCE, [REFERENCE], systems, ("de", "en"))


def test_nothing_is_shown_for_buckets_without_words(compared):
    assert isinstance(word_accuracy(by_frequency(word_matches(compared), COUNTS)), pd.DataFrame)
    assert "1" not in set(word_accuracy(by_frequency(word_matches(compared), COUNTS))["bucket"])


@pytest.mark.parametrize(("system", "than"), [("good", "bad"), ("bad", "good")])
def test_each_sentence_is_a_point_of_the_system_that_wins_it(compared, system, than):
    scores = sentence_scores(compared)
    figure = scores_figure(scores, system, than)
    drawn = {
        line: (x, y) for trace in figure.data for x, y, line in zip(trace.x, trace.y, trace.customdata, strict=True)
    }
    assert drawn == {line: (scores.loc[line, than], scores.loc[line, system]) for line in scores.index}
    counts = wins_and_losses(scores, system, than)
    assert [len(trace.x) for trace in figure.data] == [counts["wins"], counts["losses"], counts["ties"]]
    assert [trace.name for trace in figure.data] == [
        f"{system} better: {counts['wins']}", f"{than} better: {counts['losses']}", f"ties (±1 chrF): {counts['ties']}",
    ]  # fmt: skip
    assert {trace.meta for trace in figure.data} == {"line"}


def test_names_of_systems_are_text_in_a_figure_of_sentences():
    scores = pd.DataFrame({"<b>a": [1.0, 5.0], "c": [2.0, 2.0]}, index=pd.RangeIndex(1, 3, name="line"))
    assert "<b>a" not in str(scores_figure(scores, "<b>a", "c").to_dict())


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            (6.4, 5.1, 7.72),
            "b is better than a by 6.4 BLEU (95 % interval 5.1 to 7.7); it wins 2 sentences, loses 0 and",
        ),
        ((-6.4, -7.7, -5.1), "b is worse than a by 6.4 BLEU (95 % interval 5.1 to 7.7); it wins 2 sentences"),
        ((0.31, -0.5, 1.1), "No clear difference in BLEU between b and a (+0.3, 95 % interval −0.5 to 1.1); b wins 2"),
    ],
)
def test_a_comparison_says_who_is_better_and_how_often(found, said):
    scores = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 4.0, 3.5]}, index=pd.RangeIndex(1, 4, name="line"))
    rows = [("BLEU", "a", np.nan, np.nan, np.nan), ("BLEU", "b", *found), ("chrF", "b", 9.0, 8.0, 10.0)]
    differences = pd.DataFrame(rows, columns=["metric", "system", "difference", "low", "high"])
    assert comparison_finding(scores, differences, "b", "a").startswith(said)
    against = "a wins 0 sentences, loses 2 and ties 1 (±1 chrF) against b."
    assert comparison_finding(scores, differences, "a", "b") == against
    assert comparison_finding(scores, differences, "a", "a") == ""


def test_the_words_that_differ_most_for_certain_are_named():
    rows = [
        ("1", "a", 0.1, np.nan, np.nan, np.nan), ("1", "b", 0.9, 0.8, 0.8, 0.8),
        ("2-4", "a", 0.5, np.nan, np.nan, np.nan), ("2-4", "b", 0.4, -0.1, -0.15, -0.05),
        ("5+", "a", 0.5, np.nan, np.nan, np.nan), ("5+", "b", 0.8, 0.3, -0.1, 0.7),
    ]  # fmt: skip
    accuracy = pd.DataFrame(rows, columns=["bucket", "system", "f1", "difference", "low", "high"])
    assert word_accuracy_finding(accuracy, "frequency") == (
        "By frequency, a is ahead of b most in “2-4”: F1 50.0 % against 40.0 % (95 % interval of the difference "
        "5.0 to 15.0)."
    )
    assert (
        word_accuracy_finding(accuracy.drop(index=[2, 3]), "frequency") == "By frequency, no difference in F1 is clear."
    )
    assert word_accuracy_finding(accuracy[accuracy["system"] == "a"], "frequency") == ""


def segmented(segmentation: str, folder: Path) -> SimpleNamespace:
    for split in ("train", "dev"):
        for language in ("de", "en"):
            write_lines(
                folder / f"{split}.{language}", ["the dog sees the cat", "the cat sees a dog", "a cat sees"] * 4
            )
    settings = TextSettings(segmentation=segmentation, vocabulary_size=24, joint=False, min_frequency=1)
    pipeline = Pipeline.learn(settings, ParallelCorpus.open(folder, "de", "en"))
    return SimpleNamespace(recipe=find_recipe("tied"), pipeline=pipeline, label=segmentation)


def test_without_its_training_text_words_have_the_counts_of_a_vocabulary(tmp_path):
    words = segmented("word", tmp_path)
    seen = vocabulary_frequency([words])
    assert seen.title == "training frequency"
    counts = {"the": 12, "dog": 8, "sees": 12, "cat": 12, "a": 8, "zebra": 0}
    assert {word: seen.of(word) for word in counts} == counts
    assert "word, words that it lacks count as 0" in seen.about
    of_both = Compared(SOURCE, [REFERENCE], {"bad": [BAD]}, ("de", "en"), COUNTS, seen=seen).frequency
    assert (of_both.title, of_both.of("the"), of_both.of("zebra")) == ("training frequency", 500, 0)
    assert Compared(SOURCE, [REFERENCE], {"bad": [BAD]}, ("de", "en"), seen=seen).frequency is seen
    assert vocabulary_frequency([]) is None


def test_a_word_of_subwords_has_the_count_of_its_rarest_piece(tmp_path):
    pieces = segmented("bpe", tmp_path)
    seen, side = vocabulary_frequency([pieces]), pieces.pipeline.target
    assert seen.title == "count of the rarest subword"
    counts = dict(zip(side.vocabulary.types, side.counts, strict=True))
    for word, least in (("dogs", 8), ("cat", 12), ("zebra", 0)):
        split = side.tokenizer.split(word)
        assert seen.of(word) == min(counts.get(piece, 0) for piece in split) <= least
    both = [pieces, segmented("word", tmp_path)]
    assert vocabulary_frequency(both).title == "training frequency"


def test_lines_are_put_into_buckets_by_their_labels():
    labelled = Compared(SOURCE, [REFERENCE], {"bad": [BAD], "good": [GOOD]}, ("de", "en"), labels=["x", "y", "y"])
    buckets = line_buckets(labelled)["label"]
    assert (list(buckets), list(buckets.categories)) == (["x", "y", "y"], ["y", "x"])  # of most lines first
    matches = by_line(word_matches(labelled), buckets)
    assert set(matches.loc[matches["line"] == 1, "bucket"]) == {"x"}
    scores = scores_by(labelled, buckets).set_index(["bucket", "metric", "system"]).sort_index()
    alone = Compared(SOURCE[1:], [REFERENCE[1:]], {"bad": [BAD[1:]], "good": [GOOD[1:]]}, ("de", "en"))
    of_two = score_differences(alone).set_index(["metric", "system"])
    assert scores.loc["y", "score"].to_dict() == of_two["score"].to_dict()
    assert scores.loc[("y", "chrF", "good"), "sentences"] == 2


def test_given_scores_are_means_over_seeds_and_lower_ones_may_win():
    given = Given("errors", {"both": [[1, 2, 3], [3, 2, 1]], "good": [[1, 3, 2], [1, 3, 2]]}, "lower")
    twice = Compared(SOURCE, [REFERENCE], {"both": [BAD, GOOD], "good": [GOOD, GOOD]}, ("de", "en"), given=[given])
    assert twice.titles == ["BLEU", "chrF", "chrF++", "errors"]
    scale = scales(twice)["errors"]
    scores = sentence_scores(twice, scale)
    assert scores["both"].tolist() == [2, 2, 2]
    assert wins_and_losses(scores, "good", "both", scale) == {"wins": 1, "ties": 1, "losses": 1}
    figure = scores_figure(scores, "good", "both", scale)
    assert [trace.name for trace in figure.data] == ["good better: 1", "both better: 1", "ties (equal errors): 1"]
    differences = score_differences(twice, ["errors"])
    assert set(differences["better"]) == {"lower"}
    assert "No clear difference in errors" in comparison_finding(scores, differences, "good", "both", scale)


def test_without_a_source_no_word_is_copied():
    found = output_statistics(Compared([""] * 3, [REFERENCE], {"bad": [BAD]}, ("", "en")))
    assert found["copied"].isna().all()
