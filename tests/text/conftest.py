"""What takes seconds the first time."""

import pytest

from nmtlab.text.tokenizers import Words


@pytest.fixture(scope="session")
def japanese() -> Words:
    return Words("ja")
