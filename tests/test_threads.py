"""How torch's threads wait for each other."""

import os
import subprocess
import sys

import pytest

ASKED = "import sys, nmtlab, os; print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"


@pytest.mark.parametrize(
    ("own", "count"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "PASSIVE"}, "None")],
)
def test_threads_spin_briefly_unless_it_is_said_otherwise_and_before_torch_is_loaded(own, count):
    others = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run([sys.executable, "-c", ASKED], env=others | own, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [count, "False"]
