"""The tool `core::web_search`."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from core_skills.caller_input import RESERVE, CoreToolkit
from core_skills.outside import unreached_error
from core_skills.search_providers import PROVIDERS, Provider, SearchHit, SearchQuery, parse_hits
from signpost.model import JsonObject
from signpost.ports import Web
from signpost.records import dataclass
from signpost.toolkit import Context, ToolError, Toolkit
from signpost.web import WebAnswer, WebFailure, WebRequest

TIMEOUT_MS = 15_000
LONGEST_QUERY = 400
USUAL_RESULTS, MOST_RESULTS = 5, 20
LARGEST_ANSWER = 1_000_000
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "input": {"type": "string", "description": "The text to search for, if `query` is not given."},
        "config": {"type": "object", "description": "Default values of query and max_results."},
        "query": {"type": "string", "description": "The text to search for. Text beyond 400 characters is ignored."},
        "max_results": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_RESULTS,
            "default": USUAL_RESULTS,
            "description": "The maximum number of results.",
        },
    },
}
UNSET = (
    "Web search is not set up in this deployment. The operator must set the parameter SearchProvider "
    f"({', '.join(PROVIDERS)})"
)


class Key(Protocol):
    """The key of the search provider."""

    def read(self) -> str:
        """Read the key; empty if there is none. Raises ToolError."""
        ...

    def forget(self) -> None:
        """Drop a cached key, which the provider refused."""
        ...


@dataclass(frozen=True, slots=True)
class Search:
    """The search provider that the deployment has set up."""

    provider: str
    endpoint: str
    """Empty for the provider's own endpoint."""
    key: Key


def web_search(search: Search, web: Web) -> Toolkit:
    kit = CoreToolkit("Web", has_dependency=True)

    @kit.tool(
        title="Search the web",
        input_schema=SCHEMA,  # no field spec: that would fill in a default before config is read
        annotations={"read_only_hint": True, "open_world_hint": True},
        idempotent=True,
        timeout_ms=TIMEOUT_MS,
        doc="core/web_search",
    )
    def web_search(args: dict[str, Any], ctx: Context) -> JsonObject:  # pyright: ignore[reportUnusedFunction] - the kit has it
        """Searches the web and answers title, URL and a snippet of each result. core::http_fetch reads the pages."""
        query = _read_query(args)
        results = _fetch_hits(search, web, query, ctx.remaining() - RESERVE)
        return {"query": query.text, "results": [_format_hit(hit) for hit in results]}

    return kit


def _read_query(arguments: Mapping[str, Any]) -> SearchQuery:
    config: Mapping[str, Any] = arguments.get("config", {})
    texts = (arguments.get("query"), config.get("query"), arguments.get("input"))
    text = next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")
    if not text:
        raise ToolError("The query is missing: set `query`.")
    max_results = arguments.get("max_results", config.get("max_results", USUAL_RESULTS))
    if isinstance(max_results, bool) or not isinstance(max_results, int) or not 1 <= max_results <= MOST_RESULTS:
        raise ToolError(f"max_results must be a whole number from 1 to {MOST_RESULTS}.")
    return SearchQuery(" ".join(text.split())[:LONGEST_QUERY], max_results)


def _fetch_hits(search: Search, web: Web, query: SearchQuery, seconds: float) -> list[SearchHit]:
    provider = _provider(search)
    endpoint, key = search.endpoint or provider.endpoint, search.key.read()
    if not endpoint:
        raise ToolError(
            f"SearchProvider={search.provider} needs the parameter SearchEndpoint. The operator must set it."
        )
    if provider.needs_key and not key:
        raise ToolError(
            f"SearchProvider={search.provider} needs the parameter SearchKeySecretArn. The operator must set it."
        )
    request = provider.ask(query, endpoint, key)
    answer = web.send(
        WebRequest(request.method, request.url, max(seconds, 0.0), request.headers, request.body, LARGEST_ANSWER)
    )
    if isinstance(answer, WebFailure):
        raise unreached_error(answer, "The search provider was not reached.")
    if answer.status in (401, 403):
        search.key.forget()
    return _read_hits(provider, _body_of(answer), query)


def _provider(search: Search) -> Provider:
    provider = PROVIDERS.get(search.provider)
    if provider is None:
        raise ToolError(f"{UNSET}, and SearchEndpoint and SearchKeySecretArn if the provider needs them.")
    return provider


def _read_hits(provider: Provider, answer: bytes, query: SearchQuery) -> list[SearchHit]:
    try:
        hits = parse_hits(provider, json.loads(answer), query)
    except (ValueError, RecursionError):
        hits = None
    if hits is None:
        raise ToolError("The answer of the search provider has no results; the operator must check SearchEndpoint.")
    return list(hits)


def _body_of(answer: WebAnswer) -> bytes:
    match answer.status:
        case 200 if not answer.is_cut:
            return answer.body
        case 200:
            raise ToolError("The answer of the search provider is too large; set max_results lower.")
        case 401 | 403:
            raise ToolError("The search provider refuses the key; the operator must check SearchKeySecretArn.")
        case 429:
            message = "The search provider received too many requests; wait before you search again."
            # Does not count: the provider itself names the time to wait, which is seldom as long as an open breaker.
            raise ToolError(message, "rate_limited", _retry_after_ms(answer), counts=False)
        case status if status >= 500 or status == 408:
            raise ToolError(
                f"The search provider fails ({status}); try again later.", "transient_error", _retry_after_ms(answer)
            )
        case status:
            raise ToolError(
                f"The search provider refuses the request ({status}); the operator must check SearchEndpoint."
            )


def _retry_after_ms(answer: WebAnswer) -> int | None:
    """Read the milliseconds to wait; None if Retry-After is missing or a date, because clocks may differ."""
    seconds = answer.headers.get("retry-after", "")
    return int(seconds) * 1_000 if seconds.isdecimal() and len(seconds) <= 6 else None


def _format_hit(hit: SearchHit) -> JsonObject:
    return {"title": hit.title, "url": hit.url, "snippet": hit.snippet}
