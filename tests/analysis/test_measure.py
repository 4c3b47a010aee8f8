"""A question is asked once; another question, another model or another text is asked anew."""

import hashlib
import inspect
import itertools
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.packed import packed_folders

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.declared import declared_analyses
from nmtlab.analysis.lexical.embedding_norms import WORD_NORMS
from nmtlab.errors import RunError
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.answers import AnswerKey, store_answer
from nmtlab.runs.pack import pack
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter
from nmtlab.text.corpora.corpus import ParallelCorpus

CALLS: list[str] = []


@pytest.fixture
def run(trained, tmp_path) -> Run:
    CALLS.clear()
    return Run(shutil.copytree(trained[0].folder, tmp_path / "run"))


@pytest.fixture
def packed(run, tmp_path) -> Run:
    return Run(pack(run, tmp_path / "packed"))


def lengths(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "dev",
    search: SearchSettings | None = None,
    sizes: tuple[int, ...] = (1, 2),
    scale: float = 1.0,
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda lines: None,
) -> pd.DataFrame:
    """Return lengths of sentences; what it is called with is written down."""
    CALLS.append(split)
    lines = list(corpus.lines(split, corpus.source))
    return pd.DataFrame({"line": range(len(lines)), "length": [scale * len(line.split()) for line in lines]})


LENGTHS = Analysis("?", lengths, version=1)


def pairs_of(run: Run, corpus: ParallelCorpus) -> pd.DataFrame:
    CALLS.append("all")
    return pd.DataFrame({"split": corpus.splits, "pairs": [corpus.count(split) for split in corpus.splits]})


PAIRS_OF = Analysis("?", pairs_of, version=1)


def first_weight(run: Run) -> pd.DataFrame:
    CALLS.append("weights")
    tensors, _ = run.checkpoints.weights()
    return pd.DataFrame({"value": [tensors[min(tensors)].flatten()[0].item()]})


FIRST_WEIGHT = Analysis("?", first_weight, version=1)


def second_weight(run: Run) -> pd.DataFrame:
    return first_weight(run)


SECOND_WEIGHT = Analysis("?", second_weight, version=1)


def failing(run: Run) -> pd.DataFrame:
    CALLS.append("failed")
    raise ZeroDivisionError


FAILING = Analysis("?", failing, version=1)


def changed_corpus(
    corpus: ParallelCorpus, folder: Path, file: str = "", old: str = "", new: str = ""
) -> ParallelCorpus:
    copied = ParallelCorpus(Path(shutil.copytree(corpus.folder, folder)), corpus.source, corpus.target)
    if file:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    return copied


# Asked once


def test_an_answer_is_computed_once_and_is_the_same_the_second_time(run, tiny_corpus):
    first = LENGTHS.of(run, corpus=tiny_corpus, split="dev")
    assert first["length"].tolist() == [len(line.split()) for line in tiny_corpus.lines("dev", "de")]
    pd.testing.assert_frame_equal(LENGTHS.of(Run(run.folder), corpus=tiny_corpus, split="dev"), first)
    assert CALLS == ["dev"]


def test_what_does_not_change_an_answer_does_not_ask_anew(run, tiny_corpus, tmp_path):
    search = SearchSettings()
    LENGTHS.of(run, corpus=tiny_corpus, search=search)
    same = [
        {"split": "dev"},
        {"sizes": [1, 2], "scale": 1.0},
        {"machine": MachineSettings(threads=1)},
        {"on_progress": CALLS.append},
        {"search": search.model_copy(update={"batch_tokens": 7})},
        {"corpus": changed_corpus(tiny_corpus, tmp_path / "renamed")},
        {"corpus": changed_corpus(tiny_corpus, tmp_path / "other-train", "train.de", "hund", "katze")},
    ]
    for arguments in same:
        LENGTHS.of(run, **{"corpus": tiny_corpus, "search": search, **arguments})
    assert CALLS == ["dev"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"split": "test"},
        {"sizes": (2, 1)},
        {"scale": 2.0},
        {"search": SearchSettings()},
        {"search": SearchSettings(beam_size=9)},
    ],
)
def test_other_arguments_are_another_question(run, tiny_corpus, arguments):
    first = LENGTHS.of(run, corpus=tiny_corpus, search=SearchSettings(beam_size=3))
    second = LENGTHS.of(run, **{"corpus": tiny_corpus, "search": SearchSettings(beam_size=3), **arguments})
    assert len(CALLS) == 2
    assert second.equals(lengths(run, tiny_corpus, **arguments))
    assert LENGTHS.of(run, corpus=tiny_corpus, search=SearchSettings(beam_size=3)).equals(first)


@pytest.mark.parametrize("file", ["dev.de", "dev.en"])
def test_another_text_is_another_question(run, tiny_corpus, tmp_path, file):
    LENGTHS.of(run, corpus=tiny_corpus)
    language = file.partition(".")[2]
    word = next(tiny_corpus.lines("dev", language)).split()[0]
    LENGTHS.of(run, corpus=changed_corpus(tiny_corpus, tmp_path / "changed", file, word, "xyz"))
    assert len(CALLS) == 2


def test_another_reference_or_direction_is_another_question(run, tiny_corpus, tmp_path):
    LENGTHS.of(run, corpus=tiny_corpus)
    more = changed_corpus(tiny_corpus, tmp_path / "more")
    shutil.copy(more.folder / "dev.en", more.folder / "dev.en.1")
    LENGTHS.of(run, corpus=more)
    LENGTHS.of(run, corpus=ParallelCorpus(tiny_corpus.folder, "en", "de"))
    assert len(CALLS) == 3


def test_without_a_split_all_of_the_corpus_counts(run, tiny_corpus, tmp_path):
    expected = [tiny_corpus.count(split) for split in ("train", "dev", "test")]
    for _ in range(2):
        assert PAIRS_OF.of(run, corpus=tiny_corpus)["pairs"].tolist() == expected
    PAIRS_OF.of(run, corpus=changed_corpus(tiny_corpus, tmp_path / "changed", "train.de", "hund", "katze"))
    assert CALLS == ["all", "all"]


def test_a_better_checkpoint_is_asked_anew_and_the_old_answer_is_not_given(run):
    weights, facts = run.checkpoints.weights()
    before = FIRST_WEIGHT.of(run)["value"][0]
    RunWriter(run).save_best(
        {name: tensor + 1 for name, tensor in weights.items()}, {**facts, "step": facts["step"] + 1}
    )
    assert FIRST_WEIGHT.of(run)["value"][0] == pytest.approx(before + 1)
    RunWriter(run).save_best(weights, facts)
    assert FIRST_WEIGHT.of(run)["value"][0] == before
    assert len(CALLS) == 2
    assert len(FIRST_WEIGHT.answers(run)) == 1


def test_an_analysis_that_fails_stores_nothing(run):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            FAILING.of(run)
    assert CALLS == ["failed", "failed"]
    assert not (run.folder / "measures").exists()


@pytest.mark.parametrize(
    ("analysis", "arguments", "message"),
    [
        (Analysis("?", lambda run: pd.DataFrame(), version=1), {}, "computed by a module-level function"),
        (LENGTHS, {"corpus": "tiny", "scale": Path("x")}, r"argument scale: .* depend on a PosixPath"),
        (LENGTHS, {"corpus": "tiny", "sizes": ({1},)}, r"argument sizes: .* depend on a set"),
        (LENGTHS, {}, "corpus"),
        (FAILING, {"corpus": "tiny"}, "corpus"),
    ],
)
def test_a_question_that_cannot_be_told_from_others_is_an_error_of_the_program(run, analysis, arguments, message):
    with pytest.raises(TypeError, match=message):
        analysis.of(run, **arguments)
    assert CALLS == []


def test_a_damaged_answer_is_named_and_asked_anew_once_it_is_removed(run, tiny_corpus):
    first = LENGTHS.of(run, corpus=tiny_corpus)
    (path,) = (run.folder / "measures").iterdir()
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(RunError) as caught:
        LENGTHS.of(run, corpus=tiny_corpus)
    assert str(caught.value).startswith(f"{path}: damaged or truncated (")
    path.unlink()
    pd.testing.assert_frame_equal(LENGTHS.of(run, corpus=tiny_corpus), first)


# Answers that are found again


def test_stored_answers_are_listed_with_arguments_that_can_be_read(run, tiny_corpus):
    LENGTHS.of(run, corpus=tiny_corpus, split="test", search=SearchSettings(beam_size=3), scale=2.0)
    PAIRS_OF.of(run, corpus=tiny_corpus)
    (found,) = LENGTHS.answers(run)
    assert found.question.arguments["split"] == "test"
    assert found.question.arguments["scale"] == 2.0
    assert found.question.arguments["sizes"] == [1, 2]
    assert found.question.arguments["search"]["beam_size"] == 3
    assert found.question.arguments["corpus"]["languages"] == "de-en"
    assert found.question.about["corpus"] == "tiny"
    assert len(found.frame()) == tiny_corpus.count("test")


def test_an_analysis_of_nmtlab_has_a_short_name(run):
    WORD_NORMS.of(run)
    assert [measured.question.analysis for measured in WORD_NORMS.answers(run)] == ["norms.word_norms"]


# Versions


def test_a_corrected_formula_is_asked_anew_and_its_old_numbers_are_not_given(run, tiny_corpus):
    LENGTHS.of(run, corpus=tiny_corpus)
    corrected = replace(LENGTHS, version=2)
    assert corrected.answers(run) == []
    for _ in range(2):
        corrected.of(run, corpus=tiny_corpus)
    assert CALLS == ["dev", "dev"]
    LENGTHS.of(run, corpus=tiny_corpus)
    assert CALLS == ["dev", "dev"]


def answer_of_version_0_1(run: Run, corpus: ParallelCorpus, search: dict) -> pd.DataFrame:
    """Store an answer as version 0.1 did: every argument in full, the weights by their step, no schema."""
    measured = LENGTHS.of(run, corpus=corpus)
    (path,) = (run.folder / "measures").iterdir()
    text = LENGTHS.answers(run)[0].question.arguments["corpus"]
    arguments = {"corpus": text, "split": "dev", "search": search, "sizes": [1, 2], "scale": 1.0}
    question = {"analysis": "test_measure.lengths", "arguments": arguments, "checkpoint": run.checkpoints.best_step}
    key = hashlib.sha256(json.dumps([*question.values()], sort_keys=True).encode()).hexdigest()[:12]
    table = pq.read_table(path)
    path.unlink()
    table = table.replace_schema_metadata({**table.schema.metadata, b"nmtlab": json.dumps({**question, "about": {}})})
    pq.write_table(table, path.with_name(f"test_measure.lengths-{key}.parquet"))
    CALLS.clear()
    return measured


def test_an_answer_of_version_0_1_is_found_under_the_names_of_today(run, tiny_corpus):
    search = {
        "beam_size": 3, "score": "log-prob", "alpha": 0.6, "gamma": 0.0, "coverage": 0.0, "extra_length": 50,
        "replace_unknown": False, "allow_empty": True, "lengths": 2,
    }  # fmt: skip
    expected = answer_of_version_0_1(run, tiny_corpus, search)
    asked = SearchSettings(beam_size=3, score="log-prob", length_candidates=2)
    pd.testing.assert_frame_equal(LENGTHS.of(run, corpus=tiny_corpus, search=asked), expected)
    assert CALLS == []
    (found,) = LENGTHS.answers(run)
    assert (found.question.weights, found.question.version) == (None, 1)
    assert SearchSettings(**found.question.arguments["search"]) == asked
    LENGTHS.of(run, corpus=tiny_corpus, search=asked.model_copy(update={"length_candidates": 5}))
    assert CALLS == ["dev"]


@pytest.mark.full
@pytest.mark.parametrize("packed", packed_folders(), ids=str)
def test_every_answer_of_a_packed_run_is_found(packed):
    known = {analysis.key: analysis for analysis in declared_analyses() if analysis.version}
    run = Run(packed)
    ways = itertools.product(run.pipeline.source.languages, run.pipeline.target.languages)
    views = {view.direction: view for view in (run.directed(*way) for way in ways if way[0] != way[1])}
    found = [answer for view in views.values() for analysis in known.values() for answer in analysis.answers(view)]
    assert sorted(answer.path for answer in found) == sorted((packed / "measures").glob("*.parquet"))
    for answer in found:
        asked = inspect.signature(known[answer.question.analysis].compute).parameters
        defaults = {name: p.default for name, p in asked.items() if p.default is not p.empty}
        assert "beam_size" in (answer.question.arguments.get("search") or {"beam_size": "the recipe's"})
        required = {name for name in defaults if name not in ("run", "child", *NO_PART)}
        assert set(answer.question.arguments) >= required


NO_PART = ("on_progress", "machine")


def test_old_answers_of_the_weights_that_are_here_come_after_those_of_the_original_ones(run, tmp_path):
    packed = pack(run, tmp_path / "packed", weights=True)
    noted = json.loads((packed / "packed.json").read_text())
    (packed / "packed.json").write_text(json.dumps({key: noted[key] for key in ("nmtlab", "best_step")}))
    reopened = Run(packed, tmp_path / "notes")
    for folder, value in ((reopened.notes.folder, 2.0), (reopened.folder, 1.0)):
        question = AnswerKey("test_measure.first_weight", {}, reopened.checkpoints.best_step)
        store_answer(folder, question, pd.DataFrame({"value": [value]}))
    assert [answer.frame()["value"][0] for answer in reopened.notes.answers()] == [1.0, 2.0]
    assert FIRST_WEIGHT.of(reopened)["value"][0] == 1.0


def test_without_a_text_the_answer_is_the_stored_one_about_whatever_text(run, tiny_corpus):
    with pytest.raises(RunError, match=r"has no stored answer of lengths; name texts"):
        LENGTHS.among([run])
    longer = LENGTHS.of(run, corpus=tiny_corpus, split="test", scale=2.0)
    assert LENGTHS.any_stored(run) is None
    assert LENGTHS.any_stored(run, scale=2.0).equals(longer)
    asked = LENGTHS.of(run, corpus=tiny_corpus, split="test")
    assert LENGTHS.among([run]).drop(columns="run").equals(asked)
    assert LENGTHS.any_stored(run, corpus=tiny_corpus) is None
    assert LENGTHS.any_stored(run, split="dev") is None
    assert LENGTHS.any_stored(run, corpus=tiny_corpus, split="test").equals(asked)


# Packed


def test_a_pack_keeps_the_digest_of_its_original_weights(run, tmp_path):
    expected = FIRST_WEIGHT.of(run)
    packed = Run(pack(run, tmp_path / "packed", weights=True))
    assert (packed.checkpoints.original_digest, len(run.checkpoints.digest)) == (run.checkpoints.digest, 64)
    assert packed.checkpoints.digest != packed.checkpoints.original_digest
    pd.testing.assert_frame_equal(FIRST_WEIGHT.of(packed), expected)
    assert SECOND_WEIGHT.of(packed)["value"][0] == pytest.approx(expected["value"][0], rel=1e-3)
    assert [answer.question.weights for answer in packed.notes.answers()] == [
        packed.checkpoints.original_digest,
        packed.checkpoints.digest,
    ]
    again = Run(pack(packed, tmp_path / "again"))
    assert again.checkpoints.original_digest == run.checkpoints.digest
    assert f"from the original weights, digest {run.checkpoints.digest[:12]}" in again.origin.limitations


def test_a_packed_run_gives_the_answers_it_came_with(run, tiny_corpus, tmp_path):
    expected = FIRST_WEIGHT.of(run)
    again = Run(pack(run, tmp_path / "again"))
    assert not again.checkpoints.has_weights()
    pd.testing.assert_frame_equal(FIRST_WEIGHT.of(again), expected)
    assert CALLS == ["weights"]


def test_a_packed_run_says_what_is_missing_and_what_it_can_answer(run, packed, tmp_path):
    with pytest.raises(RunError) as caught:
        FIRST_WEIGHT.of(packed)
    assert str(caught.value) == (
        "run 'packed': packed without its model, it can neither translate nor answer new questions; it has its logs, "
        "its vocabulary and no stored answers; use these, or train its recipe again"
    )
    WORD_NORMS.of(run)
    FIRST_WEIGHT.of(run)
    some = Run(pack(run, tmp_path / "some"))
    with pytest.raises(RunError, match=r"and stored answers \(first weight, word norms\) from the original"):
        SECOND_WEIGHT.of(some)


def test_what_needs_no_model_can_be_asked_of_a_packed_run(packed, tiny_corpus):
    for _ in range(2):
        assert len(LENGTHS.of(packed, corpus=tiny_corpus)) == tiny_corpus.count("dev")
    assert CALLS == ["dev"]


# Where nothing can be written


@pytest.fixture
def read_only(run) -> Run:
    """A run whose folder takes no new files, as on a disk that may only be read."""
    (run.folder / "measures").write_text("in the way", encoding="utf-8")
    return run


def test_an_answer_that_cannot_be_stored_is_given_all_the_same(read_only, run, tiny_corpus):
    first, second = (LENGTHS.of(read_only, corpus=tiny_corpus) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert len(CALLS) == 2
    assert os.listdir(run.folder).count("measures") == 1
