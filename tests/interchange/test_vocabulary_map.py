"""Vocabulary maps: their size."""

import numpy as np
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.interchange import vocabulary_map
from nmtlab.interchange.vocabulary_map import write_vocabulary_map
from nmtlab.search.shortlist import Shortlist


def test_a_map_is_limited_in_bytes(tmp_path, monkeypatch):
    shortlist = Shortlist(np.array([0]), {(1,): np.array([0, 1])})
    types = ["ä", "ß"]
    write_vocabulary_map(shortlist, (types, types), tmp_path)
    size = (tmp_path / "vmap.txt").stat().st_size
    assert size == 13
    monkeypatch.setattr(vocabulary_map, "_MOST", size)
    write_vocabulary_map(shortlist, (types, types), tmp_path)
    monkeypatch.setattr(vocabulary_map, "_MOST", size - 1)
    with pytest.raises(NmtlabError, match=r"GiB, more than 2; take fewer translations or shorter n-grams$"):
        write_vocabulary_map(shortlist, (types, types), tmp_path)
