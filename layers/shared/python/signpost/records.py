"""`dataclass` for the values of this project: what the standard one makes, in a third of the time.

Every cold gateway makes a hundred frozen classes with slots, and the standard library compiles eight functions for
each. Here one is compiled, the constructor; the others are the same for all classes. docs/benchmarks.md has numbers.
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
        """Any other kind of class than those is made by the standard library."""

        def made(cls):
            is_usual = options == {"frozen": True, "slots": True} and not _is_special(cls)
            return _made(cls) if is_usual else dataclasses.dataclass(cls, **options)

        return made if cls is None else made(cls)


__all__ = ["dataclass"]


def _is_special(cls: type) -> bool:
    """Whether it asks for something that is not done here."""
    fields: list[Any] = [member for member in vars(cls).values() if isinstance(member, dataclasses.Field)]
    return hasattr(cls, "__post_init__") or any(
        not (field.init and field.repr and field.compare) or field.kw_only is True for field in fields
    )


def _made(cls: type) -> Any:
    make: Any = dataclasses.dataclass
    plain = make(_documented(cls), init=False, repr=False, eq=False, slots=True)
    fields = dataclasses.fields(plain)
    members: dict[str, Any] = {
        "__init__": _constructor(plain, fields),
        "__values__": staticmethod(_values([field.name for field in fields])),
        "__repr__": _repr,
        "__eq__": _eq,
        "__hash__": _hash,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__reduce__": _reduce,
    }
    for name, member in members.items():
        if name not in cls.__dict__:
            setattr(plain, name, member)
    return plain


def _documented(cls: type) -> type:
    """Or the standard library would work out a text, which takes longer than the rest."""
    if not cls.__doc__:
        cls.__doc__ = cls.__name__
    return cls


def _constructor(cls: Any, fields: "Sequence[dataclasses.Field[Any]]") -> Callable[..., None]:
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


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: object) -> bool:
    return self.__values__(self) == self.__values__(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__values__(self))


def _refuse(self: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of {type(self).__qualname__}")


def _reduce(self: Any) -> tuple[Any, tuple[Any, ...]]:
    """Copies are made by the constructor: nothing else may set a field."""
    return self.__class__, self.__values__(self)
