"""A stored answer is read back unchanged, or as an error that names its file."""

import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.full_disk import files_of_at_most

from nmtlab.errors import RunError
from nmtlab.recipe.migrate import SCHEMA
from nmtlab.runs.answers import AnswerKey, StoredAnswer, growing, store_answer, stored_answers
from nmtlab.runs.log import append_lines

QUESTION = AnswerKey("norms.word_norms", {"split": "dev", "sizes": [1, 2]}, 60, about={"corpus": "tiny"})
FRAME = pd.DataFrame({"word": ["a", "ä\n", ""], "norm": [0.1, np.nan, -1e300], "rank": [1, 2, 3], "on": [True] * 3})


@pytest.fixture
def stored(tmp_path) -> StoredAnswer:
    return store_answer(tmp_path / "run", QUESTION, FRAME)


def problem(do, *arguments) -> str:
    with pytest.raises(RunError) as caught:
        do(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_answer_comes_back_with_its_question(stored, tmp_path):
    pd.testing.assert_frame_equal(stored.frame(), FRAME)
    (found,) = stored_answers(tmp_path / "run")
    assert found == stored
    assert found.question.about == {"corpus": "tiny"}
    assert os.listdir(tmp_path / "run/measures") == [stored.path.name]
    assert stored.path.name.startswith("norms.word_norms-")


def test_another_tool_reads_answer_and_question(stored):
    table = pq.read_table(stored.path)
    assert table["word"].to_pylist() == FRAME["word"].tolist()
    assert json.loads(table.schema.metadata[b"nmtlab"]) == {
        "schema": SCHEMA,
        "analysis": "norms.word_norms",
        "version": 1,
        "weights": None,
        "arguments": {"split": "dev", "sizes": [1, 2]},
        "checkpoint": 60,
        "about": {"corpus": "tiny"},
    }


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame({"score": []}),
        pd.DataFrame({"bleu": [1.0, 2.0]}, index=pd.Index(["dev", "test"], name="split")),
        pd.DataFrame({"tokens": [["a", "b"], []]}),
    ],
    ids=["nothing", "no rows", "named rows", "lists"],
)
def test_tables_of_other_forms_come_back_too(frame, tmp_path):
    found = store_answer(tmp_path, QUESTION, frame).frame()
    assert found.columns.equals(frame.columns)
    assert found.index.equals(frame.index)
    assert found.map(list).equals(frame.map(list)) if "tokens" in frame else found.equals(frame)


def test_the_question_decides_where_the_answer_is_and_its_labels_do_not(tmp_path):
    path = QUESTION.path(tmp_path)
    same = AnswerKey(QUESTION.analysis, {"sizes": [1, 2], "split": "dev"}, 60, about={"corpus": "renamed"})
    assert same.path(tmp_path) == path
    others = [
        AnswerKey("norms.norm_bins", QUESTION.arguments, 60),
        AnswerKey(QUESTION.analysis, {"split": "dev", "sizes": [2, 1]}, 60),
        AnswerKey(QUESTION.analysis, {"split": "dev"}, 60),
        AnswerKey(QUESTION.analysis, QUESTION.arguments, 61),
        AnswerKey(QUESTION.analysis, QUESTION.arguments, None),
        AnswerKey(QUESTION.analysis, QUESTION.arguments, 60, weights="a1"),
        AnswerKey(QUESTION.analysis, QUESTION.arguments, 60, version=2),
    ]
    assert len({path, *(other.path(tmp_path) for other in others)}) == 1 + len(others)


def test_storing_again_replaces_the_answer(stored, tmp_path):
    store_answer(tmp_path / "run", QUESTION, FRAME[:1])
    pd.testing.assert_frame_equal(stored.frame(), FRAME[:1])


def test_without_a_folder_of_answers_there_are_none(tmp_path):
    assert stored_answers(tmp_path) == []


# Damage


def test_a_truncated_answer_is_named(stored, tmp_path):
    content = stored.path.read_bytes()
    for size in range(0, len(content), 97):
        stored.path.write_bytes(content[:size])
        for read in (stored.frame, lambda: stored_answers(tmp_path / "run")):
            assert problem(read).startswith(f"{stored.path}: damaged or truncated (")


def test_values_with_a_flipped_bit_are_not_taken_for_the_answer(stored):
    content = stored.path.read_bytes()
    # Pages come first; what follows describes them and is read by pyarrow, which checks it.
    pages = pq.read_metadata(stored.path).row_group(0).total_byte_size
    refused = []
    for place in range(4, pages, 11):
        stored.path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        try:
            pd.testing.assert_frame_equal(stored.frame(), FRAME)
        except RunError as error:
            refused.append(str(error))
    assert len(refused) > 5
    assert all(message.startswith(f"{stored.path}: damaged") for message in refused)


def test_a_table_that_is_no_answer_or_that_of_another_question_is_named(stored, tmp_path):
    foreign = stored.path.with_name("mine.parquet")
    pq.write_table(pa.table({"a": [1]}), foreign)
    assert problem(stored_answers, tmp_path / "run").startswith(f"{foreign}: damaged or truncated (")
    stored.path.rename(foreign)
    assert problem(stored_answers, tmp_path / "run").startswith(f"{foreign}: damaged or truncated (")


def test_on_a_full_disk_the_answer_before_is_kept(stored, tmp_path):
    with files_of_at_most(100):
        message = problem(store_answer, tmp_path / "run", QUESTION, FRAME[:1])
    assert message.startswith(f"{stored.path}: could not be written (")
    assert message.endswith("; free some space and measure again")
    pd.testing.assert_frame_equal(stored.frame(), FRAME)
    assert os.listdir(stored.path.parent) == [stored.path.name]


# Answers in progress


def test_rows_come_back_sentence_by_sentence_without_the_line_that_was_cut_off(tmp_path):
    log = tmp_path / "measures" / "long.jsonl"
    rows = [[{"score": 0.1 + 0.2, "text": "a\u2028b"}], [], [{"score": None}, {"score": float("inf")}]]
    with growing(log) as sentences:
        assert sentences == []
        append_lines(log, ({"rows": row} for row in rows))
    content = log.read_bytes()
    for cut in range(1, 20):
        log.write_bytes(content[:-cut])
        with growing(log) as sentences:
            assert sentences == rows[:2]
            append_lines(log, [{"rows": rows[2]}])
        assert log.read_bytes() == content


@pytest.mark.parametrize("line", [b"{", b"[]", b"{}", b"1", b"\xff"])
def test_a_damaged_line_of_a_growing_answer_is_named(tmp_path, line):
    log = tmp_path / "long.jsonl"
    log.write_bytes(b'{"rows": []}\n' + line + b'\n{"rows": []}\n')

    def read() -> None:
        with growing(log):
            pass

    message = problem(read)
    assert message.startswith(f"{log}: damaged or truncated (")
    assert message.endswith("); remove that file; measuring then starts again at the first sentence")


def test_an_answer_is_grown_by_one_at_a_time(tmp_path):
    log = tmp_path / "long.jsonl"

    def read() -> list:
        with growing(log) as sentences:
            return sentences

    with growing(log):
        assert problem(read) == f"{log}: another process is measuring this; wait for it to end"
    assert read() == []
