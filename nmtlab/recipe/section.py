"""The base class of all sections of a recipe."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Section(BaseModel):
    """Frozen, typed settings; the line below each field is its help text and documentation."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _check_quotation_marks(cls, settings: Any) -> Any:
        for name, value in settings.items() if isinstance(settings, dict) else ():
            numeric = name in cls.model_fields and cls.model_fields[name].annotation in (int, float)
            if numeric and isinstance(value, str) and number_in(value) is not None:
                raise ValueError(f"{name} = {value!r} is text; write it without quotation marks")
        return settings


def number_in(text: str) -> float | None:
    """Return the number that a text is, None if it is no number."""
    try:
        return float(text)
    except ValueError:
        return None
