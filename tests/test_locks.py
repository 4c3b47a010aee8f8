"""A lock is held by one process, and checking it blocks no other."""

import errno
import os
import threading

import pytest
from portalocker import portalocker

from nmtlab import locks
from nmtlab.files import write_text
from nmtlab.jobs import Job
from nmtlab.locks import is_locked, lock, try_lock
from nmtlab.runs.answers import growing
from nmtlab.runs.listing import remove_run
from nmtlab.training.setup import train


def test_it_is_held_until_its_file_is_closed(tmp_path):
    assert not is_locked(tmp_path / "lock")
    with lock(tmp_path / "lock"):
        assert is_locked(tmp_path / "lock")
        assert lock(tmp_path / "lock") is None
    assert not is_locked(tmp_path / "lock")
    with lock(tmp_path / "lock") as again:
        assert again is not None


def test_two_who_look_see_the_same(tmp_path):
    import fcntl

    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert not is_locked(tmp_path / "lock")


def test_those_who_only_look_do_not_keep_anyone_from_locking(tmp_path):
    import fcntl

    (tmp_path / "lock").touch()
    looking = (tmp_path / "lock").open()
    fcntl.flock(looking, fcntl.LOCK_SH)
    threading.Timer(0.2, looking.close).start()
    with lock(tmp_path / "lock") as held:
        assert held is not None


@pytest.fixture(params=[errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS], ids=errno.errorcode.get)
def disk_without_locks(request, monkeypatch):
    """A file system that refuses every lock, as some network disks do."""

    def flock(file, flags):
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(portalocker, "LOCKER", flock)
    locks._warn.cache_clear()


@pytest.mark.usefixtures("disk_without_locks")
def test_without_locks_work_goes_on_after_one_warning_and_nothing_counts_as_held(tmp_path, recwarn):
    with lock(tmp_path / "lock") as one, lock(tmp_path / "lock") as two:
        assert one is not None
        assert two is not None
        assert not is_locked(tmp_path / "lock")
        assert not try_lock(one.fileno())
    assert [str(one.message).partition(" (")[0] for one in recwarn] == ["this disk has no file locks"]


@pytest.mark.usefixtures("disk_without_locks")
def test_without_locks_a_run_is_trained_resumed_measured_and_removed(tiny_corpus, tiny_recipe, workspace):
    short = tiny_recipe.with_changes({"training.max_evaluations": 1})
    assert train("new", short, tiny_corpus, workspace, should_stop=lambda: True).status == "stopped"
    assert train("new", short, tiny_corpus, workspace, resume=True).status == "finished"
    with growing(workspace.runs / "new" / "measures" / "answer.jsonl") as rows:
        assert rows == []
    remove_run(workspace.runs / "new")
    assert not (workspace.runs / "new").exists()


@pytest.mark.usefixtures("disk_without_locks")
def test_without_locks_a_job_is_alive_for_the_process_that_started_it(tmp_path):
    job = Job.start(tmp_path / "job", ["sleep", "600"])
    assert job.alive
    assert not Job.open(job.folder).alive
    job.kill()
    job._process.wait()
    assert not job.alive


@pytest.mark.usefixtures("disk_without_locks")
def test_without_locks_a_temporary_file_that_may_be_in_use_is_kept(tmp_path):
    left = tmp_path / f".a.{'0' * 16}.nmtlab"
    left.touch()
    os.utime(left, (0, 0))
    write_text(tmp_path / "b", "text")
    assert left.exists()
