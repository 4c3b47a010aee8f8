"""Files and folders are written atomically, and to the path that the user names."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nmtlab.files import replacing, temporary_folder, write_text, writing
from nmtlab.text.corpora.lines import new_folder, write_lines

FULL = Path("/dev/full")

KILLED = """
import sys, time
from pathlib import Path
from nmtlab.files import replacing
from nmtlab.text.corpora.lines import new_folder
folder = Path(sys.argv[1])
with replacing(folder / "weights") as file, new_folder(folder / "corpus") as inside:
    file.write_text("half")
    (inside / "train.en").write_text("half")
    print("writing", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    """A process in the middle of writing a file and a folder."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.wait()


def written_long_ago(folder: Path) -> set[Path]:
    """Backdate everything in a folder by an hour, and return it."""
    before = time.time() - 3600
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (before, before))
    return set(folder.iterdir())


def test_a_link_that_a_person_names_stays_and_where_it_leads_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    link, file = tmp_path / "link", tmp_path / "there" / "file"
    for text in ("new", "newer"):  # at first the file does not exist
        link.unlink(missing_ok=True)
        link.symlink_to(file)
        assert write_lines(link, [text]) == 1
        assert link.is_symlink()
        assert file.read_text() == f"{text}\n"
    assert list((tmp_path / "there").iterdir()) == [file]


def test_a_link_in_a_folder_of_ours_is_replaced_for_it_may_lead_anywhere(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("of somebody")
    link.symlink_to(file)
    write_text(link, "new")
    assert not link.is_symlink()
    assert (file.read_text(), link.read_text()) == ("of somebody", "new")


def test_a_pipe_is_written_in_place(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_lines(pipe, ["one", "two"])
    reader.join(10)
    assert read == ["one\ntwo\n"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not FULL.is_char_device(), reason="there is no device that is always full")
def test_a_device_is_written_in_place_through_a_link_too_and_a_full_one_is_named(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(FULL)
    with pytest.raises(OSError, match="No space left") as caught:
        write_lines(link, ["line"])
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(link))
    link.unlink()
    link.symlink_to(os.devnull)
    with writing(link) as place:
        place.write_text("nothing is kept of this")
    assert FULL.is_char_device()
    assert Path(os.devnull).is_char_device()


def test_an_error_names_what_was_to_be_written_and_not_the_temporary_file(tmp_path):
    with pytest.raises(OSError, match="name too long") as caught, replacing(tmp_path / ("x" * 300)):
        pass
    assert caught.value.filename == str(tmp_path / ("x" * 300))
    with pytest.raises(IsADirectoryError) as caught, writing(tmp_path) as place:
        place.write_text("x")
    assert caught.value.filename == str(tmp_path)


def test_what_a_killed_process_was_writing_is_removed_by_the_next_write_there(tmp_path, writer):
    assert len(written_long_ago(tmp_path)) == 2
    write_text(tmp_path / "other", "")
    assert len(written_long_ago(tmp_path)) == 3  # the process is still writing
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    with temporary_folder(tmp_path / "next"):
        assert len(list(tmp_path.iterdir())) == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "other"]


def test_what_was_written_a_moment_ago_or_is_nobodys_temporary_file_stays(tmp_path, writer):
    mine = {tmp_path / ".mine.0123456789abcdef", tmp_path / "mine.0123456789abcdef.nmtlab"}
    for path in mine:
        path.write_text("mine")
    left = written_long_ago(tmp_path) - mine
    (folder,) = (path for path in left if path.is_dir())
    (folder / "corpus" / "dev.en").write_text(
        "new"
    )  # by another machine on a shared disk, whose locks are invisible here
    writer.kill()
    writer.wait()
    with new_folder(tmp_path / "next"):
        pass
    assert set(tmp_path.iterdir()) == mine | {folder, tmp_path / "next"}
