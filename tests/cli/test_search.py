"""`nmtlab search-errors`, `nmtlab beam-sweep` and `nmtlab length-errors`."""

import pandas as pd
import pytest

from nmtlab.analysis.search.length_baselines import BASELINES, baseline_lengths
from nmtlab.analysis.search.planned_lengths import length_errors
from nmtlab.runs.run import Run
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.workspace import Workspace


def test_what_a_beam_misses_is_printed_and_written(nmtlab, data, tiny_corpus, tmp_path):
    corpus = str(tiny_corpus.folder)
    said = nmtlab(
        "search-errors", "whole", "--corpus", corpus, "--split", "dev", "--sample", "3", "--beam", "2",
        "--budget", "300", "--csv", tmp_path / "errors.csv",
    )  # fmt: skip
    assert said.code == 0
    assert "dev: beam 2, log-prob" in said.out
    assert "search errors" in said.out
    assert "by reference length" in said.out
    found = pd.read_csv(tmp_path / "errors.csv")
    assert found["line"].tolist() == draw_sample(tiny_corpus, "dev", 3).lines
    assert (found["expansions"] <= 300).all()
    assert list((data / "runs/whole/measures").glob("search_errors.search_errors-*.parquet"))


def test_what_other_beams_miss_is_printed_too(nmtlab, data, tiny_corpus):
    asked = ["--corpus", tiny_corpus.folder, "--split", "dev", "--sample", "3", "--beam", "2", "--budget", "5000"]
    said = nmtlab("search-errors", "whole", *asked, "--beams", "1,2")
    assert said.code == 0
    last = said.out[said.out.index("Search errors by beam") :]
    assert [line.split("│")[1].strip() for line in last.splitlines() if line.startswith("│")] == ["1", "2"]


def test_where_nothing_was_searched_to_the_end_that_is_said(nmtlab, data, tiny_corpus):
    asked = ["--corpus", tiny_corpus.folder, "--split", "dev", "--sample", "2", "--budget", "1"]
    for _ in range(2):
        said = nmtlab("search-errors", "whole", *asked)
        assert (said.code, said.err) == (0, "")
        assert "exact search finished for none of 2 sentences within 1 expansions: raise --budget" in said.out


def test_a_sweep_is_printed_with_a_line_a_beam(nmtlab, data, tiny_corpus, tmp_path):
    said = nmtlab(
        "beam-sweep", "whole", "--corpus", tiny_corpus.folder, "--split", "dev", "--sample", "4", "--beams", "1,2",
        "--score", "word-reward", "--set", "search.gamma=0.5", "--csv", tmp_path / "sweep.csv",
    )  # fmt: skip
    assert said.code == 0
    assert "dev, 4 sentences, word-reward, γ 0.5" in " ".join(said.out.split())
    found = pd.read_csv(tmp_path / "sweep.csv")
    assert found["beam_size"].tolist() == [1, 2]
    assert set(found["gamma"]) == {0.5}


def test_the_reward_of_a_word_is_swept_with_one_beam(nmtlab, data, tiny_corpus, tmp_path):
    said = nmtlab(
        "beam-sweep", "whole", "--corpus", tiny_corpus.folder, "--split", "dev", "--sample", "4", "--beam", "3",
        "--gammas=-0.5,0,2", "--csv", tmp_path / "sweep.csv",
    )  # fmt: skip
    assert said.code == 0
    assert "beam 3, word-reward" in said.out
    found = pd.read_csv(tmp_path / "sweep.csv")
    assert found["gamma"].tolist() == [-0.5, 0.0, 2.0]
    assert set(found["beam_size"]) == {3}
    assert found["length_ratio"].is_monotonic_increasing


def test_the_reward_of_a_word_is_learned_from_the_lengths_with_a_row_for_each_step(nmtlab, data, tiny_corpus, tmp_path):
    asked = ["--corpus", tiny_corpus.folder, "--split", "dev", "--sample", "4", "--csv", tmp_path / "path.csv"]
    said = nmtlab("beam-sweep", "whole", *asked, "--learn-gamma", "2", "--set", "search.gamma=0.5")
    assert (said.code, said.err) == (0, "")
    assert "tokens lacking" in " ".join(said.out.split())
    found = pd.read_csv(tmp_path / "path.csv")
    assert found["gamma"].tolist()[:2] == pytest.approx([0.5, 0.5 + 0.2 * found["gap"][0]])
    assert len(found) == 3
    limit = ["--score", "bounded-reward", "--set", "search.reward_ratio=1.5"]
    bounded = nmtlab("beam-sweep", "whole", *asked, "--learn-gamma", "1", *limit)
    assert "beam 4, bounded-reward" in " ".join(bounded.out.split())
    assert pd.read_csv(tmp_path / "path.csv")["reward_ratio"].tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search-errors", "nobody"], "nobody"),
        (["beam-sweep", "whole", "--learn-gamma", "1", "--gammas", "1"], "--gammas and --learn-gamma: only one at a"),
        (
            ["search-errors", "whole", "--set", "search.coverage=0.2"],
            "search.coverage = 0.2: exact search has no bound",
        ),
        (["beam-sweep", "whole", "--beams", "1,x"], "--beams 1,x: not whole numbers between commas"),
        (["beam-sweep", "whole", "--beams", "0,2"], "--beams 0,2: 0 is out of range"),
        (["beam-sweep", "whole", "--alphas", "0.5,nan"], "--alphas 0.5,nan: nan is out of range; give numbers from 0"),
        (["beam-sweep", "whole", "--gammas", "inf"], "--gammas inf: inf is out of range; give finite numbers"),
        (["beam-sweep", "whole", "--alphas", "1", "--gammas", "1"], "--alphas and --gammas: only one at a time"),
        (["beam-sweep", "whole", "--beams", "1", "--gammas", "1"], "--beams and --gammas: only one at a time"),
        (["beam-sweep", "whole", "--beams", "1", "--beam", "1"], "--beams and --beam: mutually exclusive"),
        (["beam-sweep", "whole", "--set", "search.beam_size=3"], "--set search.beam_size=3: its values are swept"),
        (["beam-sweep", "whole", "--score", "average", "--gammas", "1"], "--gammas: the score average has no gamma"),
        (["beam-sweep", "whole", "--learn-gamma", "1"], "--learn-gamma: it would learn from test; give --split dev"),
        (
            ["beam-sweep", "whole", "--split", "dev", "--score", "average", "--learn-gamma", "1"],
            "--learn-gamma: the score average has no gamma",
        ),
        (["beam-sweep", "whole", "--lengths", "1,2"], "--lengths: run 'whole' plans no lengths"),
        (["length-errors", "whole"], "run 'whole': it does not plan lengths"),
        (["beam-sweep", "whole", "--set", "training.seed=2"], "training.seed=2: the run is already trained"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(nmtlab, data, tiny_corpus, arguments, said):
    found = nmtlab(*arguments, "--corpus", tiny_corpus.folder)
    assert found.code == 2
    assert said in found.err
    assert len(found.err.strip().splitlines()) == 1


def test_threads_are_those_that_are_asked_for_whatever_the_recipe_says(nmtlab, data, tiny_corpus, monkeypatch):
    seen = []
    monkeypatch.setattr("torch.set_num_threads", seen.append)
    for command in ("search-errors", "beam-sweep"):
        more = ["--beams", "1"] if command == "beam-sweep" else ["--budget", "50"]
        asked = ["--corpus", tiny_corpus.folder, "--split", "dev", "--sample", "1", "--threads", "3"]
        assert nmtlab(command, "whole", *asked, *more).code == 0
        assert seen.pop() == 3


def test_planned_lengths_are_compared_with_the_references_and_kept(nmtlab, data, zoo, tiny_corpus, tmp_path):
    zoo.copy("planned", Workspace(data), "planned")
    asked = ["--corpus", tiny_corpus.folder, "--split", "dev", "--sample", "5", "--csv", tmp_path / "lengths.csv"]
    said = nmtlab("length-errors", "planned", *asked)
    assert said.code == 0
    found = pd.read_csv(tmp_path / "lengths.csv")
    assert found["line"].tolist() == draw_sample(tiny_corpus, "dev", 5).lines
    table = {line.split("│")[1].strip(): line for line in said.out.splitlines() if line.count("│") == 8}
    assert f"{(found['likeliest'] - found['reference_length']).abs().mean():.2f}" in table["length model"]
    beside = baseline_lengths(Run(data / "runs/planned"), tiny_corpus, "kernel", "dev", sample=5)
    assert f"{length_errors(beside)['nll']:.3f}" in table[BASELINES["kernel"]]
    assert BASELINES["linear"] in table
    assert "Calibration: accuracy by predicted probability" in said.out
    assert list((data / "runs/planned/measures").glob("lengths.planned_lengths-*.parquet"))
