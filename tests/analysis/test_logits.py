"""Logits taken apart: the thesis' own tables, and every kind of model."""

import numpy as np
import pytest
import torch
from support.hand_made_model import (
    SYSTEMS,
    hand_made_pipeline,
    immunologists,
    immunologists_with_lexicon,
    random_system,
    translator,
)

from nmtlab.analysis.lexical.logits import (
    decompose,
    logit_figure,
    logit_finding,
    logit_steps,
    term_values,
    terms_table,
    waterfall_figure,
    with_radius,
)
from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import plain
from nmtlab.models.interface import on_device
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import EOS

HOSTILE = "<img src=x onerror=alert(1)>"


def test_the_table_of_thesis_3_2_3_comes_out():
    frame = decompose(immunologists(), "Fauchi", "Fauci", position=0, top=3)
    assert frame["word"].tolist() == ["Chan", "Fauci", "Jenner"]
    assert frame["wanted"].tolist() == [False, True, False]
    assert frame["count"].tolist() == [40, 8, 20]
    assert frame["word_norm"].to_numpy() == pytest.approx([5.25, 4.69, 5.23])
    assert frame["word_h_norm"].to_numpy() == pytest.approx([19.5] * 3)
    assert frame["word_cos"].to_numpy() == pytest.approx([0.144, 0.154, 0.120])
    assert frame["bias"].to_numpy() == pytest.approx([-1.53, -1.35, -1.59])
    assert frame["logit"].to_numpy() == pytest.approx([13.2, 12.8, 10.7], abs=0.08)  # of factors rounded in print
    # EOS and UNK have logits of 0 there.
    weights = np.exp([*frame["logit"], 0, 0])
    assert frame["probability"].to_numpy() == pytest.approx((weights / weights.sum())[:3])


def test_the_table_of_thesis_3_2_6_2_comes_out():
    frame = decompose(immunologists_with_lexicon(), "Fauchi", "Fauci", position=0, top=5)
    assert frame["word"].tolist() == ["Fauci", "<unk>", "Anthony", "Ahmedova", "Chan"]
    assert frame["word_cos"].to_numpy() == pytest.approx([0.522, 0.566, 0.263, 0.555, 0.546])
    assert frame["lexicon_cos"].to_numpy() == pytest.approx([0.762, -0.009, 0.644, 0.173, 0.150])
    assert (frame["bias"] + frame["lexicon_bias"]).to_numpy() == pytest.approx([-8.71, -1.25, -8.70, -8.66, -8.73])
    assert frame["logit"].to_numpy() == pytest.approx([7.0, 5.6, 2.4, 0.3, -0.2], abs=0.05)
    terms = term_values(frame)
    assert terms.columns.tolist() == ["word", "lexicon", "bias", "lexicon_bias"]
    assert terms["lexicon"].to_numpy() == pytest.approx(3.5**2 * frame["lexicon_cos"].to_numpy())


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_terms_of_every_system_add_up_to_its_logits(name, dtype, within):
    asked = random_system(name, dtype)
    for position in range(4):
        frame = decompose(asked, "olim Entoni Fauchi", "says Anthony Fauci", position, top=8)
        assert len(frame) == 8
        assert frame["probability"].sum() == pytest.approx(1.0)
        assert np.abs(term_values(frame).sum(axis=1) - frame["logit"]).max() < within


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_logits_are_those_of_the_model_under_the_target_so_far(name):
    asked = random_system(name)
    source, target = (asked.pipeline.source_ids("olim Fauchi"), asked.pipeline.target_ids("says the Fauci"))
    with torch.inference_mode():
        logits = asked.model.output(asked.model(on_device(batch_of(np.array([source]), np.array([target])))))
    for position, expected in enumerate(logits.tolist()):
        # Words from the position on make no difference.
        frame = decompose(asked, "olim Fauchi", " ".join("says the Fauci".split()[:position]), position, top=8)
        found = dict(zip(frame["id"], frame["logit"], strict=True))
        assert [found[number] for number in asked.model.output_ids.tolist()] == pytest.approx(expected)


def test_a_fixed_norm_shows_as_the_same_length_everywhere():
    frame = decompose(random_system("fixnorm+lex"), "olim Fauchi", "says", position=1, top=8)
    for column in ("word_norm", "word_h_norm", "lexicon_norm", "lexicon_h_norm"):
        assert frame[column].to_numpy() == pytest.approx([2.0] * 8)


def test_the_table_of_an_attended_word_is_in_its_term():
    frame = decompose(random_system("arthur"), "Fauchi", "Fauci", position=0, top=8).set_index("word")
    expected = {"Anthony": 0.0, "Fauci": 1.0}  # one source word gets all attention
    for word, probability in expected.items():
        assert frame.loc[word, "table"] == pytest.approx(np.log(probability + 0.001))


def test_words_are_added_whatever_their_rank_and_none_twice():
    frame = decompose(immunologists(), "Fauchi", "Fauci", position=0, top=1, also=("Jenner", "</s>", "Chan"))
    assert frame["word"].tolist() == ["Chan", "Fauci", "Jenner", "</s>"]
    assert frame["rank"].tolist() == [1, 2, 3, 4]


def test_the_position_after_the_last_word_asks_what_comes_next():
    frame = decompose(immunologists(), "Fauchi", "Fauci", position=1, top=1)
    assert frame.loc[frame["wanted"], "id"].tolist() == [EOS]


def test_a_word_the_system_cannot_say_is_wanted_as_unk():
    frame = decompose(immunologists(), "Fauchi", "Salk", position=0, top=1)
    assert frame.loc[frame["wanted"], "word"].tolist() == ["<unk>"]


@pytest.mark.parametrize("position", [-1, 2])
def test_a_position_outside_the_target_is_refused(position):
    with pytest.raises(NmtlabError, match=f"position {position}: the target has 1 tokens; choose a number from 0 to 1"):
        decompose(immunologists(), "Fauchi", "Fauci", position)


def test_a_word_that_is_no_type_is_refused():
    with pytest.raises(NmtlabError, match="word 'Salk': not in the en vocabulary; choose a word"):
        decompose(immunologists(), "Fauchi", "Fauci", position=0, also=["Salk"])


def test_a_word_that_may_not_be_produced_is_refused():
    pipeline = hand_made_pipeline({"Fauchi": 8}, {"Chan": 0, "Fauci": 8, "Jenner": 20})
    asked = translator(immunologists().model, pipeline)
    with pytest.raises(NmtlabError, match="word 'Chan': the system cannot produce it; choose a word of"):
        decompose(asked, "Fauchi", "Fauci", position=0, also=["Chan"])


def test_at_one_length_the_right_immunologist_wins():
    frame = decompose(immunologists(), "Fauchi", "Fauci", position=0, top=3)
    changed = with_radius(frame, 5.0)
    assert changed["word"].tolist() == ["Fauci", "Chan", "Jenner"]
    assert changed["rank"].tolist() == [1, 2, 3]
    assert changed["logit"].to_numpy() == pytest.approx([25 * 0.154 - 1.35, 25 * 0.144 - 1.53, 25 * 0.120 - 1.59])
    assert frame["word"].tolist() == ["Chan", "Fauci", "Jenner"]  # as it was


def test_another_length_changes_both_inner_products_and_no_bias():
    frame = decompose(immunologists_with_lexicon(), "Fauchi", "Fauci", position=0, top=5)
    same = with_radius(frame, 3.5)
    assert same["word"].tolist() == frame["word"].tolist()
    assert same["logit"].to_numpy() == pytest.approx(frame["logit"].to_numpy())
    small = with_radius(frame, 1e-6)  # biases are all that is left
    assert small["word"].tolist() == ["<unk>", "Ahmedova", "Anthony", "Fauci", "Chan"]
    assert small["logit"].iloc[0] == pytest.approx(-1.25)


@pytest.mark.parametrize("radius", [0.0, -1.0])
def test_a_length_that_is_none_is_refused(radius):
    with pytest.raises(NmtlabError, match=f"radius {radius}: not a norm; choose a number above 0"):
        with_radius(decompose(immunologists(), "Fauchi", "Fauci", position=0), radius)


def parts(figure):
    """Return the bars and the marks of a figure."""
    return [trace for trace in figure.data if trace.type == "bar"], next(t for t in figure.data if t.type == "scatter")


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_bars_of_a_candidate_add_up_to_its_mark(name):
    frame = decompose(random_system(name), "olim Fauchi", "says the Fauci", position=1, top=6)
    for shown in (frame, with_radius(frame, 4.0)):
        bars, marks = parts(logit_figure(shown))
        assert len(bars) == term_values(shown).shape[1]
        assert np.sum([bar.y for bar in bars], axis=0) == pytest.approx(np.array(marks.y), abs=1e-9)
        assert list(marks.y) == shown["logit"].tolist()
        assert [list(trace.x) for trace in (*bars, marks)] == [list(range(len(shown)))] * (len(bars) + 1)
        assert np.ravel(marks.customdata).tolist() == shown["rank"].tolist()


def test_drawn_terms_have_the_names_of_the_thesis_and_colours_of_their_own():
    bars, _ = parts(logit_figure(decompose(random_system("fixnorm+lex"), "olim", "says", position=0)))
    assert len({bar.name for bar in bars}) == len({bar.marker.color for bar in bars}) == 4
    assert all(bar.name not in ("word", "bias", "lexicon", "lexicon_bias") for bar in bars)


def test_candidates_are_named_with_their_counts_and_the_wanted_one_is_bold():
    axis = logit_figure(decompose(immunologists(), "Fauchi", "Fauci", position=0, top=3)).layout.xaxis
    assert list(axis.ticktext) == ["Chan  (40×)", "<b>Fauci  (8×)</b>", "Jenner  (20×)"]


def test_words_are_drawn_as_text_and_not_as_tags():
    frame = decompose(immunologists(), "Fauchi", "Fauci", position=0, top=3).assign(word=HOSTILE)
    figure = logit_figure(frame).update_layout(meta=None)  # which is not drawn
    assert "<img" not in str(figure.to_dict())
    assert all(plain(HOSTILE) in text for text in figure.layout.xaxis.ticktext)


@pytest.mark.full
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_steps_add_up_to_the_difference_of_the_logits(name):
    frame = decompose(random_system(name), "olim Entoni Fauchi", "says Anthony Fauci", 2, top=8)
    for shown in (frame, with_radius(frame, 4.0)):
        for wanted in shown["id"]:
            asked = shown.assign(wanted=shown["id"] == wanted)
            target, others = asked[asked["wanted"]].iloc[0], asked[~asked["wanted"]]
            steps = logit_steps(asked)
            assert abs(steps["value"].sum() - (others["logit"].max() - target["logit"])) < 1e-9
            figure = waterfall_figure(asked)
            ends = next(trace for trace in figure.data if trace.name == "logit")
            assert list(ends.y) == pytest.approx([target["logit"], others["logit"].max()])
            bars = [
                bar
                for trace in figure.data
                if trace.type == "bar"
                for bar in zip(trace.x, trace.base, trace.y, strict=True)
            ]
            level = target["logit"]
            for _, base, height in sorted(bars):
                assert base == pytest.approx(level)
                level += height
            assert level == pytest.approx(others["logit"].max())


def test_the_steps_of_the_thesis_are_those_of_length_angle_and_bias():
    frame = decompose(immunologists(), "Fauchi", "Fauci", position=0, top=5)
    steps = logit_steps(frame).set_index("effect")["value"]
    length, angle = 19.5 * (5.25 - 4.69) * 0.149, 19.5 * 4.97 * (0.144 - 0.154)
    assert steps.to_dict() == pytest.approx({"word_norm": length, "word_cos": angle, "bias": -0.18})
    assert logit_finding(frame) == (
        "Target word “Fauci” is at rank 2: “Chan” wins by length (+1.63), although the angle favours “Fauci” (−0.97)."
    )
    axis = waterfall_figure(frame).layout.xaxis
    assert list(axis.ticktext) == ["<b>“Fauci”</b><br>rank 2", "length", "angle", "bias", "<b>“Chan”</b><br>rank 1"]


def test_a_right_word_that_wins_is_compared_with_the_runner_up():
    frame = decompose(immunologists_with_lexicon(), "Fauchi", "Fauci", position=0, top=5)
    steps = logit_steps(frame).set_index("effect")["value"]
    assert frame["word"].tolist()[:2] == ["Fauci", "<unk>"]
    assert steps["lexicon_cos"] == pytest.approx(3.5**2 * (-0.009 - 0.762))
    assert logit_finding(frame) == (
        "Target word “Fauci” is at rank 1, ahead of the unknown word by lexicon angle (+9.44), although the lexicon "
        "bias favours the unknown word (−5.60)."
    )


def test_a_single_candidate_has_no_steps():
    alone = decompose(immunologists(), "Fauchi", "Chan", position=0, top=1)
    with pytest.raises(NmtlabError, match="a single candidate: no other word to compare it with; ask for two"):
        waterfall_figure(alone)
    assert logit_finding(alone) == ""


def test_terms_are_shown_as_symbols_and_words_of_a_waterfall_as_text():
    frame = decompose(random_system("fixnorm+lex"), "olim", "says", position=0)
    shown = terms_table(frame)
    assert {"target word", "times", "‖W‖", "‖h‖", "cos", "‖Wˡ‖", "‖hˡ‖", "cosˡ", "b", "bˡ"} <= {*shown.columns}
    assert shown["cos"].tolist() == frame["word_cos"].tolist()
    assert "<img" not in str(waterfall_figure(frame.assign(word=HOSTILE)).to_dict())
