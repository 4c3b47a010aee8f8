"""What every section of a recipe has in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen, typed settings; the line below each field is its help and its documentation."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )
