"""What a verb prints with `--json`: one object, of a declared class."""

from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator


class Answer(BaseModel):
    """An object of JSON that names all its fields: one that is null has its reason in `missing`.

    Args:
        missing: field -> why it is null.

    Raises:
        ValueError: a field is unknown, not a number, or null without a reason.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    missing: dict[str, str] = {}

    @model_validator(mode="after")
    def _each_null_has_a_reason(self) -> Self:
        null = {name for name, value in self if value is None}
        if null != set(self.missing):
            raise ValueError(f"null: {sorted(null)}, with a reason: {sorted(self.missing)}")
        return self


def print_answer(answer: Answer) -> None:
    """Print an answer as JSON."""
    print(answer.model_dump_json(indent=1))
