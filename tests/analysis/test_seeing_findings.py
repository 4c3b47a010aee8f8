"""What is said of one sentence's weights, and of methods: against loops over its tokens."""

import pandas as pd
import pytest
from support.packed import packed_folder

from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.access.reference_links import kept_links
from nmtlab.analysis.access.word_pairs import pair_of_words, piece_links
from nmtlab.analysis.attention.heads import HEADS, head_summary
from nmtlab.analysis.attention.masking import MASKING
from nmtlab.analysis.attention.weights import ATTENTION, attention, peaks_finding
from nmtlab.analysis.attribution.agreement import AGREEMENT
from nmtlab.analysis.attribution.contributions import CONTRIBUTIONS, contributions_finding
from nmtlab.analysis.attribution.source_share import SOURCE_SHARE
from nmtlab.runs.run import Run


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(packed_folder("small-tr-en.fixnorm.s1"))


def test_peaks_on_aligned_tokens_and_on_the_first_are_counted(run):
    source, target = list(run.sentences.pairs("dev"))[4]
    links = piece_links(pair_of_words(opened(run).pipeline, source, target, kept_links(run.sentences, "dev")[0][4]))
    weights = attention(run, source, target).assign(run="fixnorm")
    on = first = 0
    linked = {target for _, target in links}
    for place in linked:
        row = weights[weights["target_position"] == place].sort_values("source_position")["weight"].tolist()
        peak = row.index(max(row))
        on += (peak, place) in links
        first += peak == 0 and (0, place) not in links
    assert on > 0
    said = f"fixnorm {on} and {first} of {len(linked)}."
    assert peaks_finding(weights, {"fixnorm": links}).endswith(f"on the first instead: {said}")
    assert contributions_finding(weights, links).startswith("Largest contributions on an aligned token, and")
    assert peaks_finding(weights, {"fixnorm": []}) == ATTENTION.finding(weights)  # without an alignment
    tokens = weights["target_position"].max()
    assert ATTENTION.finding(weights).startswith("Attention peaks on the first token: fixnorm ")
    assert ATTENTION.finding(weights).endswith(f" of {tokens}.")
    ends = weights[weights["target_position"] == tokens].assign(target_position=0)  # of an empty translation
    assert peaks_finding(ends) == ""
    assert ATTENTION.finding(pd.DataFrame()) == CONTRIBUTIONS.finding(pd.DataFrame()) == ""


def test_the_most_focused_head_is_named(trained):
    weights = HEADS.among([trained[0]], source="das ist", target="this is")
    heads = head_summary(weights)
    best = heads.sort_values("entropy").iloc[0]
    said = HEADS.finding(weights)
    assert said.startswith(
        f"Most focused: head {best['head']:.0f} of layer {best['layer']:.0f} ({best['entropy']:.1f} bits)"
    )
    sinks = sum(max(row.first, row.last) > 0.5 for row in heads.itertuples())
    assert f"{sinks} of {len(heads)} heads" in said
    assert HEADS.finding(pd.DataFrame()) == ""


def test_the_cost_of_hiding_a_word_is_said_for_words_that_need_it_and_others():
    columns = ["run", "linked", "peak", "loss", "masked_loss"]
    rows = [("a", "it", True, 1, 3), ("a", "it", True, 1, 2), ("a", "others", True, 1, 0.9), ("a", "it", False, 0, 9)]
    found = pd.DataFrame(rows, columns=columns)
    assert MASKING.finding(found).endswith("at words linked to it and to others: a 1.50 and −0.10.")
    assert MASKING.finding(pd.DataFrame()) == ""


def test_the_best_method_is_named_beside_attention():
    found = pd.DataFrame(
        {"run": ["a", "a", "b"], "method": ["attention", "erasure", "attention"], "on": [0.3, 0.6, 0.5]}
    )
    assert AGREEMENT.finding(found).endswith("at best: a: erasure 60 %, attention 30 %; b: attention 50 %.")
    assert AGREEMENT.finding(pd.DataFrame()) == ""


def test_the_most_detached_translation_is_quoted():
    columns = ["run", "line", "from_source", "from_both", "source_share", "translation"]
    rows = [("a", 1, 3, 4, 0.75, "so"), ("a", 2, 1, 4, 0.25, ""), ("b", 1, 1, 2, 0.5, "no")]
    said = SOURCE_SHARE.finding(pd.DataFrame(rows, columns=columns))
    assert said.endswith("depend on: a 50 %, b 50 %. It is least for the empty one (a, line 2: 25 %).")
    assert SOURCE_SHARE.finding(pd.DataFrame()) == ""
