"""The time of a search for hidden text grows with the length of the text, whatever an author has written."""

import time
from collections.abc import Callable, Mapping

import pytest

from signpost.hazards.texts import find_text_hazards

pytestmark = pytest.mark.no_cover

TIMES, MOST = 8, 24
"""A text that is 8 times as long takes about 8 times as long; 64 times if the time grows with the square."""
SHORT = 12_000
ATTEMPTS = 5
TEXTS: Mapping[str, Callable[[int], str]] = {
    "unclosed comments": lambda length: "a <!-- " * (length // 7),
    "unclosed comments in lines": lambda length: "a <!--\n" * (length // 7),
    "marks of quotes": lambda length: ">" * length,
    "marks of items": lambda length: "- " * (length // 2) + "a <",
    "runs of backticks": lambda length: "<" + " ".join("`" * count for count in range(1, int((2 * length) ** 0.5))),
    "open quotes of attributes": lambda length: '<a "' * (length // 4) + "'",
    "open notes in a style": lambda length: '<a style="' + "/* " * (length // 3) + '">',
    "unfinished values": lambda length: "<a " + '="' * (length // 2),
    "unfinished front matter": lambda length: "---\n" + "a: <\n" * (length // 5),
    "encoded characters": lambda length: "a&#8203;" * (length // 8),
    "encoded direction marks": lambda length: "\u05d0" + "a&lrm;" * (length // 6),
    "direction marks": lambda length: "a\u200f" * (length // 2) + "\u05d0",
}


@pytest.mark.parametrize("build", TEXTS.values(), ids=TEXTS)
def test_the_time_of_a_search_grows_with_the_length_of_the_text(build: Callable[[int], str]) -> None:
    short, long = build(SHORT), build(SHORT * TIMES)
    ratios: list[float] = []
    while len(ratios) < ATTEMPTS and (not ratios or ratios[-1] >= MOST):
        ratios.append(measure_search(long) / measure_search(short))
    assert min(ratios) < MOST, ratios


def measure_search(text: str) -> float:
    """Return the processor time of the fastest of a few searches."""
    seconds: list[float] = []
    for _ in range(3):
        began = time.process_time()
        for _ in find_text_hazards(text):
            pass
        seconds.append(time.process_time() - began)
    return max(min(seconds), 1e-4)
