"""The tools that every contender of a bench serves. They are plain values, because the venv of a peer does not have the
packages of the project."""

import os
from collections.abc import Iterator
from typing import Any

VARIABLE = "BENCH_TOOLS"
"""The environment variable with the number of tools."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
    "required": ["query"],
}
ARGUMENTS: dict[str, Any] = {"query": "bench", "limit": 5}
"""The arguments of the tool that is called."""


def work(query: str, limit: int = 10) -> str:
    del limit  # only makes the schema have more than one property
    return query


def tool_name(number: int) -> str:
    return f"bench_{number:03}"


def tool_description(number: int) -> str:
    """Return a description of about 200 characters."""
    return (
        f"Looks number {number} up: takes a query in plain words and the largest number of answers that you want, "
        "and returns what was found as text, best match first. Use it when a person asks about this subject."
    )


def names_and_descriptions() -> Iterator[tuple[str, str]]:
    """Return the name and the description of each tool."""
    for number in range(int(os.environ[VARIABLE])):
        yield tool_name(number), tool_description(number)
