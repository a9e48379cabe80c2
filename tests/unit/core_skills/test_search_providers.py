"""What providers of search are asked, and what their answers mean."""

from typing import Any

import pytest

from core_skills.search_providers import PROVIDERS, ProviderRequest, SearchHit, SearchQuery, parse_hits

QUERY = SearchQuery("tea & milk", 2)
RESULT = {"title": "Tea", "url": "https://tea.test/"}
TEA = SearchHit("Tea", "https://tea.test/", "about tea")


def test_a_request_to_brave_has_its_query_in_the_url() -> None:
    brave = PROVIDERS["brave"]
    assert brave.ask(QUERY, brave.endpoint, "key") == ProviderRequest(
        "https://api.search.brave.com/res/v1/web/search?q=tea+%26+milk&count=2&text_decorations=false",
        {"accept": "application/json", "x-subscription-token": "key"},
    )


def test_a_request_to_tavily_has_its_query_in_the_body() -> None:
    tavily = PROVIDERS["tavily"]
    asking = tavily.ask(QUERY, tavily.endpoint, "key")
    assert (asking.method, asking.url) == ("POST", "https://api.tavily.com/search")
    assert asking.headers == {"content-type": "application/json", "authorization": "Bearer key"}
    assert asking.body == b'{"query": "tea & milk", "max_results": 2}'


@pytest.mark.parametrize(("key", "headers"), [("", {}), ("key", {"authorization": "Bearer key"})])
def test_a_request_to_another_provider_follows_its_url_template(key: str, headers: dict[str, str]) -> None:
    asking = PROVIDERS["json"].ask(QUERY, "https://find.test/?q={query}&n={max_results}&format=json", key)
    assert asking.url == "https://find.test/?q=tea%20%26%20milk&n=2&format=json"
    assert asking.headers == {"accept": "application/json"} | headers


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        ("brave", {"web": {"results": [{**RESULT, "description": "about tea"}]}}),
        ("tavily", {"results": [{**RESULT, "content": "about tea", "score": 0.9}]}),
        ("json", {"results": [{**RESULT, "snippet": "about tea"}]}),
        ("json", {"items": [{"title": "Tea", "link": "https://tea.test/", "snippet": "about tea"}]}),
        ("json", [{"name": "Tea", "url": "https://tea.test/", "content": "about tea"}]),
    ],
)
def test_every_provider_answer_is_parsed_to_the_same_hits(provider: str, answer: Any) -> None:
    assert parse_hits(PROVIDERS[provider], answer, QUERY) == [TEA]


@pytest.mark.parametrize(("provider", "answer"), [("brave", {"type": "search"}), ("tavily", {"results": []})])
def test_an_answer_without_hits_is_valid(provider: str, answer: Any) -> None:
    assert parse_hits(PROVIDERS[provider], answer, QUERY) == []


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("answer", [None, 1, "x", {"results": 1, "web": 1}, {"results": {}, "web": {"results": "x"}}])
def test_an_invalid_answer_has_no_parsed_hits(provider: str, answer: Any) -> None:
    assert parse_hits(PROVIDERS[provider], answer, QUERY) is None


def test_hits_are_limited_in_number_and_length_and_are_web_pages() -> None:
    pages = [{"title": "x" * 2_000, "url": f"https://page.test/{number}"} for number in range(5)]
    others = [{"url": "javascript:alert(1)"}, {"title": "no url"}, "no object", {"url": 7}]
    found = parse_hits(PROVIDERS["json"], [*others, *pages], QUERY)
    assert found is not None
    assert [one.url for one in found] == ["https://page.test/0", "https://page.test/1"]
    assert {len(one.title) for one in found} == {1_000}
