"""`core::http_fetch`."""

from collections.abc import Mapping
from typing import Any

from core_skills.hops import MOST_REDIRECTS, headers_for, leads_to, problem_with, without_fragment
from core_skills.outside import RESERVE, not_reached
from core_skills.pages import read, told
from signpost.model import JsonObject
from signpost.ports import Web
from signpost.records import dataclass
from signpost.toolkit import Context, ToolError, Toolkit
from signpost.web import NotReached, WebAnswer, WebRequest

TIMEOUT_MS = 20_000
USUAL_BYTES, MOST_BYTES = 200_000, 1_000_000
AGENT = {"user-agent": "signpost", "accept": "*/*"}

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "minLength": 1, "maxLength": 4_000, "description": "Where to fetch it from."},
        "method": {
            "type": "string",
            "enum": ["GET", "HEAD"],
            "default": "GET",
            "description": "HEAD answers status and headers only.",
        },
        "headers": {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": 4_000},
            "maxProperties": 20,
            "description": "Headers of the request. Those that could be keys do not go along to another host.",
        },
        "max_bytes": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_BYTES,
            "default": USUAL_BYTES,
            "description": "What is longer is cut off there.",
        },
        "max_redirects": {
            "type": "integer",
            "minimum": 0,
            "maximum": MOST_REDIRECTS,
            "default": MOST_REDIRECTS,
            "description": "With 0, a redirect is the answer.",
        },
    },
    "required": ["url"],
    "additionalProperties": False,
}
SAYS = (
    "Fetches a URL and answers its status, headers and body: text as it is, anything else as base64. "
    "Follows redirects. Reaches public hosts, and others only if the deployment allows them by name. Any status is an "
    "answer."
)


@dataclass(frozen=True, slots=True)
class Asked:
    url: str
    method: str
    headers: Mapping[str, str]
    most_bytes: int
    most_redirects: int


def http_fetch(web: Web) -> Toolkit:
    kit = Toolkit("core", category="Web")

    @kit.tool(
        title="Fetch a URL",
        description=SAYS,
        input_schema=SCHEMA,
        annotations={"read_only_hint": True, "open_world_hint": True},
        idempotent=True,
        timeout_ms=TIMEOUT_MS,
        doc="core/http_fetch",
    )
    def http_fetch(args: dict[str, Any], ctx: Context) -> JsonObject:  # pyright: ignore[reportUnusedFunction] - the kit has it
        return _fetched(web, _asked(args), ctx)

    return kit


def _asked(arguments: Mapping[str, Any]) -> Asked:
    headers: Mapping[str, str] = {name.lower(): value for name, value in arguments.get("headers", {}).items()}
    if problem := problem_with(headers):
        raise ToolError(problem)
    return Asked(
        url=without_fragment(arguments["url"]),
        method=arguments.get("method", "GET"),
        headers=AGENT | headers,
        most_bytes=arguments.get("max_bytes", USUAL_BYTES),
        most_redirects=arguments.get("max_redirects", MOST_REDIRECTS),
    )


def _fetched(web: Web, asked: Asked, ctx: Context) -> JsonObject:
    url, headers, before = asked.url, asked.headers, list[str]()
    while True:
        answer = _answer(web, asked, url, headers, ctx, before)
        leads = leads_to(url, answer) if asked.most_redirects else None
        if leads is None:
            return _shown(url, answer, before, asked)
        if len(before) >= asked.most_redirects:
            raise ToolError(f"{asked.url} redirects more than {asked.most_redirects} times, at last to {leads}.")
        before.append(url)
        url, headers = leads, headers_for(headers, url, leads)


def _answer(web: Web, asked: Asked, url: str, headers: Mapping[str, str], ctx: Context, before: list[str]) -> WebAnswer:
    seconds = ctx.remaining() - RESERVE
    request = WebRequest(asked.method, url, max(seconds, 0.0), headers, None, asked.most_bytes)
    answer = web.send(request)
    if isinstance(answer, NotReached):
        raise not_reached(answer, f"{before[-1]} redirects to {url[:500]}." if before else "", counts=False)
    return answer


def _shown(url: str, answer: WebAnswer, before: list[str], asked: Asked) -> JsonObject:
    shown: JsonObject = {"url": url, "redirects": before, "status": answer.status, "headers": told(answer)}
    return shown if asked.method == "HEAD" else {**shown, **read(answer, asked.most_bytes)}
