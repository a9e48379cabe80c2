"""A `dataclass` decorator that builds frozen classes with slots in a third of the standard decorator's time.

A cold gateway builds a hundred such classes, and the standard library compiles eight functions for each. This module
compiles one, the constructor; all classes share the others. docs/benchmarks.md has the numbers.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """Builds frozen classes with slots here and leaves all others to the standard library."""

        def decorate(cls):
            is_usual = options == {"frozen": True, "slots": True} and not _has_special_options(cls)
            return _build_record(cls) if is_usual else dataclasses.dataclass(cls, **options)

        return decorate if cls is None else decorate(cls)


__all__ = ["dataclass"]


def _has_special_options(cls: type) -> bool:
    """Whether the class uses an option that this module does not support."""
    fields: list[Any] = [member for member in vars(cls).values() if isinstance(member, dataclasses.Field)]
    return hasattr(cls, "__post_init__") or any(
        not (field.init and field.repr and field.compare) or field.kw_only is True for field in fields
    )


def _build_record(cls: type) -> Any:
    make: Any = dataclasses.dataclass
    plain = make(_ensure_docstring(cls), init=False, repr=False, eq=False, slots=True)
    fields = dataclasses.fields(plain)
    members: dict[str, Any] = {
        "__init__": _compile_constructor(plain, fields),
        "__values__": staticmethod(_build_values_getter([field.name for field in fields])),
        "__repr__": _repr,
        "__eq__": _eq,
        "__hash__": _hash,
        "__setattr__": _refuse_change,
        "__delattr__": _refuse_change,
        "__reduce__": _reduce,
    }
    for name, member in members.items():
        if name not in cls.__dict__:
            setattr(plain, name, member)
    return plain


def _ensure_docstring(cls: type) -> type:
    """Sets a docstring if there is none. The standard library would otherwise compute one, which takes longer than the
    rest."""
    if not cls.__doc__:
        cls.__doc__ = cls.__name__
    return cls


def _compile_constructor(cls: Any, fields: "Sequence[dataclasses.Field[Any]]") -> Callable[..., None]:
    scope: dict[str, Any] = {"_missing": MISSING}
    parameters, lines = ["self"], list[str]()
    for field in fields:
        name, value = field.name, field.name
        scope[f"_set_{name}"] = getattr(cls, name).__set__
        if field.default is not MISSING:
            scope[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not MISSING:
            scope[f"_new_{name}"] = field.default_factory
            parameters.append(f"{name}=_missing")
            value = f"_new_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        lines.append(f" _set_{name}(self, {value})")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), scope)  # noqa: S102 - as the standard library does
    constructor = scope["__init__"]
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    return constructor


def _build_values_getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{type(self).__qualname__}({values})"


def _eq(self: Any, other: object) -> bool:
    return self.__values__(self) == self.__values__(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__values__(self))


def _refuse_change(self: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of {type(self).__qualname__}")


def _reduce(self: Any) -> tuple[Any, tuple[Any, ...]]:
    """Makes copies and pickles use the constructor, since nothing else may set a field."""
    return self.__class__, self.__values__(self)
