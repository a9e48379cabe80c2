"""Providers of web search: the request for each of them, and the parsing of their answers. Nothing is sent from
here."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote, urlencode

from signpost.records import dataclass

LONGEST_TEXT = 1_000
"""Characters of a title or a snippet that are passed on."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The text to search for, and the maximum number of results."""

    text: str
    max_results: int


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """An HTTP request to a search provider."""

    url: str
    headers: Mapping[str, str]
    body: bytes | None = None

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a search."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Provider:
    """A search provider: its endpoint, and how to ask it and read its answers."""

    endpoint: str
    """The provider's endpoint; empty if every deployment has one of its own."""
    needs_key: bool
    ask: Callable[[SearchQuery, str, str], ProviderRequest]
    """Builds the request from the query, the endpoint and the key."""
    results: Callable[[Any], object]
    """Finds the list of results in an answer."""


def parse_hits(provider: Provider, answer: object, query: SearchQuery) -> Sequence[SearchHit] | None:
    """Parse the results of an answer; None if it is no answer of the provider."""
    try:
        results = provider.results(answer)
    except (AttributeError, LookupError, TypeError):
        return None
    if not isinstance(results, list):
        return None
    hits = (
        _read_hit(cast("Mapping[str, object]", result))
        for result in cast("list[object]", results)
        if isinstance(result, dict)
    )
    return [hit for hit in hits if hit.url.startswith(("https://", "http://"))][: query.max_results]


def _read_hit(result: Mapping[str, object]) -> SearchHit:
    return SearchHit(
        title=_first_text(result, "title", "name"),
        url=_first_text(result, "url", "link"),
        snippet=_first_text(result, "snippet", "content", "description"),
    )


def _first_text(result: Mapping[str, object], *names: str) -> str:
    """Read the first of these members that is a text, shortened."""
    texts = (value for name in names if isinstance(value := result.get(name), str))
    return next(texts, "")[:LONGEST_TEXT]


def _ask_brave(query: SearchQuery, endpoint: str, key: str) -> ProviderRequest:
    parameters = urlencode({"q": query.text, "count": query.max_results, "text_decorations": "false"})
    return ProviderRequest(f"{endpoint}?{parameters}", {"accept": "application/json", "x-subscription-token": key})


def _brave_results(answer: Any) -> object:
    return answer.get("web", {}).get("results", [])  # Brave leaves `web` out if there are no results


def _ask_tavily(query: SearchQuery, endpoint: str, key: str) -> ProviderRequest:
    body = json.dumps({"query": query.text, "max_results": query.max_results}).encode()
    return ProviderRequest(endpoint, {"content-type": "application/json", "authorization": f"Bearer {key}"}, body)


def _ask_json(query: SearchQuery, endpoint: str, key: str) -> ProviderRequest:
    url = endpoint.replace("{query}", quote(query.text, safe="")).replace("{max_results}", str(query.max_results))
    authorization = {"authorization": f"Bearer {key}"} if key else {}
    return ProviderRequest(url, {"accept": "application/json", **authorization})


def _listed_results(answer: Any) -> object:
    return answer if isinstance(answer, list) else answer.get("results", answer.get("items"))  # pyright: ignore[reportUnknownVariableType] - parse_hits checks its type


PROVIDERS: Mapping[str, Provider] = {
    "brave": Provider(
        "https://api.search.brave.com/res/v1/web/search", needs_key=True, ask=_ask_brave, results=_brave_results
    ),
    "tavily": Provider("https://api.tavily.com/search", needs_key=True, ask=_ask_tavily, results=_listed_results),
    "json": Provider("", needs_key=False, ask=_ask_json, results=_listed_results),
}
"""Providers, by the values of the parameter SearchProvider."""
