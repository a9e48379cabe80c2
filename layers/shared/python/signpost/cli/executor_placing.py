"""Places an executor in the directory of a stack, for the commands that do so."""

from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.failure import CommandFailed
from signpost.cli.terminal import make_printable, print_progress
from signpost.directory.function_warnings import find_function_warnings
from signpost.directory.placement import PlacementError
from signpost.hazards.model import describe_warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signpost.contract import HostedFunction


def place_executor(signpost_stack: str, function: str, tenant: str, *, strict: bool) -> "Sequence[HostedFunction]":
    """Place an executor, and print the warnings about its functions. Raises CommandFailed."""
    try:
        with stack.open_adapters(signpost_stack) as adapters:
            placed = adapters.placer.place(function, tenant, strict=strict)
    except PlacementError as fault:
        raise CommandFailed(str(fault)) from fault
    for warning in find_function_warnings(placed):
        print_progress(make_printable(f"{warning.id}: warning: {describe_warning(warning)}"))
    return placed
