"""Which source each token comes from: weights made by hand, ties, and the attention of a run in loops."""

from shutil import copytree

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.attention.focus import (
    BOTH,
    FOCUS,
    focus,
    focus_figure,
    focus_finding,
    focus_of_tokens,
    focus_shares,
    masses,
    sentence_figure,
    sentence_focus,
)
from nmtlab.analysis.attention.weights import attention
from nmtlab.errors import NmtlabError, RunError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines

ALPHA = np.array(
    [
        [0.50, 0.20, 0.00, 0.20, 0.10],  # 0.7 on the first source of three tokens
        [0.10, 0.10, 0.10, 0.30, 0.40],  # 0.3
        [0.20, 0.20, 0.05, 0.15, 0.40],  # 0.45
        [0.25, 0.25, 0.00, 0.50, 0.00],  # a tie
    ]
)
SEGMENTS = np.array([0, 0, 0, 1, 1])


def rows(mass: np.ndarray, sources: tuple[str, ...] = ("src", "mt"), run: str = "one") -> pd.DataFrame:
    """Return masses, (T, M), as rows of `focus`."""
    return pd.DataFrame(
        {"run": run, "line": 1, "position": place + 1, "piece": f"p{place}", "source": source, "mass": mass[place, at]}
        for place in range(len(mass))
        for at, source in enumerate(sources)
    )


def of_the_paper(alpha: float, t: float) -> str:
    return "src" if alpha > t else "mt" if alpha < 1 - t else BOTH


def test_the_mass_is_the_sum_over_the_tokens_of_a_source():
    assert masses(ALPHA, SEGMENTS, 2) == pytest.approx(np.array([[0.7, 0.3], [0.3, 0.7], [0.45, 0.55], [0.5, 0.5]]))


@pytest.mark.parametrize(("t", "expected"), [
    (0.6, ["src", "mt", BOTH, BOTH]), (0.5, ["src", "mt", "mt", BOTH]), (0.75, [BOTH] * 4),
])  # fmt: skip
def test_the_focus_is_by_the_threshold_and_at_a_half_only_ties_are_on_both(t, expected):
    mass = masses(ALPHA, SEGMENTS, 2)
    assert focus_of_tokens(rows(mass), t)["focus"].tolist() == expected
    assert [of_the_paper(alpha, t) for alpha in mass[:, 0]] == expected


def test_random_masses_have_the_focus_of_the_paper():
    alpha = np.random.default_rng(4).random(300)
    for t in (0.5, 0.6, 0.9):
        found = focus_of_tokens(rows(np.stack([alpha, 1 - alpha], axis=1)), t)
        assert found["focus"].tolist() == [of_the_paper(one, t) for one in alpha]


def test_of_three_sources_a_token_is_from_the_one_above_the_threshold():
    found = rows(np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.4, 0.3, 0.3]]), ("a", "b", "c"))
    assert focus_of_tokens(found, 0.6)["focus"].tolist() == ["a", "c", BOTH]
    assert len(sentence_figure(found).layout.shapes) == 0


def test_shares_add_up_and_runs_are_apart():
    found = pd.concat([rows(masses(ALPHA, SEGMENTS, 2)), rows(np.array([[1.0, 0.0], [0.2, 0.8]]), run="two")])
    shares = focus_shares(found, 0.6).set_index(["run", "focus"])
    assert shares["tokens"].tolist() == [1, 1, 2, 1, 1, 0]
    assert shares["share"].tolist() == [0.25, 0.25, 0.5, 0.5, 0.5, 0.0]
    assert shares["mass"].tolist()[:2] == pytest.approx([(0.7 + 0.3 + 0.45 + 0.5) / 4, (0.3 + 0.7 + 0.55 + 0.5) / 4])
    assert focus_finding(found, 0.5) == (
        "Tokens by the source with a mass above 0.5: one 25 % src, 50 % mt, 25 % both; two 50 % src, 50 % mt, 0 % both."
    )
    assert [trace.name for trace in focus_figure(found).data] == ["one", "two"]
    assert focus_finding(pd.DataFrame()) == ""
    assert focus_shares(found.head(0)).empty


@pytest.mark.parametrize("t", [0.4, 1.0, float("nan")])
def test_a_threshold_that_says_nothing_is_refused(t):
    with pytest.raises(NmtlabError, match=r"a threshold of .*; give 0.5 or more, and less than 1"):
        focus_of_tokens(rows(masses(ALPHA, SEGMENTS, 2)), t)


def test_the_bars_of_a_sentence_are_its_masses_between_two_lines():
    figure = sentence_figure(rows(masses(ALPHA, SEGMENTS, 2)), 0.6)
    assert [trace.name for trace in figure.data] == ["src", "mt"]
    assert sum(np.array(trace.y) for trace in figure.data) == pytest.approx(1)
    assert sorted(shape.y0 for shape in figure.layout.shapes) == pytest.approx([0.4, 0.6])


def test_the_focus_of_a_run_is_that_of_its_own_translations(editor):
    run, corpus, _ = editor
    found = focus(run, corpus, "test", limit=4)
    both = list(zip(corpus.lines("test", "de"), corpus.lines("test", "en-x-mt"), strict=True))
    for line, sources in enumerate(both[:4], start=1):
        weights = attention(run, sources[0], more=sources[1:])
        expected = sentence_focus(weights, run)
        expected = expected[expected["position"] < expected["position"].max()]  # without EOS
        of_line = found[found["line"] == line]
        assert of_line["piece"].tolist() == expected["piece"].tolist()
        assert of_line["source"].tolist() == expected["source"].tolist()
        assert of_line["mass"].tolist() == pytest.approx(expected["mass"].tolist(), abs=1e-5)
        for position, masses_ in of_line.groupby("position")["mass"]:
            at = weights[weights["target_position"] == position - 1]
            by_loop = [at[at["segment"] == number]["weight"].sum() for number in (0, 1)]
            assert masses_.tolist() == pytest.approx(by_loop, abs=1e-5)
    assert found.groupby(["line", "position"])["mass"].sum().tolist() == pytest.approx(
        [1] * (len(found) // 2), abs=1e-5
    )


def test_it_is_stored_by_the_text_of_all_sources(editor, tmp_path):
    run, corpus, _ = editor
    copy = Run(copytree(run.folder, tmp_path / "editor"))
    first = FOCUS.of(copy, corpus=corpus, split="test", limit=3)
    assert FOCUS.stored(copy, corpus=corpus, split="test", limit=3) is not None
    other = copytree(corpus.folder, tmp_path / "other")
    write_lines(other / "test.en-x-mt", ["" for _ in corpus.lines("test", "de")])
    changed = ParallelCorpus.open(other, "de", "en")
    assert FOCUS.stored(copy, corpus=changed, split="test", limit=3) is None
    assert not FOCUS.of(copy, corpus=changed, split="test", limit=3)["mass"].equals(first["mass"])


def test_it_needs_several_sources_and_one_attention_to_them(zoo, tiny_corpus, editor):
    with pytest.raises(RunError, match=r"it reads one source; choose a run with corpus.also_sources"):
        FOCUS.of(zoo("learned"), corpus=tiny_corpus)
    separate = editor.run.recipe.with_changes({"model.combine": "separate"})
    assert editor.run.recipe.model.joint_attention
    assert not separate.model.joint_attention
    assert not zoo("learned").recipe.model.joint_attention
