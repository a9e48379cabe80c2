"""Secrets of an executor, by the names of its environment variables, and the masking of secrets in its output."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from signpost.errors import PermanentlyUnavailable, Unavailable
from signpost.toolkit.answers import ToolError

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.toolkit.ports import SecretTexts

CACHE_SECONDS = 300.0
"""Seconds after which a secret is read again, because it may have been rotated."""
SHORTEST_MASKED = 8
"""Minimum characters of a secret that is masked. A shorter one would match other text by chance."""
MASK = "***"
JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
SECRET_VARIABLE = re.compile(r"SECRET_([A-Z0-9_]+)_ARN")


def find_secret_arns(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Find the ARNs of secrets by their names: `SECRET_MAIL_KEY_ARN` holds the ARN of `mail_key`."""
    matches = ((SECRET_VARIABLE.fullmatch(name), arn) for name, arn in environment.items())
    return {match[1].lower(): arn for match, arn in matches if match and arn}


class Secrets:
    """Reads the secrets of an executor, caches them, and masks the ones that were read."""

    def __init__(self, arns: Mapping[str, str], texts: "SecretTexts", clock: "Clock") -> None:
        self._arns = arns
        self._texts = texts
        self._clock = clock
        self._cache: dict[str, tuple[float, str]] = {}
        self._seen: set[str] = set()
        self._masked_forms: tuple[int, Sequence[str]] = (0, ())

    def read(self, name: str, member: str | None, *, fresh: bool) -> str:
        """Read a secret, or one member of a secret that is a JSON object. Raises ToolError, whose message is for the
        operator who deploys the executor."""
        until, text = self._cache.get(name, (0.0, ""))
        if fresh or self._clock.now() >= until:
            text = self._fetch(name)
            self._cache[name] = (self._clock.now() + CACHE_SECONDS, text)
        self._seen.add(text)
        if member is None:
            self._seen.update(_parts_of(text), _texts_of_members(text))
            return text
        value = _text_of_member(text, member)
        if value is None:
            message = f"The secret `{name}` holds no JSON object with a text {member!r}; the operator must correct it."
            raise ToolError(message)
        self._seen.update((value, *_parts_of(value)))
        return value

    @property
    def has_read_any(self) -> bool:
        return bool(self._seen)

    def mask(self, text: str) -> str:
        """Mask all secrets that were read, including those that were rotated since."""
        for form in self._forms_to_mask():
            text = text.replace(form, MASK)
        return text

    def mask_json(self, text: str) -> str:
        """Mask secrets in JSON text. Only strings and names are masked; numbers stay unchanged."""
        return JSON_STRING.sub(lambda match: json.dumps(self.mask(json.loads(match[0]))), text)

    def _forms_to_mask(self) -> Sequence[str]:
        """List the texts to mask, the longest first. The list is sorted only after another secret was read, because a
        long result consists of many texts to mask."""
        count, forms = self._masked_forms
        if count != len(self._seen):
            seen = self._seen.copy()  # another thread may read a secret meanwhile
            forms = sorted({form for secret in seen for form in _forms_of(secret)}, key=len, reverse=True)
            self._masked_forms = len(seen), forms
        return forms

    def _fetch(self, name: str) -> str:
        arn = self._arns.get(name)
        if arn is None:
            message = f"There is no secret `{name}`; the operator must set its ARN as SECRET_{name.upper()}_ARN."
            raise ToolError(message)
        try:
            return self._texts.read(arn)
        except Unavailable as fault:
            message = f"The secret `{name}` cannot be read. {fault} Try again."
            raise ToolError(message, "transient_error") from None
        except PermanentlyUnavailable as fault:
            raise ToolError(f"The secret `{name}` cannot be read ({fault}); the operator must check it.") from None


def _forms_of(secret: str) -> Iterable[str]:
    """List the forms of a secret: as it is, and as Python and JSON escape it. A short secret has none."""
    if len(secret) < SHORTEST_MASKED:
        return ()
    return secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]


def _parts_of(text: str) -> Iterable[str]:
    """List the parts of a secret that code may use: the text without surrounding white space, and its lines, as those
    of a private key."""
    return text.strip(), *(line.strip() for line in text.splitlines())


def _texts_of_members(text: str) -> Iterable[str]:
    return [
        form for value in _object_in(text).values() if isinstance(value, str) for form in (value, *_parts_of(value))
    ]


def _text_of_member(text: str, name: str) -> str | None:
    value = _object_in(text).get(name)
    return value if isinstance(value, str) else None


def _object_in(text: str) -> Mapping[str, object]:
    """Parse a JSON object; empty if the text is none."""
    try:
        parsed = json.loads(text)
    except (RecursionError, ValueError):  # RecursionError: nested too deeply
        return {}
    return cast("Mapping[str, object]", parsed) if isinstance(parsed, Mapping) else {}
