"""Long work, step by step: its progress is seen, it is stopped, and others get their turn meanwhile."""

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nmtlab.dashboards.frame.saved import saved_page
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import NmtlabError


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def work(told) -> Work:
    @contextmanager
    def guarded() -> Iterator[None]:
        try:
            yield
        except NmtlabError as error:
            told.append(str(error))

    return Work(guarded)


def counting(done: list[int], steps: int, seconds: float = 0.0) -> Iterator[None]:
    for step in range(steps):
        time.sleep(seconds)
        done.append(step)
        yield


def bar(work: Work) -> tuple[int, int]:
    return work._bar.value, work._bar.max


def hidden(work: Work) -> bool:
    return work.layout.display == "none"


async def until(condition) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came")


def test_without_a_loop_all_is_done_at_once(work):
    done: list[int] = []
    work.start("counting", 5, counting(done, 5, 0.05))
    assert done == [0, 1, 2, 3, 4]
    assert bar(work) == (5, 5)
    assert hidden(work)


def test_short_work_is_done_before_anyone_sees_it(work):
    async def main() -> None:
        done: list[int] = []
        work.start("counting", 5, counting(done, 5))
        assert len(done) == 5
        assert hidden(work)

    asyncio.run(main())


def test_long_work_goes_on_behind_and_lets_others_in(work):
    async def main() -> None:
        done: list[int] = []
        work.start("counting", 30, counting(done, 30, 0.02))
        assert len(done) < 30
        turns = 0
        while len(done) < 30:
            await asyncio.sleep(0)
            turns += 1
            assert bar(work)[0] <= 30
        await until(lambda: hidden(work))
        assert turns > 3
        assert bar(work) == (30, 30)

    asyncio.run(main())


def test_it_is_seen_while_it_goes_on_and_can_be_stopped(work):
    async def main() -> None:
        done: list[int] = []
        work.start("counting", 1000, counting(done, 1000, 0.02))
        await until(lambda: not hidden(work))
        assert work._label.value == "counting"
        work.children[-1].click()
        assert hidden(work)
        reached = len(done)
        await asyncio.sleep(0.1)
        assert len(done) <= reached + 1
        assert reached < 1000

    asyncio.run(main())


def test_new_work_takes_the_place_of_what_is_under_way(work):
    async def main() -> None:
        first: list[int] = []
        second: list[int] = []
        work.start("first", 1000, counting(first, 1000, 0.02))
        await until(lambda: len(first) > 10)
        work.start("second", 20, counting(second, 20, 0.02))
        reached = len(first)
        await until(lambda: len(second) == 20)
        await until(lambda: hidden(work))
        assert len(first) <= reached + 1
        assert bar(work) == (20, 20)

    asyncio.run(main())


def test_work_that_waits_begins_when_nothing_else_is_asked_for(work):
    async def main() -> None:
        passed_by: list[int] = []
        stayed_with: list[int] = []
        for _ in range(3):
            work.start("passed by", 5, counting(passed_by, 5), waits=True)
            await asyncio.sleep(0.01)
        work.start("stayed with", 5, counting(stayed_with, 5), waits=True)
        await until(lambda: len(stayed_with) == 5)
        assert passed_by == []

    asyncio.run(main())


def test_an_error_on_the_way_is_told_and_ends_it(work, told):
    def failing() -> Iterator[None]:
        yield from counting([], 12, 0.02)
        raise NmtlabError("it broke", "mend it")

    async def main() -> None:
        work.start("failing", 50, failing())
        await until(lambda: told)
        await until(lambda: hidden(work))

    asyncio.run(main())
    assert told == ["it broke; mend it"]


def test_a_page_that_is_saved_meanwhile_says_what_is_missing(work):
    async def saved() -> tuple[str, str]:
        work.start("<counting>", 40, counting([], 40, 0.05))
        await until(lambda: not hidden(work))
        during = saved_page("Title", "Question?", {}, [work])
        work.stop()
        return during, saved_page("Title", "Question?", {}, [work])

    during, after = asyncio.run(saved())
    assert re.search(r"&lt;counting&gt;: still computing when this page was saved, \d+ of 40 done", during)
    assert "still computing" not in after
