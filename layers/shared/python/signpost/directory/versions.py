"""Versions of executors: up to four numbers with dots between them, compared number by number."""

import re
from typing import Literal

VERSION_PATTERN = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}")


def is_version(text: str) -> bool:
    return VERSION_PATTERN.fullmatch(text) is not None


def compare_versions(version: str, other: str) -> Literal["lower", "same", "higher"]:
    """Compare the first version with the second. A missing number counts as 0."""
    if _numbers(version) == _numbers(other):
        return "same"
    return "higher" if _numbers(version) > _numbers(other) else "lower"


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(number) for number in version.split(".")]
    return (*numbers, *[0] * (4 - len(numbers)))
