"""A browser for login tests: reads the form of the page and presses a button as a person does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPConnection
from typing import Any, override
from urllib.parse import parse_qsl, urlencode, urlsplit

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class PageAnswer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    text: str

    def json(self) -> Any:
        return json.loads(self.text)

    def redirect_parameters(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.headers["location"]).query))


def fetch(method: str, url: str, body: str | None = None, headers: Mapping[str, str] | None = None) -> PageAnswer:
    """Send one request; redirects are returned, not followed."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    try:
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(method, target, body, dict(headers or {}))
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return PageAnswer(answer.status, names, answer.read().decode())
    finally:
        connection.close()


def post(url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> PageAnswer:
    return fetch("POST", url, urlencode(form), {**FORM, **(headers or {})})


def choose_person(page_url: str, person: str) -> PageAnswer:
    """Open the page, press the button of a person, and return the redirect."""
    page = Page(fetch("GET", page_url).text)
    assert person in page.buttons
    parts = urlsplit(page_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return post(f"{origin}{parts.path}", {**page.hidden, "person": person}, {"Origin": origin})


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.buttons: list[str] = []
        self.feed(html)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "input":
            self.hidden[named["name"]] = named["value"]
        elif tag == "button":
            self.buttons.append(named["value"])
