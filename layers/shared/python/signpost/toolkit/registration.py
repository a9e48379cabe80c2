"""What whoever hosts a toolkit says of it, over what its author wrote beside each function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from signpost.contract import HELPER
from signpost.execution.listing import no_flag
from signpost.records import dataclass
from signpost.toolkit.function import OPTIONS, DeclarationError, Function, functions_of, is_id

if TYPE_CHECKING:
    from signpost.toolkit.kit import Toolkit

OF_ONE = ("name", "description")
"""What cannot be said of several at once."""


class Overrides(TypedDict, total=False):
    hidden: bool
    visible: bool
    category: str
    name: str
    description: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Registered:
    """A toolkit as it is to be hosted."""

    namespace: str
    functions: tuple[Function, ...]
    version: str | None


def registered(host: "Toolkit | Function | Registered", **said: Unpack[Overrides]) -> Registered:
    """What is said here goes before what was said there, either way. Raises DeclarationError."""
    functions = functions_of(host)
    before = host.id.rpartition("::")[0] if isinstance(host, Function) else host.namespace
    _check(said, functions, before)
    namespace = said.get("namespace", before)
    version = None if isinstance(host, Function) else host.version
    return Registered(namespace, tuple(_overridden(one, said, before, namespace) for one in functions), version)


def _overridden(function: Function, said: Mapping[str, object], before: str, namespace: str) -> Function:
    own = function.id.removeprefix(f"{before}::")
    moved = replace(function, id=f"{namespace}::{own}" if namespace else own)
    if _is_helper(function):
        return moved
    changed: dict[str, Any] = {option: said[option] for option in OF_ONE if option in said}
    if "hidden" in said or "visible" in said:
        changed["hidden"] = said.get("hidden", not said.get("visible", True))
    if "category" in said and function.component is None:
        changed["category"] = said["category"]
    return replace(moved, **changed)


def _check(said: Mapping[str, object], functions: Sequence[Function], namespace: str) -> None:
    for option, value in said.items():
        if fault := _fault_of(option, value):
            raise DeclarationError(f"{namespace}: {option} {fault}.")
    there = [one.id for one in functions if not _is_helper(one)]
    for option in OF_ONE:
        if option in said and len(there) != 1:
            raise DeclarationError(
                f"{namespace}: {option} is ambiguous, it has {', '.join(there) or 'nothing'}; say it beside each."
            )
    if "category" in said and not any(one.component is None for one in functions):
        raise DeclarationError(f"{namespace}: category is of tools, and it has none.")


def _fault_of(option: str, value: object) -> str | None:
    """In words that follow its name."""
    if option not in Overrides.__annotations__:
        return f"is no option of a registration; there are {', '.join(sorted(Overrides.__annotations__))}"
    return "is None" if value is None else _FAULTS[option](value)


def _namespace(value: object) -> str | None:
    return None if is_id(value) else f"{value!r} is none"


_FAULTS: Mapping[str, Callable[[object], str | None]] = {**OPTIONS, "visible": no_flag, "namespace": _namespace}


def _is_helper(function: Function) -> bool:
    return function.component is not None and function.component.kind == HELPER
