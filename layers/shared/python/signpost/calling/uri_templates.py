"""URI templates as in RFC 6570: which URIs are instances of one, and the values of its variables in them.

A variable ends where the text after it appears first, if the rest then matches. The search never backtracks: no
template and no URI from a client can make it long.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

from signpost.contract import LONGEST_URI
from signpost.records import dataclass

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(r"([+#]?)([A-Za-z0-9_]+)")
_STOP_CHARACTERS = {"": "/?#", "+": "#", "#": ""}
"""The characters that a value cannot contain, by the operator of its variable."""
_RESERVED = ":/?#[]@!$&'()*+,;="


class TemplateRefused(Exception):  # noqa: N818 - it names what happened to it
    """A template is malformed. The message says why, in words that follow its text."""


@dataclass(frozen=True, slots=True)
class TemplateVariable:
    name: str
    stop_characters: str
    """The characters that the value cannot contain."""
    literal_after: str
    """The literal text up to the next variable, or to the end."""


@dataclass(frozen=True, slots=True)
class UriTemplate:
    text: str
    prefix: str
    variables: Sequence[TemplateVariable]

    @property
    def literal_length(self) -> int:
        """The number of characters that all instances have in common."""
        return len(self.prefix) + sum(len(variable.literal_after) for variable in self.variables)

    @property
    def names(self) -> Sequence[str]:
        return [variable.name for variable in self.variables]

    def values_in(self, uri: str) -> Mapping[str, str] | None:
        """Return the values of the variables, percent-decoded, or None if the URI is not an instance."""
        if not self.variables:
            return {} if uri == self.prefix else None
        if len(uri) > LONGEST_URI or not uri.startswith(self.prefix):
            return None
        starts: list[Sequence[int]] = [[len(self.prefix)]]
        for variable in self.variables[:-1]:
            ends = _find_ends(uri, variable, starts[-1])
            starts.append([end + len(variable.literal_after) for end in ends])
        last = self.variables[-1].literal_after
        return self._read_values(uri, starts, len(uri) - len(last)) if uri.endswith(last) else None

    def expand(self, values: Mapping[str, str]) -> str | None:
        """Return the instance with these values, or None if a value is missing."""
        if any(name not in values for name in self.names):
            return None
        return self.prefix + "".join(
            _encode(values[variable.name], variable) + variable.literal_after for variable in self.variables
        )

    def _read_values(self, uri: str, starts: Sequence[Sequence[int]], end: int) -> Mapping[str, str] | None:
        """Read the values from the last variable to the first. `starts` has the places where each variable may begin,
        `end` is the end of the last one."""
        values: dict[str, str] = {}
        for index in reversed(range(len(self.variables))):
            variable = self.variables[index]
            start = _find_start(uri, variable, starts[index], end)
            value = None if start is None else _decode(uri[start:end])
            if start is None or value is None:
                return None
            values[variable.name] = value
            end = start - len(self.variables[index - 1].literal_after)
        return {name: values[name] for name in self.names}


def parse_uri_template(text: str) -> UriTemplate:
    """Parse a template. Raises TemplateRefused."""
    # The expansion of `{#name}` begins with a literal `#`.
    prefix, *rest = _EXPRESSION.split(text.replace("{#", "#{#"))
    expressions, texts = rest[::2], rest[1::2]
    if any(brace in literal for literal in (prefix, *texts) for brace in "{}"):
        raise TemplateRefused("has a brace that is not closed, or was not opened")
    variables = tuple(
        _parse_variable(expression, literal_after) for expression, literal_after in zip(expressions, texts, strict=True)
    )
    _check_variables(variables)
    return UriTemplate(text, prefix, variables)


def _parse_variable(expression: str, literal_after: str) -> TemplateVariable:
    match = _VARIABLE.fullmatch(expression)
    if match is None:
        raise TemplateRefused(f"has {{{expression}}}; only {{name}}, {{+name}} and {{#name}} are supported")
    return TemplateVariable(match[2], _STOP_CHARACTERS[match[1]], literal_after)


def _check_variables(variables: Sequence[TemplateVariable]) -> None:
    names = [variable.name for variable in variables]
    if twice := [name for name in names if names.count(name) > 1]:
        raise TemplateRefused(f"has the variable {twice[0]} twice")
    if adjacent := [variable.name for variable in variables[:-1] if not variable.literal_after]:
        raise TemplateRefused(f"has no text between {{{adjacent[0]}}} and the variable after it")


def _find_ends(uri: str, variable: TemplateVariable, starts: Sequence[int]) -> Sequence[int]:
    """Return the places where a variable may end that begins at one of `starts`."""
    found: list[int] = []
    end = uri.find(variable.literal_after, starts[0] + 1) if starts else -1
    while end >= 0:
        if _find_start(uri, variable, starts, end) is not None:
            found.append(end)
        end = uri.find(variable.literal_after, end + 1)
    return found


def _find_start(uri: str, variable: TemplateVariable, starts: Sequence[int], end: int) -> int | None:
    """Return the first of `starts` from which the variable can reach `end`, or None. A value is never empty."""
    earliest = max((uri.rfind(character, 0, end) for character in variable.stop_characters), default=-1) + 1
    index = bisect_left(starts, earliest)
    return starts[index] if index < len(starts) and starts[index] < end else None


def _encode(value: str, variable: TemplateVariable) -> str:
    """Percent-encode a value so that `values_in` finds it again. Lone surrogates are encoded, too."""
    ends = variable.stop_characters
    safe = (
        "" if ends == _STOP_CHARACTERS[""] else "".join(character for character in _RESERVED if character not in ends)
    )
    return quote(value, safe=safe, errors="surrogatepass")


def _decode(value: str) -> str | None:
    """Percent-decode a value; None if it is not UTF-8."""
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        return None
