"""The files that declare dependencies agree with each other."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import nmtlab

ROOT = Path(__file__).parents[1]
ENVIRONMENT = (ROOT / "environment.yml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("workbench", "download", "tensorboard", "ray", "export", "test")
DECLARED = [Requirement(line) for line in PROJECT["dependencies"]] + [
    Requirement(line) for extra in EXTRAS for line in PROJECT["optional-dependencies"][extra]
]


def dependencies() -> tuple[list[str], list[str]]:
    """Return environment.yml's conda lines and pip lines."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which JupyterLab and CTranslate2 bring")
    lines = yaml.safe_load(ENVIRONMENT)["dependencies"]
    return [line for line in lines if isinstance(line, str)], lines[-1]["pip"]


def pins() -> dict[str, str]:
    """Return the pinned version of each package, by its canonical name."""
    pinned = [line.split("==") for line in dependencies()[1] if line != "-e ."]
    assert all(len(both) == 2 for both in pinned)
    return {canonicalize_name(name): version for name, version in pinned}


def test_every_package_is_pinned_once():
    names = [canonicalize_name(line.split("==")[0]) for line in dependencies()[1]]
    assert sorted(names) == sorted(set(names))


def test_what_is_declared_is_pinned_and_what_is_pinned_is_declared():
    assert set(PROJECT["optional-dependencies"]) == set(EXTRAS)
    assert set(pins()) == {canonicalize_name(requirement.name) for requirement in DECLARED}


@pytest.mark.parametrize("requirement", DECLARED, ids=lambda requirement: requirement.name)
def test_a_pin_is_within_the_declared_range(requirement):
    assert requirement.specifier, "say which versions"
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_torch_is_pinned_and_its_neighbours_are_accepted():
    torch = next(requirement for requirement in DECLARED if requirement.name == "torch")
    assert pins()["torch"] == "2.13.0"
    versions = ("2.10.9", "2.11.0", "2.12.1", "2.13.0", "2.13.2", "2.14.0")
    assert [torch.specifier.contains(version) for version in versions] == [False, True, True, True, True, False]


def test_the_conda_lines_are_what_conda_reads_and_are_few():
    rattler = pytest.importorskip("rattler")
    specs = [rattler.MatchSpec(line) for line in dependencies()[0]]  # raises if conda could not read it
    assert [str(spec).split()[0] for spec in specs] == ["python", "pip"]


def test_python_is_asked_for_alike_everywhere():
    rattler = pytest.importorskip("rattler")
    (conda,) = (line for line in dependencies()[0] if line.startswith("python"))
    range_ = rattler.VersionSpec(conda.removeprefix("python"))
    required = SpecifierSet(PROJECT["requires-python"])
    for version, accepted in (("3.10.14", False), ("3.11.0", True), ("3.12.4", True), ("3.13.1", True)):
        assert range_.matches(rattler.Version(version)) == accepted
        assert required.contains(version) == accepted
    script = (ROOT / "nmtlab.sh").read_text(encoding="utf-8")
    assert re.findall(r"sys\.version_info < \((\d+), (\d+)\)", script) == [("3", "11")]


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (cited,) = re.findall(r"^version: (.+)$", citation, re.MULTILINE)
    assert nmtlab.__version__ == PROJECT["version"] == cited


def test_the_script_installs_the_pip_section_and_nothing_else():
    script = (ROOT / "nmtlab.sh").read_text(encoding="utf-8")
    ((program, file),) = re.findall(r"^\s*sed -n '([^']+)' \"\$here/([\w.]+)\"", script, re.MULTILINE)
    done = subprocess.run(["sed", "-n", program, str(ROOT / file)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == dependencies()[1]


def test_the_script_is_one_that_a_shell_can_read():
    subprocess.run(["sh", "-n", str(ROOT / "nmtlab.sh")], check=True)
    assert (ROOT / "nmtlab.sh").stat().st_mode & 0o111
