"""The files that declare dependencies agree with each other, and a wheel has what it needs without a checkout."""

import os
import re
import subprocess
import sys
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
EXTRAS = ("workbench", "download", "tensorboard", "ray", "projection", "docs", "export", "test")
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


# A wheel

SOURCES = ("nmtlab", "data", "pyproject.toml", "setup.py", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with nothing but the package, installed from a wheel."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in SOURCES:
        (source / name).symlink_to(ROOT / name)
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    subprocess.run(command, check=True)
    return target


def say(program: str, installed: Path, folder: Path) -> str:
    """Return what a program prints with the installed package, in a folder outside of any checkout."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NMTLAB_")}
    environment["PYTHONPATH"] = str(installed)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_installed_package_shows_a_few_small_runs_until_there_is_evidence(installed, tmp_path):
    names = "import nmtlab\nw = nmtlab.Workspace.find()\nprint(*sorted(run.name for run in nmtlab.list_runs(w)[0]))"
    listed = say(names, installed, tmp_path).split()
    assert listed == ["deep-de-en.pre-scalenorm", "small-qaa-en.fixnorm.s1", "small-qaa-en.untied.s1"]
    files = [path for path in (installed / "nmtlab/evidence/runs").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_500_000
    (tmp_path / "data/evidence").mkdir(parents=True)
    assert say(names, installed, tmp_path) == ""


@pytest.mark.parametrize("page", ["index", "norms", "depth", "dynamics", "tables"])
def test_pages_of_an_installed_package_have_something_to_show(installed, tmp_path, page):
    program = f"from nmtlab.dashboards.{page} import {page}_page as page\nprint(page()._message.value, 'end')"
    assert say(program, installed, tmp_path) == "end"


def test_verdicts_of_an_installed_package_are_those_of_the_checkout(installed, tmp_path):
    program = (
        "from nmtlab.experiments.claims.declared import declared_claims\n"
        "from nmtlab.experiments.claims.verdicts import measured_claims\n"
        "about = [claim for claim in declared_claims() if claim.table.name in ('table-3.2', 'untrained-gradients')]\n"
        "print(*measured_claims(claims=about)['verdict'], sep='\\n')"
    )
    verdicts = say(program, installed, tmp_path)
    assert verdicts == say(program, ROOT, ROOT)
    assert "reproduced here" in verdicts
