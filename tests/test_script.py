"""`nmtlab.sh` makes an environment, keeps it up to date, and never takes away one that works.

It runs in a folder of its own, with a Python that only notes how it is called.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
ENVIRONMENT = "dependencies:\n  - pip:\n      - torch=={}\n      - -e .\n"

PYTHON = """#!/bin/sh
echo "$@" >>"$NOTES"
case "$1 $2" in
"-c import"*) exit {too_old} ;;
"-V "*) echo "Python 3.10.14" ;;
"-m venv")
    [ {without_venv} = 0 ] || exit 1
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    printf '#!/bin/sh\\necho "nmtlab called with: $*"\\n' >"$3/bin/nmtlab"
    chmod +x "$3/bin/nmtlab" ;;
"-m pip") exit "${{WITHOUT_NETWORK:-0}}" ;;
esac
"""


class Ended(NamedTuple):
    """How the script ended, what it wrote, and the calls of Python."""

    code: int
    out: str
    err: str
    calls: list[str]


class Checkout:
    """A folder with the script and an environment.yml that pins one version of torch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.venv = folder, folder / "checkout/.venv"
        self.venv.parent.mkdir()
        shutil.copy(ROOT / "nmtlab.sh", self.venv.parent)
        self.python()
        self.program("uname", "echo Linux x86_64")
        self.pin("2.13.0")

    def program(self, name: str, text: str) -> None:
        (self.folder / "bin").mkdir(exist_ok=True)
        path = self.folder / "bin" / name
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def python(self, too_old: int = 0, without_venv: int = 0) -> None:
        self.program("python3", PYTHON.format(too_old=too_old, without_venv=without_venv))

    def pin(self, version: str) -> None:
        (self.venv.parent / "environment.yml").write_text(ENVIRONMENT.format(version), encoding="utf-8")

    def run(self, *words: str, **environment: str) -> Ended:
        notes = self.folder / "notes"
        notes.write_text("", encoding="utf-8")
        changed = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "NOTES": str(notes), **environment}
        without = {name: value for name, value in os.environ.items() if name != "PYTHON"}
        done = subprocess.run(
            ["sh", self.venv.parent / "nmtlab.sh", *words],
            env=without | changed, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        calls = [line for line in notes.read_text(encoding="utf-8").splitlines() if line.startswith("-")]
        return Ended(done.returncode, done.stdout, done.stderr, [call for call in calls if not call.startswith("-c")])

    @property
    def installed(self) -> str:
        return (self.venv / "installed.txt").read_text(encoding="utf-8")


@pytest.fixture
def checkout(tmp_path) -> Checkout:
    return Checkout(tmp_path)


def pip(calls: list[str]) -> list[str]:
    return [call for call in calls if call.startswith("-m pip install")]


def test_it_is_one_that_a_shell_can_read():
    subprocess.run(["sh", "-n", str(ROOT / "nmtlab.sh")], check=True)
    assert (ROOT / "nmtlab.sh").stat().st_mode & 0o111


def test_it_installs_the_pip_section_and_nothing_else():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which CTranslate2 brings")
    script = (ROOT / "nmtlab.sh").read_text(encoding="utf-8")
    ((program, file),) = re.findall(r"sed -n '([^']+)' \"\$here/([\w.]+)\"", script)
    done = subprocess.run(["sed", "-n", program, str(ROOT / file)], capture_output=True, text=True, check=True)
    section = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["dependencies"][-1]["pip"]
    assert done.stdout.splitlines() == section


def test_the_first_call_installs_and_the_second_only_runs(checkout):
    first = checkout.run("demo")
    assert first.code == 0
    assert len(pip(first.calls)) == 1
    assert first.out.endswith("nmtlab called with: demo\n")
    assert checkout.installed == "torch==2.13.0\n-e .\n"
    second = checkout.run("runs", "list")
    assert second == (0, "nmtlab called with: runs list\n", "", [])


def test_a_changed_pin_updates_what_is_there(checkout):
    checkout.run("demo")
    (checkout.venv / "mine").touch()
    checkout.pin("2.13.1")
    ended = checkout.run("demo")
    assert (ended.code, len(pip(ended.calls))) == (0, 1)
    assert "-m venv" not in " ".join(ended.calls)
    assert (checkout.venv / "mine").exists()
    assert checkout.installed == "torch==2.13.1\n-e .\n"


def test_a_changed_pin_without_a_network_leaves_what_worked_and_is_tried_again(checkout):
    checkout.run("demo")
    checkout.pin("2.13.1")
    for _ in range(2):
        ended = checkout.run("demo", WITHOUT_NETWORK="1")
        assert (ended.code, len(pip(ended.calls))) == (0, 1)
        assert ended.err == (
            "nmtlab.sh: the update failed; .venv is older than environment.yml, and is used as it is\n"
        )
        assert ended.out.endswith("nmtlab called with: demo\n")
    assert checkout.installed == "torch==2.13.0\n-e .\n"
    assert checkout.run("demo").err == ""


def test_a_first_installation_without_a_network_fails_and_the_next_one_begins_anew(checkout):
    ended = checkout.run("demo", WITHOUT_NETWORK="1")
    assert (ended.code, "called" in ended.out) == (2, False)
    assert "'from versions: none' means that it reaches no package index" in ended.err
    (checkout.venv / "half").touch()
    ended = checkout.run("demo")
    assert ended.code == 0
    assert ended.err == "nmtlab.sh: the environment in .venv is incomplete, and is made anew\n"
    assert not (checkout.venv / "half").exists()


def test_an_environment_whose_python_is_gone_is_made_anew(checkout):
    checkout.run("demo")
    (checkout.venv / "bin/python").unlink()
    (checkout.venv / "bin/python").symlink_to("/no/python3.11")
    assert "made anew" in checkout.run("demo").err
    assert checkout.run("demo").calls == []


def test_a_python_of_another_version_is_named_and_nothing_is_made(checkout):
    checkout.python(too_old=1)
    ended = checkout.run("demo")
    assert ended.code == 2
    assert ended.err == (
        "nmtlab.sh: Python 3.11, 3.12 or 3.13 is needed, and python3 is Python 3.10.14; "
        "install one, or name it: PYTHON=python3.12 ./nmtlab.sh demo\n"
    )
    assert "and no-python is missing" in checkout.run("demo", PYTHON="no-python").err
    assert not checkout.venv.exists()


def test_without_the_venv_module_the_package_to_install_is_named(checkout):
    checkout.python(without_venv=1)
    ended = checkout.run("demo")
    assert ended.code == 2
    assert "apt-get install python3-venv" in ended.err


@pytest.mark.parametrize(
    ("machine", "code", "said"),
    [
        ("Darwin x86_64", 2, "PyTorch no longer supports Macs with Intel processors"),
        ("Darwin arm64", 0, "macOS 14 or newer"),
        ("Linux aarch64", 0, "needs CMake and a C++ compiler"),
    ],
)
def test_what_differs_on_other_machines_is_said(checkout, machine, code, said):
    checkout.program("uname", f"echo {machine}")
    ended = checkout.run("demo")
    assert ended.code == code
    assert said in ended.err


def test_the_tests_are_run_quick_or_in_full(checkout):
    checkout.run("demo")
    checks = ["-m ruff check .", "-m ruff format --check .", "-m mypy"]
    quick, full = checkout.run("test"), checkout.run("test", "--full")
    pytest = "-m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=25"
    assert quick.calls == [*checks, f"{pytest} -p no:nbval -m not full"]
    notebooks = "--nbval --nbval-current-env --nbval-cell-timeout=300 tests notebooks"
    assert full.calls == [*checks, f"{pytest} {notebooks}"]
    assert checkout.run("test", "--all").code == 2
