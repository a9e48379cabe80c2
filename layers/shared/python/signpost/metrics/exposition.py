"""What was measured, as a text of Prometheus (exposition format 0.0.4) and as JSON."""

from collections.abc import Iterator, Sequence

from signpost.metrics.gauges import Measured
from signpost.model import JsonObject

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def as_text(measured: Sequence[Measured]) -> str:
    return "".join(f"{line}\n" for one in measured for line in _lines(one))


def as_json(measured: Sequence[Measured]) -> JsonObject:
    return {"gauges": {one.gauge.name: {"help": one.gauge.says, "samples": _samples(one)} for one in measured}}


def _lines(measured: Measured) -> Iterator[str]:
    """What has no samples is declared all the same: who looks for it finds that it exists."""
    name = measured.gauge.name
    yield f"# HELP {name} {_escaped(measured.gauge.says)}"
    yield f"# TYPE {name} gauge"
    for labels, value in measured.samples.items():
        yield f"{name}{_written(measured.gauge.labels, labels)} {value}"


def _written(names: Sequence[str], labels: Sequence[str]) -> str:
    pairs = [f'{name}="{_quoted(label)}"' for name, label in zip(names, labels, strict=True)]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _quoted(label: str) -> str:
    return _escaped(label).replace('"', '\\"')


def _escaped(text: str) -> str:
    # Half a surrogate pair is no UTF-8, which this format is always in.
    encodable = text.encode(errors="replace").decode()
    return encodable.replace("\\", "\\\\").replace("\n", "\\n")


def _samples(measured: Measured) -> Sequence[JsonObject]:
    names = measured.gauge.labels
    return [
        {"labels": dict(zip(names, labels, strict=True)), "value": value} for labels, value in measured.samples.items()
    ]
