"""Calls that cross the end of a chunk of the frame stack, counted by the pages that the system has to provide."""

import resource
from collections.abc import Callable

from signpost.frame_room import with_frame_room

DEPTHS = 400
"""The frames of the test take more than two chunks at this depth."""
CALLS = 200


def do_nothing() -> None: ...


def call_repeatedly_at_depth(depth: int) -> None:
    if depth:
        call_repeatedly_at_depth(depth - 1)
        return
    for _ in range(CALLS):
        do_nothing()


def count_page_faults(function: Callable[[int], None], depth: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    function(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_without_room_a_loop_at_the_end_of_a_chunk_maps_memory_at_every_call() -> None:
    assert max(count_page_faults(call_repeatedly_at_depth, depth) for depth in range(DEPTHS)) >= CALLS


def test_with_room_no_loop_maps_memory_at_every_call() -> None:
    roomy = with_frame_room(call_repeatedly_at_depth)
    assert max(count_page_faults(roomy, depth) for depth in range(DEPTHS)) < CALLS


def test_arguments_results_and_names_are_those_of_the_function() -> None:
    @with_frame_room
    def add(first: int, *, second: int) -> int:
        """Adds."""
        return first + second

    assert add(1, second=2) == 3
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
