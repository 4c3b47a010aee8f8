"""Batches of a translation share the CPU's threads, one each."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from threading import Barrier, Event
from time import sleep

import pytest
import torch

from nmtlab.device import in_parallel
from nmtlab.recipe import SearchSettings
from nmtlab.search.searches import Beam
from nmtlab.systems import open_system
from nmtlab.translation import Translator

CPU = torch.device("cpu")
PATIENCE = 60
"""Seconds until a piece that waits for others fails."""


@pytest.fixture(autouse=True)
def two_threads():
    torch.set_num_threads(2)
    yield
    assert torch.get_num_threads() == 2, "the threads were not given back"
    torch.set_num_threads(1)


@pytest.fixture
def translator(trained) -> Translator:
    system = open_system(trained[0])
    return Translator(system.model, system.pipeline, SearchSettings(beam_size=3, batch_tokens=60))


def test_two_threads_work_on_two_pieces_at_once_and_the_results_are_in_order():
    together = Barrier(2)

    def work(pieces: Iterable[int]) -> Iterator[tuple[int, int]]:
        for piece in pieces:
            together.wait(PATIENCE)
            yield piece, torch.get_num_threads()

    with closing(in_parallel(work, range(4), CPU, most=8)) as results:
        assert list(results) == [(0, 1), (1, 1), (2, 1), (3, 1)]


def test_each_thread_has_the_same_share_of_pieces_that_are_dealt():
    def work(pieces: Iterable[int]) -> list[list[int]]:
        share = list(pieces)
        return [share] * len(share)

    with closing(in_parallel(work, range(5), CPU, most=8, dealt=True)) as results:
        assert list(results) == [[0, 2, 4], [1, 3], [0, 2, 4], [1, 3], [0, 2, 4]]


def test_a_thread_that_is_free_takes_the_next_piece():
    rest_done = Event()

    def work(pieces: Iterable[int]) -> Iterator[int]:
        for piece in pieces:
            if piece == 0:
                assert rest_done.wait(PATIENCE)
            if piece == 4:
                rest_done.set()
            yield piece

    with closing(in_parallel(work, range(5), CPU, most=8)) as results:
        assert list(results) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("pieces", "most"), [(1, 8), (3, 1)])
def test_a_single_piece_at_a_time_has_all_threads(pieces, most):
    def work(share: Iterable[int]) -> Iterator[int]:
        return (torch.get_num_threads() for _ in share)

    with closing(in_parallel(work, range(pieces), CPU, most)) as results:
        assert list(results) == [2] * pieces


def test_while_pieces_are_worked_on_in_parallel_others_wait_for_no_thread():
    with closing(in_parallel(iter, range(4), CPU, most=8)) as results:
        next(results)
        with closing(in_parallel(lambda pieces: (-piece for piece in pieces), range(4), CPU, most=8)) as others:
            assert list(others) == [0, -1, -2, -3]
        assert list(results) == [1, 2, 3]


def test_an_error_in_a_piece_is_raised_and_the_rest_is_not_begun():
    begun = []

    def work(pieces: Iterable[int]) -> Iterator[int]:
        for piece in pieces:
            begun.append(piece)
            if piece == 0:
                raise ValueError("piece 0")
            sleep(0.01)
            yield piece

    with (
        pytest.raises(ValueError, match="piece 0"),
        closing(in_parallel(work, range(1000), CPU, most=8)) as results,
    ):
        list(results)
    assert len(begun) < 1000


def test_two_threads_find_the_translations_of_one(translator, tiny_corpus):
    lines = [*tiny_corpus.lines("train", tiny_corpus.source)][:40]
    at_once, together = [], Barrier(2)

    class Watched(Beam):
        def batch(self, model, memory, places, language):
            at_once.append(len(places))
            if len(at_once) <= 2:
                together.wait(PATIENCE)
            return super().batch(model, memory, places, language)

    seen = []
    parallel = translator.translate(lines, search=Watched(translator.settings, 2), on_progress=seen.append)
    assert sorted(seen[1:]) == sorted(at_once)
    assert sum(at_once) == len(lines)
    torch.set_num_threads(1)
    alone = translator.translate(lines, n_best=2)
    torch.set_num_threads(2)
    assert parallel == alone
