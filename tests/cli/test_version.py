"""`nmtlab --version`: what is in use, and whether it is ours."""

import platform
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import nmtlab as package
import nmtlab_workbench
from nmtlab.cli import version

FOLDER = Path(package.__file__).parent
OURS = {"nmtlab-workbench": package.__version__, "torch": "2.13.0"}


@pytest.fixture
def installed(monkeypatch):
    """Let exactly these distributions be installed."""

    def let(versions: dict[str, str]) -> None:
        def find(name: str) -> str:
            if name not in versions:
                raise PackageNotFoundError(name)
            return versions[name]

        monkeypatch.setattr(version, "version", find)
        monkeypatch.setattr(nmtlab_workbench, "version", find)

    return let


def test_the_versions_and_the_folders_are_printed(nmtlab, data, installed):
    installed(OURS)
    said = nmtlab("--version")
    assert said.code == 0
    assert said.out.splitlines() == [
        f"nmtlab {package.__version__} in {FOLDER}",
        f"data in {data}",
        f"Python {platform.python_version()}, torch 2.13.0",
    ]


def test_a_folder_that_is_not_installed_is_named_as_such(nmtlab, data, installed):
    installed({})
    said = nmtlab("--version")
    assert said.code == 0
    assert said.out.splitlines() == [
        f"nmtlab {package.__version__} in {FOLDER}, which is not installed",
        f"data in {data}",
        f"Python {platform.python_version()}, torch is not installed",
    ]


def test_another_project_of_that_name_in_the_same_folder_is_an_error(nmtlab, installed):
    installed(OURS | {"nmtlab": "0.7.4"})
    said = nmtlab("--version")
    assert said.code == 2
    assert said.err == (
        "nmtlab: the package nmtlab 0.7.4, another project of that name, is installed in the same folder; "
        "run 'pip uninstall nmtlab nmtlab-workbench', and install nmtlab-workbench again\n"
    )


def test_a_folder_of_another_version_than_the_installed_one_is_an_error(nmtlab, installed):
    installed(OURS | {"nmtlab-workbench": "99.0"})
    said = nmtlab("--version")
    assert said.code == 2
    assert f"nmtlab-workbench 99.0 is installed, but the folder is of version {package.__version__}" in said.err


def test_the_command_says_so_where_the_other_project_has_replaced_the_folder(installed, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nmtlab.cli", None)
    installed(OURS)
    with pytest.raises(ImportError):
        nmtlab_workbench.main()
    installed(OURS | {"nmtlab": "0.7.4"})
    with pytest.raises(SystemExit) as ended:
        nmtlab_workbench.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("nmtlab: the package nmtlab 0.7.4, another project of that name, is")
