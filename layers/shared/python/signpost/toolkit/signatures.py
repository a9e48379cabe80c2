"""Builds the body of a function from a callable: by its declared input, or by the names of its parameters."""

from collections.abc import Callable, Mapping
from typing import Any

from signpost.model import JsonObject
from signpost.toolkit import options, schemas
from signpost.toolkit.async_functions import finish
from signpost.toolkit.context import Context
from signpost.toolkit.fields import FieldSpecReader, SpecRefused
from signpost.toolkit.function import DeclarationError, count_parameters
from signpost.toolkit.parameters import NamedParameters, read_named_parameters
from signpost.toolkit.schemas import CastSchema, CastSchemaRefused

type FunctionBody = Callable[[JsonObject, Context], object]


def build_call(
    name: str,
    run: Callable[..., object],
    author_options: Mapping[str, Any],
    advice: str = "declare its arguments as `input`",
) -> tuple[FunctionBody, CastSchema]:
    """Build the function body and the schema of its arguments. Raises DeclarationError."""
    declared = find_declared_schema(name, "input", author_options)
    by_name = read_named_parameters(name, run, advice) if declared is None else None
    if by_name is not None:
        return _build_call_by_name(name, run, by_name, strict=author_options.get("strict", False))
    parameter_count = count_parameters(name, run)
    if declared is None and author_options.get("strict"):
        raise DeclarationError(f"{name}: strict needs declared arguments, and it takes any; declare them as `input`.")
    cast_schema = declared or schemas.ANY_OBJECT
    return lambda args, ctx: finish(run(*(cast_schema.deliver(args), ctx)[:parameter_count])), cast_schema


def _build_call_by_name(
    name: str, run: Callable[..., object], by_name: NamedParameters, *, strict: bool
) -> tuple[FunctionBody, CastSchema]:
    try:
        # Cast to keyword arguments: an argument that is left out has the default of the Python function.
        record = FieldSpecReader(strict=strict).read_record(by_name.fields, make=dict)
    except SpecRefused as fault:
        raise DeclarationError(f"{name}: {fault}.") from fault
    cast_schema = CastSchema(record.schema, record.cast)
    context = by_name.context
    if context is None:
        return lambda args, ctx: finish(run(**cast_schema.deliver(args))), cast_schema  # noqa: ARG005 - all bodies take the context
    return lambda args, ctx: finish(run(**cast_schema.deliver(args), **{context: ctx})), cast_schema


def find_declared_schema(name: str, direction: str, author_options: Mapping[str, Any]) -> CastSchema | None:
    """Read the declared schema of "input" or "output"; None if there is none. Raises DeclarationError."""
    option = next(
        (form for form in options.SCHEMA_OPTIONS if form in author_options and form.startswith(direction)), None
    )
    if option is None:
        return None
    try:
        return options.read_schema_option(option, author_options[option], strict=author_options.get("strict", False))
    except CastSchemaRefused as fault:
        raise DeclarationError(f"{name}: {option} is not valid: {fault}.") from fault
