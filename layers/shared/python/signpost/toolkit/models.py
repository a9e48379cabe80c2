"""Support for Pydantic models. It never imports Pydantic itself, so that other executors start without it."""

import sys
from typing import Any

from signpost.model import Json, JsonObject
from signpost.schema.validation import Violation
from signpost.toolkit.answers import ArgumentsRefused


def is_model(value: object) -> bool:
    return isinstance(value, _model_base())


def is_model_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, _model_base())


def schema_of(model: Any, *, output: bool) -> JsonObject:
    return model.model_json_schema(mode="serialization" if output else "validation")


def instance_of(model: Any, text: str) -> object:
    """Build an instance from JSON text, from which even strict models accept dates and the like. Raises
    ArgumentsRefused."""
    try:
        return model.model_validate_json(text)
    except sys.modules["pydantic"].ValidationError as fault:
        raise ArgumentsRefused(_violation_of(fault)) from fault


def _violation_of(fault: Any) -> Violation:
    """Convert the first error to a violation, without the wrong value."""
    first = fault.errors(include_url=False, include_input=False, include_context=False)[0]
    return Violation(".".join(map(str, first["loc"])), str(first["msg"]))


def plain_form_of(model: Any) -> Json:
    return model.model_dump(mode="json", by_alias=True)


def _model_base() -> type | tuple[()]:
    """Return the class of all models; an empty tuple while Pydantic is not imported, so that no value is a model."""
    pydantic = sys.modules.get("pydantic")
    return getattr(pydantic, "BaseModel", ()) if pydantic is not None else ()
