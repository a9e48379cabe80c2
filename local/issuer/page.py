"""The page on which a person chooses one of the sample people, and the page of a refusal."""

from html import escape
from pathlib import Path
from string import Template

from local.issuer.exchange import Answer, Parameters
from local.issuer.people import PEOPLE, Subject

_PAGE = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    # Not no-referrer: with that, a browser sends "Origin: null", and the choice would be refused.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def render_choice(client_name: str, resource: str, parameters: Parameters) -> Answer:
    lead = f"<b>{escape(client_name)}</b> asks to use <code>{escape(resource)}</code> in your name."
    hidden = "".join(_hidden(name, value) for name, value in parameters.items() if name != "person")
    people = "".join(_button(person) for person in PEOPLE.values())
    cancel = '<button class="quiet" name="person" value="">Cancel</button>'
    return _page(200, "Choose a person to log in as", lead, f'<form method="post">{hidden}{people}{cancel}</form>')


def render_refusal(sentence: str, status: int) -> Answer:
    return _page(status, "This login cannot continue", escape(sentence), "")


def _page(status: int, title: str, lead: str, form: str) -> Answer:
    html = _PAGE.substitute(title=title, lead=lead, form=form)
    return Answer(status, html.encode(), _HEADERS)


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def _button(person: Subject) -> str:
    return (
        f'<button name="person" value="{escape(person.name)}">'
        f"<strong>{escape(person.name)}</strong><span>{escape(person.abilities)}</span></button>"
    )
