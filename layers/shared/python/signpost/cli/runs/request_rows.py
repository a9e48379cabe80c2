"""Reads open approval requests through the endpoint of a gateway, as the person at the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.cli import terminal
from signpost.cli.failure import CommandFailed
from signpost.cli.runs.item_pages import fetch_items
from signpost.model import Json, JsonObject, as_object

if TYPE_CHECKING:
    from signpost.cli.mcp import RemoteTools


def fetch_rows(tools: "RemoteTools") -> Sequence[JsonObject]:
    """Fetch the requests that the person may answer or has asked for, oldest first."""
    page = fetch_items(tools, {"kind": "approval"}, None, None)
    return sorted(map(_row_of, page.items), key=lambda row: str(row["askedAt"]))


def _row_of(item: JsonObject) -> JsonObject:
    return {
        "request": item["id"],
        "queue": item["queue"],
        "workflow": item["workflowId"],
        "definition": item["definitionId"],
        "state": item["state"],
        "askedBy": item["askedBy"],
        "askedAt": _time_of(item["askedAt"]),
        "expiresAt": _time_of(item["expiresAt"]) if "expiresAt" in item else None,
        "approvedBy": item["approvedBy"],
        "shows": item["shows"],
        "digest": item["digest"],
    }


def _time_of(text: Json) -> str:
    """Write a time as the other commands do, with a space between date and time."""
    return str(text).replace("T", " ")


def find_run_of(tools: "RemoteTools", request_id: str) -> str:
    """Return the id of the run of an open approval request. Raises CommandFailed if the person may see none."""
    described = tools.call("gateway.describe", {"id": request_id})
    if as_object(described.get("error")):
        advice = "See `signpost approvals list` with the same --url."
        raise CommandFailed(terminal.make_printable(f"There is no open approval request {request_id}. {advice}"))
    return str(described["workflowId"])
