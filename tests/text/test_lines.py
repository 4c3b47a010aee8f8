import gzip
import lzma

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.lines import MAX_CHARACTERS, MAX_WORDS, new_folder, read_lines, write_lines, write_pairs

SUFFIXES = ["", ".gz", ".xz"]
LINES = st.lists(
    st.text(st.characters(exclude_characters="\n\0", codec="utf-8"), max_size=30).filter(
        lambda s: not s.endswith("\r")
    ),
    max_size=8,
)


def _problem(path):
    with pytest.raises(CorpusError) as caught:
        list(read_lines(path))
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert caught.value.remedy
    return message


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(lines=LINES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(tmp_path, suffix, lines):
    path = tmp_path / f"text{suffix}"
    assert write_lines(path, lines) == len(lines)
    assert list(read_lines(path)) == lines


def test_only_a_line_feed_ends_a_line(tmp_path):
    path = tmp_path / "text"
    line = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\rj"
    path.write_bytes(f"{line}\nnext\n".encode())
    assert list(read_lines(path)) == [line, "next"]


def test_a_carriage_return_before_the_line_feed_belongs_to_the_line_break(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"one\r\ntwo\r\r\n\r\nlast\r")
    assert list(read_lines(path)) == ["one", "two\r", "", "last\r"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_byte_order_mark_is_not_part_of_line_1(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    opened = {"": open, ".gz": gzip.open, ".xz": lzma.open}[suffix]
    with opened(path, "wb") as file:
        file.write("\ufeffA man.\r\n\ufeffA dog.\r\n".encode())
    assert list(read_lines(path)) == ["A man.", "\ufeffA dog."]


def test_a_line_1_that_begins_with_the_character_of_the_mark_is_read_back(tmp_path):
    write_lines(tmp_path / "text", ["\ufeffone", "\ufefftwo"])
    assert list(read_lines(tmp_path / "text")) == ["\ufeffone", "\ufefftwo"]


@pytest.mark.parametrize("content", [b"one\rtwo\r", b"one\rtwo", b"one\r", b"one word\r" * 700_000])
def test_a_file_of_carriage_returns_alone_is_refused_with_the_command_that_converts_it(tmp_path, content):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert _problem(path).endswith(r"carriage returns, without line feeds; convert it: tr '\r' '\n' < OLD > NEW")


@pytest.mark.parametrize(
    ("content", "lines"), [(b"", []), (b"\n", [""]), (b"a", ["a"]), (b"a\n", ["a"]), (b"\n a \n\n", ["", " a ", ""])]
)
def test_blank_lines_and_a_missing_last_line_break_are_kept_apart(tmp_path, content, lines):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert list(read_lines(path)) == lines


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_byte_that_is_not_utf_8_is_named_with_its_line(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    opened = {"": open, ".gz": gzip.open, ".xz": lzma.open}[suffix]
    with opened(path, "wb") as file:
        file.write("gut\nschlecht: \xfc\n".encode("latin-1"))
    lines = read_lines(path)
    assert next(lines) == "gut"
    with pytest.raises(CorpusError, match=r"line 2: not UTF-8 \(byte 11 of the line is 0xfc\); convert .* iconv"):
        next(lines)


def test_half_a_surrogate_pair_is_not_utf_8(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xed\xa0\x80\n")
    assert "line 1: not UTF-8" in _problem(path)


def test_a_nul_byte_is_named_with_its_line(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"one\ntw\0o\n")
    assert "line 2: a NUL byte" in _problem(path)


def test_utf_16_is_refused(tmp_path):
    path = tmp_path / "text"
    path.write_text("Text", encoding="utf-16-be")
    assert "line 1: a NUL byte" in _problem(path)
    assert "UTF-16" in _problem(path)


@pytest.mark.parametrize(("words", "fits"), [(MAX_WORDS, True), (MAX_WORDS + 1, False), (100_000, False)])
def test_a_line_of_too_many_words_is_an_error(tmp_path, words, fits):
    path = tmp_path / "text"
    path.write_text("short\n" + "a " * (words - 1) + "a\n")
    if fits:
        assert len(list(read_lines(path))[1].split()) == words
    else:
        assert f"line 2: {words:,} words, more than 10,000; put one sentence on each line" in _problem(path)


@pytest.mark.parametrize("letter", ["a", "语", "😀"])
@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_line_of_too_many_characters_is_an_error_whatever_their_bytes(tmp_path, letter, ending):
    path = tmp_path / "text"
    path.write_bytes((letter * MAX_CHARACTERS + ending).encode())
    assert [len(line) for line in read_lines(path)] == [MAX_CHARACTERS]
    path.write_bytes((letter * (MAX_CHARACTERS + 1) + ending).encode())
    assert "line 1: more than 1,000,000 characters" in _problem(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize("damage", ["cut", "changed", "no archive"])
def test_a_damaged_compressed_file_is_an_error(tmp_path, suffix, damage):
    path = tmp_path / f"text{suffix}"
    write_lines(path, [f"line {number * 7919 % 1000}" for number in range(1000)])
    packed = bytearray(path.read_bytes())
    if damage == "cut":
        packed = packed[: len(packed) // 2]
    elif damage == "changed":
        packed[len(packed) // 2] ^= 255
    else:
        packed = b"plain text, in fact\n"
    path.write_bytes(packed)
    assert "damaged" in _problem(path)


def test_a_missing_file_and_a_folder_are_errors(tmp_path):
    assert "not found; check the name" in _problem(tmp_path / "text")
    assert "cannot be read (Is a directory)" in _problem(tmp_path)


def test_an_error_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "text.gz"
    write_lines(path, ["old"])

    def failing():
        yield "new"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_lines(path, failing())
    assert list(read_lines(path)) == ["old"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("line", ["two\nlines", "end\r", "n\0l"])
def test_a_line_that_would_not_come_back_is_not_written(tmp_path, line):
    with pytest.raises(CorpusError, match="line 2: contains a line break or NUL; replace it"):
        write_lines(tmp_path / "text", ["good", line])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_the_same_lines_give_the_same_compressed_bytes(tmp_path, suffix):
    one, other = tmp_path / f"one{suffix}", tmp_path / f"other{suffix}"
    write_lines(one, ["a", "b"])
    write_lines(other, ["a", "b"])
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes() != b"a\nb\n"


def test_pairs_are_written_to_two_files_line_by_line(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other.xz"
    assert write_pairs(one, other, iter([("a", "1"), ("", "2")])) == 2
    assert (list(read_lines(one)), list(read_lines(other))) == (["a", ""], ["1", "2"])


def test_a_new_folder_appears_when_it_is_whole(tmp_path):
    folder = tmp_path / "more" / "new"
    with new_folder(folder) as temporary:
        (temporary / "file").write_text("x")
        assert not folder.exists()
    assert (folder / "file").read_text() == "x"
    assert list(folder.parent.iterdir()) == [folder]


def test_a_new_folder_that_fails_leaves_nothing(tmp_path):
    def interrupted():
        with new_folder(tmp_path / "new") as temporary:
            (temporary / "file").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_does_not_replace_an_old_one(tmp_path):
    with pytest.raises(CorpusError, match="already exists; choose another name"), new_folder(tmp_path):
        pass


def test_a_new_folder_does_not_replace_one_that_another_process_made_meanwhile(tmp_path):
    folder = tmp_path / "new"

    def overtaken():
        with new_folder(folder) as temporary:
            (temporary / "file").write_text("late")
            folder.mkdir()
            (folder / "file").write_text("first")

    with pytest.raises(CorpusError, match="already exists; choose another name"):
        overtaken()
    assert (folder / "file").read_text() == "first"
    assert list(tmp_path.iterdir()) == [folder]
