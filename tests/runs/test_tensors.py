"""A checkpoint is intact or an error, never silently wrong."""

import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.full_disk import files_of_at_most

from nmtlab.errors import RunError
from nmtlab.runs.tensors import load_tensors, save_tensors

TENSORS = {"a.weight": torch.tensor([[1.5, -2.0], [0.0, 3.25]]), "g": torch.tensor(2.0), "step": torch.arange(3)}
FACTS = {"step": 20, "bleu": 31.5, "best": None}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run" / "checkpoints" / "best.safetensors"
    save_tensors(path, TENSORS, FACTS)
    return path


def same(tensors: dict[str, torch.Tensor]) -> bool:
    return tensors.keys() == TENSORS.keys() and all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)


def problem(path) -> str:
    with pytest.raises(RunError) as caught:
        load_tensors(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message


def test_tensors_and_facts_come_back_bit_for_bit(saved):
    tensors, facts = load_tensors(saved)
    assert same(tensors)
    assert {name: tensor.dtype for name, tensor in tensors.items()} == {n: t.dtype for n, t in TENSORS.items()}
    assert facts == FACTS
    assert os.listdir(saved.parent) == ["best.safetensors"]


@given(
    st.dictionaries(st.text(max_size=20), st.lists(st.floats(width=32), max_size=5), max_size=4),
    st.dictionaries(st.text(), st.integers() | st.text() | st.none() | st.floats(allow_nan=False), max_size=4),
)
def test_any_names_values_and_facts_come_back(tmp_path_factory, values, facts):
    path = tmp_path_factory.mktemp("checkpoint") / "last.safetensors"
    tensors = {name: torch.tensor(floats, dtype=torch.float32) for name, floats in values.items()}
    tensors.pop("__metadata__", None)
    save_tensors(path, tensors, facts)
    loaded, loaded_facts = load_tensors(path)
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(loaded[name].view(torch.int32), tensor.view(torch.int32))
    assert loaded_facts == facts


def test_a_transposed_view_is_saved_as_it_looks(tmp_path):
    table = torch.arange(6.0).reshape(2, 3)
    save_tensors(tmp_path / "a", {"turned": table.t()}, {})
    assert torch.equal(load_tensors(tmp_path / "a")[0]["turned"], table.t())


def test_a_checkpoint_that_is_not_there_is_named(saved):
    saved.unlink()
    assert problem(saved).endswith("no such checkpoint; train it until an evaluation, or choose another checkpoint")


def test_a_checkpoint_cut_off_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for size in range(len(content)):
        saved.write_bytes(content[:size])
        assert problem(saved).endswith("; use another checkpoint, or train again")


def test_no_flipped_bit_goes_unnoticed(saved):
    content = saved.read_bytes()
    messages = []
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place * 5 % 8
        saved.write_bytes(flipped)
        try:
            tensors, facts = load_tensors(saved)
        except RunError as error:
            messages.append(str(error))
        else:  # white space in the header is insignificant; the rest must be unchanged
            assert same(tensors), place
            assert facts == FACTS, place
    assert len(messages) > len(content) * 0.9
    assert all("best.safetensors" in message and "\n" not in message for message in messages)


@pytest.mark.parametrize("content", [b"", b"\0" * 500, b"not a checkpoint\n" * 30], ids=["empty", "zeros", "text"])
def test_what_is_no_checkpoint_is_refused(saved, content):
    saved.write_bytes(content)
    assert "damaged or truncated" in problem(saved)


def test_tensors_of_another_program_without_our_facts_are_refused(saved):
    from safetensors.torch import save_file

    save_file(TENSORS, saved)
    assert "damaged or truncated" in problem(saved)


def test_a_full_disk_is_an_error_and_what_was_there_is_still_there(saved):
    larger = {"a.weight": torch.randn(100, 100)}
    with files_of_at_most(4096), pytest.raises(OSError, match="File too large") as caught:
        save_tensors(saved, larger, FACTS)
    assert caught.value.filename == str(saved)
    assert same(load_tensors(saved)[0])
    assert os.listdir(saved.parent) == ["best.safetensors"]
    save_tensors(saved, larger, FACTS)
    assert torch.equal(load_tensors(saved)[0]["a.weight"], larger["a.weight"])


def test_others_may_read_what_they_may_read_of_any_file(tmp_path):
    save_tensors(tmp_path / "best.safetensors", TENSORS, {})
    (tmp_path / "other").touch()
    assert (tmp_path / "best.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(file.name for file in tmp_path.iterdir()) == ["best.safetensors", "other"]
