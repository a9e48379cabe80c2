"""Finds secrets that an author wrote into a setting. No message repeats one: it names the place and the kind."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from signpost.hazards.model import Hazard
from signpost.model import Json
from signpost.records import dataclass

type SettingPath = tuple[str | int, ...]

LEAST_LENGTH = 6
"""Characters of a secret. A shorter value is a word or a placeholder."""
ADVICE = "Every reader of the definition sees it. Keep it in AWS Secrets Manager; an executor reads it by `ctx.secret`."
_SECRET_NAMES = re.compile(
    r"(?:.*(?:^|_))?(?:(?:proxy_)?authorization|(?:.*_)?api_?key|(?:(?:access|auth|bearer|refresh|session|id|bot|github"
    r"|gitlab|slack|jwt|api|security|private|personal_access)_?)?token|(?:client_?|shared_?|api_?|app_?|webhook_?"
    r"|signing_?)?secret(?:_?key|_?access_?key)?|passw(?:or)?d|passphrase|pwd|private_?key|access_?key|signing_?key"
    r"|encryption_?key|credentials?|cookie|set_cookie)"
)
_NO_SECRET_NAMES = re.compile(
    r"(?:.*_)?(?:(?:next|page|continuation|client|sync|cursor|start|end|stop|pad|cancel|csrf|prev|previous|idempotency)"
    r"_?(?:page_?)?token|public_?key)"
)
_SHAPES: Mapping[str, re.Pattern[str]] = {
    "a key of AWS": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a secret key of an API": re.compile(
        r"\b(?:sk|rk)[-_](?:(?:live|test|proj|ant|or|svcacct)[-_])?[A-Za-z0-9_-]{20,}"
    ),
    "a token of GitHub": re.compile(r"\b(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    "a token of GitLab": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}"),
    "a token of Slack": re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}"),
    "a webhook of Slack": re.compile(r"hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,}"),
    "a key of Google": re.compile(r"\bAIza[0-9A-Za-z_-]{35}"),
    "a token of a package registry": re.compile(r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{30,})"),
    "a token of a model hub": re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
    "a signed token": re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}"),
    "a private key": re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    "an API key of Signpost": re.compile(r"\bsp_[a-z0-9-]{1,64}_[A-Za-z0-9]{6,}_[A-Za-z0-9_-]{16,}"),
    "a bearer token": re.compile(r"\b[Bb]earer +(?![$<{%])[A-Za-z0-9._~+/=-]{16,}"),
    "a user and a password": re.compile(r"\b[Bb]asic +(?![$<{%])[A-Za-z0-9+/]{12,}={0,2}(?![A-Za-z0-9+/])"),
}
"""Values that are secrets by their form, wherever they stand."""
_TEMPLATE = re.compile(
    r"\$\.|\$\{|\{\{|\{%|%\(|<[A-Za-z][^<>]*>|\A\$[A-Za-z_]|\$env:|\Assm:|\Aarn:|\Asecret:", re.ASCII
)
_SCHEME = re.compile(r"\A\s*(?:bearer|basic|token|digest|apikey)\b\s*", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"[x*._-]+|(?:your|my|the|some|an?)[-_ ].*|change[-_ ]?me|todo|example|redacted|none|null|true|false|required"
    r"|optional",
    re.IGNORECASE,
)
_NAMED_VALUE = re.compile(r"(?:[?&]|\A--?)(?P<name>[A-Za-z][\w.-]*)=(?P<value>[^&#\s]+)")
"""A parameter of a URL, or an option of a command."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class FoundSecret:
    at: SettingPath
    hazard: Hazard


def find_secrets(value: Json, at: SettingPath = (), name: str = "") -> Iterator[FoundSecret]:
    """Find the secrets in a setting, at any depth. `name` is the name of the setting itself."""
    if isinstance(value, str):
        if kind := _kind_of_secret(value, is_named=is_secret_name(name)):
            yield FoundSecret(at, _build_hazard(at, kind))
    elif isinstance(value, Mapping):
        for member, child in value.items():
            yield from find_secrets(child, (*at, member), _setting_name(value, member, name))
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            option = value[index - 1] if index else None
            is_option = isinstance(option, str) and option.startswith("-") and "=" not in option
            yield from find_secrets(entry, (*at, index), str(option).lstrip("-") if is_option else name)


def _setting_name(holder: Mapping[str, Json], member: str, name: str) -> str:
    """Return the name under which the value of a member is used. The operands of `concat` and the value of `set` belong
    to the setting that they make; `{name: Authorization, value: …}` is a setting too."""
    if member in ("concat", "set"):
        return name
    label = holder.get("name", holder.get("key")) if member == "value" else None
    return label if isinstance(label, str) else member


def is_secret_name(name: str) -> bool:
    words = _CAMEL.sub("_", name).replace("-", "_").replace(" ", "_").replace(".", "_").lower()
    return _SECRET_NAMES.fullmatch(words) is not None and _NO_SECRET_NAMES.fullmatch(words) is None


def kind_by_shape(text: str) -> str | None:
    """Return the kind of the secret in a text, by its form alone; None if it has none."""
    if _has_password(text):
        return "a password in a URL"
    return next((kind for kind, shape in _SHAPES.items() if shape.search(text)), None)


def _kind_of_secret(text: str, *, is_named: bool) -> str | None:
    if kind := kind_by_shape(text):
        return kind
    named = [match for match in _NAMED_VALUE.finditer(text) if is_secret_name(match["name"])]
    if any(_is_literal(match["value"]) for match in named):
        return "a literal value of a secret"
    return "a literal value under the name of a secret" if is_named and _is_literal(text) else None


def _is_literal(text: str) -> bool:
    literal = _SCHEME.sub("", text).strip()
    return len(literal) >= LEAST_LENGTH and not _TEMPLATE.search(text) and not _PLACEHOLDER.fullmatch(literal)


def _has_password(text: str) -> bool:
    if "://" not in text or "@" not in text:
        return False
    try:
        password = urlsplit(text.strip()).password
    except ValueError:
        return False
    return bool(password) and not _TEMPLATE.search(password or "") and not _PLACEHOLDER.fullmatch(password or "")


def _build_hazard(at: SettingPath, kind: str) -> Hazard:
    place = f"`{'.'.join(map(str, at))}` has " if at else ""
    return Hazard("literal_secret", f"{place}{kind}. {ADVICE}")
