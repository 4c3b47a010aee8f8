"""Systems that are trained on monolingual text too: copied, or translated by a run of the row that is trained first."""

import json
from pathlib import Path

import pytest

from nmtlab.errors import CorpusError
from nmtlab.grids.declared.corpora import CopiedCorpus, TranslatedCorpus, planned
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.grids.running.cells import Cell, cells_of, trainings
from nmtlab.text.corpora.corpus_builder import synthetic_language
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.thesis.tables.monolingual import (
    BACK,
    BY_LANGUAGE_MODEL,
    COPIED,
    FORWARD,
    LANGUAGE_MODEL,
    MONOLINGUAL,
    PAIRS,
    REAL,
    SAMPLED,
)
from nmtlab.workspace import Workspace

ALONE, REVERSE = (f"tiny-monolingual-qaa-en.250{way}.fixnorm-small.s2" for way in ("", ".en-qaa"))
REST = ExternalCorpus("rest", "en", "de")
BACK_TRANSLATED = TranslatedCorpus(REST, "whole", side="source", beside=ExternalCorpus("tiny", "en", "de"))


@pytest.fixture(scope="module")
def cells() -> dict[tuple[str, str], Cell]:
    return {(cell.row, cell.column): cell for cell in cells_of(MONOLINGUAL, "tiny") if cell.seed == 2}


def test_made_text_needs_the_run_of_its_seed_in_its_direction_which_is_a_cell_of_the_reverse_row(cells):
    needs = {system: [need.cell.run for need in cell.needs] for (row, system), cell in cells.items() if row[0] == "q"}
    assert (needs[BACK], needs[SAMPLED], needs[FORWARD]) == ([REVERSE], [REVERSE], [ALONE])
    assert needs[PAIRS.name] == needs[COPIED] == needs[REAL] == []
    assert cells["en-qaa (250)", PAIRS.name].run == REVERSE
    assert cells["qaa-en (250)", PAIRS.name].run == ALONE
    assert len(trainings([*cells.values()])) == len(cells) == 8


def test_made_text_is_beside_the_pairs_on_which_all_are_scored(cells):
    pairs = cells["qaa-en (250)", PAIRS.name].corpus
    for system in (BACK, SAMPLED, COPIED, FORWARD, REAL):
        cell = cells["qaa-en (250)", system]
        (named,) = cell.recipe.more_corpora
        assert (cell.corpus, cell.texts) == (pairs, (pairs,))
        assert [text.name for text in cell.more] == [named.name]
        assert (named.source, named.target) == ("qaa", "en")
    assert cells["qaa-en (250)", FORWARD].more[0].side == "target"
    assert len({cell.recipe.more_corpora for cell in cells.values()}) == 7  # none for the pairs alone in each direction


@pytest.fixture
def german(tiny_corpus) -> list[str]:
    """Lines that the shared run can translate."""
    return list(tiny_corpus.lines("train", "de"))[:3]


@pytest.fixture
def made(tmp_path, zoo, german) -> Workspace:
    """A workspace with a run from German to English, the pairs it was trained on, and others."""
    workspace = Workspace(tmp_path / "data", (zoo.corpus.folder.parent, tmp_path / "elsewhere"))
    zoo.copy("learned", workspace)
    rest = tmp_path / "elsewhere" / "rest"
    rest.mkdir(parents=True)
    write_lines(rest / "train.de", german)
    write_lines(rest / "train.en", ["real"] * len(german))
    return workspace


def origin(folder: Path) -> dict[str, str]:
    return json.loads((folder / "import.json").read_text())["origin"]


def test_back_translations_have_the_real_targets_and_say_by_whom_they_were_made(made, german):
    assert planned(BACK_TRANSLATED, made) == REST
    corpus = BACK_TRANSLATED.open(made)
    assert planned(BACK_TRANSLATED, made) == BACK_TRANSLATED
    assert (corpus.direction, corpus.splits) == (("en", "de"), ("train",))
    assert [target for _, target in corpus.pairs("train")] == german[: corpus.count("train")]
    assert "real" not in [source for source, _ in corpus.pairs("train")]
    assert synthetic_language(corpus) == "en"
    text = MonolingualCorpus(made.more_corpora[1] / "rest", "de")
    found = origin(corpus.folder)
    assert (found["run"], found["text"], found["checksum"]) == ("whole", "rest", text.checksum())
    write_lines(text.folder / "train.de", german[1:])
    with pytest.raises(CorpusError, match=r"'rest\.by-whole': made with checksum"):
        BACK_TRANSLATED.open(made)


def test_monolingual_lines_of_dev_are_refused_with_their_number_before_anything_is_translated(
    made, german, tiny_corpus
):
    held_out = list(tiny_corpus.lines("dev", "de"))[:2]
    write_lines(made.more_corpora[1] / "rest" / "train.de", [*held_out, german[2]])
    with pytest.raises(CorpusError, match="text rest: has 2 de sentences of dev; remove them from the text"):
        BACK_TRANSLATED.open(made)
    assert not (made.data / "corpora").exists()


def test_copied_text_has_the_target_on_both_sides_and_no_dev_or_test(made, german):
    copied = CopiedCorpus(REST)
    corpus = copied.open(made)
    assert (copied.name, corpus.splits) == ("rest.copied-de", ("train",))
    assert list(corpus.pairs("train")) == [(line, line) for line in german]
    assert synthetic_language(corpus) == "en"
    write_lines(made.more_corpora[1] / "rest" / "train.de", german[1:])
    with pytest.raises(CorpusError, match=r"'rest\.copied-de': made with checksum"):
        copied.open(made)


def test_a_language_model_goes_on_from_the_pairs_alone_with_the_text_and_blank_sources():
    shared = {cell.run for cell in cells_of(MONOLINGUAL, "small")}
    cells = [cell for cell in cells_of(BY_LANGUAGE_MODEL, "small") if cell.seed == 1]
    assert [cell.column for cell in cells[:3]] == [PAIRS.name, LANGUAGE_MODEL, BACK]
    assert len(cells) == 9
    for alone, model, back in (cells[place : place + 3] for place in (0, 3, 6)):
        assert {alone.run, back.run} < shared
        assert [need.cell.run for need in model.needs] == [alone.run]
        assert model.corpus == back.more[0].whole
        assert model.recipe.corpus.blank_source
        assert model.recipe.transfer.parent == alone.run
        assert model.texts == alone.texts
        updates = {(one.recipe.training.validate_every, one.recipe.training.max_evaluations) for one in cells}
        assert len(updates) == 1
