"""How torch's threads wait for each other."""

import os
import subprocess
import sys

import pytest

COUNT = "os.environ.get('GOMP_SPINCOUNT')"
COMMAND = f"""
import os, sys
from nmtlab.cli import main
sys.argv = ["nmtlab", "--help"]
try:
    main()
except SystemExit:
    print({COUNT}, "torch" in sys.modules)
"""
HOST = f"import os, nmtlab; nmtlab.Recipe, nmtlab.Translator; print({COUNT})"


def printed(program: str, own: dict[str, str]) -> list[str]:
    others = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run([sys.executable, "-c", program], env=others | own, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    ("own", "count"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "PASSIVE"}, "None")],
)
def test_the_commands_threads_spin_briefly_unless_it_is_said_otherwise_and_before_torch_is_loaded(own, count):
    assert printed(COMMAND, own) == [count, "False"]


@pytest.mark.full
def test_a_program_that_imports_nmtlab_keeps_its_environment():
    assert printed(HOST, {}) == ["None"]
