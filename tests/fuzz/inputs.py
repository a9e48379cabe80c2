"""Hostile input by the thousand, from one seed: the same in every run."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from signpost.mcp.revisions import CLIENT_CAPABILITIES
from tests.differential.generated_requests import LOG_LEVEL, MODERN, OPERATIONS, Document, modern, mutate_request
from tests.differential.outcome import Sent
from tests.fuzz.events import Event, event
from tests.support.effort import count_examples

TOOLS = (
    "test_missing_capability", "test_tool_with_logging", "test_tool_with_progress", "test_add", "test_error_handling",
    "test_multiple_content_types", "test_mirrored_argument", "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state", "json_schema_2020_12_tool",
)  # fmt: skip
no_arguments = dict[str, Any]
REQUESTS: tuple[tuple[str, Document], ...] = (
    *OPERATIONS,
    *(("tools/call", {"name": name, "arguments": no_arguments()}) for name in TOOLS),
)
CAPABLE: Document = {"elicitation": {}, "sampling": {}, "roots": {}}
LARGEST_BODY = 1024 * 1024
JSON = "application/json"

# As text, for none of them survives json.dumps or makes sense outside of a document.
VALUES = (
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "-0", "1E5", "01", "1.", "+1", "0x10", "9" * 400,
    "9" * 5000, "-" + "9" * 30, "1.0000000000000000000001", "null", "true", "[]", "{}", "[[]]", '{"":null}', '""',
    '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude80"', '"\\u0000"', '"\\r\\nx: y"', '"\u2028"', '"\N{ROCKET}"',
    '"\\x41"', '"\t"', "'x'", "undefined", "", "{", "]", ",", ":", '"', "/*x*/1", "1,", '{"a":1,"a":2}',
    '{"a":{"b":1,"b":1}}', "[" * 200 + "]" * 200, '{"a":' * 200 + "1" + "}" * 200, '"' + "x" * 3000 + '"',
    '{"elicitation":{}}', '{"sampling":{"x":1}}', '["a"]',
    '"gateway.home"', '"test_add"', '"test://static-text"', '"2026-07-28"', '"2025-11-25"', "2026",
)  # fmt: skip
MODERN_META = '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities"'
INPUT_REQUIRING_TOOL = "test_input_required_result_capabilities"
PARAMS = (
    ("tools/list", "@"),
    ("tools/list", '{"cursor":@}'),
    ("tools/list", '{"_meta":@}'),
    ("tools/list", '{"_meta":{"io.modelcontextprotocol/protocolVersion":@}}'),
    ("tools/list", f'{{"_meta":{{{MODERN_META}:@,"progressToken":@,"traceparent":@}}}}'),
    ("tools/call", '{"name":@,"arguments":{}}'),
    ("tools/call", '{"name":"gateway.home","arguments":@}'),
    ("tools/call", '{"name":"gateway.home","arguments":{"cursor":@}}'),
    ("tools/call", '{"name":"gateway.search","arguments":{"query":@,"limit":@}}'),
    ("tools/call", '{"name":"gateway.describe","arguments":{"id":@}}'),
    ("tools/call", '{"name":"workflow.start","arguments":{"definitionId":"item-0001","input":@}}'),
    ("tools/call", '{"name":"workflow.start","arguments":{"definitionId":@}}'),
    ("tools/call", '{"name":"workflow.get","arguments":{"workflowId":@}}'),
    ("tools/call", '{"name":"workflow.submit","arguments":{"workflowId":@,"expectedVersion":@,"transition":@}}'),
    ("tools/call", '{"name":"workflow.explain","arguments":{"definitionId":"item-0001","transition":@}}'),
    ("tools/call", '{"name":"test_add","arguments":{"a":@,"b":1}}'),
    ("tools/call", '{"name":"test_add","arguments":{"a":1,"b":1,"c":@}}'),
    ("tools/call", '{"name":"json_schema_2020_12_tool","arguments":{"name":@}}'),
    (
        "tools/call",
        f'{{"name":"{INPUT_REQUIRING_TOOL}","arguments":{{}},"inputResponses":@,"requestState":@,"_meta":{{{MODERN_META}:@}}}}',
    ),
    ("resources/read", '{"uri":@}'),
    ("prompts/get", '{"name":"test_prompt","arguments":{"name":@}}'),
    ("prompts/get", '{"name":"test_prompt","arguments":@}'),
    ("completion/complete", '{"ref":@,"argument":{"name":"name","value":"a"}}'),
    (
        "completion/complete",
        '{"ref":{"type":"ref/prompt","name":"test_prompt"},"argument":{"name":"name","value":@}}',
    ),
    (
        "completion/complete",
        '{"ref":{"type":"ref/prompt","name":@},"argument":{"name":"name","value":"a"},"context":@}',
    ),
    ("initialize", '{"protocolVersion":@,"capabilities":@,"clientInfo":@}'),
)
TEMPLATES = (
    *(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}' for method, params in PARAMS),
    '{"jsonrpc":"2.0","id":@,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":@,"params":{}}',
    '{"jsonrpc":@,"id":1,"method":"ping","params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":@}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":@}',
    '{"jsonrpc":"2.0","id":@,"result":@}',
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},@]',
    "[@,@,@]",
    "@",
    " @ @ ",
)
DEEP = (
    "[" * 10_000,
    "[" * 10_000 + "]" * 10_000,
    '{"a":' * 10_000 + "1" + "}" * 10_000,
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway.home","arguments":{"cursor":'
    + "[" * 10_000 + "]" * 10_000 + "}}}",
    '{"jsonrpc":"2.0","id":' + "[" * 10_000 + "]" * 10_000 + ',"method":"ping"}',
    '[{"jsonrpc":"2.0","id":1,"method":"ping","params":' + '{"a":' * 99 + "{}" + "}" * 99 + "}]",
)  # fmt: skip
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037")
BYTES = (
    b"\xff",
    b"\x00",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf8",
    b"\xef\xbb\xbf",
    b"{",
    b"}",
    b'"',
    b"\\",
    b"\\u",
    b",",
)

HEADER_NAMES = (
    "mcp-protocol-version", "MCP-Protocol-Version", "mcp-method", "mcp-name", "mcp-param-region", "mcp-session-id",
    "content-type", "accept", "accept-encoding", "origin", "authorization", "host", "x-forwarded-for", "last-event-id",
    "content-length", "", " ", "é", "a b", "traceparent", "cookie",
)  # fmt: skip
HEADER_VALUES = (
    "", " ", "\t", ",", MODERN, "2025-11-25", "2025-03-26", "1999-01-01", f"{MODERN},{MODERN}", "tools/list",
    "gateway.home", "=?base64?", "=?base64??=", "=?base64?%%%?=", "=?base64?gA==?=", "=?base64?7aCA?=",
    "=?base64?Z2F0ZXdheS5ob21l?=", "a\r\nx: y", "a\nb", "\r", "\x00", "é", "\N{ROCKET}", "\ud800", "x" * 9000,
    "application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data; boundary=x",
    "text/event-stream", "*/*", "gzip", "gzip;q=0", "https://evil.test", "https://page.test", "null", "Bearer",
    "Bearer ", "Bearer x", "Bearer sp_x_y_z", "Basic eDp5", "bearer a.b.c", "Bearer \N{ROCKET}", "Bearer " + "x" * 9000,
    "Bearer eyJhbGciOiJub25lIn0.e30.", "127.0.0.1, ::1", "-1",
)  # fmt: skip
PATHS = (
    "/mcp", "/mcp/", "//mcp", "/MCP", "/mcp/..", "/mcp%2f", "/mcp\x00", "/mcp?x=y", "", "/", "/health", "/health/",
    "/metrics", "/metrics/",
    "/mcp/flat", "/mcp/functions", "/mcp/functions/", "/mcp/functions/..",
    "/.well-known/oauth-protected-resource/mcp/functions",
    "/.well-known/", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/../mcp", "/é", "/\ud800", "/" + "a" * 9000, "mcp", "/admin", "/stream", "/\r\nx: y",
)  # fmt: skip
METHODS = ("POST", "post", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "", "é", "X" * 500)
JUNK: tuple[Any, ...] = (None, True, False, 0, -1, 1.5, "", "x", "\ud800", [], {}, [None], {"a": None}, "é" * 50)


@dataclass(frozen=True, slots=True)
class EventMaker:
    """Makes the events of one kind after the other; the caller has a key."""

    random: Random
    authorization: str
    now: float

    def event(self, body: bytes | str, headers: dict[str, str] | None = None, **where: str) -> Event:
        sent = {"content-type": JSON, "authorization": self.authorization} | (headers or {})
        return event(body, sent, now=self.now, **where)

    def version(self) -> dict[str, str]:
        version = self.random.choice((MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", None))
        return {"mcp-protocol-version": version, "mcp-method": "tools/list"} if version else {}


def bytes_of_no_meaning(make: EventMaker) -> Event:
    return make.event(make.random.randbytes(make.random.randrange(200)), make.version())


def damaged_requests(make: EventMaker) -> Event:
    """A good request with bytes cut out, put in or changed, in some encoding."""
    random = make.random
    sent = _request(random)
    body = bytearray(json.dumps(sent.document).encode(random.choice((*ENCODINGS, *["utf-8"] * 5))))
    for _ in range(random.randrange(4)):
        at = random.randrange(len(body) + 1)
        body[at : at + random.randrange(4)] = random.choice((*BYTES, random.randbytes(1)))
    return make.event(bytes(body), sent.headers)


def hostile_documents(make: EventMaker) -> Event:
    """Every place of a message with every value that a parser might stumble over."""
    text = make.random.choice(TEMPLATES)
    while "@" in text:
        text = text.replace("@", make.random.choice(VALUES), 1)
    return make.event(_text(make, text), make.version())


def deep_documents(make: EventMaker) -> Event:
    return make.event(make.random.choice(DEEP), make.version())


def mutated_requests(make: EventMaker) -> Event:
    sent = mutate_request(make.random)
    return make.event(json.dumps(sent.document), sent.headers)


def strange_headers(make: EventMaker) -> Event:
    random = make.random
    sent = _request(random)
    strange = {random.choice(HEADER_NAMES): random.choice(HEADER_VALUES) for _ in range(random.randrange(1, 4))}
    return make.event(json.dumps(sent.document), sent.headers | strange)


def strange_routes(make: EventMaker) -> Event:
    random = make.random
    sent = _request(random)
    origin = {"origin": random.choice(("https://page.test", "https://evil.test"))} if random.random() < 0.3 else {}
    where = {"method": random.choice(METHODS), "path": random.choice(PATHS)}
    return make.event(json.dumps(sent.document), sent.headers | origin, **where)


def strange_events(make: EventMaker) -> Event:
    """An event with a member missing, or of another type than API Gateway gives it."""
    random = make.random
    found: Any = make.event(json.dumps(modern("tools/list", {}).document))
    inner = random.choice(
        (
            found,
            found["requestContext"],
            found["requestContext"]["http"],
            found["headers"],
            found["queryStringParameters"],
        )
    )
    for _ in range(random.choice((1, 1, 2))):
        name = random.choice([name for name in inner if name != "timeEpoch"])
        if random.random() < 0.3 and len(inner) > 1:
            inner.pop(name)
        else:
            inner[name] = random.choice(JUNK)
    return found


def bodies_about_the_largest(make: EventMaker) -> Event:
    size = LARGEST_BODY + make.random.choice((-1, 0, 1, 2))
    start = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
    filling = make.random.choice(("x", " ", "\\\\"))
    return make.event((start + filling * size)[: size - 3] + '"}}', make.version())


def _request(random: Random) -> Sent:
    """A good request, sometimes of a client that can be asked, takes streams and wants to see everything."""
    sent = modern(*random.choice(REQUESTS))
    if random.random() < 0.5:
        sent.headers["accept"] = "application/json, text/event-stream"
        sent.meta.update({"progressToken": 7, LOG_LEVEL: "debug", CLIENT_CAPABILITIES: CAPABLE})
    return sent


def _text(make: EventMaker, text: str) -> str | bytes:
    """Mostly as text, as API Gateway passes JSON on; the rest in bytes, of which some are no UTF-8."""
    choice = make.random.random()
    if choice < 0.7:
        return text
    return text.encode(errors="surrogatepass") if choice < 0.9 else text.encode("utf-16", "surrogatepass")


KINDS: tuple[tuple[Callable[[EventMaker], Event], int], ...] = (
    (bytes_of_no_meaning, 2_500),
    (damaged_requests, 5_000),
    (hostile_documents, 6_500),
    (deep_documents, 100),
    (mutated_requests, 5_000),
    (strange_headers, 3_000),
    (strange_routes, 1_500),
    (strange_events, 1_500),
    (bodies_about_the_largest, 20),
)
"""Each kind, and how many of it."""


def inputs(authorization: str, now: float) -> Iterator[tuple[str, Event]]:
    for kind, number in KINDS:
        make = EventMaker(Random(kind.__name__), authorization, now)  # noqa: S311 - the same in every run is the point
        for _ in range(count_examples(number)):
            yield kind.__name__, kind(make)
