"""Scores by round of back-translation."""

import math

from support.child_sizes import results_of

from nmtlab.thesis.shown.rounds import COLUMNS, measured_rounds, published_rounds, rounds_finding, rounds_view

SCORES = {
    "qaa-en (500)": {"pairs alone": [9.0, 10.0, 11.0], "round 1": [14.0], "round 3": [15.0]},
    "en-qaa (500)": {"pairs alone": [5.0], "round 1": [4.0], "round 2": [6.0]},
}


def test_published_rounds_are_those_of_the_paper_with_gains_over_the_round_before():
    found = published_rounds()
    assert list(found.columns) == COLUMNS
    french = found[found["text"] == "fr-en (100K), published"]
    assert french["bleu"].tolist() == [16.7, 22.1, 22.5, 22.6]
    assert french["gain"].round(1).tolist()[1:] == [5.4, 0.4, 0.1]
    assert math.isnan(french["gain"].iloc[0])
    assert "fr-en (100K), published: the first round changes BLEU by +5.4, the later ones +0.5." in rounds_finding(
        found
    )


ENGLISH, NARA = "en-qaa (500), artificial", "qaa-en (500), artificial"


def test_measured_rounds_have_the_mean_of_their_seeds_and_a_gain_only_over_the_round_before(monkeypatch):
    cells = results_of("rounds", SCORES)
    monkeypatch.setattr("nmtlab.thesis.shown.rounds.measured_cells", lambda name, scale, metric: cells)
    lines = measured_rounds("small").set_index(["text", "round"])
    assert lines["bleu"].to_dict() == {
        (ENGLISH, 0): 5.0, (ENGLISH, 1): 4.0, (ENGLISH, 2): 6.0, (NARA, 0): 10.0, (NARA, 1): 14.0, (NARA, 3): 15.0,
    }  # fmt: skip
    assert lines["gain"].dropna().tolist() == [-1.0, 2.0, 4.0]
    assert lines.loc[(NARA, 0), "seeds"] == 3
    view = rounds_view()
    assert [list(trace.y) for trace in view.figure.data][:2] == [[5.0, 4.0, 6.0], [10.0, 14.0, 15.0]]
    assert view.finding.startswith(
        "en-qaa (500), artificial: the first round changes BLEU by −1.0, the later ones +2.0."
    )


def test_without_a_measured_table_the_published_rounds_stand_alone(monkeypatch):
    assert measured_rounds("thesis").empty
    view = rounds_view("thesis")
    assert "not measured here yet" in view.figure.layout.title.text
    assert len(view.figure.data) == 4
