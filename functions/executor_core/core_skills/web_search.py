"""`core::web_search`."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from core_skills.outside import RESERVE, not_reached
from core_skills.search_providers import PROVIDERS, Found, Provider, Wanted, found_in
from signpost.model import JsonObject
from signpost.ports import Web
from signpost.records import dataclass
from signpost.toolkit import Context, ToolError, Toolkit
from signpost.web import NotReached, WebAnswer, WebRequest

TIMEOUT_MS = 15_000
LONGEST_QUERY = 400
USUAL_RESULTS, MOST_RESULTS = 5, 20
LARGEST_ANSWER = 1_000_000
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "input": {"type": "string", "description": "What to search for, where there is no query."},
        "config": {"type": "object", "description": "query and max_results, where they are not given beside it."},
        "query": {"type": "string", "description": "What to search for; what is beyond 400 characters is left out."},
        "max_results": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_RESULTS,
            "default": USUAL_RESULTS,
            "description": "At most so many results.",
        },
    },
}
UNSET = (
    "Nobody has set up searching here. Whoever deploys Signpost sets the parameter SearchProvider "
    f"({', '.join(PROVIDERS)})"
)


class Key(Protocol):
    def read(self) -> str:
        """Empty if there is none. Raises ToolError."""
        ...

    def forget(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Search:
    """As the deployment has set it up."""

    provider: str
    endpoint: str
    """Empty takes the provider's own."""
    key: Key


def web_search(search: Search, web: Web) -> Toolkit:
    kit = Toolkit("core", category="Web")

    @kit.tool(
        title="Search the web",
        input_schema=SCHEMA,  # and no field spec, which would put a default in before config is looked at
        annotations={"read_only_hint": True, "open_world_hint": True},
        idempotent=True,
        timeout_ms=TIMEOUT_MS,
        doc="core/web_search",
    )
    def web_search(args: dict[str, Any], ctx: Context) -> JsonObject:  # pyright: ignore[reportUnusedFunction] - the kit has it
        """Searches the web and answers title, URL and a snippet of each result. core::http_fetch reads the pages."""
        wanted = _wanted(args)
        results = _results(search, web, wanted, ctx.remaining() - RESERVE)
        return {"query": wanted.words, "results": [_shown(found) for found in results]}

    return kit


def _wanted(arguments: Mapping[str, Any]) -> Wanted:
    config: Mapping[str, Any] = arguments.get("config", {})
    texts = (arguments.get("query"), config.get("query"), arguments.get("input"))
    words = next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")
    if not words:
        raise ToolError("There is nothing to search for: set query.")
    most = arguments.get("max_results", config.get("max_results", USUAL_RESULTS))
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_RESULTS:
        raise ToolError(f"max_results is a whole number from 1 to {MOST_RESULTS}.")
    return Wanted(" ".join(words.split())[:LONGEST_QUERY], most)


def _results(search: Search, web: Web, wanted: Wanted, seconds: float) -> list[Found]:
    provider = _provider(search)
    endpoint, key = search.endpoint or provider.endpoint, search.key.read()
    if not endpoint:
        raise ToolError(f"The parameter SearchEndpoint is not set, and SearchProvider={search.provider} needs it.")
    if provider.needs_key and not key:
        raise ToolError(f"The parameter SearchKeySecretArn is not set, and SearchProvider={search.provider} needs it.")
    asking = provider.ask(wanted, endpoint, key)
    sent = web.send(
        WebRequest(asking.method, asking.url, max(seconds, 0.0), asking.headers, asking.body, LARGEST_ANSWER)
    )
    if isinstance(sent, NotReached):
        raise not_reached(sent, "The search provider was not reached.", counts=True)
    if sent.status in (401, 403):
        search.key.forget()
    return _read(provider, _answer(sent), wanted)


def _provider(search: Search) -> Provider:
    provider = PROVIDERS.get(search.provider)
    if provider is None:
        raise ToolError(f"{UNSET}, and SearchEndpoint and SearchKeySecretArn where it needs them.")
    return provider


def _read(provider: Provider, answer: bytes, wanted: Wanted) -> list[Found]:
    try:
        found = found_in(provider, json.loads(answer), wanted)
    except (ValueError, RecursionError):
        found = None
    if found is None:
        raise ToolError("The search provider answered something else than results; SearchEndpoint may lead elsewhere.")
    return list(found)


def _answer(answer: WebAnswer) -> bytes:
    match answer.status:
        case 200 if not answer.is_cut:
            return answer.body
        case 200:
            raise ToolError("The search provider answered too much; set max_results lower.")
        case 401 | 403:
            raise ToolError("The search provider refuses the key; whoever deploys looks at SearchKeySecretArn.")
        case 429:
            message = "The search provider was asked too much at once; wait before you search again."
            # It says itself for how long to leave it alone, which is seldom as long as a breaker would.
            raise ToolError(message, "rate_limited", _wait_of(answer), counts=False)
        case status if status >= 500 or status == 408:
            raise ToolError(
                f"The search provider fails ({status}); try again later.", "transient_error", _wait_of(answer)
            )
        case status:
            raise ToolError(f"The search provider refuses the request ({status}); look at SearchEndpoint.")


def _wait_of(answer: WebAnswer) -> int | None:
    """Milliseconds; where it says a date, nobody has to know what day it is there."""
    seconds = answer.headers.get("retry-after", "")
    return int(seconds) * 1_000 if seconds.isdecimal() and len(seconds) <= 6 else None


def _shown(found: Found) -> JsonObject:
    return {"title": found.title, "url": found.url, "snippet": found.snippet}
