"""Registration of a toolkit: overrides by the executor that hosts it, over the options of the toolkit's author."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from signpost.contract import HELPER
from signpost.directory.listing import check_flag
from signpost.records import dataclass
from signpost.toolkit.function import OPTIONS, DeclarationError, Function, functions_of, is_id

if TYPE_CHECKING:
    from signpost.toolkit.kit import Toolkit

SINGLE_FUNCTION_OPTIONS = ("name", "description")
"""Overrides that apply only to a host with exactly one function."""


class Overrides(TypedDict, total=False):
    hidden: bool
    visible: bool
    category: str
    name: str
    description: str
    namespace: str


@dataclass(frozen=True, slots=True)
class RegisteredToolkit:
    """A toolkit with the overrides of the executor that hosts it."""

    namespace: str
    functions: tuple[Function, ...]
    version: str | None


def registered(host: "Toolkit | Function | RegisteredToolkit", **overrides: Unpack[Overrides]) -> RegisteredToolkit:
    """Apply overrides to a toolkit or a function. An override replaces the author's option, also one that sets the
    opposite. Raises DeclarationError."""
    functions = functions_of(host)
    old_namespace = host.id.rpartition("::")[0] if isinstance(host, Function) else host.namespace
    _check_overrides(overrides, functions, old_namespace)
    namespace = overrides.get("namespace", old_namespace)
    version = None if isinstance(host, Function) else host.version
    return RegisteredToolkit(
        namespace,
        tuple(_apply_overrides(function, overrides, old_namespace, namespace) for function in functions),
        version,
    )


def _apply_overrides(
    function: Function, overrides: Mapping[str, object], old_namespace: str, namespace: str
) -> Function:
    own = function.id.removeprefix(f"{old_namespace}::")
    moved = replace(function, id=f"{namespace}::{own}" if namespace else own)
    if _is_helper(function):
        return moved
    changed: dict[str, Any] = {option: overrides[option] for option in SINGLE_FUNCTION_OPTIONS if option in overrides}
    if "hidden" in overrides or "visible" in overrides:
        changed["hidden"] = overrides.get("hidden", not overrides.get("visible", True))
    if "category" in overrides and function.component is None:
        changed["category"] = overrides["category"]
    return replace(moved, **changed)


def _check_overrides(overrides: Mapping[str, object], functions: Sequence[Function], namespace: str) -> None:
    for option, value in overrides.items():
        if fault := _fault_of_override(option, value):
            raise DeclarationError(f"{namespace}: {option} {fault}.")
    names = [function.id for function in functions if not _is_helper(function)]
    for option in SINGLE_FUNCTION_OPTIONS:
        if option in overrides and len(names) != 1:
            raise DeclarationError(
                f"{namespace}: {option} is for one function, and it has {', '.join(names) or 'none'}; set it at each."
            )
    if "category" in overrides and not any(function.component is None for function in functions):
        raise DeclarationError(f"{namespace}: category is for tools, and {namespace} has none.")


def _fault_of_override(option: str, value: object) -> str | None:
    """Find the fault of an override, in words that follow its name; None if it has none."""
    if option not in Overrides.__annotations__:
        return f"is not an option of a registration; the options are {', '.join(sorted(Overrides.__annotations__))}"
    return "must not be None" if value is None else _OVERRIDE_CHECKS[option](value)


def _fault_of_namespace(value: object) -> str | None:
    return None if is_id(value) else f"{value!r} is not a valid namespace"


_OVERRIDE_CHECKS: Mapping[str, Callable[[object], str | None]] = {
    **OPTIONS,
    "visible": check_flag,
    "namespace": _fault_of_namespace,
}


def _is_helper(function: Function) -> bool:
    return function.component is not None and function.component.kind == HELPER
