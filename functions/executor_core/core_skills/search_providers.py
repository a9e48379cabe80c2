"""Providers of web search: what to ask each of them, and what their answers mean. Nothing is sent from here."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote, urlencode

from signpost.records import dataclass

LONGEST_TEXT = 1_000
"""Characters of a title or a snippet that are passed on."""


@dataclass(frozen=True, slots=True)
class Wanted:
    words: str
    most: int


@dataclass(frozen=True, slots=True)
class Asking:
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


@dataclass(frozen=True, slots=True)
class Found:
    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Provider:
    endpoint: str
    """Its own; empty if everybody has one of their own."""
    needs_key: bool
    ask: Callable[[Wanted, str, str], Asking]
    """Of what is wanted, the endpoint and the key."""
    results: Callable[[Any], object]
    """Where its answer has them."""


def found_in(provider: Provider, answer: object, wanted: Wanted) -> Sequence[Found] | None:
    """None if this is no answer of the provider."""
    try:
        results = provider.results(answer)
    except (AttributeError, LookupError, TypeError):
        return None
    if not isinstance(results, list):
        return None
    read = (_found(cast("Mapping[str, object]", one)) for one in cast("list[object]", results) if isinstance(one, dict))
    return [one for one in read if one.url.startswith(("https://", "http://"))][: wanted.most]


def _found(result: Mapping[str, object]) -> Found:
    return Found(
        title=_text(result, "title", "name"),
        url=_text(result, "url", "link"),
        snippet=_text(result, "snippet", "content", "description"),
    )


def _text(result: Mapping[str, object], *names: str) -> str:
    """The first of these that is a text."""
    texts = (value for name in names if isinstance(value := result.get(name), str))
    return next(texts, "")[:LONGEST_TEXT]


def _brave(wanted: Wanted, endpoint: str, key: str) -> Asking:
    asked = urlencode({"q": wanted.words, "count": wanted.most, "text_decorations": "false"})
    return Asking(f"{endpoint}?{asked}", {"accept": "application/json", "x-subscription-token": key})


def _of_brave(answer: Any) -> object:
    return answer.get("web", {}).get("results", [])  # it leaves `web` out where it found nothing


def _tavily(wanted: Wanted, endpoint: str, key: str) -> Asking:
    body = json.dumps({"query": wanted.words, "max_results": wanted.most}).encode()
    return Asking(endpoint, {"content-type": "application/json", "authorization": f"Bearer {key}"}, body)


def _json_over_http(wanted: Wanted, endpoint: str, key: str) -> Asking:
    url = endpoint.replace("{query}", quote(wanted.words, safe="")).replace("{max_results}", str(wanted.most))
    authorization = {"authorization": f"Bearer {key}"} if key else {}
    return Asking(url, {"accept": "application/json", **authorization})


def _of_any(answer: Any) -> object:
    return answer if isinstance(answer, list) else answer.get("results", answer.get("items"))  # pyright: ignore[reportUnknownVariableType] - whatever it is, it is looked at again


PROVIDERS: Mapping[str, Provider] = {
    "brave": Provider("https://api.search.brave.com/res/v1/web/search", needs_key=True, ask=_brave, results=_of_brave),
    "tavily": Provider("https://api.tavily.com/search", needs_key=True, ask=_tavily, results=_of_any),
    "json": Provider("", needs_key=False, ask=_json_over_http, results=_of_any),
}
"""By the values of the parameter SearchProvider."""
