"""The engine of `auto`: CTranslate2 where it finds what nmtlab finds, from a model that is converted once."""

import math
import sys
from itertools import islice

import pytest
from support.foreign_models import marian

from nmtlab.errors import NmtlabError
from nmtlab.interchange import conversion, served
from nmtlab.interchange.conversion import FOLDER, converted
from nmtlab.interchange.engine import choose_engine, open_fastest
from nmtlab.interchange.huggingface import import_model
from nmtlab.interchange.served import ServedSystem, open_served
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import save_tensors
from nmtlab.systems import open_model
from nmtlab.translation import Translation, Translator

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

CPU = MachineSettings(device="cpu")
GREEDY = SearchSettings(beam_size=1)


@pytest.fixture
def run(zoo, workspace) -> Run:
    """A copy of a run of a Transformer that has learned a little."""
    return zoo.copy("scale", workspace)


@pytest.fixture(scope="module")
def lines(tiny_corpus) -> list[str]:
    return [*islice(tiny_corpus.lines("test", "de"), 15), "", "zzz unbekannt"]


def kept(run: Run) -> list[str]:
    return sorted(path.name for path in (run.folder / FOLDER).glob("*"))


def assert_same(found: list[Translation], expected: list[Translation]) -> None:
    assert [one.texts for one in found] == [one.texts for one in expected]
    for one, other in zip(found, expected, strict=True):
        for theirs, ours in zip(one.hypotheses, other.hypotheses, strict=True):
            assert (theirs.tokens, theirs.finished) == (ours.tokens, ours.finished)
            assert (theirs.log_prob, theirs.score) == pytest.approx((ours.log_prob, ours.score), abs=1e-3)


# The conversion


def test_a_model_is_converted_once_and_anew_when_its_checkpoint_has_changed(run, lines):
    with converted(run, "fp32", GREEDY, "best") as folder:
        made = (folder / "model.bin").stat().st_mtime_ns
    with converted(run, "fp32", GREEDY, "best") as folder:
        assert (folder / "model.bin").stat().st_mtime_ns == made
    before = kept(run)
    weights, facts = run.checkpoints.weights()
    other = {name: tensor * 0.9 for name, tensor in weights.items()}
    save_tensors(run.checkpoints.path("best"), other, facts)
    assert_same(open_served(run, search=GREEDY).translate(lines), open_model(run, GREEDY).translate(lines))
    assert len(before) == len(kept(run)) == 1
    assert before != kept(run)


def test_checkpoints_shortlists_and_precisions_have_conversions_of_their_own(run):
    ways = (("fp32", GREEDY, "best"), ("fp32", GREEDY, "last"), ("int16", GREEDY, "best"))
    for way in ways:
        with converted(run, *way):
            pass
    assert len(kept(run)) == len(ways)
    first = kept(run)
    with converted(run, "fp32", GREEDY.model_copy(update={"shortlist": 5}), "best"):
        pass
    assert len(kept(run)) == len(ways) + 1
    assert first != kept(run)


def test_where_nothing_can_be_written_nothing_is_kept(run, lines, monkeypatch):
    monkeypatch.setattr(conversion, "can_write", lambda folder: False)
    assert_same(open_served(run, search=GREEDY).translate(lines), open_model(run, GREEDY).translate(lines))
    assert kept(run) == []


def test_a_damaged_conversion_is_named_with_what_to_do(run):
    with converted(run, "fp32", GREEDY, "best") as folder:
        (folder / "model.bin").write_bytes(b"nothing")
    with pytest.raises(NmtlabError, match=rf"{folder}: damaged .*; remove it; it is then made again"):
        open_served(run, search=GREEDY)


def test_a_model_that_cannot_be_converted_leaves_nothing(zoo, workspace):
    run = zoo.copy("planned", workspace)
    with (
        pytest.raises(NmtlabError, match=r"model\.plan_length = true: no such part in the other program"),
        converted(run, "fp32", GREEDY, "best"),
    ):
        pass
    assert kept(run) == []


# The same text


def test_translations_that_are_cut_off_are_the_same_with_the_same_scores(zoo, workspace, lines):
    """A batch has one limit of length; each translation must still end at that of its line."""
    run, search = zoo.copy("trained", workspace), SearchSettings(beam_size=1, extra_length=0)
    ours = open_model(run, search).translate(lines)
    limits = {len(one.hypotheses[0].tokens) for one in ours if one.hypotheses and not one.hypotheses[0].finished}
    assert len(limits) > 1
    assert_same(open_served(run, search=search).translate(lines), ours)


@pytest.mark.parametrize("changes", [{"shortlist": 6}, {"score": "word-reward", "gamma": 0.5}])
def test_the_settings_of_greedy_search_count_alike(run, lines, changes):
    search = GREEDY.model_copy(update=changes)
    assert_same(open_served(run, search=search).translate(lines), open_model(run, search).translate(lines))


def test_lines_that_have_too_many_tokens_for_the_model_are_translated_here(run, lines, monkeypatch):
    monkeypatch.setattr(served, "known_positions", lambda settings: GREEDY.extra_length + 7)
    lengths = [len(ids) - 1 for ids in run.pipeline.encode_source(lines)]
    long = [line for line, length in zip(lines, lengths, strict=True) if length >= 7]
    assert 0 < len(long) < len(lines) - 1
    given: list[str] = []
    translate = Translator.translate
    ours = open_model(run, GREEDY).translate(lines)

    def noted(self, those, *more, **named):
        given.extend(those)
        return translate(self, those, *more, **named)

    monkeypatch.setattr(Translator, "translate", noted)
    done: list[int] = []
    assert_same(open_served(run, search=GREEDY).translate(lines, on_progress=done.append), ours)
    assert given == long
    assert sum(done) == len(lines)


@pytest.mark.parametrize("open_it", [open_served, open_model], ids=["ctranslate2", "nmtlab"])
def test_without_scores_greedy_translations_are_the_same(run, lines, open_it):
    system = open_it(run, search=GREEDY)
    scored, unscored = system.translate(lines), system.translate(lines, scored=False)
    assert [one.texts for one in unscored] == [one.texts for one in scored]
    found = [(one.hypotheses, other.hypotheses) for one, other in zip(unscored, scored, strict=True)]
    assert [[h.tokens for h in one] for one, _ in found] == [[h.tokens for h in other] for _, other in found]
    assert all(math.isnan(h.log_prob) and math.isnan(h.score) for one, _ in found for h in one)
    beams = open_it(run, search=SearchSettings(beam_size=2))
    assert_same(beams.translate(lines, scored=False), beams.translate(lines))


def test_several_threads_find_the_same(run, lines):
    threads = MachineSettings(device="cpu", threads=2)
    assert_same(
        open_served(run, search=GREEDY, machine=threads).translate(lines), open_model(run, GREEDY).translate(lines)
    )


# The choice


def test_greedy_search_of_a_transformer_is_for_ctranslate2(run):
    assert choose_engine("auto", run, GREEDY, CPU, []).engine == "ctranslate2"
    assert str(choose_engine("auto", run, GREEDY, CPU, [])).startswith("engine: ctranslate2 (greedy search finds")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"beam_size": 4}, "a beam of 4 can find better translations than CTranslate2's"),
        ({"allow_empty": False}, "search.allow_empty = false: CTranslate2 gives other scores"),
        ({"coverage": 0.1}, "search.coverage: CTranslate2 does not search like that"),
        ({"replace_unknown": True}, "search.replace_unknown: CTranslate2 does not search like that"),
    ],
)
def test_another_search_stays_here_for_a_reason(run, changes, why):
    choice = choose_engine("auto", run, GREEDY.model_copy(update=changes), CPU, [])
    assert choice == ("nmtlab", why)


def test_what_else_is_asked_for_comes_first(run):
    assert choose_engine("auto", run, GREEDY, CPU, ["--with: one at a time"]) == ("nmtlab", "--with: one at a time")


def test_what_is_asked_for_by_name_is_taken_without_a_reason(run):
    for engine in ("nmtlab", "ctranslate2"):
        assert choose_engine(engine, run, SearchSettings(), CPU, []) == (engine, "")


def test_python_opens_the_engine_that_is_chosen_and_is_told_which(run, lines):
    system, engine = open_fastest(run, GREEDY, CPU)
    assert isinstance(system, ServedSystem)
    assert engine == choose_engine("auto", run, GREEDY, CPU, [])
    assert_same(system.translate(lines), open_model(run, GREEDY).translate(lines))
    system, engine = open_fastest(run, machine=CPU)
    assert isinstance(system, Translator)
    assert str(engine).startswith("engine: nmtlab (a beam of")


def test_a_planned_model_stays_here(zoo):
    choice = choose_engine("auto", zoo("planned"), GREEDY, CPU, [])
    assert choice == ("nmtlab", "run 'whole': model.plan_length = true: no such part in the other program")


def test_without_ctranslate2_all_stays_here(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert choose_engine("auto", run, GREEDY, CPU, []) == ("nmtlab", "ctranslate2 is not installed")


@pytest.mark.parametrize(("half", "engine"), [(False, "ctranslate2"), (True, "nmtlab")])
def test_an_imported_model_is_the_same_there_unless_it_computes_in_half_precision(
    tiny_corpus, workspace, lines, tmp_path, half, engine
):
    pytest.importorskip("transformers", reason="it makes the folder")
    marian(tmp_path / "opus", [list(tiny_corpus.lines("train", code)) for code in ("de", "en")])
    run = import_model(tmp_path / "opus", "opus", workspace, ["de"], ["en"], half=half)
    search = SearchSettings(beam_size=1, extra_length=5)
    assert choose_engine("auto", run, search, CPU, []).engine == engine
    if not half:
        assert_same(open_served(run, search=search).translate(lines), open_model(run, search).translate(lines))


def test_a_packed_run_keeps_its_conversion_among_its_notes(run, tmp_path):
    with converted(Run(run.folder, tmp_path / "notes"), "fp32", GREEDY, "best") as folder:
        assert folder.is_relative_to(tmp_path / "notes")
    assert kept(run) == []
