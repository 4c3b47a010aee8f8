"""The files that declare dependencies agree with each other, and a wheel has what it needs without a checkout."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import nmtlab
from nmtlab import errors
from nmtlab.cli.dashboards import _WORKBENCH
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims

ROOT = Path(__file__).parents[1]
ENVIRONMENT = (ROOT / "environment.yml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = tuple("workbench download tensorboard ray slurm projection languages docs test".split())
DECLARED = [Requirement(line) for line in PROJECT["dependencies"]] + [
    Requirement(line) for extra in EXTRAS for line in PROJECT["optional-dependencies"][extra]
]


def dependencies() -> tuple[list[str], list[str]]:
    """Return environment.yml's conda lines and pip lines."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which CTranslate2 brings")
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


PYTHONS = (("3.10.14", False), ("3.11.0", True), ("3.12.4", True), ("3.13.1", True), ("3.14.0", False))


def test_python_is_asked_for_alike_everywhere():
    rattler = pytest.importorskip("rattler")
    (conda,) = (line for line in dependencies()[0] if line.startswith("python"))
    range_ = rattler.VersionSpec(conda.removeprefix("python"))
    required = SpecifierSet(PROJECT["requires-python"])
    for version, accepted in PYTHONS:
        assert range_.matches(rattler.Version(version)) == accepted
        assert required.contains(version) == accepted
    script = (ROOT / "nmtlab.sh").read_text(encoding="utf-8")
    ((*bounds,),) = re.findall(r"\((\d+), (\d+)\) <= sys\.version_info\[:2\] < \((\d+), (\d+)\)", script)
    assert bounds == ["3", "11", "3", "14"]
    named = [line.rpartition(":: ")[2] for line in PROJECT["classifiers"] if ":: Python :: 3." in line]
    assert named == ["3.11", "3.12", "3.13"]


def test_the_version_is_written_once_and_cited():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (cited,) = re.findall(r"^version: (.+)$", citation, re.MULTILINE)
    assert nmtlab.__version__ == cited
    assert PROJECT["dynamic"] == ["version"]


def test_the_name_is_not_the_one_that_another_project_has_on_the_index():
    assert PROJECT["name"] == errors.DISTRIBUTION == "nmtlab-workbench"


def test_who_made_it_and_what_it_is_for_is_declared():
    assert PROJECT["authors"] == [{"name": "The nmtlab authors"}]
    assert PROJECT["keywords"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for address in PROJECT["urls"].values():
        assert f"url: {address}" in citation


def test_the_command_names_what_the_workbench_needs():
    extra = [Requirement(line).name for line in PROJECT["optional-dependencies"]["workbench"]]
    assert list(_WORKBENCH) == extra


def test_no_text_tells_anyone_to_install_the_other_project():
    folders = ("nmtlab", "tests", "docs", "notebooks")
    files = [ROOT / "README.md", ROOT / "nmtlab.sh", *(file for name in folders for file in (ROOT / name).rglob("*.*"))]
    texts = {file: file.read_text(encoding="utf-8") for file in files if file.suffix in {".md", ".py", ".ipynb", ".sh"}}
    misled = re.compile(r"pip install [^\n]*\bnmtlab\b(?!-workbench)" + r"|\bnmtlab" + r"\[[a-z]+\]")
    found = {str(file.relative_to(ROOT)): misled.findall(text) for file, text in texts.items() if misled.search(text)}
    assert found == {}


# A wheel

SOURCES = ("nmtlab", "nmtlab_workbench.py", "data", "pyproject.toml", "setup.py", "README.md", "LICENSE")
MOST_BYTES = 7_000_000
QUIET = ("--quiet", "--disable-pip-version-check")

# Everything in one process, for most of its time is torch's import.
USE = """
import importlib, json, sys
import nmtlab
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims

workspace = nmtlab.Workspace.find()
about = [claim for claim in declared_claims() if claim.table.name in ("table-3.2", "untrained-gradients")]
seen = {"runs": sorted(run.name for run in nmtlab.list_runs(workspace)[0])}
seen["verdicts"] = list(measured_claims(claims=about)["verdict"])
seen["messages"] = {}
for name in ("index", "norms", "depth", "dynamics", "tables"):
    page = getattr(importlib.import_module(f"nmtlab.dashboards.pages.{name}"), f"{name}_page")()
    seen["messages"][name] = page._message.value
(workspace.data / "evidence").mkdir(parents=True)
seen["runs with empty evidence"] = sorted(run.name for run in nmtlab.list_runs(workspace)[0])
json.dump(seen, sys.stdout)
"""


def pip(*words: object, python: object = sys.executable) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-m", "pip", *map(str, words)], capture_output=True, text=True, check=False)


def outside(*command: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, as if there were no checkout."""
    without = {name: value for name, value in os.environ.items() if not name.startswith(("NMTLAB_", "PYTHONPATH"))}
    return subprocess.run(command, cwd=folder, env=without | environment, capture_output=True, text=True, check=False)


def used(python: object, folder: Path, **environment: str) -> dict[str, Any]:
    """Return what the program sees."""
    done = outside(python, "-c", USE, folder=folder, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        (source / name).symlink_to(ROOT / name)
    done = pip("wheel", "--no-deps", "--no-index", "--no-build-isolation", *QUIET, "--wheel-dir", target, source)
    assert done.returncode == 0, done.stderr
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def seen(wheel, tmp_path_factory) -> dict[str, Any]:
    """What an installed package shows beside this environment's libraries."""
    target = tmp_path_factory.mktemp("installed")
    done = pip("install", "--no-deps", "--no-index", *QUIET, "--target", target, wheel)
    assert done.returncode == 0, done.stderr
    return used(sys.executable, tmp_path_factory.mktemp("elsewhere"), PYTHONPATH=str(target))


@pytest.mark.full
def test_a_wheel_is_small(wheel):
    assert wheel.name.startswith("nmtlab_workbench-")
    assert wheel.stat().st_size < MOST_BYTES


@pytest.mark.full
def test_an_installed_package_shows_a_few_small_runs_until_there_is_evidence(seen):
    assert seen["runs"] == ["deep-de-en.pre-scalenorm", "small-qaa-en.fixnorm.s1", "small-qaa-en.untied.s1"]
    assert seen["runs with empty evidence"] == []


@pytest.mark.full
def test_pages_of_an_installed_package_have_something_to_show(seen):
    assert seen["messages"] == dict.fromkeys(("index", "norms", "depth", "dynamics", "tables"), "")


@pytest.mark.full
def test_verdicts_of_an_installed_package_are_those_of_the_checkout(seen, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("NMTLAB_DATA", raising=False)
    about = [claim for claim in declared_claims() if claim.table.name in ("table-3.2", "untrained-gradients")]
    assert seen["verdicts"] == list(measured_claims(claims=about)["verdict"])
    assert "reproduced here" in seen["verdicts"]


def brought(lines: Iterable[str]) -> set[str]:
    """Return all packages that requirements bring, those of requirements included, in the versions that are here."""
    waiting, found = [(Requirement(line), extra) for line in lines for extra in EXTRAS], set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        package = metadata.distribution(requirement.name)
        assert requirement.specifier.contains(package.version, prereleases=True), requirement
        for asked in ("", *requirement.extras):
            if (known := (canonicalize_name(requirement.name), asked)) not in found:
                found.add(known)
                waiting += [(Requirement(line), asked) for line in package.requires or ()]
    return {name for name, _ in found}


def link(packages: set[str], site: Path) -> None:
    """Link the files of packages into another environment, and of folders that several packages share no others."""
    owners = defaultdict(set)
    files = {one: metadata.files(one) or () for one in {here.name for here in metadata.distributions()}}
    for package, some in files.items():
        for file in some:
            owners[file.parts[0]].add(canonicalize_name(package))
    for file in (file for package in packages for file in metadata.files(package) or () if file.parts[0] != ".."):
        place = Path(file.parts[0] if len(owners[file.parts[0]]) == 1 else file)
        if not (site / place).exists() and (original := file.locate().parents[len(file.parts) - 1] / place).exists():
            (site / place).parent.mkdir(parents=True, exist_ok=True)
            (site / place).symlink_to(original)


@pytest.mark.full
def test_in_an_empty_environment_the_wheel_brings_all_that_it_needs_with_every_extra(wheel, seen, tmp_path):
    """Of the packages installed here, the empty environment has those that the wheel brings, and no others."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")], check=True)
    python = tmp_path / "empty/bin/python"
    done = pip("--python", python, "install", "--no-deps", "--no-index", "--no-compile", *QUIET, wheel)
    assert done.returncode == 0, done.stderr
    (site,) = (tmp_path / "empty").glob("lib/python*/site-packages")
    (installed,) = metadata.distributions(path=[str(site)])
    try:
        packages = brought(installed.requires)
    except metadata.PackageNotFoundError as error:
        pytest.skip(f"not every extra is installed: {error}")
    assert {canonicalize_name(requirement.name) for requirement in DECLARED} <= packages
    link(packages, site)
    assert {canonicalize_name(one.name) for one in metadata.distributions(path=[str(site)])} == packages | {
        canonicalize_name(PROJECT["name"])
    }
    assert "No broken requirements" in pip("--python", python, "check").stdout
    (tmp_path / "elsewhere").mkdir()
    said = outside(tmp_path / "empty/bin/nmtlab", "--version", folder=tmp_path / "elsewhere")
    assert said.returncode == 0
    assert said.stdout.startswith(f"nmtlab {nmtlab.__version__} in {tmp_path / 'empty'}")
    assert used(python, tmp_path / "elsewhere") == seen
