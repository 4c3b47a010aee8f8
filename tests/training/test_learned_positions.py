"""A training with learned positions refuses text that goes beyond its table before it begins."""

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train

LEARNED = {"model.positions": "learned", "model.max_positions": 12, "training.max_evaluations": 1}


@pytest.mark.parametrize(("split", "side", "language"), [("train", "source", "de"), ("dev", "target", "en")])
def test_a_line_that_is_longer_than_the_table_is_refused_before_the_first_update(
    split, side, language, make_corpus, tiny_recipe, workspace
):
    folder = make_corpus()
    for code, words in (("de", "hund"), ("en", "dog")):
        with (folder / f"{split}.{code}").open("a", encoding="utf-8") as file:
            file.write(" ".join([words] * (12 if code == language else 3)) + "\n")
    message = (
        f"{split} de-en: a {side} of 13 tokens, but model.max_positions is 12; leave out longer sentences, or train a "
        "new run with model.max_positions = 13 or more"
    )
    begun = []
    with pytest.raises(CorpusError, match=message):
        train("long", tiny_recipe.with_changes(LEARNED), ParallelCorpus.open(folder), workspace, on_event=begun.append)
    assert {type(event).__name__ for event in begun} == {"Preparing"}
