"""The Lexicon page of runs that read suggestions, or copy."""

import pytest
from support.learned import LEARNED

from nmtlab.analysis.access.translations import translations
from nmtlab.dashboards.pages.lexicon import LexiconPage, lexicon_page
from nmtlab.recipe import named_recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TINY = {
    "text.vocabulary_size": 60, "model.d_model": LEARNED["model.d_model"], "training.max_evaluations": 1,
    "training.validate_every": 4, "search.beam_size": 2, "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Workspace:
    """A workspace with a run that annotates and copies, one that annotates, and one whose test was not translated."""
    folder = tmp_path_factory.mktemp("data")
    pairs = {"der hund": "the dog", "die katze": "the cat", "der hund und die katze": "the dog and the cat"}
    texts = {
        "train": [*[*pairs.items()] * 5, ("der fels", "the rock"), ("der wald", "the forest")],
        "dev": [("der hund und", "the dog and")],
        "test": [("der fels und der wald", "the rock and the forest"), ("die katze und", "the cat and")],
    }
    for split, lines in texts.items():
        for language, side in zip(("de", "en"), zip(*lines, strict=True), strict=True):
            write_lines(folder / f"corpora/tiny/{split}.{language}", side)
    corpus, workspace = ParallelCorpus.open(folder / "corpora/tiny", "de", "en"), Workspace(folder)
    for name, recipe in (("both", "annotate-copy-bpe"), ("notes", "annotate-bpe"), ("new", "copy-bpe")):
        run = train(name, named_recipe(recipe).with_changes(TINY), corpus, workspace)
        if name != "new":
            translations(run, corpus, "test")
    return workspace


def opened(workspace: Workspace, name: str) -> LexiconPage:
    page = lexicon_page(workspace)
    page.runs.table.choose([name])
    page._opened("?open=suggestions")
    return page


def test_a_run_that_annotates_and_copies_shows_what_is_suggested_and_generated(there):
    page = opened(there, "both")
    shown = page.suggested
    assert shown.answer.value.startswith("Suggestions that are used: ")
    assert set(shown.words.frame["word"]) <= {"fels", "wald"}
    assert shown.strip.figure is None or not shown.strip.fresh
    shown.words.choose([shown.words.frame.index[0]])
    run = Run(there.run_folder("both"))
    translation = shown.words.frame["translation"].iloc[0]
    assert len(shown.strip.figure.data[0].x) == len(run.pipeline.target_ids(translation))
    assert "Copies have the largest share" in shown.said.value
    assert "no lexical module" in page.hint.value
    assert page.words.frame.empty


def test_a_run_without_a_copy_head_shows_its_suggestions_alone(there):
    shown = opened(there, "notes").suggested
    assert not shown.words.frame.empty
    shown.words.choose([shown.words.frame.index[0]])
    assert shown.said.value == ""


def test_a_run_whose_test_text_was_not_translated_says_how_to(there):
    assert "nmtlab evaluate new" in opened(there, "new").suggested.answer.value
