"""Templates: what they may do, and what nobody can do with them."""

from typing import Any

import pytest

from core_skills.template_render import KIT
from signpost.calling.wire import call_message
from signpost.contract import Failure, Result
from tests.support.function_host import TOKEN, FunctionHost, build_call

ITEMS = [{"what": "tea", "price": 2.5}, {"what": "milk", "price": 1}]
ORDER = {"who": "Ada", "items": ITEMS, "paid": True, "note": None}
NUMBERED = (
    "{% for item in order.items %}{{ loop.index }}. {{ item.what }}{% if not loop.last %}, {% endif %}{%endfor %}"
)

TEN_MINUTES = 600
"""Seconds. A template is stopped by its allowance: no deadline may be near, however slow the machine."""


@pytest.fixture(autouse=True)
def unlimited_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validating arguments stops after two seconds; a hundred thousand values are close on a busy machine."""
    monkeypatch.setattr("signpost.schema.validation.VALIDATION_TIME_LIMIT", TEN_MINUTES)


def render(template: str, **values: Any) -> Any:
    reply = FunctionHost(KIT.functions).call("core::template_render", {"template": template, "values": values})
    assert isinstance(reply, Result), reply
    assert isinstance(reply.value, dict)
    return reply.value["text"]


def refusal(template: str, **values: Any) -> str:
    call = build_call("core::template_render", {"template": template, "values": values}, seconds=TEN_MINUTES)
    reply = FunctionHost(KIT.functions).handle(call_message(call, TOKEN), remaining_ms=2 * TEN_MINUTES * 1000)
    assert isinstance(reply, Failure), reply
    assert (reply.code, reply.kind, reply.outcome) == ("reported", "permanent_error", "none")
    return reply.message


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Dear {{ order.who }},", "Dear Ada,"),
        (NUMBERED, "1. tea, 2. milk"),
        ("{{ order.items | map(attribute='price') | sum }}", "3.5"),
        ("{{ order.items | map(attribute='what') | join(' and ') }}", "tea and milk"),
        ("{{ 'paid' if order.paid else 'open' }} {{ order.paid }} {{ order.note }}", "paid true null"),
        ("{{ order.address.city | default('nowhere') }}", "nowhere"),
        ("{{ order.items[0] }}", '{"what": "tea", "price": 2.5}'),
        ("{{ order.items[1] | tojson(2) }}", '{\n  "what": "milk",\n  "price": 1\n}'),
        ("{{ '<b>' }}{{ '<b>' | e }}", "<b>&lt;b&gt;"),
        ("{% for name, value in order.items[1] | items %}{{ name }}={{ value }};{% endfor %}", "what=milk;price=1;"),
        ("{{ (order.items[0].price * 3 + 1) | round(1) }} {{ 7 // 2 }} {{ -1 }}", "8.5 3 -1"),
        ("{{ order.who in ['Ada', 'Alan'] }} {{ order.who | upper | replace('A', 'a') }}", "true aDa"),
        ("a:\n{{ 'b\nc' | indent(2, true) }}", "a:\n  b\n  c"),
        ("{{ order.items | selectattr('price', 'gt', 2) | list | length }}", "1"),
        ("{# said to nobody #}{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{{ order.items | selectattr('price', 'lt', 2) | map(attribute='what') }}", '["milk"]'),
        ("", ""),
    ],
)  # fmt: skip
def test_values_are_filled_in(template: str, text: str) -> None:
    assert render(template, order=ORDER) == text


def test_values_are_optional() -> None:
    reply = FunctionHost(KIT.functions).call("core::template_render", {"template": "as it is"})
    assert isinstance(reply, Result)
    assert reply.value == {"text": "as it is"}


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("one\ntwo {{ nobody }}", "Line 2: 'nobody' is undefined."),
        ("{{ order.who }}\n\n{{ order.whom }}", "Line 3: 'whom' is undefined."),
        ("{{ order.address.city }}", "Line 1: 'address' is undefined."),
        ("\n{% for x in order.missing %}{% endfor %}", "Line 2: 'missing' is undefined."),
        ("\n{{ order.who | shout }}", "Line 2: there is no filter 'shout'; the filters are abs, "),
        ("\n{% if %}", "Line 2: Expected an expression"),
        ("{% for x in order.items %}", "Line 1: Unexpected end of template."),
        ("\n{{ order.who + 1 }}", "Line 2: arithmetic needs numbers, and this is str."),
        ("\n{{ order.items[0].price / 0 }}", "Line 2: an operation does not fit the types of its values"),
        ("{{ nobody + 1 }}", "Line 1: 'nobody' is undefined."),
        ("{{ nobody | tojson }}", "Line 1: 'nobody' is undefined."),
        ("{{ " + "*".join([str(2**100)] * 20) + " }}", "Line 1: this number is too large for arithmetic."),
        ("{{ order.who is shouted }}", "Line 1: No test named 'shouted'."),
        ("{{ order.items | map('shout') | list }}", "Line 1: No filter named 'shout'."),
        ("{{ 'x' | replace('', 'y') }}", "Line 1: replace needs a text to replace that is not empty."),
        ("{{ " + "(" * 3_000 + "1" + ")" * 3_000 + " }}", "nested too deeply"),
        ("{% for a in [1] %}" * 30 + "{% endfor %}" * 30, "nested too deeply"),
    ],
)
def test_an_invalid_template_is_refused_with_line_and_name(template: str, says: str) -> None:
    assert says in refusal(template, order=ORDER)


@pytest.mark.parametrize(
    "template",
    [
        "{{ x.__class__ }}", "{{ x['__class__'] }}", "{{ ''.__class__.__mro__ }}",
        "{{ x | map(attribute='__class__') | list }}",
        "{{ x.format }}", "{{ x.upper }}", "{{ o.items.append }}", "{{ o.keys }}", "{{ loop.__class__ }}",
        "{{ self.x }}",
        "{{ self._TemplateReference__context }}", "{{ o.__init__.__globals__ }}", "{{ x is callable }}",
        "{{ undefined.x }}",
        "{{ x() }}", "{{ x.upper() }}", "{{ range(9) }}", "{{ cycler('a') }}", "{{ lipsum() }}", "{{ dict(a=1) }}",
        "{{ namespace(a=1) }}", "{{ joiner() }}", "{% for a in [1] %}{{ loop.cycle('a') }}{% endfor %}",
        "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", "{% for a in [1] %}{{ loop._iterable }}{% endfor %}",
        "{% set y = 1 %}", "{% set y %}a{% endset %}", "{% macro m() %}{% endmacro %}", "{% call x() %}{% endcall %}",
        "{% filter upper %}a{% endfilter %}", "{% with y = 1 %}{% endwith %}", "{% block b %}{% endblock %}",
        "{% include '/etc/passwd' %}", "{% import 'os' as os %}", "{% from 'os' import path %}", "{% extends 'x' %}",
        "{% do x %}", "{{ x ~ x }}", "{{ x ** 2 }}", "{{ [x, x] }}", "{{ {'a': x} }}", "{{ (x, x) }}", "{% debug %}",
        "{{ x | format(1) }}", "{{ x | attr('upper') }}", "{{ x | xmlattr }}", "{{ x | pprint }}",
        "{{ x | center(9) }}",
        "{% autoescape true %}{% endautoescape %}", "{{ x | map('attr', '__class__') | list }}", "{{ _('x') }}",
    ],
)  # fmt: skip
def test_attributes_calls_and_assignments_are_refused(template: str) -> None:
    assert refusal(template, x="text", o={"a": 1, "items": []})


@pytest.mark.parametrize(
    "template",
    [
        "{{ x }}" * 20, "{{ x | replace('x', x) }}", "{{ many | join(x) }}", "{{ x | tojson }}{{ x | tojson }}" * 10,
        "{% for a in many %}{% for b in many %}{% for c in many %}text{% endfor %}{% endfor %}{% endfor %}",
        "{{ lines | indent(80) }}", "{{ x | e }}" * 20, "{{ signs | e }}", "{{ signs }}{{ deep | tojson(80) }}",
    ],
)  # fmt: skip
def test_a_text_over_the_limit_is_refused(template: str) -> None:
    deep: Any = [1] * 1_000
    for _ in range(20):
        deep = [deep]
    values = {"x": "x" * 100_000, "many": [1] * 1_000, "lines": "\n" * 100_000, "signs": "&" * 300_000, "deep": deep}
    assert "1,000,000 characters" in refusal(template, **values)


@pytest.mark.parametrize("template", ["{{ 'x' * 1000000000 }}", "{{ '%1000000000d' % 1 }}", "{{ many * 100000 }}"])
def test_arithmetic_with_texts_is_refused(template: str) -> None:
    assert "arithmetic needs numbers" in refusal(template, many=[1])


def test_a_variable_does_not_outlive_its_template() -> None:
    assert render("{% for x in [1, 2] %}{{ x }}{% endfor %}") == "12"
    assert "'x' is undefined" in refusal("{{ x }}")


MANY, LONG = list(range(100_000)), "x" * 300_000
EMPTY_LOOPS = "{% for a in few %}" * 3 + "{% endfor %}" * 3


@pytest.mark.invariant(90)
@pytest.mark.parametrize(
    "template",
    [
        EMPTY_LOOPS, "{% for a in few %}" * 2 + "{% for a in few if false %}" + "{% endfor %}" * 3,
        "{% for a in many %}" + "{% if false %}{% endif %}" * 200 + "{% endfor %}",
        "{% for a in many|map('string') %}" + "{{ '' }}" * 200 + "{% endfor %}",
        "{% if many|sort %}{% endif %}" * 300, "{% if many|map('string')|list %}{% endif %}" * 300,
        "{% if many|unique|list|reverse|list %}{% endif %}" * 300, "{% if (many|max) + (many|sum) %}{% endif %}" * 300,
        "{% for a in many %}{% if -1 in many %}{% endif %}{% endfor %}", "{{ many|select('in', many)|list|length }}",
        "{% for a in few %}{% if 'y' in long %}{% endif %}{% endfor %}" * 100,
        "{% for a in few %}{% if nested == twin %}{% endif %}{% endfor %}" * 100,
        "{% for a in few %}{% if many[1:] %}{% endif %}{% endfor %}", "{% if long|urlencode %}{% endif %}" * 600,
        "{% for a in few %}{% if objects|dictsort %}{% endif %}{% endfor %}", "{{ long|trim(long) }}",
        "{{ many|map(attribute='" + "a." * 20_000 + "a')|list }}", "{% if nested|lower|length %}{% endif %}" * 300,
    ],
)  # fmt: skip
@pytest.mark.no_cover
def test_work_over_the_allowance_is_stopped(template: str) -> None:
    """The allowance ends it: the call has no deadline for ten minutes, and the deadline has another message."""
    values = {
        "few": [1] * 400, "many": MANY, "long": LONG, "nested": [MANY], "twin": [[*MANY]],
        "objects": dict.fromkeys(map(str, MANY), 1),
    }  # fmt: skip
    message = refusal(template, **values)
    assert "does too much work" in message or "trim takes at most" in message


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' in 'cat' }} {{ 2 not in [1, 2] }} {{ 1 != 1 }}",
         "true false true false false"),
        ("{{ many[1:3] }} {{ many[::-50000] }} {{ 'text'[1:] }}", "[1, 2] [99999, 49999] ext"),
        ("{% for a in many[:3] %}{{ loop.index }}/{{ loop.length }}{{ loop.last }} {% endfor %}",
         "1/3false 2/3false 3/3true "),
        ("{% for a in many|select('lt', 2) %}{{ loop.revindex }}{% else %}none{% endfor %}", "21"),
        ("{% for a in many if a is odd and a < 4 %}{{ a }}{% endfor %}", "13"),
        ("{{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 2 is in [1, 2] }} {{ 1 is gt 2 }}", "true true true false"),
        ("{{ many|select('divisibleby', 30000)|join('-') }}{{ ' x '|trim }}{{ '--a-'|trim('-') }}",
         "0-30000-60000-90000xa"),
    ],
)  # fmt: skip
def test_charged_operations_have_their_usual_results(template: str, text: str) -> None:
    assert render(template, many=MANY) == text


@pytest.mark.parametrize("test", ["odd", "even", "divisibleby(3)"])
def test_a_test_that_calculates_formats_no_text(test: str) -> None:
    """A sandbox of Lambda has no memory for the text, and its end would count."""
    assert "arithmetic needs numbers" in refusal("{{ '%10000000000d' is " + test + " }}")


def test_a_report_of_a_thousand_rows_stays_within_its_allowance() -> None:
    rows = [{"name": f"Customer {number}", "tags": ["a", "b"], "price": number} for number in range(1_000)]
    template = (
        "{% for row in rows|sort(attribute='price') %}{{ loop.index }}. {{ row.name|upper }}: "
        "{{ (row.price * 1.2)|round(2) }}{% if 'a' in row.tags and row.price > 10 %} ({{ row.tags|join(', ') }})"
        "{% endif %}{% if not loop.last %}; {% endif %}{% endfor %}"
        "{{ rows|map(attribute='price')|sum }} {{ rows|length }}"
    )
    assert render(template, rows=rows).endswith("1000. CUSTOMER 999: 1198.8 (a, b)499500 1000")
