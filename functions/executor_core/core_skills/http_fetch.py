"""The tool `core::http_fetch`."""

from collections.abc import Mapping
from typing import Any

from core_skills.caller_input import RESERVE, CoreToolkit
from core_skills.hops import MOST_REDIRECTS, headers_for_redirect, problem_with, redirect_target, without_fragment
from core_skills.outside import unreached_error
from core_skills.pages import encode_body, select_headers
from signpost.model import JsonObject
from signpost.ports import Web
from signpost.records import dataclass
from signpost.toolkit import Context, ToolError, Toolkit
from signpost.web import WebAnswer, WebFailure, WebRequest

TIMEOUT_MS = 20_000
USUAL_BYTES, MOST_BYTES = 200_000, 1_000_000
AGENT = {"user-agent": "signpost", "accept": "*/*"}

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "minLength": 1, "maxLength": 4_000, "description": "The URL to fetch."},
        "method": {
            "type": "string",
            "enum": ["GET", "HEAD"],
            "default": "GET",
            "description": "With HEAD, the answer has status and headers only.",
        },
        "headers": {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": 4_000},
            "maxProperties": 20,
            "description": "Headers of the request. A redirect to another origin removes those that may hold keys.",
        },
        "max_bytes": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_BYTES,
            "default": USUAL_BYTES,
            "description": "A longer body is truncated to this length.",
        },
        "max_redirects": {
            "type": "integer",
            "minimum": 0,
            "maximum": MOST_REDIRECTS,
            "default": MOST_REDIRECTS,
            "description": "With 0, redirects are not followed, and the redirect itself is the answer.",
        },
    },
    "required": ["url"],
    "additionalProperties": False,
}
DESCRIPTION = (
    "Fetches a URL and answers its status, headers and body: text as it is, anything else as base64. "
    "Follows redirects. Reaches public hosts, and others only if the deployment allows them by name. Any HTTP status "
    "counts as an answer."
)


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """The checked arguments of a fetch."""

    url: str
    method: str
    headers: Mapping[str, str]
    max_bytes: int
    max_redirects: int


def http_fetch(web: Web) -> Toolkit:
    kit = CoreToolkit("Web")

    @kit.tool(
        title="Fetch a URL",
        description=DESCRIPTION,
        input_schema=SCHEMA,
        annotations={"read_only_hint": True, "open_world_hint": True},
        idempotent=True,
        timeout_ms=TIMEOUT_MS,
        doc="core/http_fetch",
    )
    def http_fetch(args: dict[str, Any], ctx: Context) -> JsonObject:  # pyright: ignore[reportUnusedFunction] - the kit has it
        return _fetch(web, _read_request(args), ctx)

    return kit


def _read_request(arguments: Mapping[str, Any]) -> FetchRequest:
    headers: Mapping[str, str] = {name.lower(): value for name, value in arguments.get("headers", {}).items()}
    if problem := problem_with(headers):
        raise ToolError(problem)
    return FetchRequest(
        url=without_fragment(arguments["url"]),
        method=arguments.get("method", "GET"),
        headers=AGENT | headers,
        max_bytes=arguments.get("max_bytes", USUAL_BYTES),
        max_redirects=arguments.get("max_redirects", MOST_REDIRECTS),
    )


def _fetch(web: Web, request: FetchRequest, ctx: Context) -> JsonObject:
    url, headers, redirects = request.url, request.headers, list[str]()
    while True:
        answer = _send(web, request, url, headers, ctx, redirects)
        target = redirect_target(url, answer) if request.max_redirects else None
        if target is None:
            return _format_answer(url, answer, redirects, request)
        if len(redirects) >= request.max_redirects:
            raise ToolError(f"{request.url} redirects more than {request.max_redirects} times, at last to {target}.")
        redirects.append(url)
        url, headers = target, headers_for_redirect(headers, url, target)


def _send(
    web: Web, request: FetchRequest, url: str, headers: Mapping[str, str], ctx: Context, redirects: list[str]
) -> WebAnswer:
    seconds = ctx.remaining() - RESERVE
    web_request = WebRequest(request.method, url, max(seconds, 0.0), headers, None, request.max_bytes)
    answer = web.send(web_request)
    if isinstance(answer, WebFailure):
        raise unreached_error(answer, f"{redirects[-1]} redirects to {url[:500]}." if redirects else "")
    return answer


def _format_answer(url: str, answer: WebAnswer, redirects: list[str], request: FetchRequest) -> JsonObject:
    members: JsonObject = {
        "url": url,
        "redirects": redirects,
        "status": answer.status,
        "headers": select_headers(answer),
    }
    return members if request.method == "HEAD" else {**members, **encode_body(answer, request.max_bytes)}
