"""The two forms of /metrics, and that a parser of the format reads what was written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from signpost.metrics.exposition import as_json, as_text
from signpost.metrics.gauges import GAUGES, Gauge, GaugeReading

DOORS = Gauge("doors", "Doors of a house.", ("house", "state"))
ROOMS = Gauge("rooms", "Rooms.")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
HELP = TEXTS.filter(lambda text: text == text.strip())
"""The parser takes the white space around a help text away."""


def parse_text(text: str) -> list[tuple[str, str, list[tuple[dict[str, str], float]]]]:
    return [
        (family.name, family.documentation, [(dict(sample.labels), sample.value) for sample in family.samples])
        for family in text_string_to_metric_families(text)
    ]


def test_every_gauge_has_help_and_type_lines() -> None:
    measured = [GaugeReading(DOORS, {("red", "open"): 2, ("red", "shut"): 0}), GaugeReading(ROOMS, {(): 7})]
    assert as_text(measured) == (
        "# HELP doors Doors of a house.\n"
        "# TYPE doors gauge\n"
        'doors{house="red",state="open"} 2\n'
        'doors{house="red",state="shut"} 0\n'
        "# HELP rooms Rooms.\n"
        "# TYPE rooms gauge\n"
        "rooms 7\n"
    )


def test_a_gauge_without_samples_is_declared_all_the_same() -> None:
    assert as_text([GaugeReading(DOORS, {})]) == "# HELP doors Doors of a house.\n# TYPE doors gauge\n"
    assert as_json([GaugeReading(DOORS, {})]) == {"gauges": {"doors": {"help": DOORS.help_text, "samples": []}}}


@pytest.mark.parametrize(
    ("label", "written"),
    [('say "a"', r"say \"a\""), (r"c:\new", r"c:\\new"), ("a\nb", r"a\nb"), ("half \ud800", "half ?"), ("ü", "ü")],
)
def test_special_characters_in_labels_are_escaped(label: str, written: str) -> None:
    *_, sample = as_text([GaugeReading(DOORS, {(label, ""): 1})]).splitlines()
    assert sample == f'doors{{house="{written}",state=""}} 1'


@given(says=HELP, samples=st.dictionaries(st.tuples(TEXTS, TEXTS), st.integers(0, 2**53)))
def test_written_gauges_are_read_back(says: str, samples: dict[tuple[str, ...], int]) -> None:
    written = as_text([GaugeReading(Gauge("doors", says, DOORS.labels), samples), GaugeReading(ROOMS, {(): 1})])
    expected = [({"house": house, "state": state}, float(value)) for (house, state), value in samples.items()]
    assert parse_text(written) == [("doors", says, expected), ("rooms", "Rooms.", [({}, 1.0)])]


@given(samples=st.dictionaries(st.tuples(TEXTS, TEXTS), st.integers(0, 2**53)))
def test_json_has_the_same_samples_as_the_text(samples: dict[tuple[str, ...], int]) -> None:
    gauge = json.loads(json.dumps(as_json([GaugeReading(DOORS, samples)])))["gauges"]["doors"]
    assert [(one["labels"], float(one["value"])) for one in gauge["samples"]] == (
        parse_text(as_text([GaugeReading(DOORS, samples)]))[0][2]
    )


def test_gauge_names_are_valid_and_unique() -> None:
    assert len({gauge.name for gauge in GAUGES}) == len(GAUGES)
    assert parse_text(as_text([GaugeReading(gauge, {("x",) * len(gauge.labels): 1}) for gauge in GAUGES])) == [
        (gauge.name, gauge.help_text, [(dict.fromkeys(gauge.labels, "x"), 1.0)]) for gauge in GAUGES
    ]
    assert all(gauge.name.startswith("signpost_") and gauge.help_text.endswith(".") for gauge in GAUGES)
