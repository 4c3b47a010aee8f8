"""The base class of all sections of a recipe."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen, typed settings; the line below each field is its help text and documentation."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )
