"""`nmtlab trainability`."""

import pandas as pd
import pytest

SMALL = ("--recipe", "transformer-tiny", "--layers", "1", "--rates", "1e-3,1e-2", "--seeds", "1", "--updates", "10")
WIDTH = ("--set", "model.d_model=16", "--set", "text.vocabulary_size=60")


@pytest.mark.full
def test_a_map_is_drawn_and_gone_on_with(nmtlab, data, tiny_corpus):
    path, text = data / "results/trainability.csv", tiny_corpus.checksum()[:8]
    said = nmtlab("trainability", "tiny", *SMALL, *WIDTH)
    assert (said.code, said.err) == (0, "")
    kept = pd.read_csv(path)
    assert len(kept) == 2 * 2 * 2
    told = f"transformer-tiny, model.d_model=16, text.vocabulary_size=60, 10 updates on tiny {text}"
    assert set(kept["training"]) == {told}
    assert set(kept["verdict"]) <= {"converged", "ignores the source", "plateaued", "diverged"}
    again = nmtlab("trainability", "tiny", *SMALL, *WIDTH, "--seeds", 2)
    both = pd.read_csv(path)
    assert both.iloc[:8].equals(kept)
    assert len(both) == 16
    assert " of 2" in again.out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--layers", "one"), "--layers one"),
        (("--rates", "1e-3,0"), "--rates 1e-3,0: 0 is out of range"),
        (("--rates", "1e-3,inf"), "--rates 1e-3,inf: inf is out of range"),
    ],
)
def test_what_is_no_number_is_named(nmtlab, options, named):
    said = nmtlab("trainability", "tiny", *options)
    assert said.code == 2
    assert named in said.err
