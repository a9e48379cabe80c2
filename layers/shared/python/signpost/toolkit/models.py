"""Pydantic's models, for authors who import them. Nobody else waits for that import."""

import sys
from typing import Any

from signpost.model import Json, JsonObject
from signpost.schema.validation import Violation
from signpost.toolkit.answers import ArgumentsRefused


def is_model(value: object) -> bool:
    return isinstance(value, _base())


def is_model_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, _base())


def schema_of(model: Any, *, output: bool) -> JsonObject:
    return model.model_json_schema(mode="serialization" if output else "validation")


def instance_of(model: Any, text: str) -> object:
    """Made from JSON, which even strict models take dates and the like from. Raises ArgumentsRefused."""
    try:
        return model.model_validate_json(text)
    except sys.modules["pydantic"].ValidationError as fault:
        raise ArgumentsRefused(_violation(fault)) from fault


def _violation(fault: Any) -> Violation:
    """The first one, without the value that is wrong."""
    first = fault.errors(include_url=False, include_input=False, include_context=False)[0]
    return Violation(".".join(map(str, first["loc"])), str(first["msg"]))


def plain_form_of(model: Any) -> Json:
    return model.model_dump(mode="json", by_alias=True)


def _base() -> type | tuple[()]:
    """Empty while nobody has imported it, so that nothing is one."""
    pydantic = sys.modules.get("pydantic")
    return getattr(pydantic, "BaseModel", ()) if pydantic is not None else ()
