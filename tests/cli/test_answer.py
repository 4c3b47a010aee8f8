"""What verbs print as JSON."""

import json

import pytest
from pydantic import ValidationError

from nmtlab.cli.answer import Answer, print_answer


class Scored(Answer):
    bleu: float | None


def test_a_number_that_is_missing_is_null_with_its_reason(capsys):
    print_answer(Scored(bleu=None, missing={"bleu": "not evaluated yet"}))
    assert json.loads(capsys.readouterr().out) == {"missing": {"bleu": "not evaluated yet"}, "bleu": None}


@pytest.mark.parametrize(
    "fields",
    [
        {"bleu": None},
        {"bleu": 1.0, "missing": {"bleu": "not evaluated yet"}},
        {"bleu": float("nan")},
        {"bleu": 1.0, "chrf": 2.0},
        {},
    ],
)
def test_null_without_a_reason_and_what_is_no_number_are_refused(fields):
    with pytest.raises(ValidationError):
        Scored(**fields)
