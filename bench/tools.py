"""The tools that every contender of a bench serves: plain values, because the venv of a peer knows nothing of ours."""

import os
from collections.abc import Iterator
from typing import Any

VARIABLE = "BENCH_TOOLS"
"""Says how many."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
    "required": ["query"],
}
ARGUMENTS: dict[str, Any] = {"query": "bench", "limit": 5}
"""Of the tool that is called. It answers its query."""


def work(query: str, limit: int = 10) -> str:
    del limit  # there so that the schema has more than one property
    return query


def name(number: int) -> str:
    return f"bench_{number:03}"


def description(number: int) -> str:
    """About 200 characters."""
    return (
        f"Looks number {number} up: takes a query in plain words and the largest number of answers that you want, "
        "and returns what was found as text, best match first. Use it when a person asks about this subject."
    )


def described() -> Iterator[tuple[str, str]]:
    """Name and description of each."""
    for number in range(int(os.environ[VARIABLE])):
        yield name(number), description(number)
