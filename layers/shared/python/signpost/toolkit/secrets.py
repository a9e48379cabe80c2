"""Secrets of an executor, by the names that its environment gives them, and where they must not be seen."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from signpost.errors import Unavailable, Withheld
from signpost.ports import Clock
from signpost.toolkit.answers import ToolError
from signpost.toolkit.ports import SecretTexts

KEPT_FOR = 300.0
"""Seconds after which one is read again, since it may have been rotated."""
SHORTEST = 8
"""Characters of a secret that is looked for. A shorter one would be found by chance."""
MASK = "***"
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
VARIABLE = re.compile(r"SECRET_([A-Z0-9_]+)_ARN")


def named_in(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The ARNs of secrets by their names: `SECRET_MAIL_KEY_ARN` is that of `mail_key`."""
    found = ((VARIABLE.fullmatch(name), arn) for name, arn in environment.items())
    return {match[1].lower(): arn for match, arn in found if match and arn}


class Secrets:
    def __init__(self, arns: Mapping[str, str], texts: SecretTexts, clock: Clock) -> None:
        self._arns = arns
        self._texts = texts
        self._clock = clock
        self._kept: dict[str, tuple[float, str]] = {}
        self._seen: set[str] = set()
        self._looked_for: tuple[int, Sequence[str]] = (0, ())

    def read(self, name: str, member: str | None, *, fresh: bool) -> str:
        """Raises ToolError, whose message is for whoever deploys."""
        until, text = self._kept.get(name, (0.0, ""))
        if fresh or self._clock.now() >= until:
            text = self._read(name)
            self._kept[name] = (self._clock.now() + KEPT_FOR, text)
        self._seen.add(text)
        if member is None:
            self._seen.update(_parts(text), _members(text))
            return text
        found = _member(text, member)
        if found is None:
            raise ToolError(f"The secret `{name}` is no JSON object with a text {member!r}; tell whoever deploys it.")
        self._seen.update((found, *_parts(found)))
        return found

    @property
    def any_was_read(self) -> bool:
        return bool(self._seen)

    def masked(self, text: str) -> str:
        """Without any secret that was read, also one that is not valid any more."""
        for form in self._forms_of_seen():
            text = text.replace(form, MASK)
        return text

    def masked_json(self, text: str) -> str:
        """Of JSON, where a secret is looked for in texts and names alone: a number stays what it is."""
        return LITERAL.sub(lambda found: json.dumps(self.masked(json.loads(found[0]))), text)

    def _forms_of_seen(self) -> Sequence[str]:
        """The longest first. Sorted when there are more of them: a long result is made of many texts."""
        count, forms = self._looked_for
        if count != len(self._seen):
            seen = self._seen.copy()  # another thread may read one meanwhile
            forms = sorted({form for secret in seen for form in _forms(secret)}, key=len, reverse=True)
            self._looked_for = len(seen), forms
        return forms

    def _read(self, name: str) -> str:
        arn = self._arns.get(name)
        if arn is None:
            raise ToolError(f"There is no secret `{name}`; whoever deploys this names it by SECRET_{name.upper()}_ARN.")
        try:
            return self._texts.read(arn)
        except Unavailable as fault:
            message = f"The secret `{name}` cannot be read. {fault} Try again."
            raise ToolError(message, "transient_error") from None
        except Withheld as fault:
            raise ToolError(f"The secret `{name}` cannot be read ({fault}); tell whoever deploys it.") from None


def _forms(secret: str) -> Iterable[str]:
    """As it is, and as Python and JSON write it; none of one that is too short."""
    if len(secret) < SHORTEST:
        return ()
    return secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]


def _parts(text: str) -> Iterable[str]:
    """What is used of a text: without what surrounds it, and by its lines, as those of a private key."""
    return text.strip(), *(line.strip() for line in text.splitlines())


def _members(text: str) -> Iterable[str]:
    return [found for value in _object_in(text).values() if isinstance(value, str) for found in (value, *_parts(value))]


def _member(text: str, name: str) -> str | None:
    found = _object_in(text).get(name)
    return found if isinstance(found, str) else None


def _object_in(text: str) -> Mapping[str, object]:
    """Nothing if it is none."""
    try:
        parsed = json.loads(text)
    except (RecursionError, ValueError):  # nested too deeply is none, too
        return {}
    return cast("Mapping[str, object]", parsed) if isinstance(parsed, Mapping) else {}
