"""Errors as users see them, and as other processes receive them."""

import errno
import importlib.metadata
import pickle

import numpy as np
import pytest
import torch

from nmtlab.errors import (
    CorpusError,
    NmtlabError,
    RecipeError,
    RunError,
    error_of_the_machine,
    how_to_install,
    missing_package,
)


def raised(call) -> Exception:
    with pytest.raises((OSError, MemoryError, RuntimeError)) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("kind", [NmtlabError, RecipeError, CorpusError, RunError])
def test_an_error_comes_whole_from_another_process(kind):
    error = pickle.loads(pickle.dumps(kind("run 'x': not found", "look")))
    assert type(error) is kind
    assert (str(error), error.problem, error.remedy) == ("run 'x': not found; look", "run 'x': not found", "look")


@pytest.mark.parametrize("kind", [RecipeError, CorpusError, RunError])
def test_what_is_said_precisely_is_not_taken_for_any_error_of_its_kind(kind):
    assert not issubclass(kind, (OSError, ValueError))


MEMORY = {
    "torch": lambda: torch.empty(10**14),
    "torch, its sizes": lambda: torch.empty(10**10, 10**10),
    "numpy": lambda: np.empty(10**15),
    "python": lambda: bytearray(10**17),
    "oneDNN": lambda: (_ for _ in ()).throw(RuntimeError("could not create a primitive")),
    "the system": lambda: (_ for _ in ()).throw(OSError(errno.ENOMEM, "Cannot allocate memory")),
}


@pytest.mark.parametrize("call", MEMORY.values(), ids=MEMORY)
def test_memory_that_is_not_there_is_said_with_what_to_lower(call):
    error = error_of_the_machine(raised(call))
    assert error.problem.startswith("out of memory")
    assert "training.batch_tokens" in error.remedy


def test_memory_that_was_asked_for_is_named_and_where():
    assert "372,529.0 GiB more" in error_of_the_machine(raised(MEMORY["torch"])).problem
    assert "7.11 PiB more" in error_of_the_machine(raised(MEMORY["numpy"])).problem
    gpu = RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 10.00 GiB")
    assert error_of_the_machine(gpu).problem == "out of GPU memory, 20.00 GiB more needed"


def test_an_error_of_the_disk_names_the_file_where_it_is_known():
    full = error_of_the_machine(OSError(errno.ENOSPC, "No space left on device", "here"))
    assert str(full) == "here: No space left on device; free some space"
    denied = error_of_the_machine(PermissionError(errno.EACCES, "Permission denied", b"there"))
    assert str(denied) == "there: Permission denied; check the permissions"
    assert str(error_of_the_machine(OSError(errno.EIO, "Input/output error", 7))).startswith("7: Input/output error; ")
    bare = error_of_the_machine(OSError("7317 requested\nand 4096 written"))
    assert str(bare).startswith("a file or standard output: 7317 requested and 4096 written; check")


def test_threads_that_cannot_be_started_are_said_and_other_errors_are_bugs():
    assert "--threads" in str(error_of_the_machine(RuntimeError("Resource temporarily unavailable")))
    assert error_of_the_machine(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) is None
    assert error_of_the_machine(KeyError("kind")) is None


def test_what_is_too_long_is_cut_in_the_middle():
    word = NmtlabError(f"recipe {'x' * 5000}.toml: unknown", "look").problem
    assert word.startswith("recipe xxx")
    assert word.endswith("x.toml: unknown")
    assert len(word) < 300
    text = NmtlabError(f"begin {'a b ' * 5000} end", "look").problem
    assert (len(text), text[:6], text[-4:]) == (999, "begin ", " end")


@pytest.fixture
def declared(monkeypatch) -> None:
    """Some dependencies in the metadata of the installed nmtlab."""
    lines = {"nmtlab-workbench": ["torch<2.14,>=2.11", 'ray>=2.40; extra == "ray"', 'ray-tune>=9; extra == "x"']}
    monkeypatch.setattr(importlib.metadata, "requires", lines.__getitem__)


def test_a_missing_library_is_named_with_the_versions_that_are_accepted(declared):
    assert str(missing_package("ray")) == "ray is not installed; pip install 'ray>=2.40'"
    assert how_to_install("torch", "ray") == "pip install 'torch<2.14,>=2.11' 'ray>=2.40'"
    assert how_to_install("sacrebleu[ko]") == "pip install 'sacrebleu[ko]'"


def test_without_metadata_a_missing_library_is_named_alone(monkeypatch):
    def fail(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", fail)
    assert how_to_install("ray") == "pip install 'ray'"
