"""How a function is called for its arguments: as its author says what it takes, or by the names of its parameters."""

from collections.abc import Callable, Mapping
from typing import Any

from signpost.model import JsonObject
from signpost.toolkit import forms, options
from signpost.toolkit.by_name import Named, named
from signpost.toolkit.context import Context
from signpost.toolkit.fields import Reader, SpecRefused
from signpost.toolkit.forms import Shape, ShapeRefused
from signpost.toolkit.function import DeclarationError, parameters_taken

type Run = Callable[[JsonObject, Context], object]


def called(
    name: str, run: Callable[..., object], said: Mapping[str, Any], otherwise: str = "say what it takes as `input`"
) -> tuple[Run, Shape]:
    """What calls it, and what it takes. Raises DeclarationError."""
    stated = declared(name, "input", said)
    by_name = named(name, run, otherwise) if stated is None else None
    if by_name is not None:
        return _called_by_name(name, run, by_name, strict=said.get("strict", False))
    takes = parameters_taken(name, run)
    if stated is None and said.get("strict"):
        raise DeclarationError(f"{name}: strict is for what is declared, and it takes any arguments.")
    shape = stated or forms.ANYTHING
    return lambda args, ctx: run(*(shape.delivered(args), ctx)[:takes]), shape


def _called_by_name(name: str, run: Callable[..., object], by_name: Named, *, strict: bool) -> tuple[Run, Shape]:
    try:
        # Made into what is given by name: what is left out has Python's default.
        read = Reader(strict=strict).record(by_name.fields, make=dict)
    except SpecRefused as fault:
        raise DeclarationError(f"{name}: {fault}.") from fault
    shape = Shape(read.schema, read.cast)
    context = by_name.context
    if context is None:
        return lambda args, ctx: run(**shape.delivered(args)), shape  # noqa: ARG005 - it is called as any other
    return lambda args, ctx: run(**shape.delivered(args), **{context: ctx}), shape


def declared(name: str, of: str, said: Mapping[str, Any]) -> Shape | None:
    """None if nothing is. Raises DeclarationError."""
    option = next((form for form in options.FORMS if form in said and form.startswith(of)), None)
    if option is None:
        return None
    try:
        return options.shape(option, said[option], strict=said.get("strict", False))
    except ShapeRefused as fault:
        raise DeclarationError(f"{name}: {option} cannot be: {fault}.") from fault
