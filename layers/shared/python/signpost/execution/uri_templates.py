"""Patterns of URIs, as RFC 6570 writes them: which URIs are instances of one, and what its variables are in them.

A variable ends where what stands behind it appears first, if the rest then fits. It is found without going back and
forth, whatever the pattern is: whoever asks for a URI must not be able to make the search long.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

from signpost.contract import LONGEST_URI
from signpost.records import dataclass

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(r"([+#]?)([A-Za-z0-9_]+)")
_ENDS_BEFORE = {"": "/?#", "+": "#", "#": ""}
"""What a value has none of, by the operator of its variable."""
_RESERVED = ":/?#[]@!$&'()*+,;="


class TemplateRefused(Exception):  # noqa: N818 - it names what happened to it
    """The message says why, in words that follow its text."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    ends_before: str
    behind: str
    """The text up to the next variable, or to the end."""


@dataclass(frozen=True, slots=True)
class UriTemplate:
    text: str
    begins: str
    variables: Sequence[Variable]

    @property
    def said(self) -> int:
        """Characters that every instance of it has."""
        return len(self.begins) + sum(len(variable.behind) for variable in self.variables)

    @property
    def names(self) -> Sequence[str]:
        return [variable.name for variable in self.variables]

    def values_in(self, uri: str) -> Mapping[str, str] | None:
        """What the variables are, percent-decoded; None if the URI is no instance."""
        if not self.variables:
            return {} if uri == self.begins else None
        if len(uri) > LONGEST_URI or not uri.startswith(self.begins):
            return None
        starts: list[Sequence[int]] = [[len(self.begins)]]
        for variable in self.variables[:-1]:
            ends = _ends(uri, variable, starts[-1])
            starts.append([end + len(variable.behind) for end in ends])
        last = self.variables[-1].behind
        return self._values(uri, starts, len(uri) - len(last)) if uri.endswith(last) else None

    def expanded(self, values: Mapping[str, str]) -> str | None:
        """The instance with these values; None if one is not said."""
        if any(name not in values for name in self.names):
            return None
        return self.begins + "".join(_encoded(values[one.name], one) + one.behind for one in self.variables)

    def _values(self, uri: str, starts: Sequence[Sequence[int]], end: int) -> Mapping[str, str] | None:
        """From the end: where each variable begins so that it reaches this far."""
        values: dict[str, str] = {}
        for index in reversed(range(len(self.variables))):
            variable = self.variables[index]
            start = _start(uri, variable, starts[index], end)
            value = None if start is None else _decoded(uri[start:end])
            if start is None or value is None:
                return None
            values[variable.name] = value
            end = start - len(self.variables[index - 1].behind)
        return {name: values[name] for name in self.names}


def uri_template(text: str) -> UriTemplate:
    """Raises TemplateRefused."""
    # What `{#name}` stands for begins with the character itself.
    begins, *rest = _EXPRESSION.split(text.replace("{#", "#{#"))
    expressions, texts = rest[::2], rest[1::2]
    if any(brace in literal for literal in (begins, *texts) for brace in "{}"):
        raise TemplateRefused("has a brace that is not closed, or was not opened")
    variables = tuple(_variable(expression, behind) for expression, behind in zip(expressions, texts, strict=True))
    _check(variables)
    return UriTemplate(text, begins, variables)


def _variable(expression: str, behind: str) -> Variable:
    read = _VARIABLE.fullmatch(expression)
    if read is None:
        raise TemplateRefused(f"has {{{expression}}}, and there are {{name}}, {{+name}} and {{#name}} only")
    return Variable(read[2], _ENDS_BEFORE[read[1]], behind)


def _check(variables: Sequence[Variable]) -> None:
    names = [variable.name for variable in variables]
    if twice := [name for name in names if names.count(name) > 1]:
        raise TemplateRefused(f"has two variables {twice[0]}")
    if stuck := [variable.name for variable in variables[:-1] if not variable.behind]:
        raise TemplateRefused(f"says nothing between {{{stuck[0]}}} and the variable behind it")


def _ends(uri: str, variable: Variable, starts: Sequence[int]) -> Sequence[int]:
    """Where it may end, if it begins at one of these."""
    found: list[int] = []
    end = uri.find(variable.behind, starts[0] + 1) if starts else -1
    while end >= 0:
        if _start(uri, variable, starts, end) is not None:
            found.append(end)
        end = uri.find(variable.behind, end + 1)
    return found


def _start(uri: str, variable: Variable, starts: Sequence[int], end: int) -> int | None:
    """The first of these from which it reaches there. A value is never empty."""
    earliest = max((uri.rfind(character, 0, end) for character in variable.ends_before), default=-1) + 1
    index = bisect_left(starts, earliest)
    return starts[index] if index < len(starts) and starts[index] < end else None


def _encoded(value: str, variable: Variable) -> str:
    """As it is found again, and what is no text without a fault."""
    ends = variable.ends_before
    safe = "" if ends == _ENDS_BEFORE[""] else "".join(one for one in _RESERVED if one not in ends)
    return quote(value, safe=safe, errors="surrogatepass")


def _decoded(value: str) -> str | None:
    """None if it is no text."""
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        return None
