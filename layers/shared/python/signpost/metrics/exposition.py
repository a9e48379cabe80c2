"""Formats gauge readings as Prometheus text (exposition format 0.0.4) and as JSON."""

from collections.abc import Iterator, Sequence

from signpost.metrics.gauges import GaugeReading
from signpost.model import JsonObject

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def as_text(readings: Sequence[GaugeReading]) -> str:
    return "".join(f"{line}\n" for reading in readings for line in _lines(reading))


def as_json(readings: Sequence[GaugeReading]) -> JsonObject:
    gauges: JsonObject = {
        reading.gauge.name: {"help": reading.gauge.help_text, "samples": _samples(reading)} for reading in readings
    }
    return {"gauges": gauges}


def _lines(reading: GaugeReading) -> Iterator[str]:
    """The lines of one gauge. A gauge without samples is declared too, so that monitoring finds that it exists."""
    name = reading.gauge.name
    yield f"# HELP {name} {_escape(reading.gauge.help_text)}"
    yield f"# TYPE {name} gauge"
    for labels, value in reading.samples.items():
        yield f"{name}{_format_labels(reading.gauge.labels, labels)} {value}"


def _format_labels(names: Sequence[str], labels: Sequence[str]) -> str:
    pairs = [f'{name}="{_quote(label)}"' for name, label in zip(names, labels, strict=True)]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _quote(label: str) -> str:
    return _escape(label).replace('"', '\\"')


def _escape(text: str) -> str:
    # UTF-8, the encoding of this format, cannot encode half a surrogate pair.
    encodable = text.encode(errors="replace").decode()
    return encodable.replace("\\", "\\\\").replace("\n", "\\n")


def _samples(reading: GaugeReading) -> Sequence[JsonObject]:
    names = reading.gauge.labels
    return [
        {"labels": dict(zip(names, labels, strict=True)), "value": value} for labels, value in reading.samples.items()
    ]
