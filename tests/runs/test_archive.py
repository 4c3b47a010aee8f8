"""An untrusted archive is read completely or refused in one line, and leaves no files behind."""

import io
import lzma
import os
import re
import tarfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtlab.errors import RunError
from nmtlab.runs.archive import MAX_BYTES, read_archive
from nmtlab.runs.pack import unpack
from nmtlab.workspace import Workspace


def refused(file: Path, workspace: Workspace) -> str:
    with pytest.raises(RunError) as error:
        unpack(file, workspace)
    assert "\n" not in str(error.value)
    return str(error.value)


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:xz", format=tarfile.PAX_FORMAT) as file:
        for member, content in members:
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "name",
    ["/etc/x", "../x", "run/../../x", "run//x", "run/./x", "x", "run/.hidden", "run/a\nb", "run/a b", "run\\..\\x",
     "run/" + "a" * 201, "C:/x", "run/..", "run/ü", "~/x", "run/-x"],
)  # fmt: skip
def test_a_path_that_leaves_the_folder_or_is_unusual_is_refused(name, tmp_path, workspace):
    file = archive(tmp_path / "bad.tar.xz", (member("run/recipe.toml"), b""), (member(name), b"x"))
    message = refused(file, workspace)
    assert message == (
        f"{file}: member {name!r} is not a path inside a folder; do not trust it: no packed run is like this"
    )
    assert sorted(os.listdir(tmp_path)) == ["bad.tar.xz"]


@pytest.mark.parametrize(
    ("kind", "target"),
    [(tarfile.SYMTYPE, "/etc/passwd"), (tarfile.SYMTYPE, ".."), (tarfile.LNKTYPE, "run/recipe.toml"),
     (tarfile.FIFOTYPE, ""), (tarfile.CHRTYPE, ""), (tarfile.BLKTYPE, "")],
)  # fmt: skip
def test_links_and_devices_are_refused(kind, target, tmp_path, workspace):
    file = archive(tmp_path / "bad.tar.xz", (member("run/recipe.toml"), b""), (member("run/a", kind, target), b""))
    message = refused(file, workspace)
    assert message.startswith(f"{file}: member 'run/a' is a link, a device or a sparse file; do not trust it")
    assert sorted(os.listdir(tmp_path)) == ["bad.tar.xz"]


def test_a_member_with_holes_which_swells_when_it_is_read_is_refused(tmp_path, workspace):
    info = member("run/large")
    info.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "run/large",
                        "GNU.sparse.size": str(1 << 40), "GNU.sparse.map": f"{(1 << 40) - 1},1"}  # fmt: skip
    file = archive(tmp_path / "bad.tar.xz", (info, b"x"))
    assert "member 'run/large' is a link, a device or a sparse file" in refused(file, workspace)


def test_an_archive_that_swells_when_it_is_read_is_refused(tmp_path, workspace):
    file = tmp_path / "bad.tar.xz"
    with lzma.open(file, "wb", preset=0) as packed:
        packed.write(member("run/large").tobuf() + bytes(MAX_BYTES))
    assert file.stat().st_size < 100_000
    assert refused(file, workspace) == f"{file}: larger than 64 MiB when decompressed; do not trust it"


def test_an_archive_that_asks_for_more_memory_than_any_pack_is_refused(tmp_path, workspace):
    packed = bytearray(lzma.compress(b"x", check=lzma.CHECK_CRC32))
    # The block's header: length in words less one, flags, filter, length of its properties, dictionary, padding, CRC.
    assert (packed[12], packed[14], packed[15]) == (2, lzma.FILTER_LZMA2, 1)
    packed[16] = 40  # a dictionary of 4 GiB
    packed[20:24] = zlib.crc32(packed[12:20]).to_bytes(4, "little")
    file = tmp_path / "bad.tar.xz"
    file.write_bytes(packed)
    assert refused(file, workspace) == f"{file}: damaged (Memory usage limit exceeded); get a fresh copy"


def test_too_many_files_are_refused(tmp_path, workspace):
    file = archive(tmp_path / "bad.tar.xz", *((member(f"run/{n}"), b"") for n in range(10_001)))
    assert refused(file, workspace).startswith(f"{file}: more than 10,000 files; do not trust it")


def test_a_member_that_is_said_to_be_larger_than_the_archive_is_refused(tmp_path, workspace):
    info = member("run/recipe.toml")
    info.size = 1 << 60
    file = tmp_path / "bad.tar.xz"
    file.write_bytes(lzma.compress(info.tobuf(format=tarfile.GNU_FORMAT) + b"x" * 2048))
    assert refused(file, workspace).startswith(f"{file}: damaged (")


def test_two_folders_or_none_are_no_packed_run(tmp_path, workspace):
    two = archive(tmp_path / "two.tar.xz", (member("a/recipe.toml"), b""), (member("b/recipe.toml"), b""))
    assert refused(two, workspace).startswith(f"{two}: contains 2 folders, expected 1; have")
    assert refused(archive(tmp_path / "none.tar.xz"), workspace).startswith(f"{tmp_path / 'none.tar.xz'}: contains 0 ")


def test_a_file_that_is_no_archive_is_named(tmp_path, workspace):
    missing = tmp_path / "none.tar.xz"
    assert refused(missing, workspace) == f"{missing}: not found; give the path of a packed run"
    for content in (b"", b"text", lzma.compress(b"text" * 1000), lzma.compress(bytes(512))[:-8]):
        missing.write_bytes(content)
        assert refused(missing, workspace).startswith(f"{missing}: ")


@pytest.mark.full
@settings(max_examples=200)
@given(changes=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), min_size=1, max_size=4))
def test_an_archive_with_any_bytes_changed_is_read_or_refused_in_one_line(changes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzzed")
    info = member("run/recipe.toml")
    info.pax_headers = {"comment": "x" * 20}
    packed = archive(folder / "a.tar.xz", (info, b"abc"), (member("run/b"), b"d"))
    plain = bytearray(lzma.decompress(packed.read_bytes()))
    for place, value in changes:
        plain[place] = value
    packed.write_bytes(lzma.compress(plain, preset=0))
    said = ""
    try:
        folders = read_archive(packed)
    except RunError as error:
        said = str(error)
    if said:
        assert said.startswith(f"{packed}: ")
        assert "\n" not in said
    else:
        assert not any(name.startswith(".") for name in folders)
        paths = [path for content in folders.values() for path in content]
        assert all(re.fullmatch(r"(\w[\w.+-]*/)*\w[\w.+-]*", path, re.ASCII) for path in paths)
