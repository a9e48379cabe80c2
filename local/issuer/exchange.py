"""The requests and answers of the endpoints, which are independent of sockets."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

type Parameters = Mapping[str, str]


class OAuthError(Exception):
    """A refused request: an error code of RFC 6749, and a description that says what to do."""

    def __init__(self, code: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.status = status

    @property
    def fields(self) -> dict[str, str]:
        return {"error": self.code, "error_description": self.description}


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def parameters(self) -> Parameters:
        return _parameters(self.query)

    def form(self) -> Parameters:
        if self.headers.get("content-type", "").split(";")[0].strip() != "application/x-www-form-urlencoded":
            raise OAuthError("invalid_request", "Send the parameters as application/x-www-form-urlencoded.")
        return _parameters(self.body.decode("ascii", errors="replace"))


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def as_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    default_headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    return Answer(status, json.dumps(value).encode(), default_headers | dict(headers or {}))


def error_answer(error: OAuthError) -> Answer:
    challenge = {"WWW-Authenticate": 'Basic realm="issuer"'} if error.status == 401 else {}
    return as_json(error.fields, error.status, challenge)


def required(parameters: Parameters, name: str) -> str:
    if value := parameters.get(name):
        return value
    raise OAuthError("invalid_request", f"The parameter {name} is missing.")


def _parameters(text: str) -> Parameters:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise OAuthError("invalid_request", "The parameters cannot be read.") from None
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise OAuthError("invalid_request", "A parameter is given more than once.")
    return dict(pairs)
