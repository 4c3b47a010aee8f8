"""What a figure is of, in words."""

from types import SimpleNamespace

import pytest

from nmtlab.dashboards.frame.systems import described_runs


def run(corpus: str, seed: int, neural: bool = True) -> SimpleNamespace:
    pair = tuple(corpus.split("-")[-2:])
    recipe = {
        "corpus": SimpleNamespace(name=corpus),
        "training": SimpleNamespace(seed=seed),
        "model": SimpleNamespace(neural=neural),
    }
    return SimpleNamespace(direction=pair, recipe=SimpleNamespace(**recipe))


@pytest.mark.parametrize(
    ("runs", "text", "described"),
    [
        ([("small-tr-en", 1)], "dev", "small-tr-en (tr → en), dev, seed 1"),
        ([("small-tr-en", seed) for seed in (3, 1, 2, 1)], "", "small-tr-en (tr → en), seeds 1–3"),
        ([("a-tr-en", 1), ("b-de-en", 5)], "test", "a-tr-en (tr → en) and b-de-en (de → en), test, seeds 1, 5"),
        ([(f"{name}-tr-en", 2 * place) for place, name in enumerate("abcdef")], "", "6 corpora, 6 seeds"),
        ([("small-tr-en", 1, False)], "dev", "small-tr-en (tr → en), dev"),
        ([], "", ""),
    ],
)
def test_a_figure_is_described_by_corpora_text_and_seeds(runs, text, described):
    assert described_runs([run(*one) for one in runs], text) == described
