"""Where attention peaks are, counted from the aligned word: against loops over tokens."""

from collections import Counter

import pandas as pd
import pytest
from support.packed import packed_folder

from nmtlab.analysis.access.reference_links import kept_links
from nmtlab.analysis.attention.places import PEAK_PLACES, PLACES, SINK, counted_places, farthest_off, place_shares
from nmtlab.analysis.attention.shift import PEAK_COUNTS, attention_shift, peak_shares
from nmtlab.runs.run import Run


def peaks(line: int, *pairs: tuple[int, int], links: int = 1) -> pd.DataFrame:
    """Return rows of `attention_shift`, given the places of peak and aligned word."""
    frame = pd.DataFrame(pairs, columns=["source_position", "linked_position"]).assign(line=line, links=links)
    return frame.assign(shift=frame["linked_position"] - frame["source_position"]).astype({"shift": "Int64"})


SHIFTED = pd.concat([peaks(1, (1, 2), (2, 3), (3, 4), (4, 4)), peaks(2, (2, 2), (5, 1)), peaks(2, (0, 3), links=2)])
SUNK = pd.concat([peaks(1, (0, 2), (0, 1), (0, 0), (4, 4)), peaks(3, (0, 7), (9, 1), (7, 7), (6, 6), (5, 5))])


@pytest.fixture(scope="module")
def tied() -> Run:
    return Run(packed_folder("small-tr-en.tied.s1"))


def counted(**shifts: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([counted_places(some).assign(run=run) for run, some in shifts.items()])


def test_peaks_on_the_first_word_are_no_shift_unless_it_is_aligned():
    shares = place_shares(counted(tied=SUNK)).set_index("place")["words"]
    assert shares[shares > 0].to_dict() == {SINK: 3, "aligned word": 5, "3+ right": 1}
    shares = place_shares(counted(tied=SHIFTED)).set_index("place")["words"]
    assert shares[shares > 0].to_dict() == {"1 left": 3, "aligned word": 2, "3+ right": 1}


def test_the_places_of_a_packed_run_are_those_of_a_loop_over_its_words(tied):
    corpus = tied.sentences
    words = attention_shift(tied, corpus, "dev", kept_links(corpus, "dev")[0])
    expected = Counter()
    for word in words.itertuples():
        if word.links == 1:
            left = word.linked_position - word.source_position
            side = "left" if left > 0 else "right"
            place = "aligned word" if not left else f"3+ {side}" if abs(left) > 2 else f"{abs(left)} {side}"
            expected[SINK if left and not word.source_position else place] += 1
    shares = place_shares(PEAK_PLACES.compute(tied, corpus).assign(run="tied"))
    assert dict(zip(shares["place"], shares["words"], strict=True)) == expected
    assert shares["place"].tolist() == list(PLACES)
    assert shares["share"].sum() == pytest.approx(1)


def test_several_seeds_are_a_row_with_a_mark_for_each():
    found = counted(**{"tied, seed 1": SUNK, "tied, seed 2": SHIFTED, "fixnorm": SHIFTED})
    bars, marks, other = PEAK_PLACES.figure(found).data
    assert (bars.type, marks.type, other.type) == ("bar", "scatter", "bar")
    assert dict(zip(bars.x, bars.y, strict=True))[SINK] == pytest.approx(100 * (3 / 9 + 0) / 2)
    assert dict(zip(other.x, other.y, strict=True))["1 left"] == pytest.approx(50)
    assert sum(bars.y) == sum(other.y) == pytest.approx(100)
    assert len(marks.y) == 2 * len(PLACES)


def test_a_sink_is_not_read_as_a_shift():
    sunk, shifted = (PEAK_PLACES.finding(counted(tied=some, lex=SHIFTED)) for some in (SUNK, SHIFTED))
    assert sunk == (
        "Peaks on the aligned word, and on the first one instead: tied 56 % and 33 %; lex 33 % and 0 %. "
        "In tied 0 % are one word to the left, which makes it a sink more than a shift."
    )
    assert shifted.endswith("In tied 50 % are one word to the left, which makes it a shift more than a sink.")
    assert PEAK_PLACES.finding(pd.DataFrame()) == ""


def test_the_sentences_farthest_off_come_first_the_longest_of_equals():
    shifts = pd.concat([peaks(1, (0, 0)), peaks(2, (2, 0)), peaks(3, (2, 0), (2, 1)), peaks(4, (1, 0), (1, 1))])
    assert farthest_off(counted_places(shifts)) == [3, 2, 4, 1]


def test_counts_that_are_stored_for_seeds_without_weights_make_shares():
    seeds = [Run(packed_folder(f"small-tr-en.{name}")).labelled(name) for name in ("tied.s2", "tied.s3", "fixnorm.s2")]
    found = PEAK_COUNTS.among(seeds)
    shares = peak_shares(found).set_index(["run", "place"])["share"]
    assert len(shares) == 12
    for run, rows in found.groupby("run"):
        assert shares[run, "aligned word"] == sum(rows["on"]) / sum(rows["words"])
        assert shares[run, "first word"] == sum(rows["first"]) / sum(rows["words"])
    assert PEAK_COUNTS.finding(found) == (
        "Attention peaks on the aligned word and on the first one: tied 34 % and 38 % (36 to 39); "
        "fixnorm 47 % and 23 %. Of the links, 17 % lead to the first word."
    )
    assert len(PEAK_COUNTS.figure(found).data) == 3
