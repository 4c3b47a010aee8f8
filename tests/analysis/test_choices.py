"""What is preferred to rare words, and which term decides."""

import numpy as np
import pandas as pd
import pytest
from support.hand_made_model import SOURCE, SYSTEMS, TARGET, immunologists, immunologists_with_lexicon, random_system

from nmtlab.analysis.lexical.choices import choices_finding, deciding_terms, error_table, rare_choices
from nmtlab.analysis.lexical.logits import decompose
from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus


@pytest.fixture
def corpus(tmp_path):
    def write(pairs) -> ParallelCorpus:
        for place, language in enumerate(("xx", "en")):
            text = "".join(pair[place] + "\n" for pair in pairs)
            (tmp_path / f"test.{language}").write_text(text, encoding="utf-8")
        return ParallelCorpus.open(tmp_path, "xx", "en")

    return write


@pytest.fixture(scope="session")
def many_pairs() -> list[tuple[str, str]]:
    generator = np.random.default_rng(0)
    sides = (list(SOURCE), list(TARGET))
    return [tuple(" ".join(generator.choice(side, generator.integers(1, 9))) for side in sides) for _ in range(400)]


def test_the_norm_alone_makes_chan_of_fauci(corpus):
    frame = rare_choices(immunologists(), corpus([("Fauchi", "Chan Fauci")]), below=10)
    assert len(frame) == 1
    row = frame.iloc[0]
    assert (row["line"], row["position"], row["gold"], row["preferred"]) == (1, 1, "Fauci", "Chan")
    assert (row["gold_count"], row["preferred_count"], row["right"]) == (8, 40, False)
    assert (row["word_norm_gold"], row["word_norm_preferred"], row["word_h_norm"]) == pytest.approx((4.69, 5.25, 19.5))
    assert (row["bias_gold"], row["bias_preferred"]) == pytest.approx((-1.35, -1.53))
    assert row["word_norm_effect"] == pytest.approx(19.5 * (5.25 - 4.69) * 0.149)
    assert row["word_cos_effect"] == pytest.approx(19.5 * 4.97 * (0.144 - 0.154))
    assert row["bias_effect"] == pytest.approx(-0.18)
    assert row["margin"] == pytest.approx(19.5 * (5.25 * 0.144 - 4.69 * 0.154) - 0.18)
    assert (row["largest"], row["alone"]) == ("word_norm", True)


def test_a_right_choice_has_no_effects(corpus):
    frame = rare_choices(immunologists_with_lexicon(), corpus([("Fauchi", "Fauci")]), below=10)
    effects = frame.filter(like="_effect").iloc[0]
    assert effects.index.tolist() == [
        "word_norm_effect", "word_cos_effect", "lexicon_norm_effect", "lexicon_cos_effect", "bias_effect",
        "lexicon_bias_effect",
    ]  # fmt: skip
    assert (effects == 0).all()
    assert frame[["right", "margin", "largest", "alone"]].to_numpy().tolist() == [[True, 0.0, "", False]]


def test_lines_and_positions_are_those_of_the_text_and_frequent_words_are_left_out(corpus):
    pairs = [("Fauchi", "Jenner"), ("Fauchi", ""), ("Fauchi", "Chan Chan Fauci"), ("Fauchi", "Salk Fauci")]
    frame = rare_choices(immunologists(), corpus(pairs), below=10)
    assert frame[["line", "position"]].to_numpy().tolist() == [[3, 2], [4, 1]]
    frame = rare_choices(immunologists(), corpus(pairs), below=21)
    assert frame[["line", "gold"]].to_numpy().tolist() == [[1, "Jenner"], [3, "Fauci"], [4, "Fauci"]]


def test_no_rare_word_gives_an_empty_table_with_all_columns(corpus):
    empty = rare_choices(immunologists(), corpus([("Fauchi", "Chan")]), below=10)
    assert len(empty) == 0
    assert set(rare_choices(immunologists(), corpus([("Fauchi", "Fauci")]), below=10).columns) == set(empty.columns)
    assert deciding_terms(empty)["share"].isna().all()


def test_a_limit_takes_the_first_sentences_and_progress_counts_them(corpus, many_pairs):
    asked, text, told = random_system("fixnorm"), corpus(many_pairs), []
    whole = rare_choices(asked, text)
    part = rare_choices(asked, text, limit=50, on_progress=told.append)
    pd.testing.assert_frame_equal(part, whole[whole["line"] <= 50])
    assert sum(told) == 50


@pytest.mark.parametrize("name", SYSTEMS)
def test_choices_are_those_of_single_positions_and_effects_add_up(corpus, many_pairs, name):
    asked = random_system(name)
    frame = rare_choices(asked, corpus(many_pairs), below=10)
    rare = [(line, position) for line, (_, target) in enumerate(many_pairs, start=1)
            for position, word in enumerate(target.split()) if TARGET[word] < 10]  # fmt: skip
    assert list(zip(frame["line"], frame["position"], strict=True)) == rare
    for row in frame.iloc[::60].to_dict("records"):
        source, target = many_pairs[row["line"] - 1]
        single = decompose(asked, source, target, row["position"], top=8).set_index("word")
        assert (row["gold"], row["preferred"]) == (single.index[single["wanted"]][0], single.index[0])
        gold, preferred = single.loc[row["gold"]], single.loc[row["preferred"]]
        assert row["margin"] == pytest.approx(preferred["logit"] - gold["logit"], abs=1e-9)
        assert row["gold_probability"] == pytest.approx(gold["probability"])
        assert row["preferred_probability"] == pytest.approx(preferred["probability"])
        assert row["word_cos_gold"] == pytest.approx(gold["word_cos"])


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_term_decides_alone_just_where_the_right_word_would_win_without_it(corpus, many_pairs, name):
    wrong = rare_choices(random_system(name), corpus(many_pairs), below=10).query("not right")
    assert len(wrong)
    effects = wrong.filter(like="_effect")
    for row, own in zip(wrong.to_dict("records"), effects.to_numpy().tolist(), strict=True):
        assert row[f"{row['largest']}_effect"] == max(own)
        assert row["alone"] == any(sum(own[:i] + own[i + 1 :]) <= 0 for i in range(len(own)))


def test_with_all_vectors_at_one_length_no_norm_decides(corpus, many_pairs):
    frame = rare_choices(random_system("fixnorm+lex"), corpus(many_pairs))
    assert np.abs(frame[["word_norm_effect", "lexicon_norm_effect"]].to_numpy()).max() < 1e-9
    assert not frame["largest"].isin(["word_norm", "lexicon_norm"]).any()


def test_deciding_terms_are_counted_over_wrong_choices():
    choices = pd.DataFrame(
        {
            "right": [False, False, False, True],
            "preferred": ["<unk>", "Chan", "Chan", "Fauci"],
            "word_norm_effect": [3.0, 2.0, -1.0, 0.0],
            "bias_effect": [-1.0, 1.0, 4.0, 0.0],
            "largest": ["word_norm", "word_norm", "bias", ""],
            "alone": [True, False, True, False],
        }
    )
    assert deciding_terms(choices).to_dict("records") == [
        {"effect": "word_norm", "largest": 2, "share": 2 / 3, "share_known": 1 / 2, "alone": 1, "mean": 4 / 3},
        {"effect": "bias", "largest": 1, "share": 1 / 3, "share_known": 1 / 2, "alone": 1, "mean": 4 / 3},
    ]


def test_a_finding_has_the_shares_with_and_without_the_unknown_word(corpus, many_pairs):
    choices = rare_choices(random_system("fixnorm"), corpus(many_pairs), below=10**6)
    wrong = choices[~choices["right"]]
    known = wrong[wrong["preferred"] != "<unk>"]
    assert 0 < len(known) < len(wrong)
    whole, apart = (f"angle in {100 * (some['largest'] == 'word_cos').mean():.0f} %" for some in (wrong, known))
    first, second = choices_finding(choices).split(". ")
    assert f"{len(wrong)} errors at {len(choices)} rare words" in first
    assert whole in first
    assert f"The unknown word wins in {len(wrong) - len(known)} of them; in the others it is" in second
    assert apart in second
    assert "None of them" in choices_finding(choices.drop(index=wrong.index.difference(known.index)))
    assert choices_finding(choices[choices["right"]]) == f"All {choices['right'].sum()} rare words are right."
    assert choices_finding(choices[:0]) == ""
    table = error_table(choices)
    assert table["preferred"].tolist() == wrong["preferred"].tolist()
    assert table["position"].tolist() == (wrong["position"] + 1).tolist()
    assert set(table["largest effect"]) <= {"length", "angle", "bias"}


def test_a_corpus_of_other_languages_is_refused(tmp_path):
    for language in ("de", "en"):
        (tmp_path / f"test.{language}").write_text("Chan\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="is de to en, the system translates xx to en; choose a corpus in the"):
        rare_choices(immunologists(), ParallelCorpus.open(tmp_path))


def test_choices_of_a_trained_run(trained, tiny_corpus):
    run, _ = trained
    frame = rare_choices(run, tiny_corpus, below=10**6, limit=5)
    words = [line.split() for line in tiny_corpus.lines("test", "en")][:5]
    assert frame["gold"].tolist() == [word for line in words for word in line]
