"""`nmtlab translate --documents`, of a run that reads each sentence after the one before it."""

import pytest

from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.context import in_context
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TEXT = "ein hund singt\n\nein kind\nein haus\n"


@pytest.fixture
def context(data, make_corpus, tiny_recipe) -> Run:
    folder = make_corpus()
    for split in ("train", "dev", "test"):
        lines = len((folder / f"{split}.de").read_text(encoding="utf-8").splitlines())
        (folder / f"{split}.documents").write_text("".join(f"{n // 5}\n" for n in range(lines)))
    recipe = tiny_recipe.with_changes({"text.context": 1, "training.max_evaluations": 1})
    return train("context", recipe, ParallelCorpus.open(folder), Workspace(data))


def test_a_text_is_one_document_unless_its_documents_are_given(nmtlab, context, tmp_path):
    lines = TEXT.splitlines()
    (tmp_path / "ids").write_text("1\n1\n2\n2\n")
    for options, ids in (((), "1111"), (("--documents", tmp_path / "ids"), "1122")):
        said = nmtlab("translate", "context", "--engine", "nmtlab", *options, stdin=TEXT)
        assert said.code == 0, said.err
        expected = open_model(context).translate(list(in_context(lines, ids)))
        assert said.out.splitlines() == [one.text for one in expected]
    served = nmtlab("translate", "context", "--beam", "1", "--engine", "ctranslate2", stdin=TEXT)
    assert served.out == nmtlab("translate", "context", "--beam", "1", "--engine", "nmtlab", stdin=TEXT).out


@pytest.mark.parametrize(
    ("run", "ids", "problem"),
    [
        ("context", "1\n2\n", "2 lines, but the text has 4"),
        ("context", "1\n\n2\n2\n", "line 2: blank"),
        ("whole", "1\n1\n2\n2\n", "reads each sentence alone"),
    ],
)
def test_documents_that_do_not_fit_are_refused(nmtlab, context, tmp_path, run, ids, problem):
    (tmp_path / "ids").write_text(ids)
    said = nmtlab("translate", run, "--documents", tmp_path / "ids", stdin=TEXT)
    assert said.code == 2
    assert problem in " ".join(said.err.split())
