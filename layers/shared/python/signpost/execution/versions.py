"""Versions of executors: numbers with dots between, compared number by number."""

import re
from typing import Literal

VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}")


def is_version(text: str) -> bool:
    return VERSION.fullmatch(text) is not None


def compared(now: str, before: str) -> Literal["lower", "same", "higher"]:
    """What is left out counts as 0."""
    if _numbers(now) == _numbers(before):
        return "same"
    return "higher" if _numbers(now) > _numbers(before) else "lower"


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(number) for number in version.split(".")]
    return (*numbers, *[0] * (4 - len(numbers)))
