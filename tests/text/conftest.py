"""What takes seconds the first time."""

import pytest

from nmtlab.text.segmentation.tokenizers import Words


@pytest.fixture(scope="session")
def japanese() -> Words:
    return Words("ja")
