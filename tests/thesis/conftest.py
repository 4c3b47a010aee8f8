"""The claims, judged once; and judging as if all runs were kept."""

import pandas as pd
import pytest
from support.packed import DATA

from nmtlab.grids.results.kept import Kept
from nmtlab.thesis.claims import verdicts
from nmtlab.workspace import Workspace


@pytest.fixture(scope="session")
def judged() -> pd.DataFrame:
    """All lines of claims, which take seconds the first time."""
    return verdicts.measured_claims(workspace=Workspace(DATA))


@pytest.fixture
def all_kept(monkeypatch):
    """Judge as if all runs were kept; what is said where they are not is tested in `test_kept`."""
    monkeypatch.setattr(Kept, "has", lambda *_: True)
    monkeypatch.setattr(verdicts, "_latest", {})
