"""Requests of every kind, well-formed and not, from one seed: the same thousands in every run."""

import base64
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from signpost.mcp.revisions import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from stage.samples import STATIC_TEXT
from tests.differential.outcome import Sent
from tests.support.effort import count_examples

SEED = 20260728
RANDOM_REQUESTS = count_examples(12_000)
MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"

type Document = dict[str, Any]
type Headers = dict[str, str]
type Mutation = Callable[[Random, Document, Headers], None]

OPERATIONS: tuple[tuple[str, Document], ...] = (
    (
        "initialize",
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
    ),
    ("ping", {}),
    ("server/discover", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "gateway.home", "arguments": {}}),
    ("tools/call", {"name": "gateway.home"}),
    ("tools/call", {"name": "gateway.home", "arguments": {"cursor": "invented"}}),
    ("tools/call", {"name": "test_simple_text", "arguments": {}}),
    ("tools/call", {"name": "test_crash", "arguments": {}}),
    ("tools/call", {"name": "gateway_home", "arguments": {}}),
    ("tools/call", {"name": "no such tool", "arguments": {}}),
    ("tools/call", {"name": "test_add", "arguments": {"a": 1, "b": 2.5}}),
    ("tools/call", {"name": "test_multiple_content_types", "arguments": {}}),
    ("tools/call", {"name": "test_error_handling", "arguments": {}}),
    ("tools/call", {"name": "json_schema_2020_12_tool", "arguments": {"name": "n", "email": "e"}}),
    ("tools/call", {"name": "test_input_required_result_elicitation", "arguments": {}}),
    ("tools/call", {"name": "test_missing_capability", "arguments": {}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": STATIC_TEXT}),
    ("resources/read", {"uri": "test://template/7/data"}),
    ("resources/read", {"uri": "test://nothing"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "test_prompt", "arguments": {"name": "author"}}),
    ("prompts/get", {"name": "nothing"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "test_prompt"}, "argument": {"name": "name", "value": "a"}},
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "test://x"}, "argument": {"name": "name", "value": "a"}},
    ),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "test_prompt"},
            "argument": {"name": "name", "value": ""},
            "context": {"arguments": {"tone": "kind"}},
        },
    ),
    ("logging/setLevel", {"level": "info"}),
    ("resources/subscribe", {"uri": STATIC_TEXT}),
    ("resources/unsubscribe", {"uri": STATIC_TEXT}),
    ("subscriptions/listen", {"notifications": {"toolsListChanged": True}}),
    ("roots/list", {}),
    ("tasks/get", {"taskId": "t"}),
    ("sampling/createMessage", {}),
    ("nonsense", {}),
    ("Tools/List", {}),
    ("", {}),
)
NOTIFICATIONS = ("notifications/initialized", "notifications/cancelled", "notifications/progress", "nonsense")
NAME_IN = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**30, "", "x", "é\N{ROCKET}", "a\nb", [], {}, [1, None], {"a": {"b": [None]}},
    "2026-07-28", "gateway.home", STATIC_TEXT,
)  # fmt: skip
NO_PARAMS: tuple[Any, ...] = (None, [], [1], "text", 7, True, {})
METAS: tuple[Any, ...] = (None, [], "x", 7, {})
ANSWERS: tuple[Any, ...] = (
    {"answer": {"action": "accept", "content": {"a": "b"}}}, {}, [], "x", None, {"answer": 7}, {"answer": {}},
)  # fmt: skip
STATES: tuple[Any, ...] = ("forged", "", None, 7, {})
IDS: tuple[Any, ...] = (0, -7, 2**53, 10**40, "", "seven", "7", "é", None, True, 1.5, 2.0, [], {})
VERSIONS: tuple[Any, ...] = (MODERN, *LEGACY, "1999-01-01", "2099-01-01", "", "x", None, 7, {})


def generate_requests() -> Iterator[Sent]:
    yield from every_method_with_every_header()
    random = Random(SEED)  # noqa: S311 - the same numbers every time is the point
    for _ in range(RANDOM_REQUESTS):
        yield mutate_request(random)


def every_method_with_every_header() -> Iterator[Sent]:
    for method, params in OPERATIONS:
        yield modern(method, params)
        yield legacy(method, params, None)
        for version in LEGACY:
            yield legacy(method, params, version)
        for variant in HEADER_VARIANTS:
            sent = modern(method, params)
            variant(sent.headers)
            yield sent


def modern(method: str, params: Document) -> Sent:
    meta: Document = {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {}}
    document: Document = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**_copy(params), "_meta": meta}}
    headers = {"content-type": "application/json", "mcp-protocol-version": MODERN, "mcp-method": method}
    name = params.get(NAME_IN.get(method, ""))
    return Sent(document, {**headers, "mcp-name": name} if isinstance(name, str) else headers)


def legacy(method: str, params: Document, version: str | None) -> Sent:
    headers = {"content-type": "application/json"}
    document = {"jsonrpc": "2.0", "id": 1, "method": method, "params": _copy(params)}
    return Sent(document, {**headers, "mcp-protocol-version": version} if version else headers)


def mutate_request(random: Random) -> Sent:
    method, params = random.choice(OPERATIONS)
    version = random.choice((*LEGACY, None))
    sent = modern(method, params) if random.random() < 0.6 else legacy(method, params, version)
    document: Document = dict(sent.document)
    for mutation in random.choices(MUTATIONS, k=random.choice((1, 1, 1, 2))):
        mutation(random, document, sent.headers)
    return Sent(document, sent.headers)


def _change_params(random: Random, document: Document, headers: Headers) -> None:
    """Often the header follows, as a client's would that believes in what it sends."""
    params = document.get("params")
    if not isinstance(params, dict):
        return
    _change(random, params)  # pyright: ignore[reportUnknownArgumentType] - JSON
    name = document["params"].get(NAME_IN.get(str(document.get("method")), ""))
    if isinstance(name, str) and "mcp-name" in headers and random.random() < 0.8:
        headers["mcp-name"] = _encode_header(name)


def _change(random: Random, value: Document) -> None:
    """Removes, replaces or adds a member, here or further down."""
    keys = [key for key in value if key != "_meta"]
    key = random.choice(keys) if keys else "extra"
    inner = value.get(key)
    if isinstance(inner, dict) and random.random() < 0.6:
        _change(random, inner)  # pyright: ignore[reportUnknownArgumentType] - JSON
        return
    choice = random.random()
    if choice < 0.3:
        value.pop(key, None)
    elif choice < 0.75:
        value[key] = _junk(random)
    else:
        value[random.choice(("extra", "Name", "uri", "cursor"))] = _junk(random)


def _replace_params(random: Random, document: Document, headers: Headers) -> None:
    del headers
    document["params"] = _copy(random.choice(NO_PARAMS))


def _omit_params(random: Random, document: Document, headers: Headers) -> None:
    del random, headers
    document.pop("params", None)


def _add_cursor(random: Random, document: Document, headers: Headers) -> None:
    del headers
    if isinstance(document.get("params"), dict):
        document["params"]["cursor"] = random.choice((None, "", "invented", "a.b.c", 7, [], "é"))


def _add_answers(random: Random, document: Document, headers: Headers) -> None:
    """The members with which a client comes back to a question it was asked."""
    del headers
    if not isinstance(document.get("params"), dict):
        return
    document["params"]["inputResponses"] = _copy(random.choice(ANSWERS))
    if random.random() < 0.5:
        document["params"]["requestState"] = _copy(random.choice(STATES))


def _change_meta(random: Random, document: Document, headers: Headers) -> None:
    del headers
    params = document.get("params")
    if not isinstance(params, dict):
        return
    if random.random() < 0.15:
        document["params"]["_meta"] = _copy(random.choice(METAS))
        return
    meta = document["params"].setdefault("_meta", {})
    if isinstance(meta, dict):
        _set_meta(random, document["params"]["_meta"])


def _set_meta(random: Random, meta: Document) -> None:
    key, values = random.choice(META_VALUES)
    if random.random() < 0.2:
        meta.pop(key, None)
    else:
        meta[key] = _copy(random.choice(values))


def _change_version(random: Random, document: Document, headers: Headers) -> None:
    """In the body, in the header, or in both."""
    version, where = random.choice(VERSIONS), random.random()
    params = document.get("params")
    if where < 0.7 and isinstance(params, dict):
        meta = document["params"].setdefault("_meta", {})
        if isinstance(meta, dict):
            document["params"]["_meta"][PROTOCOL_VERSION] = version
    if where > 0.3 and isinstance(version, str):
        headers["mcp-protocol-version"] = version


def _change_id(random: Random, document: Document, headers: Headers) -> None:
    del headers
    document["id"] = random.choice(IDS)


def _change_envelope(random: Random, document: Document, headers: Headers) -> None:
    del headers
    random.choice(ENVELOPES)(document)


def _change_method(random: Random, document: Document, headers: Headers) -> None:
    document["method"] = random.choice(OPERATIONS)[0]
    if "mcp-method" in headers and random.random() < 0.8:
        headers["mcp-method"] = document["method"]


def _notify(random: Random, document: Document, headers: Headers) -> None:
    document.pop("id", None)
    document["method"] = random.choice(NOTIFICATIONS)
    if random.random() < 0.5:
        headers.pop("mcp-method", None)


def _change_headers(random: Random, document: Document, headers: Headers) -> None:
    del document
    random.choice(HEADER_VARIANTS)(headers)


def _encode_header(name: str) -> str:
    return name if name.isascii() and name.isprintable() and name == name.strip() else _sentinel(name)


def _sentinel(name: str) -> str:
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


def _junk(random: Random) -> Any:
    return _copy(random.choice(JUNK))


def _copy(value: Any) -> Any:
    """A request is changed in place; what it was made of is not."""
    return json.loads(json.dumps(value))


def _header(name: str, change: Callable[[str], str | None]) -> Callable[[Headers], None]:
    """The header after the change; None removes it."""

    def changed(headers: Headers) -> None:
        value = change(headers.pop(name, ""))
        if value is not None:
            headers[name] = value

    return changed


def _capitalize_headers(headers: Headers) -> None:
    for name in list(headers):
        headers[name.title()] = headers.pop(name)


def _add_session(headers: Headers) -> None:
    headers["mcp-session-id"] = "invented"
    headers["last-event-id"] = "7"


HEADER_VARIANTS: tuple[Callable[[Headers], None], ...] = (
    _capitalize_headers,
    _add_session,
    *(_header(name, lambda _: None) for name in ("mcp-protocol-version", "mcp-method", "mcp-name")),
    *(_header(name, lambda _: "other") for name in ("mcp-protocol-version", "mcp-method", "mcp-name")),
    *(_header(name, lambda _: "") for name in ("mcp-protocol-version", "mcp-method", "mcp-name")),
    *(_header(name, lambda value: f" \t{value} ") for name in ("mcp-protocol-version", "mcp-method", "mcp-name")),
    *(_header(name, lambda value: f"{value},{value}") for name in ("mcp-protocol-version", "mcp-method")),
    *(_header(name, str.upper) for name in ("mcp-method", "mcp-name")),
    *(_header(name, _sentinel) for name in ("mcp-protocol-version", "mcp-method", "mcp-name")),
    _header("mcp-name", lambda value: _sentinel(value).replace("?=", "", 1)),
    _header("mcp-name", lambda value: _sentinel(value).lower()),
    _header("mcp-name", lambda _: "=?base64?%%%?="),
    _header("mcp-name", lambda _: "=?base64?gA==?="),
    _header("mcp-name", lambda _: "=?base64?Z2F0ZXdheS5ob21lL===?="),
    _header("mcp-name", lambda value: _sentinel(value).replace("base64", "Base64")),
    *(_header("mcp-protocol-version", lambda _, version=version: version) for version in (*LEGACY, "2099-01-01")),
)
META_VALUES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (PROTOCOL_VERSION, VERSIONS),
    (
        CLIENT_CAPABILITIES,
        (
            {"elicitation": {}},
            {"elicitation": {}, "sampling": {}},
            {"sampling": 7},
            {"roots": []},
            {"x": 1},
            {"extensions": {}},
            *JUNK,
        ),
    ),
    (CLIENT_INFO, ({"name": "c", "version": "1"}, {"name": "c"}, {"name": 7, "version": "1"}, *JUNK)),
    (LOG_LEVEL, ("info", "debug", "loud", *JUNK)),
    ("progressToken", JUNK),
    ("traceparent", ("00-" + "4b" * 16 + "-" + "f0" * 8 + "-01", *JUNK)),
    ("com.example/own", JUNK),
)


def _set(name: str, value: Any) -> Callable[[Document], None]:
    def put(document: Document) -> None:
        document[name] = value

    return put


def _without(name: str) -> Callable[[Document], None]:
    def take(document: Document) -> None:
        document.pop(name, None)

    return take


def _make_posted_response(document: Document) -> None:
    document.pop("method", None)
    document["result"] = {}


def _make_posted_error(document: Document) -> None:
    document.pop("method", None)
    document["error"] = {"code": -32603, "message": "no"}


ENVELOPES: tuple[Callable[[Document], None], ...] = (
    _set("jsonrpc", "1.0"),
    _set("jsonrpc", 2.0),
    _without("jsonrpc"),
    _set("method", 7),
    _set("method", None),
    _without("method"),
    _set("extra", {"a": 1}),
    _set("result", {}),
    _make_posted_response,
    _make_posted_error,
)
MUTATIONS: tuple[Mutation, ...] = (
    _change_params,
    _change_params,
    _change_params,
    _replace_params,
    _omit_params,
    _add_cursor,
    _add_answers,
    _change_meta,
    _change_meta,
    _change_meta,
    _change_version,
    _change_id,
    _change_envelope,
    _change_method,
    _change_headers,
    _notify,
)
