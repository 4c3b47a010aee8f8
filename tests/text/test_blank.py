import pytest

from nmtlab.text.corpora.cleaning import Limits, rejection_reason
from nmtlab.text.corpora.lines import is_blank

BLANK = ["", " \t", "\u3000\u2028", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", " \u200e\n\u200b", "▁", "▁▁ ▁"]


@pytest.mark.parametrize("text", BLANK)
def test_white_space_and_format_characters_alone_are_blank(text):
    assert is_blank(text)
    assert rejection_reason((text, "a"), Limits()) == rejection_reason(("a", text), Limits()) == "blank side"


@pytest.mark.parametrize("text", ["a", "\u200b.", "\u0301", "\u2800", "0", "_", "\ud800"])
def test_any_other_sign_is_text(text):
    assert not is_blank(text)
