"""Follow the log of a function and show each message in a compact form."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from botocore.exceptions import BotoCoreError, ClientError

from local.emulator import Emulator
from local.stack import client_settings

if TYPE_CHECKING:
    from mypy_boto3_logs.type_defs import FilteredLogEventTypeDef

type Fields = Mapping[str, object]

_OVERLAP_MS = 5_000
_FIELDS_SHOWN = 6
_WIDTH_OF_A_FIELD = 60
_REPORT = re.compile(r"Duration: ([\d.]+) ms.*?(?:Max Memory Used: (\d+) MB|$)", re.DOTALL)
# Fields with the same value on every line of a function, or with a value that is shown already.
_HIDDEN_FIELDS = frozenset(
    {
        "cold_start",
        "exception",
        "exception_name",
        "function_arn",
        "function_memory_size",
        "function_name",
        "function_request_id",
        "level",
        "location",
        "message",
        "service",
        "stack_trace",
        "timestamp",
        "xray_trace_id",
    }
)


class LogTail:
    """Follows a log group from the moment at which this object is made."""

    def __init__(self, emulator: Emulator, group: str, dim: Callable[[str], str]) -> None:
        session, config = client_settings(emulator)
        self._client = session.client("logs", endpoint_url=emulator.url, config=config)
        self._group = group
        self._dim = dim
        self._started = int(datetime.now(UTC).timestamp() * 1000)
        self._newest = self._started
        self._seen: dict[tuple[int, str, str], None] = {}

    def poll(self) -> Iterator[str]:
        """Yield the lines since the last poll; none if the emulator does not answer."""
        for event in self._new_events():
            yield from compact(event.get("timestamp", 0), event.get("message", ""), self._dim)

    def _new_events(self) -> Iterator["FilteredLogEventTypeDef"]:
        for event in self._recent_events():
            key = (event.get("timestamp", 0), event.get("logStreamName", ""), event.get("message", ""))
            if key not in self._seen:
                self._seen[key] = None
                self._newest = max(self._newest, key[0])
                yield event
        # Lines of slow invocations arrive with older times, so each poll reads the last few seconds again.
        horizon = self._newest - _OVERLAP_MS
        self._seen = {key: None for key in self._seen if key[0] >= horizon}

    def _recent_events(self) -> list["FilteredLogEventTypeDef"]:
        try:
            since = max(self._started, self._newest - _OVERLAP_MS)
            return self._client.filter_log_events(logGroupName=self._group, startTime=since)["events"]
        except (BotoCoreError, ClientError):
            return []


def compact(timestamp: int, message: str, dim: Callable[[str], str]) -> Iterator[str]:
    """Yield one log message as few lines; none for the messages that mark the start and end of an invocation."""
    text = message.rstrip()
    if text.startswith(("START ", "END ", "INIT_START ")) or not text:
        return
    time = datetime.fromtimestamp(timestamp / 1000, UTC).astimezone().strftime("%H:%M:%S")
    entry = _json_object(text)
    if text.startswith("REPORT "):
        yield dim(f"{time} {_report(text)}")
    elif entry is None:
        yield f"{time} {text}"
    elif "_aws" in entry:
        yield dim(f"{time} metrics {_pairs(_metrics(entry))}")
    else:
        yield from _format_entry(time, entry, dim)


def _format_entry(time: str, entry: Fields, dim: Callable[[str], str]) -> Iterator[str]:
    message = entry.get("message", "")
    text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    extra = {key: value for key, value in entry.items() if key not in _HIDDEN_FIELDS}
    yield f"{time} {entry.get('level', ''):<7} {text} {dim(_pairs(extra))}".rstrip()
    for line in str(entry.get("exception", "")).splitlines():
        yield f"         {line}"


def _report(text: str) -> str:
    match = _REPORT.search(text)
    if match is None:
        return text
    memory = f", {match[2]} MB" if int(match[2] or 0) else ""
    return f"ran {float(match[1]):.0f} ms{memory}"


def _metrics(entry: Fields) -> Fields:
    return {key: value for key, value in entry.items() if key not in ("_aws", "service")}


def _pairs(fields: Fields) -> str:
    return " ".join(f"{key}={_short(value)}" for key, value in list(fields.items())[:_FIELDS_SHOWN])


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH_OF_A_FIELD else f"{text[: _WIDTH_OF_A_FIELD - 1]}…"


def _json_object(text: str) -> Fields | None:
    if not text.startswith("{"):
        return None
    try:
        value = cast("object", json.loads(text))
    except ValueError:
        return None
    return cast("Fields", value) if isinstance(value, dict) else None
