"""A lock is held by one process, and checking it blocks no other."""

import threading

from nmtlab.locks import is_locked, lock


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
